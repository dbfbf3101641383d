"""The interface of scorers."""

from typing import Protocol

from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.evidence import Evidence
from pytest_crmeval.domain.score import Score


class Scorer(Protocol):
    """A pure function from a case and its evidence to a score."""

    def __call__(self, case: Conversation, evidence: Evidence, /) -> Score:
        """Return the score."""
        ...
