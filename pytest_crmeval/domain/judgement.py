"""What a judge, a model that is asked for its opinion, thinks of a trial."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any, Self

from pytest_crmeval.domain.answers import Attempt
from pytest_crmeval.domain.cutting import printable
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.usage import Bill

NAME = "judge"
THRESHOLD = 0.8
GOAL, PROCESS = 0.7, 0.3
"""How much it weighs that the user got what he wanted, and how much the way there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """One opinion: both marks in [0, 1]. On an answer to a question both are 1 if it is right, and else 0."""

    goal: float
    process: float
    reason: str = ""
    attempt: Attempt | None = None
    """What became of a question; None in an opinion on a conversation."""
    confidence: float | None = None
    """How sure the judge finds the answer to be; None if it does not say."""

    def __post_init__(self) -> None:
        """Refuse what are no marks; NaN compares false and is refused, too."""
        if not (0.0 <= self.goal <= 1.0 and 0.0 <= self.process <= 1.0):
            raise ValueError(f"marks of {self.goal} and {self.process} are not between 0 and 1")

    @property
    def value(self) -> float:
        """Both marks together: the weights are ours, not the model's."""
        return round(GOAL * self.goal + PROCESS * self.process, 6)

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        return {
            "goal": self.goal,
            "process": self.process,
            "reason": printable(self.reason),
            **({"attempt": str(self.attempt)} if self.attempt else {}),
            **({} if self.confidence is None else {"confidence": self.confidence}),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the grade that ``to_dict`` wrote; KeyError, TypeError or ValueError if it did not."""
        sure, attempt = record.get("confidence"), record.get("attempt")
        return cls(
            goal=_mark(record["goal"]),
            process=_mark(record["process"]),
            reason=str(record["reason"]),
            attempt=Attempt(attempt) if attempt else None,
            confidence=None if sure is None else _mark(sure),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """All opinions on one trial; or why there is none."""

    grades: Sequence[Grade] = ()
    """If the trial is not graded: those that came before the trouble."""
    trouble: str = ""
    """Why the trial is not graded; empty if it is."""
    bill: Bill | None = None
    """What the judge took, apart from what the subject took; None if nothing was asked."""
    cached: bool = False
    """Whether the same had been judged before, in an earlier run or earlier in this one: nobody was asked."""
    key: str = ""
    """What a cached one was found by: judge, samples, and everything that was shown."""
    notes: Sequence[str] = ()
    """What the reader has to know: a file of the cache that could not be read, for one."""

    @property
    def score(self) -> Score | None:
        """The verdict of the majority; None if the trial is not graded.

        The lower median reaches the threshold exactly when more than half of the opinions do.
        """
        if self.trouble or not self.grades:
            return None
        value = median_low([grade.value for grade in self.grades])
        reason = next(grade.reason for grade in self.grades if grade.value == value)
        return Score(name=NAME, value=value, threshold=THRESHOLD, reason=reason)

    @property
    def attempt(self) -> Attempt | None:
        """What became of a question, for most of the opinions; None if it is not graded.

        Right it is if more than half say so; of the others, the more frequent one, and wrong if they are as many.
        """
        if self.score is None:
            return None
        if self.score.passed:
            return Attempt.CORRECT
        said = [grade.attempt for grade in self.grades]
        abstained = said.count(Attempt.NOT_ATTEMPTED) > said.count(Attempt.INCORRECT)
        return Attempt.NOT_ATTEMPTED if abstained else Attempt.INCORRECT

    @property
    def confidence(self) -> float | None:
        """How sure the answer is, for the opinion in the middle; None if none says."""
        found = [grade.confidence for grade in self.grades if grade.confidence is not None]
        return median_low(found) if found else None

    @property
    def spread(self) -> float:
        """How far the opinions are apart."""
        values = [grade.value for grade in self.grades]
        return round(max(values) - min(values), 6) if values else 0.0

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        return {
            "grades": [grade.to_dict() for grade in self.grades],
            "trouble": printable(self.trouble),
            "bill": self.bill.to_dict() if self.bill else None,
            "cached": self.cached,
            **({"key": self.key} if self.key else {}),
            **({"notes": list(map(printable, self.notes))} if self.notes else {}),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the judgement that ``to_dict`` wrote; KeyError, TypeError or ValueError if it did not."""
        return cls(
            grades=tuple(Grade.from_dict(grade) for grade in record["grades"]),
            trouble=str(record["trouble"]),
            bill=Bill.from_dict(record["bill"]) if record["bill"] else None,
            cached=bool(record["cached"]),
            key=str(record.get("key", "")),
            notes=tuple(map(str, record.get("notes", ()))),
        )


def decided(verdict: Verdict, judgement: Judgement | None) -> Verdict:
    """Return the verdict of the scorers after the judge was heard: he can clear a subject, and never convicts one.

    FAILED for the scorers and not graded is ERRORED: nobody knows, so it is repeated.
    """
    if judgement is None or verdict is not Verdict.FAILED:
        return verdict
    if judgement.score is None:
        return Verdict.ERRORED
    return Verdict.PASSED if judgement.score.passed else Verdict.FAILED


def _mark(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"expected a mark, found {value!r}")
    return float(value)
