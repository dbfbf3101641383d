"""What a user wants in one turn, and what should come of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_crmeval.conversations.generator.naming import Referent
from pytest_crmeval.conversations.generator.rows import Row

Slot = str | Referent
Draw = Callable[[Any], tuple[Any, str]]
"""Draws another value for a story, and how it is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """Something that the user may have got wrong, and may put right in the turn after."""

    tool: str
    row: Row
    column: str
    thing: str
    """What it is called: the amount, her title."""
    said: str
    """What was said first."""
    draw: Draw


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """One thing that the user wants, and what should come of it."""

    tool: str
    """The reference call; empty if there is nothing to call."""
    args: Mapping[str, Any]
    slots: Mapping[str, Slot]
    """What the words are about: every value that is said, and every record that is named."""
    phrase: str = ""
    """Which wordings, if not those of the move's own name."""
    optional: Sequence[str] = ()
    """Slots that need not be said."""
    facts: Sequence[Any] | None = None
    """What the reply has to say; None if that follows from what the CRM answers."""
    error: str = ""
    """What the CRM says, in part, when it refuses; empty if it does not."""
    declined: bool = False
    """Whether nothing can be called, and the reply has to say so."""
    asks: bool = False
    """Whether the reply has to ask back."""
    implied: Sequence[str] = ()
    """Arguments that the words imply without saying them."""
    skills: frozenset[str] = frozenset()
    about: Row | None = None
    """What a pronoun means in the turn after; None if it could mean several things, or nothing."""
    looked_at: Sequence[Row] = ()
    """Whatever else an agent has seen afterwards."""
    relative: bool = False
    """Whether one has to know what day it is."""
    fixes: Sequence[Fix] = ()

    @property
    def troubled(self) -> bool:
        """Whether the right behaviour is a refusal or a question."""
        return bool(self.error or self.declined or self.asks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A way to go on: something that users want of a CRM."""

    make: Callable[[Any], Intent | None]
    """Takes a story. Returns None when it does not fit here; otherwise the world is as it leaves it."""
    entity: str
    tools: Sequence[str] = ()
    """What it calls."""
    weight: float = 1.0
    trouble: bool = False
    """Whether it asks for what can't be done, or not yet."""
    joins: bool = False
    """Whether it may be the second of two requests in one turn: it makes no record that is talked of later."""
    follows: bool = False
    """Whether it only makes sense after another turn."""

    @property
    def name(self) -> str:
        """The name of its wordings."""
        return self.make.__name__
