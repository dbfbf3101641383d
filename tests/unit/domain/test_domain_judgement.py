"""What a judge thinks of a trial."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_crmeval.domain.judgement import Grade, Judgement, decided
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.usage import Bill, Usage

GOOD, POOR = Grade(goal=1.0, process=1.0, reason="well done"), Grade(goal=0.4, process=1.0, reason="invented a price")
UNKNOWN = Judgement(trouble="timeout: no answer")


def judgement(*goals: float) -> Judgement:
    """Return opinions that differ in the goal."""
    return Judgement(grades=tuple(Grade(goal=goal, process=goal, reason=f"{goal}") for goal in goals))


@pytest.mark.parametrize(
    ("goal", "process", "value"),
    [(1.0, 1.0, 1.0), (1.0, 0.0, 0.7), (0.0, 1.0, 0.3), (0.8, 0.8, 0.8), (0.4, 1.0, 0.58), (0.72, 1.0, 0.804)],
)
def test_the_goal_weighs_70_and_the_process_30(goal: float, process: float, value: float) -> None:
    """So that a goal that is capped at 0.4 never passes."""
    assert value == Grade(goal=goal, process=process).value


@pytest.mark.parametrize("mark", [-0.01, 1.01, float("nan"), float("inf")])
def test_what_is_no_mark_is_refused(mark: float) -> None:
    """For goal and process alike."""
    with pytest.raises(ValueError, match="not between 0 and 1"):
        Grade(goal=mark, process=1.0)
    with pytest.raises(ValueError, match="not between 0 and 1"):
        Grade(goal=1.0, process=mark)


@pytest.mark.parametrize(
    ("goals", "passed"),
    [
        ([0.8], True),
        ([0.79], False),
        ([1.0, 1.0, 0.0], True),
        ([1.0, 0.0, 0.0], False),
        ([0.0, 1.0, 0.0, 1.0, 1.0], True),
        ([1.0, 0.0], False),
        ([1.0, 1.0, 0.0, 0.0], False),
        ([1.0, 1.0, 1.0, 0.0], True),
    ],
)
def test_the_majority_decides(goals: Sequence[float], passed: bool) -> None:  # noqa: FBT001 (expected)
    """More than half of the opinions reach 0.8; a draw does not pass."""
    score = judgement(*goals).score

    assert score is not None
    assert (passed, 0.8) == (score.passed, score.threshold)


def test_the_reason_is_that_of_the_opinion_that_decides() -> None:
    """The one in the middle."""
    score = judgement(0.9, 0.1, 0.5).score

    assert score is not None
    assert ("judge", 0.5, "0.5") == (score.name, score.value, score.reason)


def test_the_spread_is_from_the_lowest_to_the_highest() -> None:
    """Zero if there is one opinion, or none."""
    assert [0.8, 0.0, 0.0] == [judgement(0.9, 0.1, 0.5).spread, judgement(0.9).spread, UNKNOWN.spread]


@pytest.mark.parametrize("grades", [(), (GOOD,), (GOOD, GOOD)])
def test_who_has_trouble_has_not_graded(grades: Sequence[Grade]) -> None:
    """Whatever was found before: the rest might have been of another opinion."""
    assert Judgement(grades=tuple(grades), trouble="timeout").score is None


@pytest.mark.parametrize("verdict", Verdict)
def test_without_a_judge_the_scorers_decide(verdict: Verdict) -> None:
    """All of them."""
    assert verdict == decided(verdict, None)


@pytest.mark.parametrize("heard", [Judgement(grades=(GOOD,)), Judgement(grades=(POOR,)), UNKNOWN])
@pytest.mark.parametrize("verdict", [Verdict.PASSED, Verdict.ERRORED, Verdict.INVALID])
def test_only_who_failed_needs_a_judge(verdict: Verdict, heard: Judgement) -> None:
    """Who passed has passed, whatever the judge thinks; and no opinion mends a world that broke."""
    assert verdict == decided(verdict, heard)


@pytest.mark.parametrize(
    ("heard", "verdict"),
    [
        (Judgement(grades=(GOOD,)), Verdict.PASSED),
        (Judgement(grades=(POOR,)), Verdict.FAILED),
        (UNKNOWN, Verdict.ERRORED),
        (Judgement(grades=(GOOD, GOOD), trouble="timeout"), Verdict.ERRORED),
    ],
)
def test_who_failed_is_heard_by_the_judge(heard: Judgement, verdict: Verdict) -> None:
    """Cleared, or not; if there is no grade nobody knows, and the trial is repeated."""
    assert verdict == decided(Verdict.FAILED, heard)


@pytest.mark.parametrize(
    "said",
    [
        Judgement(),
        UNKNOWN,
        Judgement(grades=(GOOD, POOR), cached=True),
        Judgement(grades=(GOOD,), trouble="timeout", notes=("a file could not be read",)),
        Judgement(grades=(GOOD,), bill=Bill(usage=Usage(input=5, calls=1), cost=None)),
    ],
)
def test_a_judgement_survives_a_wire(said: Judgement) -> None:
    """Whole."""
    assert said == Judgement.from_dict(json.loads(json.dumps(said.to_dict())))


@pytest.mark.parametrize(
    "change",
    [{"grades": 7}, {"grades": [{}]}, {"grades": [{"goal": "1", "process": 1, "reason": ""}]}, {"bill": {"cost": "x"}}],
)
def test_junk_is_no_judgement(change: dict[str, Any]) -> None:
    """It is refused in a way that readers of journals expect."""
    with pytest.raises((KeyError, TypeError, ValueError)):
        Judgement.from_dict({**Judgement(grades=(GOOD,)).to_dict(), **change})
