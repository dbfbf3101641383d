"""What a scorer looks at."""

from dataclasses import dataclass, field

from pytest_crmeval.domain.state import State
from pytest_crmeval.domain.transcript import Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What happens when the reference calls of a case, and nothing else, are made."""

    transcript: Transcript = field(default_factory=Transcript)
    before: State = field(default_factory=dict)
    """The CRM as seeded."""
    after: State = field(default_factory=dict)
    """The CRM as the reference calls leave it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What happened in one trial, and what should have."""

    transcript: Transcript
    after: State
    """The CRM as the agent left it."""
    reference: Reference
