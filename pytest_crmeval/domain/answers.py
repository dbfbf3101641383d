"""Outcomes of questions: right, wrong or not attempted, and the stated confidence."""

from collections.abc import Iterable
from enum import StrEnum

from pytest_crmeval.domain.records import Record

BINS = 10
"""Number of equal bins of stated confidence: 0 to 10 %, 10 to 20 % and so on; 100 % is in the last."""


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


def calibration_error(stated: Iterable[tuple[float, bool]]) -> float | None:
    """Return the expected calibration error of (confidence, was right); None if no confidence was stated.

    It is the distance between the mean confidence and the share of right answers of each bin, weighted by its size:
    0 for a subject that is right as often as it says, 1 for one that is sure and wrong.
    """
    bins: dict[int, list[tuple[float, bool]]] = {}
    for confidence, right in stated:
        bins.setdefault(min(int(confidence * BINS), BINS - 1), []).append((confidence, right))
    whole = sum(map(len, bins.values()))
    if not whole:
        return None
    gaps = (abs(sum(confidence - right for confidence, right in found)) for found in bins.values())
    return round(sum(gaps) / whole, 6)


def f1_of(correct: int, attempted: int, asked: int) -> float | None:
    """Return F1: the harmonic mean of the shares of right answers among all and among the attempted questions."""
    return round(2 * correct / (attempted + asked), 6) if asked else None
