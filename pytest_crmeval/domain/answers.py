"""Outcomes of questions: right, wrong or not attempted, and the stated confidence."""

from enum import StrEnum

from pytest_crmeval.domain.records import Record


class Attempt(StrEnum):
    """How a question was answered."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    NOT_ATTEMPTED = "not_attempted"
    """The subject gave no answer, or said that it does not know."""


class AnswerOutcome(Record, frozen=True, kw_only=True):
    """The outcome of one question."""

    attempt: Attempt
    confidence: float | None = None
    """The confidence that the subject stated, in [0, 1]; None if it stated none."""

    def __post_init__(self) -> None:
        """Refuse an invalid confidence, including NaN, for which the comparison is false."""
        if self.confidence is not None and not 0.0 <= self.confidence <= 1.0:
            raise ValueError(f"a confidence of {self.confidence} is not between 0 and 1")
