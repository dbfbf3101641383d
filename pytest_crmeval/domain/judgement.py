"""The opinions of a judge, which is a model, on a trial."""

from statistics import median_low

from msgspec.structs import force_setattr

from pytest_crmeval.domain.answers import Attempt
from pytest_crmeval.domain.cutting import printable
from pytest_crmeval.domain.records import Record, always
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.usage import Bill

NAME = "judge"
THRESHOLD = 0.8
GOAL, PROCESS = 0.7, 0.3
"""Weights of the goal, what the user wanted, and of the process."""


class Grade(Record, frozen=True, kw_only=True):
    """One opinion: both marks in [0, 1]. On an answer to a question both are 1 if it is right, and else 0."""

    goal: float
    process: float
    reason: str = always("")
    attempt: Attempt | None = None
    """The outcome of a question; None in an opinion on a conversation."""
    confidence: float | None = None
    """The confidence that the judge reads in the answer; None if the answer states none."""

    def __post_init__(self) -> None:
        """Refuse invalid marks, including NaN, for which the comparison is false."""
        if not (0.0 <= self.goal <= 1.0 and 0.0 <= self.process <= 1.0):
            raise ValueError(f"marks of {self.goal} and {self.process} are not between 0 and 1")
        force_setattr(self, "reason", printable(self.reason))

    @property
    def value(self) -> float:
        """The weighted sum of both marks."""
        return round(GOAL * self.goal + PROCESS * self.process, 6)


class Judgement(Record, frozen=True, kw_only=True):
    """All opinions on one trial, or why there are none."""

    grades: tuple[Grade, ...] = always(())
    """If the trial is not graded, the opinions before the failure."""
    trouble: str = always("")
    """Why the trial is not graded; empty if it is."""
    bill: Bill | None = always(None)
    """Usage and cost of the judge, which are not part of the subject's; None if no model was called."""
    cached: bool = always(False)  # noqa: FBT003 (a default)
    """Whether the judgement comes from the cache, so that no model was called."""
    key: str = ""
    """The key of the cache: judge, samples, and everything that the judge was shown."""
    notes: tuple[str, ...] = ()
    """Remarks for the reader, for example about an unreadable file of the cache."""

    def __post_init__(self) -> None:
        """Convert texts to what can be stored."""
        force_setattr(self, "trouble", printable(self.trouble))
        force_setattr(self, "notes", tuple(map(printable, self.notes)))

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
        """The outcome of a question according to the majority; None if it is not graded.

        It is right if more than half of the opinions say so; otherwise the more frequent of the two other outcomes, and
        wrong if they are equally frequent.
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
        """The median of the confidences; None if there are none."""
        found = [grade.confidence for grade in self.grades if grade.confidence is not None]
        return median_low(found) if found else None

    @property
    def spread(self) -> float:
        """The difference between the highest and the lowest opinion."""
        values = [grade.value for grade in self.grades]
        return round(max(values) - min(values), 6) if values else 0.0


def decided(verdict: Verdict, judgement: Judgement | None) -> Verdict:
    """Return the final verdict: a judge may pass a trial that the scorers failed, and never fails one.

    FAILED by the scorers and not graded is ERRORED: the result is unknown, so the trial is repeated.
    """
    if judgement is None or verdict is not Verdict.FAILED:
        return verdict
    if judgement.score is None:
        return Verdict.ERRORED
    return Verdict.PASSED if judgement.score.passed else Verdict.FAILED
