"""Scores and verdicts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from pytest_crmeval.domain.cutting import printable
from pytest_crmeval.domain.json import JsonObject


class Verdict(StrEnum):
    """How a trial ended."""

    PASSED = "passed"
    FAILED = "failed"
    """The subject was wrong: count it."""
    ERRORED = "errored"
    """The world broke: repeat it. Never counted as a score of zero."""
    INVALID = "invalid"
    """The case is broken: mend it. Nobody could have passed it, so nobody has failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What one scorer found, in [0, 1]; what can't be scored has no score."""

    name: str
    value: float
    threshold: float = 1.0
    reason: str = ""

    def __post_init__(self) -> None:
        """Refuse what is no score: NaN compares false and is refused, too."""
        if not 0.0 <= self.value <= 1.0:
            raise ValueError(f"score {self.name!r} is {self.value}, not between 0 and 1")

    @property
    def passed(self) -> bool:
        """Whether the value reaches the threshold."""
        return self.value >= self.threshold

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        return {
            "name": self.name,
            "value": float(self.value),
            "threshold": float(self.threshold),
            "reason": printable(self.reason),
        }

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> "Score":
        """Return the score that ``to_dict`` wrote; fields that are not known yet are passed over."""
        name, value, threshold, reason = record["name"], record["value"], record["threshold"], record["reason"]
        if not reason:
            return _without_reason(name, value, threshold)
        return Score(name=name, value=value, threshold=threshold, reason=reason)


@lru_cache(1024)
def _without_reason(name: str, value: float, threshold: float) -> Score:
    """Return a shared object for scores that many trials have in common."""
    return Score(name=name, value=value, threshold=threshold)


def verdict_of(scores: Iterable[Score]) -> Verdict:
    """Return PASSED when every score reaches its threshold; without any score there is no verdict."""
    passed = [score.passed for score in scores]
    if not passed:
        raise ValueError("there is no score, and so no verdict: the scorers fixture is empty")
    return Verdict.PASSED if all(passed) else Verdict.FAILED
