"""A conversation: who says what, and what the CRM holds when it starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pytest_crmeval.domain.expectation import Expectation
from pytest_crmeval.domain.json import Json

Seed = Mapping[str, Mapping[str, Mapping[str, Json]]]
"""Rows that the CRM starts with: entity name -> id -> attributes."""

NOW = datetime(2025, 11, 12, 9, tzinfo=UTC)
"""When a conversation takes place that does not say when: rules on dates must not depend on the day of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One utterance of the user, and its answer key."""

    utterance: str
    expectation: Expectation


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A stretch of a chain, which is a conversation made of several."""

    last_turn: int
    succeeds: bool = True
    """Whether it is expected to end without a refusal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A multi-turn dialogue with the rows that the CRM starts with."""

    id: str
    fingerprint: str
    """Changes when the content of the case changes."""
    turns: Sequence[Turn]
    seed: Seed
    complexity: str = "simple"
    category: str = "General"
    tags: Sequence[str] = ()
    split: str = ""
    """``train`` or ``test``, if the suite tells what may be learned from apart from what is held out."""
    now: datetime = NOW
    """What the clock of the CRM shows."""
    segments: Sequence[Segment] = ()
    chain: str = ""
    """What it is a part of, if others may be, too."""
    expected_state: Mapping[str, Sequence[Mapping[str, Json]]] = field(default_factory=dict)
    """Entity -> exactly the rows that it has at the end, in the columns given; the rest is as the reference has it."""
    defects: Sequence[str] = ()
    """Why nobody can pass it, if so."""
