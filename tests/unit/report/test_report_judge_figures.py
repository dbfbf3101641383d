"""Figures of the judge of a run."""

import json
from dataclasses import replace
from typing import Any

import pytest

from pytest_crmeval.domain.judgement import Grade, JudgeAnswer, Judgement, LabelAgreement, Statement, StatementAnswer
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.usage import Bill, Usage
from pytest_crmeval.report.judge_figures import JudgeFigures, judge_figures
from tests.fakes import trial

TRUSTED = LabelAgreement(found=10, missed=0, accepted=9, refused=1)
DOUBTFUL = LabelAgreement(found=5, missed=5, accepted=9, refused=1)
UNKNOWN = Judgement(trouble="timeout: no answer")


def about(*answers: str, agreement: LabelAgreement | None = TRUSTED, **fields: Any) -> Judgement:  # noqa: ANN401
    """Return one opinion on statements."""
    grade = Grade(answers=tuple(StatementAnswer(answer=JudgeAnswer(each)) for each in answers))
    statements = tuple(Statement(turn=place, quote="so it is") for place, _ in enumerate(answers, start=1))
    return Judgement(grades=(grade,), statements=statements, agreement=agreement, **fields)


def judged(judgement: Judgement | None) -> Trial:
    """Return a trial with a judgement."""
    return replace(trial(), judgement=judgement)


def figures(*judgements: Judgement) -> JudgeFigures:
    """Return the figures of the judge."""
    found = judge_figures(map(judged, judgements))
    assert found is not None
    return found


def test_without_a_judgement_there_are_no_figures() -> None:
    assert judge_figures([judged(None), trial(verdict=Verdict.ERRORED)]) is None


def test_statements_are_counted_by_the_opinion_of_the_judge() -> None:
    found = figures(about("true", "false"), about("false", "false"), about("unclear"))

    assert (3, 5, 3, 2) == (found.graded, found.statements, found.false, found.failed)
    assert (TRUSTED, "") == (found.agreement, found.restriction)


@pytest.mark.parametrize("agreement", [None, DOUBTFUL])
def test_judge_that_may_not_decide_fails_nothing(agreement: LabelAgreement | None) -> None:
    """The reason is reported."""
    found = figures(about("false", agreement=agreement))

    assert (1, 0, agreement) == (found.false, found.failed, found.agreement)
    assert found.restriction


def test_different_measurements_are_not_reported_as_one() -> None:
    """Parts of a run may come from machines with and without the measurement."""
    found = figures(about("false"), about("false", agreement=None))

    assert (None, 1) == (found.agreement, found.failed)


def test_judge_of_questions_has_no_agreement_with_statements() -> None:
    """Nor a reason why it may not decide: it alone decides."""
    found = figures(Judgement(grades=(Grade(reason="the same"),)))

    assert {"graded": 1, "not_graded": 0, "cached": 0} == found.to_dict()


def test_ungraded_trials_are_counted_separately() -> None:
    found = figures(UNKNOWN, replace(about("false"), trouble="timeout"), about("true", cached=True))

    assert (2, 1, 1, 0) == (found.not_graded, found.graded, found.cached, found.false)


def test_bill_includes_every_judgement() -> None:
    """Also failed ones, and none of the subject; an unknown price stays unknown."""
    bill = Bill(usage=Usage(input=100, calls=3), cost=0.25)

    assert (
        Bill(usage=Usage(input=200, calls=6), cost=0.5)
        == figures(about("true", bill=bill), replace(UNKNOWN, bill=bill)).bill
    )
    assert figures(about("true", bill=bill), about("true", bill=Bill(cost=None))).bill == Bill(
        usage=bill.usage, cost=None
    )


@pytest.mark.parametrize(
    "found", [JudgeFigures(), JudgeFigures(graded=5, not_graded=1, statements=7, false=2, failed=1, agreement=TRUSTED)]
)
def test_figures_survive_encoding(found: JudgeFigures) -> None:
    assert found == JudgeFigures.from_dict(json.loads(json.dumps(found.to_dict())))


@pytest.mark.parametrize("change", [{"graded": "7"}, {"graded": True}, {"cached": None}, {"agreement": "x"}])
def test_invalid_figures_are_refused(change: dict[str, Any]) -> None:
    """With an error that readers of reports expect."""
    with pytest.raises((KeyError, TypeError, ValueError)):
        JudgeFigures.from_dict({**JudgeFigures().to_dict(), **change})
