"""The interface of scorers, and their input."""

from dataclasses import dataclass, field
from typing import Protocol

from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.score import Score
from pytest_crmeval.domain.state import State
from pytest_crmeval.domain.transcript import Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The result of making only the reference calls of a case."""

    transcript: Transcript = field(default_factory=Transcript)
    before: State = field(default_factory=dict)
    """The CRM as seeded."""
    after: State = field(default_factory=dict)
    """The CRM after the reference calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The transcript and the final rows of one trial, and of its reference."""

    transcript: Transcript
    after: State
    """The CRM after the trial."""
    reference: Reference


class Scorer(Protocol):
    """A pure function from a case and its evidence to a score."""

    def __call__(self, case: Conversation, evidence: Evidence, /) -> Score:
        """Return the score."""
        ...
