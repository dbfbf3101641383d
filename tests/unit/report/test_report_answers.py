"""Metrics of questions."""

import pytest

from pytest_crmeval.domain.answers import AnswerOutcome, Attempt
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import PlannedCase, Trial
from pytest_crmeval.report.metrics import calibration_error, f1_of, metrics_of


def trial(attempt: str, confidence: float | None = None) -> Trial:
    """Return the trial of a question."""
    planned = PlannedCase(key="k", suite="q", subject="s", case="c", fingerprint="f", spec="s")
    verdict = Verdict.PASSED if attempt == "correct" else Verdict.FAILED
    return Trial(
        planned=planned, verdict=verdict, answer=AnswerOutcome(attempt=Attempt(attempt), confidence=confidence)
    )


@pytest.mark.parametrize(
    ("stated", "error"),
    [
        ([], None),
        ([(1.0, True)], 0.0),
        ([(1.0, False)], 1.0),
        ([(0.0, False)], 0.0),
        ([(0.75, True), (0.75, True), (0.75, True), (0.75, False)], 0.0),
        ([(0.9, True), (0.1, True)], 0.5),
        ([(0.95, True), (0.93, False)], 0.44),
    ],
)
def test_calibration_error_is_the_distance_of_confidence_from_accuracy(
    stated: list[tuple[float, bool]], error: float | None
) -> None:
    """Bin by bin, weighted by the number of answers in each."""
    assert error == calibration_error(stated)


def test_errors_cancel_only_within_a_bin() -> None:
    """50 % is the start of a bin."""
    assert 0.0 == calibration_error([(0.5, True), (0.5, False)])
    assert 0.49995 == calibration_error([(0.5, True), (0.4999, False)])


def test_f1_is_the_harmonic_mean() -> None:
    """Of 60 % correct overall, and 75 % correct among the attempted ones."""
    assert round(2 * 0.6 * 0.75 / (0.6 + 0.75), 6) == f1_of(correct=6, attempted=8, asked=10)


def test_metrics_of_questions_include_abstention_and_calibration() -> None:
    """Three rates, two that distinguish guessing from knowing, and the calibration."""
    trials = [trial("correct", 0.9), trial("correct"), trial("incorrect", 0.9), trial("not_attempted")]

    assert {
        "strict_success": 0.5,
        "correct": 0.5,
        "incorrect": 0.25,
        "not_attempted": 0.25,
        "accuracy_given_attempted": 2 / 3,
        "f1": 0.571429,
        "confidences": 2,
        "calibration_error": 0.4,
    } == metrics_of(trials).to_dict()


def test_answer_that_was_not_attempted_is_not_calibrated() -> None:
    """Being sure of not knowing gains nothing."""
    unsure, sure = trial("not_attempted", 0.0), trial("incorrect", 0.75)

    assert (0, None) == (metrics_of([unsure]).confidences, metrics_of([unsure]).calibration_error)
    assert (1, 0.75) == (metrics_of([unsure, sure]).confidences, metrics_of([unsure, sure]).calibration_error)


def test_ungraded_question_is_in_no_metric() -> None:
    """It is repeated instead."""
    errored = Trial.errored(trial("correct").planned, "not graded: the judge is ill")

    assert 1.0 == metrics_of([trial("correct"), errored]).correct


def test_answer_survives_writing_and_reading() -> None:
    for each in (trial("correct", 0.25), trial("not_attempted")):
        assert each == Trial.from_dict(each.to_dict())


@pytest.mark.parametrize("confidence", [-0.1, 1.1, float("nan")])
def test_invalid_confidence_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="not between 0 and 1"):
        trial("correct", confidence)
