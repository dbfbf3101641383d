"""What takes scipy: checked against published examples, and against what can be counted by hand."""

import random
from itertools import product
from math import sqrt
from operator import mul

import pytest

from pytest_crmeval.report import resampling
from pytest_crmeval.report.resampling import mcnemar, ratio_interval, sign_permutation


def test_mcnemar_is_the_one_that_was_published() -> None:
    """Airway hyper-responsiveness of 21 children before and after, 1 and 7 of whom changed: p = 0.0703.

    Fagerland, Lydersen and Laake, BMC Medical Research Methodology 13:91 (2013).
    """
    assert pytest.approx(0.0703, abs=0.00005) == mcnemar(1, 7)


@pytest.mark.parametrize(("better", "worse"), [(0, 1), (3, 3), (2, 9), (0, 6), (11, 4)])
def test_mcnemar_is_the_tail_of_coins(better: int, worse: int) -> None:
    """An independent computation: all ways in which so many coins may fall."""
    coins = better + worse
    extreme = [sum(fall) for fall in product((0, 1), repeat=coins)]
    tail = sum(abs(heads - coins / 2) >= abs(better - coins / 2) for heads in extreme)

    assert pytest.approx(tail / 2**coins) == mcnemar(better, worse)


def test_p_value_without_changes_is_1() -> None:
    assert 1.0 == mcnemar(0, 0)
    assert 1.0 == sign_permutation([0.0, 0.0])
    assert 1.0 == sign_permutation([])


@pytest.mark.parametrize(("better", "worse"), [(1, 0), (1, 7), (2, 9), (4, 4)])
def test_signs_of_differences_of_one_size_are_mcnemars(better: int, worse: int) -> None:
    """Cases that did not change say nothing."""
    differences = [1.0] * better + [-1.0] * worse + [0.0] * 20

    assert pytest.approx(mcnemar(better, worse)) == sign_permutation(differences)


def test_signs_of_fractions_are_counted() -> None:
    """An independent computation: all signs that five differences may have."""
    differences = [0.6, 0.4, 0.2, -0.2, 0.8]
    sums = [
        sum(sign * each for sign, each in zip(signs, differences, strict=True)) for signs in product((1, -1), repeat=5)
    ]
    tail = sum(total >= sum(differences) - 1e-9 for total in sums)

    assert pytest.approx(2 * tail / 2**5) == sign_permutation(differences)


@pytest.mark.parametrize("thirds", [(2, 1, -1, -2), (2, 3, -3, -2), (1, 1, 1, -3), (3, -1, -1, -1, 2, 2)])
def test_signs_of_thirds_are_counted_as_if_thirds_added_up(thirds: tuple[int, ...]) -> None:
    """An independent computation, in whole numbers: what is just as far counts, whatever binary fractions say."""
    sums = [sum(map(mul, signs, thirds)) for signs in product((1, -1), repeat=len(thirds))]
    as_far = sum(abs(each) >= abs(sum(thirds)) for each in sums)

    assert as_far / len(sums) == sign_permutation([each / 3 for each in thirds])


def test_cases_are_drawn_whole() -> None:
    """Forty cases, each five times the same: five times as many trials, and the interval of forty."""
    alike = [(5.0, 5.0)] * 24 + [(0.0, 5.0)] * 16
    low, high = ratio_interval(alike, 0.95)
    error = sqrt(0.6 * 0.4 / 40)

    assert pytest.approx((0.6 - 1.96 * error, 0.6 + 1.96 * error), abs=0.02) == (low, high)


def test_the_same_trials_have_the_same_interval() -> None:
    parts = [(n * 0.137 % 1, 1.0) for n in range(30)]
    found = ratio_interval(parts, 0.95)
    resampling._ratio_interval.cache_clear()  # noqa: SLF001 (else it would be the same one)

    assert found == ratio_interval(parts, 0.95)


def test_a_surer_interval_is_wider() -> None:
    parts = [(hits, 4.0) for hits in (1.0, 2.0, 4.0, 2.0, 3.0, 1.0)]
    (low, high), (lower, higher) = ratio_interval(parts, 0.9), ratio_interval(parts, 0.99)

    assert lower < low < 13 / 24 < high < higher


def test_an_interval_holds_the_truth_as_often_as_it_says() -> None:
    """Of 100 runs with a known rate, 60 cases and 4 trials each, about 95 intervals have it."""
    dice = random.Random(3)  # noqa: S311

    def parts() -> list[tuple[float, float]]:
        rates = [dice.choice((0.3, 0.9)) for _ in range(60)]
        return [(float(sum(dice.random() < rate for _ in range(4))), 4.0) for rate in rates]

    intervals = [ratio_interval(parts(), 0.95) for _ in range(100)]

    assert 88 <= sum(low <= 0.6 <= high for low, high in intervals)
