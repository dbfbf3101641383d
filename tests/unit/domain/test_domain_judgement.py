"""A judge's opinions on an answer, or on the statements of a reply."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_crmeval.domain.answers import Attempt
from pytest_crmeval.domain.judgement import Grade, JudgeAnswer, Judgement, LabelAgreement, Statement, StatementAnswer
from pytest_crmeval.domain.usage import Bill, Usage

RIGHT, WRONG, NONE = Attempt.CORRECT, Attempt.INCORRECT, Attempt.NOT_ATTEMPTED
GOOD, POOR = Grade(attempt=RIGHT, reason="the same"), Grade(attempt=WRONG, reason="another year")
UNKNOWN = Judgement(trouble="timeout: no answer")
TRUSTED = LabelAgreement(found=9, missed=1, accepted=10, refused=0)


def said(*answers: str) -> Grade:
    """Return an opinion on statements."""
    return Grade(answers=tuple(StatementAnswer(answer=JudgeAnswer(each), reason=f"it is {each}") for each in answers))


def about(*grades: Grade, count: int = 2) -> Judgement:
    """Return a judgement about statements."""
    quotes = tuple(Statement(turn=number, quote=f"statement {number}") for number in range(1, count + 1))
    return Judgement(grades=grades, statements=quotes)


@pytest.mark.parametrize(
    ("attempts", "expected"),
    [
        ([RIGHT], RIGHT),
        ([WRONG], WRONG),
        ([NONE], NONE),
        ([RIGHT, RIGHT, WRONG], RIGHT),
        ([RIGHT, WRONG], WRONG),
        ([RIGHT, NONE, WRONG], WRONG),
        ([RIGHT, NONE, NONE, WRONG], NONE),
    ],
)
def test_majority_decides_about_an_answer(attempts: Sequence[Attempt], expected: Attempt) -> None:
    """More than half must find it correct; a draw is wrong."""
    assert expected is Judgement(grades=tuple(Grade(attempt=each) for each in attempts)).attempt


def test_reason_is_that_of_an_opinion_that_agrees_with_the_result() -> None:
    """The first of them."""
    assert "another year" == Judgement(grades=(GOOD, POOR, POOR)).reason


@pytest.mark.parametrize(
    ("grades", "false"),
    [
        ([said("false", "true")], [1]),
        ([said("unclear", "true")], []),
        ([said("false", "false"), said("false", "true"), said("true", "true")], [1]),
        ([said("false", "true"), said("true", "false")], []),
        ([said("false", "true"), Grade(), Grade()], []),
        ([said("false", "true"), said("false", "true"), Grade()], [1]),
        ([Grade()], []),
    ],
)
def test_statement_is_false_if_more_than_half_of_all_opinions_say_so(grades: Sequence[Grade], false: list[int]) -> None:
    """Each statement is decided separately; an unreadable opinion calls nothing false."""
    assert false == [statement.turn for statement, _ in about(*grades).false_statements]


def test_false_statement_has_the_reason_of_the_first_opinion_against_it() -> None:
    """Opinions that find it true have other reasons."""
    assert {1: "it is false"} == about(said("true", "true"), *[said("true", "false")] * 2).false_places


@pytest.mark.parametrize("grades", [(), (GOOD,), (said("false", "false"),)])
def test_judgement_with_trouble_decides_nothing(grades: Sequence[Grade]) -> None:
    """Whatever the first opinions were: the others might have been different."""
    found = Judgement(grades=tuple(grades), trouble="timeout", statements=about().statements)

    assert (False, None, []) == (found.is_graded, found.attempt, found.false_statements)


@pytest.mark.parametrize(
    ("cells", "kappa"),
    [
        ((15, 10, 20, 5), 0.4),
        ((50, 0, 50, 0), 1.0),
        ((25, 25, 25, 25), 0.0),
        ((0, 5, 0, 5), -1.0),
        ((0, 10, 90, 0), 0.0),
        ((0, 0, 7, 0), None),
        ((0, 0, 0, 0), None),
    ],
)
def test_kappa_corrects_for_chance(cells: tuple[int, int, int, int], kappa: float | None) -> None:
    """The first example is from a textbook.

    A judge that accepts everything has 0; without a false statement it is unknown.
    """
    found, missed, accepted, refused = cells
    agreement = LabelAgreement(found=found, missed=missed, accepted=accepted, refused=refused)

    assert (sum(cells), kappa) == (agreement.statements, agreement.kappa)


@pytest.mark.parametrize(
    ("agreement", "why"),
    [
        (TRUSTED, ""),
        (None, "its agreement with the labelled statements has not been measured"),
        (LabelAgreement(found=8, missed=2, accepted=9, refused=1), "kappa 0.70 is below 0.8"),
        (LabelAgreement(found=0, missed=0, accepted=9, refused=0), "kappa 0.00 is below 0.8"),
    ],
)
def test_only_a_judge_with_a_kappa_of_at_least_0_8_may_decide(agreement: LabelAgreement | None, why: str) -> None:
    """The reason says what is missing."""
    found = Judgement(agreement=agreement)

    assert found.restriction.endswith(why)
    assert found.may_decide is (not why)


@pytest.mark.parametrize(
    "judgement",
    [
        Judgement(),
        UNKNOWN,
        Judgement(grades=(GOOD, POOR), cached=True),
        Judgement(grades=(GOOD,), trouble="timeout", notes=("a file could not be read",)),
        Judgement(grades=(GOOD,), bill=Bill(usage=Usage(input=5, calls=1), cost=None)),
        Judgement(grades=(said("true", "false"),), statements=about().statements, agreement=TRUSTED),
    ],
)
def test_judgement_survives_encoding(judgement: Judgement) -> None:
    assert judgement == Judgement.from_dict(json.loads(json.dumps(judgement.to_dict())))


@pytest.mark.parametrize(
    "change",
    [
        {"grades": 7},
        {"grades": [{"attempt": "perhaps"}]},
        {"grades": [{"answers": [{"answer": "perhaps"}]}]},
        {"statements": [{"turn": "1", "quote": ""}]},
        {"bill": {"cost": "x"}},
    ],
)
def test_invalid_judgement_is_refused(change: dict[str, Any]) -> None:
    """With an error that readers of journals expect."""
    with pytest.raises((KeyError, TypeError, ValueError)):
        Judgement.from_dict({**Judgement(grades=(GOOD,)).to_dict(), **change})
