"""Faults in the reasons of scores."""

import pytest

from pytest_crmeval.domain.explanation import Fault, faults_of
from pytest_crmeval.domain.score import Score


def failed(reason: str, name: str = "state") -> Score:
    """Return a failed score."""
    return Score(name=name, value=0.25, threshold=1.0, reason=reason)


def test_each_line_is_a_fault_of_its_turn() -> None:
    """A line without a turn belongs to the whole trial."""
    scores = [failed("turn 2: not made: look()\nturn 11: too much", "calls"), failed("clients: missing: name='A'")]

    assert [
        Fault(score="calls", text="not made: look()", turn=2),
        Fault(score="calls", text="too much", turn=11),
        Fault(score="state", text="clients: missing: name='A'"),
    ] == list(faults_of(scores))


def test_passed_score_has_no_faults() -> None:
    assert [] == list(faults_of([Score(name="state", value=1.0, reason="turn 1: fine")]))


def test_score_without_a_reason_has_a_fault_with_value_and_threshold() -> None:
    """A failed score always has a fault."""
    assert [Fault(score="state", text="0.250, below 1.000")] == list(faults_of([failed("")]))


@pytest.mark.parametrize(
    ("text", "difference"),
    [
        ("contacts Ada: name expected 'A', actual 'B'", ("contacts Ada: name", "'A'", "'B'")),
        ("clients: missing: note='expected 1, actual 2'", None),
        ("clients: unexpected: note='x expected 1, actual 2'", None),
        ("it said nothing", None),
    ],
)
def test_difference_is_split_into_expected_and_actual(text: str, difference: tuple[str, str, str] | None) -> None:
    """A missing row is not a difference, whatever words are in it."""
    assert difference == Fault(score="state", text=text).difference


@pytest.mark.parametrize(
    ("text", "lacks"), [("clients: missing: name='A'", True), ("notes 1: was deleted", True), ("unexpected: x", False)]
)
def test_missing_rows_are_recognised(text: str, lacks: bool) -> None:  # noqa: FBT001 (a parameter)
    """Rows that are missing, and rows that were deleted."""
    assert lacks is Fault(score="state", text=text).is_lack
