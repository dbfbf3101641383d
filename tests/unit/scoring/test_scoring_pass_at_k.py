"""pass@k is estimated without bias."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_crmeval.scoring.pass_at_k import Estimate, Tally, estimate, pass_at_k


@given(solved=st.integers(0, 7), wrong=st.integers(0, 7), data=st.data())
def test_it_is_the_share_of_all_draws_in_which_one_solves(solved: int, wrong: int, data: st.DataObject) -> None:
    """Counted by hand: every k of the samples, as if they alone had been drawn."""
    samples = [True] * solved + [False] * (wrong + 1)
    k = data.draw(st.integers(1, len(samples)))
    draws = [any(draw) for draw in combinations(samples, k)]

    assert pytest.approx(sum(draws) / len(draws)) == pass_at_k(len(samples), solved, k)


@pytest.mark.parametrize(
    ("samples", "solved", "k", "expected"),
    [
        (200, 0, 100, 0.0),
        (200, 200, 1, 1.0),
        (200, 1, 1, 0.005),
        (200, 1, 100, 0.5),
        (10, 3, 1, 0.3),
        (10, 3, 8, 1.0),
        (5, 2, 2, 0.7),
        (1, 1, 1, 1.0),
        (10_000, 5_000, 5_001, 1.0),
    ],
)
def test_known_values(samples: int, solved: int, k: int, expected: float) -> None:
    """Also of samples by the thousand, where factorials overflow."""
    assert pytest.approx(expected) == pass_at_k(samples, solved, k)


@pytest.mark.parametrize(("samples", "solved", "k"), [(0, 0, 1), (3, 1, 4), (3, 4, 1), (3, 1, 0), (3, -1, 1)])
def test_nothing_is_made_up(samples: int, solved: int, k: int) -> None:
    """Fewer samples than k say nothing about k."""
    with pytest.raises(ValueError, match=f"pass@{k} can't be told from {solved} of {samples} samples"):
        pass_at_k(samples, solved, k)


def test_the_mean_is_over_problems() -> None:
    """Each counts once, however many samples it has."""
    tallies = [Tally(samples=2, solved=1), Tally(samples=10, solved=0), Tally(samples=1, solved=1)]

    assert Estimate(value=0.5, problems=3, short=0) == estimate(tallies, 1)


def test_problems_with_too_few_samples_are_told_apart() -> None:
    """They are neither solved nor failed."""
    tallies = [Tally(samples=2, solved=1), Tally(samples=1, solved=1)]

    assert Estimate(value=1.0, problems=1, short=1) == estimate(tallies, 2)
    assert estimate(tallies, 3) is None
    assert estimate([], 1) is None
