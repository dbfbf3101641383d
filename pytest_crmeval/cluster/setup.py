"""What a player on another machine is told when it begins, and what it says about its machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_crmeval.options.values import Options
from pytest_crmeval.solutions.play.solution import Rules
from pytest_crmeval.solutions.solution import Solution


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
    shared_server: str = field(repr=False)
    """The PostgreSQL that the user gave, which all players use; empty: each brings its own."""
    environment: Mapping[str, str] = field(repr=False)
    """Keys and addresses of the models that are called; empty if none is."""
    opinions: Mapping[str, bytes]
    """The judge's opinions on the labelled replies, by their paths in the folder of reports."""
    colored: bool
    programs: bool
    """Whether programs of solution files are judged."""
    hidden: Sequence[str]
    """Files and folders that programs must not read, if this machine has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramTask:
    """A program of a solution file to be judged."""

    file: int
    """The number of the file in this run."""
    seconds: float
    """The time that is left for the file."""
    rules: Rules
    solution: Solution


@dataclass(frozen=True, kw_only=True)
class Begun:
    """How a player has begun."""

    refusal: str = ""
    """Why it can't play; empty if it can."""
    level: str = ""
    """The strongest level at which its machine can isolate programs; empty if there are none."""


@dataclass(frozen=True, kw_only=True)
class NodeSandbox:
    """The sandbox of a player."""

    refusal: str = ""
    """Why it can't run programs at the level of the run; empty if it can."""
    name: str = ""
    identity: str = ""


@dataclass(frozen=True, kw_only=True)
class NodeFacts:
    """What a player says about its machine before it is given anything."""

    version: str
    """The version of this package."""
    has_token: bool
    """Whether Ray authenticates its messages with a token there."""
