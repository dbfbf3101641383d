"""How questions were answered: right, wrong or not at all, and how sure the subject was."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from pytest_crmeval.domain.json import JsonObject

BINS = 10
"""Equal ones, of stated confidence: 0 to 10 %, 10 to 20 % and so on; 100 % is in the last."""


class Attempt(StrEnum):
    """What became of a question."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    NOT_ATTEMPTED = "not_attempted"
    """The subject said nothing, or that it does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOutcome:
    """How one question was answered."""

    attempt: Attempt
    confidence: float | None = None
    """How sure the subject said to be, in [0, 1]; None if it did not say."""

    def __post_init__(self) -> None:
        """Refuse what is no confidence; NaN compares false and is refused, too."""
        if self.confidence is not None and not 0.0 <= self.confidence <= 1.0:
            raise ValueError(f"a confidence of {self.confidence} is not between 0 and 1")

    def to_dict(self) -> JsonObject:
        """Return JSON primitives; a confidence that was not stated is absent."""
        told = {} if self.confidence is None else {"confidence": self.confidence}
        return {"attempt": str(self.attempt), **told}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the outcome that ``to_dict`` wrote; KeyError, TypeError or ValueError if it did not."""
        sure = record.get("confidence")
        return cls(attempt=Attempt(record["attempt"]), confidence=None if sure is None else float(sure))


def calibration_error(stated: Iterable[tuple[float, bool]]) -> float | None:
    """Return the expected calibration error of (confidence, was right); None if nobody was ever sure of anything.

    Per bin, the distance between the mean confidence and the share of right answers, weighed by how many are in it:
    0 for somebody who is right as often as he says, 1 for somebody who is sure and wrong.
    """
    bins: dict[int, list[tuple[float, bool]]] = {}
    for confidence, right in stated:
        bins.setdefault(min(int(confidence * BINS), BINS - 1), []).append((confidence, right))
    whole = sum(map(len, bins.values()))
    if not whole:
        return None
    return round(sum(abs(_surplus(found)) for found in bins.values()) / whole, 6)


def f1_of(correct: int, attempted: int, asked: int) -> float | None:
    """Return the harmonic mean of the share of right answers and of the share of right ones among the attempted."""
    return round(2 * correct / (attempted + asked), 6) if asked else None


def _surplus(found: Sequence[tuple[float, bool]]) -> float:
    """Return by how much the confidences in a bin are more than its right answers."""
    return sum(confidence - right for confidence, right in found)
