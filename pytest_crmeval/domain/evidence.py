"""The input of scorers."""

from dataclasses import dataclass, field

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
