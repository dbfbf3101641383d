"""What a scorer looks at."""

from dataclasses import dataclass

from pytest_crmeval.domain.state import State
from pytest_crmeval.domain.transcript import Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What happened in one trial, and what the reference calls would have left behind."""

    transcript: Transcript
    before: State
    """The CRM as seeded."""
    after: State
    """The CRM as the agent left it."""
    reference: State
    """The CRM as the reference calls leave it."""
