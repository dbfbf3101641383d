"""A turn of a hard conversation: the request, its answer key, and the calls of agents that make a typical mistake."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.domain.state import TABLES

Call = tuple[str, dict[str, Any]]
"""A tool and its arguments."""
HERE = "{{here.%s}}"
"""A field of the result of the turn itself, whose number is not known yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One turn."""

    phrase: str
    """The name of its wordings."""
    slots: Mapping[str, str]
    calls: Sequence[Call] = ()
    facts: Sequence[Any] | None = None
    error: str = ""
    """Part of the CRM's message if it refuses the first call; else empty."""
    declined: bool = False
    """Whether a rule forbids the request, so that nothing may be called."""
    asks: bool = False
    """Whether the reply has to ask back."""
    mistakes: Mapping[str, Sequence[Call]] = field(default_factory=dict)
    """Typical mistake -> the calls of an agent that makes it."""
    trouble: Sequence[Mapping[str, Any]] = ()
    """What goes wrong in this turn, without its number."""
    if_written: str = ""
    """The name of the wordings that are said instead if the agent has written something in the turn before."""
    if_not_asked: str = ""
    """The name of the wordings that are said instead if the agent has not asked in the turn before."""
    skills: frozenset[str] = frozenset()


Block = Sequence[Request]
"""Turns that follow each other directly."""


def modify(row: Row, **changes: Any) -> Call:  # noqa: ANN401 (JSON)
    """Return the call that changes a record."""
    return f"modify_{row.entity.lower()}", {TABLES[row.entity][1]: row.ref, **changes}


def with_mistakes(**mistakes: Sequence[Call] | None) -> dict[str, Sequence[Call]]:
    """Return the mistakes that are possible, named in the form of a tag."""
    return {name.replace("_", "-"): calls for name, calls in mistakes.items() if calls is not None}
