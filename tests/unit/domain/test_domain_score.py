"""Scores and verdicts."""

import math

import pytest

from pytest_crmeval.domain.score import Score, Verdict, verdict_of


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.001, 1.001])
def test_value_must_be_between_0_and_1(value: float) -> None:
    """A scorer that divides by zero is detected at once, not in a mean."""
    with pytest.raises(ValueError, match=r"score 'state' is .*, not between 0 and 1"):
        Score(name="state", value=value)


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_bounds_are_valid_scores(value: float) -> None:
    assert value == Score(name="state", value=value).value


@pytest.mark.parametrize(("value", "passed"), [(0.79, False), (0.8, True), (0.81, True)])
def test_score_passes_at_its_threshold(value: float, *, passed: bool) -> None:
    assert passed is Score(name="facts", value=value, threshold=0.8).passed


def test_without_a_threshold_only_1_passes() -> None:
    assert not Score(name="state", value=0.999).passed
    assert Score(name="state", value=1.0).passed


def test_verdict_needs_every_score() -> None:
    """One score below its threshold fails the trial."""
    right, wrong = Score(name="state", value=1.0), Score(name="facts", value=0.5)

    assert Verdict.PASSED is verdict_of([right, right])
    assert Verdict.FAILED is verdict_of([right, wrong])


def test_scores_alone_never_error() -> None:
    """Only infrastructure failures are ERRORED."""
    assert Verdict.FAILED is verdict_of([Score(name="state", value=0.0)])


def test_score_survives_json() -> None:
    score = Score(name="facts", value=0.5, threshold=0.8, reason="2 of 4 facts")

    assert {"name": "facts", "value": 0.5, "threshold": 0.8, "reason": "2 of 4 facts"} == score.to_dict()
