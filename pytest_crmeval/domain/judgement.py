"""The opinions of a judge, which is a model: on the answer to a question, or on statements of replies."""

from enum import StrEnum
from statistics import median_low

from msgspec.structs import force_setattr

from pytest_crmeval.domain.answers import Attempt
from pytest_crmeval.domain.cutting import printable
from pytest_crmeval.domain.records import Record, always
from pytest_crmeval.domain.usage import Bill

LEAST_KAPPA = 0.8
"""A judge of replies whose agreement with the labels is lower changes no verdict."""


class JudgeAnswer(StrEnum):
    """What a judge says about a statement."""

    TRUE = "true"
    FALSE = "false"
    UNCLEAR = "unclear"


class StatementAnswer(Record, frozen=True, kw_only=True):
    """What one opinion says about one statement, and why."""

    answer: JudgeAnswer
    reason: str = ""

    def __post_init__(self) -> None:
        """Convert the reason to what can be stored."""
        force_setattr(self, "reason", printable(self.reason))


class Grade(Record, frozen=True, kw_only=True):
    """One opinion."""

    reason: str = always("")
    attempt: Attempt | None = None
    """The outcome of a question; None in an opinion on statements."""
    confidence: float | None = None
    """The confidence that the judge reads in the answer to a question; None if the answer states none."""
    answers: tuple[StatementAnswer, ...] = ()
    """One per statement; none if the opinion was unreadable."""

    def __post_init__(self) -> None:
        """Convert the reason to what can be stored."""
        force_setattr(self, "reason", printable(self.reason))


class Statement(Record, frozen=True, kw_only=True):
    """A statement of a reply that the judge was asked about."""

    turn: int
    """Number of the turn, from 1."""
    quote: str

    def __post_init__(self) -> None:
        """Convert the quote to what can be stored."""
        force_setattr(self, "quote", printable(self.quote))


class LabelAgreement(Record, frozen=True, kw_only=True):
    """How far a judge agrees with the labels of the labelled statements."""

    found: int
    """False statements that it calls false."""
    missed: int
    """False statements that it does not call false."""
    accepted: int
    """True statements that it does not call false."""
    refused: int
    """True statements that it calls false."""
    kappa: float | None = None
    """Cohen's kappa: 1 if both always agree, 0 if no more often than by chance; computed.

    None if chance alone would have them agree on everything.
    """

    def __post_init__(self) -> None:
        """Compute kappa."""
        whole, same = self.statements, self.found + self.accepted
        by_chance = (self.found + self.missed) * (self.found + self.refused) + (self.accepted + self.refused) * (
            self.accepted + self.missed
        )
        kappa = None if by_chance == whole**2 else round((whole * same - by_chance) / (whole**2 - by_chance), 6)
        force_setattr(self, "kappa", kappa)

    @property
    def statements(self) -> int:
        """The number of labelled statements."""
        return self.found + self.missed + self.accepted + self.refused


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
    statements: tuple[Statement, ...] = ()
    """What the judge of conversations was asked about."""
    agreement: LabelAgreement | None = None
    """How far the judge of conversations agrees with the labels; None if that was not measured."""

    def __post_init__(self) -> None:
        """Convert texts to what can be stored."""
        force_setattr(self, "trouble", printable(self.trouble))
        force_setattr(self, "notes", tuple(map(printable, self.notes)))

    @property
    def is_graded(self) -> bool:
        """Whether all opinions were given."""
        return bool(self.grades) and not self.trouble

    @property
    def attempt(self) -> Attempt | None:
        """The outcome of a question according to the majority; None if it is not graded.

        It is right if more than half of the opinions say so; otherwise the more frequent of the two other outcomes, and
        wrong if they are equally frequent.
        """
        if not self.is_graded:
            return None
        said = [grade.attempt for grade in self.grades]
        if 2 * said.count(Attempt.CORRECT) > len(said):
            return Attempt.CORRECT
        abstained = said.count(Attempt.NOT_ATTEMPTED) > said.count(Attempt.INCORRECT)
        return Attempt.NOT_ATTEMPTED if abstained else Attempt.INCORRECT

    @property
    def reason(self) -> str:
        """The reason of the first opinion that agrees with the outcome of a question."""
        return next((grade.reason for grade in self.grades if grade.attempt is self.attempt), "")

    @property
    def confidence(self) -> float | None:
        """The median of the confidences; None if there are none."""
        found = [grade.confidence for grade in self.grades if grade.confidence is not None]
        return median_low(found) if found else None

    @property
    def false_places(self) -> dict[int, str]:
        """The places of the statements that more than half of all opinions call false, with the first such reason."""
        readable = [grade.answers for grade in self.grades if grade.answers] if self.is_graded else []
        found = {}
        for place, answers in enumerate(zip(*readable, strict=True)):
            against = [each.reason for each in answers if each.answer is JudgeAnswer.FALSE]
            if 2 * len(against) > len(self.grades):
                found[place] = against[0]
        return found

    @property
    def false_statements(self) -> list[tuple[Statement, str]]:
        """The statements that more than half of all opinions call false, each with the first such reason."""
        return [(self.statements[place], reason) for place, reason in self.false_places.items()]

    @property
    def restriction(self) -> str:
        """Why the judge may not change the verdict of a reply; empty if it may."""
        return restriction(self.agreement)

    @property
    def may_decide(self) -> bool:
        """Whether the judge may change the verdict of a reply."""
        return not self.restriction


def restriction(agreement: LabelAgreement | None) -> str:
    """Return why a judge may not change the verdict of a reply; empty if it may."""
    if agreement is None:
        return "its agreement with the labelled statements has not been measured"
    if agreement.kappa is None or agreement.kappa < LEAST_KAPPA:
        low = f"kappa {agreement.kappa or 0:.2f} is below {LEAST_KAPPA}"
        return f"its agreement with the labelled statements is too low: {low}"
    return ""
