"""Scores and verdicts."""

import math

import pytest

from pytest_crmeval.domain.score import Score, Verdict, verdict_of


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.001, 1.001])
def test_what_is_not_between_0_and_1_is_no_score(value: float) -> None:
    """A scorer that divides by zero is found out at once, not in a mean."""
    with pytest.raises(ValueError, match=r"score 'state' is .*, not between 0 and 1"):
        Score(name="state", value=value)


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_the_bounds_are_scores(value: float) -> None:
    """Nothing at all and everything are both in."""
    assert value == Score(name="state", value=value).value


@pytest.mark.parametrize(("value", "passed"), [(0.79, False), (0.8, True), (0.81, True)])
def test_a_score_passes_at_its_threshold(value: float, *, passed: bool) -> None:
    """Reaching it is enough."""
    assert passed is Score(name="facts", value=value, threshold=0.8).passed


def test_without_a_threshold_only_perfect_passes() -> None:
    """Almost right is wrong unless the scorer says otherwise."""
    assert not Score(name="state", value=0.999).passed
    assert Score(name="state", value=1.0).passed


def test_a_verdict_needs_every_score() -> None:
    """One score below its threshold fails the trial."""
    right, wrong = Score(name="state", value=1.0), Score(name="facts", value=0.5)

    assert Verdict.PASSED is verdict_of([right, right])
    assert Verdict.FAILED is verdict_of([right, wrong])


def test_scores_alone_never_error() -> None:
    """ERRORED is the world's doing, and no score knows about it."""
    assert Verdict.FAILED is verdict_of([Score(name="state", value=0.0)])


def test_a_score_becomes_json_primitives() -> None:
    """What is written is what was found."""
    score = Score(name="facts", value=0.5, threshold=0.8, reason="2 of 4 facts")

    assert {"name": "facts", "value": 0.5, "threshold": 0.8, "reason": "2 of 4 facts"} == score.to_dict()
