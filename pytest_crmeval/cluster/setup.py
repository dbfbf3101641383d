"""What a player on another machine is told when it begins, and what it says about its machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_crmeval.options.values import Options


@dataclass(frozen=True, kw_only=True)
class PlayerSetup:
    """What a player needs, besides the cases: they follow one by one, with their content."""

    options: Options
    specs: Sequence[str]
    """The specs of the agents that play."""
    markers: Sequence[str]
    """The kinds of case that are played."""
    slots: int
    """Cases that the player plays at the same time."""
    shared_server: bool
    """Whether all players use the PostgreSQL that the user gave; otherwise each brings its own."""
    environment: Mapping[str, str] = field(repr=False)
    """Keys and addresses of the models that are called; empty if none is."""
    opinions: Mapping[str, bytes]
    """The judge's opinions on the labelled replies, by their paths in the folder of reports."""
    colored: bool


@dataclass(frozen=True, kw_only=True)
class NodeFacts:
    """What a player says about its machine before it is given anything."""

    version: str
    """The version of this package."""
    has_token: bool
    """Whether Ray authenticates its messages with a token there."""
