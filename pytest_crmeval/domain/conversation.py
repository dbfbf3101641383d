"""A conversation: what the user says, the answer key, and the initial rows of the CRM."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pytest_crmeval.domain.expectation import Expectation
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.trouble import Trouble

Seed = Mapping[str, Mapping[str, Mapping[str, Json]]]
"""Rows that the CRM starts with: entity name -> id -> attributes."""

NOW = datetime(2025, 11, 12, 9, tzinfo=UTC)
"""Default time of a conversation, so that rules on dates don't depend on the day of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One utterance of the user, and its answer key."""

    utterance: str
    expectation: Expectation
    if_written: str = ""
    """What the user says instead if the agent has changed something in the turn before; empty: the same."""
    if_not_asked: str = ""
    """What the user says instead if the agent has asked nothing in the turn before; empty: the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A part of a chain, which is a conversation made of several."""

    last_turn: int
    succeeds: bool = True
    """Whether it is expected to end without a refusal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedUser:
    """A user that is played by a model: what it wants, what it knows, and how it talks."""

    goal: str
    facts: Sequence[str] = ()
    style: str = ""


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
    """``train`` or ``test``, if the suite separates cases for learning from held-out ones."""
    now: datetime = NOW
    """The time on the clock of the CRM."""
    segments: Sequence[Segment] = ()
    chain: str = ""
    """The chain that the conversation belongs to; empty if it belongs to none."""
    expected_state: Mapping[str, Sequence[Mapping[str, Json]]] = field(default_factory=dict)
    """Entity -> its exact rows at the end, in the given columns; other tables must match the reference."""
    user: SimulatedUser | None = None
    """If there is one, the turns are only the answer key, and the dialogue takes its own course."""
    policy: str = ""
    """Rules of the company that the agent has to follow; part of its instructions."""
    page_size: int = 0
    """Rows that a search shows at a time; 0: the CRM has no pages."""
    trouble: Sequence[Trouble] = ()
    defects: Sequence[str] = ()
    """Why the case is impossible to pass; empty if it is possible."""
