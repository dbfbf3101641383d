"""pass@k is estimated without bias."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_crmeval.domain.file_outcome import mean_pass, pass_at


@given(solved=st.integers(0, 7), wrong=st.integers(0, 7), data=st.data())
def test_pass_at_k_is_the_share_of_all_draws_with_a_solution(solved: int, wrong: int, data: st.DataObject) -> None:
    """Counted by brute force: all sets of k samples."""
    samples = [True] * solved + [False] * (wrong + 1)
    k = data.draw(st.integers(1, len(samples)))
    draws = [any(draw) for draw in combinations(samples, k)]

    assert pytest.approx(sum(draws) / len(draws)) == pass_at(len(samples), solved, k)


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
def test_pass_at_k_has_the_published_values(samples: int, solved: int, k: int, expected: float) -> None:
    assert pytest.approx(expected) == pass_at(samples, solved, k)


def test_pass_at_k_is_averaged_over_problems() -> None:
    assert 0.5 == mean_pass(((1, 1, 1), (2, 1, 1), (10, 0, 1)), 1)


def test_problems_with_too_few_samples_are_neither_solved_nor_failed() -> None:
    """They say nothing about k."""
    assert 1.0 == mean_pass(((1, 1, 1), (2, 1, 1)), 2)
    assert mean_pass(((1, 1, 1), (2, 1, 1)), 3) is None
    assert mean_pass((), 1) is None
