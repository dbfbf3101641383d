"""Scores and verdicts."""

from collections.abc import Iterable
from enum import StrEnum

from msgspec.structs import force_setattr

from pytest_crmeval.domain.cutting import printable
from pytest_crmeval.domain.records import Record


class Verdict(StrEnum):
    """How a trial ended."""

    PASSED = "passed"
    FAILED = "failed"
    """The subject was wrong: count it."""
    ERRORED = "errored"
    """Infrastructure failed: repeat it. Never counted as a score of zero."""
    INVALID = "invalid"
    """The case is impossible to pass: fix it. It counts neither for nor against the subject."""


class Score(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The result of one scorer, in [0, 1]."""

    name: str
    value: float
    threshold: float = 1.0
    reason: str = ""

    def __post_init__(self) -> None:
        """Refuse invalid values, including NaN; convert numbers to floats and the reason to printable text."""
        if not 0.0 <= self.value <= 1.0:
            raise ValueError(f"score {self.name!r} is {self.value}, not between 0 and 1")
        if type(self.value) is not float or type(self.threshold) is not float:
            force_setattr(self, "value", float(self.value))
            force_setattr(self, "threshold", float(self.threshold))
        if self.reason:
            force_setattr(self, "reason", printable(self.reason))

    @property
    def passed(self) -> bool:
        """Whether the value reaches the threshold."""
        return self.value >= self.threshold


def verdict_of(scores: Iterable[Score]) -> Verdict:
    """Return PASSED if every score reaches its threshold; ValueError if there is no score."""
    passed = [score.passed for score in scores]
    if not passed:
        raise ValueError("there is no score, so there is no verdict: the scorers fixture is empty")
    return Verdict.PASSED if all(passed) else Verdict.FAILED
