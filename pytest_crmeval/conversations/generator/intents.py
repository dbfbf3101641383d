"""The intents of a user in one turn, and the expected results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_crmeval.conversations.generator.naming import Referent
from pytest_crmeval.conversations.generator.rows import Row

Slot = str | Referent
Draw = Callable[[Any], tuple[Any, str]]
"""Takes a story; returns a new value, and how it is said."""


class DoesNotFitError(Exception):
    """A scenario needs a record that does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A value that the user may correct in the next turn."""

    tool: str
    row: Row
    column: str
    thing: str
    """The words for it: the amount, her title."""
    said: str
    """How the first value was said."""
    draw: Draw


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """One request of the user, and the expected result."""

    tool: str
    """The tool of the reference call; empty if no call is expected."""
    args: Mapping[str, Any]
    slots: Mapping[str, Slot]
    """The values for the slots of the wording: every value and every record that the user mentions."""
    phrase: str = ""
    """The name of the wordings, if it is not the scenario's."""
    optional: Sequence[str] = ()
    """Slots that need not be said."""
    facts: Sequence[Any] | None = None
    """The facts that the reply has to mention; None if they follow from the results of the calls."""
    error: str = ""
    """Part of the CRM's message if it refuses the call; else empty."""
    declined: bool = False
    """Whether no tool can do it, and the reply has to decline."""
    asks: bool = False
    """Whether the reply has to ask back."""
    implied: Sequence[str] = ()
    """Arguments that the words imply without saying them."""
    skills: frozenset[str] = frozenset()
    about: Row | None = None
    """The record that a pronoun means in the next turn; None if that would be unclear."""
    looked_at: Sequence[Row] = ()
    """Other records that an agent has seen afterwards."""
    relative: bool = False
    """Whether the agent has to know the current date."""
    fixes: Sequence[Fix] = ()

    @property
    def troubled(self) -> bool:
        """Whether the right behaviour is a refusal or a question."""
        return bool(self.error or self.declined or self.asks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A kind of request that users make."""

    make: Callable[[Any], Intent | None]
    """Takes a story. Changes its world as the CRM would and returns the intent; use ``intent`` to call it.

    None or DoesNotFitError if the scenario does not fit.
    """
    wordings: str = ""
    """The name of its wordings, if it is not that of ``make``."""
    entity: str
    tools: Sequence[str] = ()
    """The tools that it calls."""
    weight: float = 1.0
    trouble: bool = False
    """Whether the right behaviour is a refusal or a question."""
    joins: bool = False
    """Whether it may be the second of two requests in one turn: it creates no record that later turns refer to."""
    follows: bool = False
    """Whether it only makes sense after another turn."""

    @property
    def name(self) -> str:
        """The name of its wordings."""
        return self.wordings or self.make.__name__

    def intent(self, story: Any) -> Intent | None:  # noqa: ANN401 (a Story, whose module imports this one)
        """Return the next request of this kind; None if the scenario does not fit the story."""
        try:
            return self.make(story)
        except DoesNotFitError:
            return None
