"""Confidence intervals, compared with published examples and with scipy."""

import random
from itertools import pairwise

import pytest
from scipy.stats import binomtest, norm

from pytest_crmeval.domain.interval import Clusters, clustered, deviations_of, wilson


@pytest.mark.parametrize(
    ("passed", "scored", "published"),
    [
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0.0000, 0.1611)),
        (1, 29, (0.0061, 0.1718)),
    ],
)
def test_intervals_are_the_published_ones(passed: int, scored: int, published: tuple[float, float]) -> None:
    """In Newcombe, Statistics in Medicine 17 (1998), table I, method 3."""
    assert pytest.approx(published, abs=0.00005) == wilson(passed, scored)


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize(("passed", "scored"), [(0, 7), (3, 7), (7, 7), (130, 200), (2159, 3600)])
def test_intervals_are_those_of_scipy(passed: int, scored: int, level: float) -> None:
    """Scipy has Wilson's interval, but takes a second and a half to load."""
    theirs = binomtest(passed, scored).proportion_ci(level, method="wilson")

    assert pytest.approx((theirs.low, theirs.high)) == wilson(passed, scored, level)


def test_interval_of_failures_mirrors_that_of_passes() -> None:
    """20 of 20 corresponds to 0 of 20."""
    none, every = wilson(0, 20), wilson(20, 20)
    assert none
    assert every

    assert pytest.approx((1 - none[1], 1 - none[0])) == every


def test_quantiles_are_those_of_the_normal_distribution() -> None:
    levels = (0.5, 0.9, 0.95, 0.99)

    assert pytest.approx([norm.ppf((1 + level) / 2) for level in levels]) == list(map(deviations_of, levels))


def test_independent_cases_all_count() -> None:
    parts = [(1.0, 1.0)] * 7 + [(0.0, 1.0)] * 3

    assert 10 == Clusters.of(parts).effective
    assert wilson(7, 10) == clustered(parts)


def test_turns_that_fail_together_count_once() -> None:
    """Ten cases of ten turns each, all correct or all wrong, are ten observations (nine: a mean was estimated)."""
    parts = [(10.0, 10.0)] * 5 + [(0.0, 10.0)] * 5

    assert pytest.approx(9) == Clusters.of(parts).effective


def test_turns_that_fail_independently_all_count() -> None:
    """But never more than there are: equal cases do not make one observation count twice."""
    parts = [(4.0, 10.0), (5.0, 10.0), (6.0, 10.0)] * 20

    assert 600 == Clusters.of(parts).effective


@pytest.mark.parametrize("parts", [[(3.0, 3.0), (5.0, 5.0)], [(0.0, 4.0)], [(2.0, 4.0)], [(2.0, 4.0), (3.0, 6.0)]])
def test_units_count_if_nothing_varies(parts: list[tuple[float, float]]) -> None:
    assert Clusters.of(parts).equal_units == Clusters.of(parts).effective


def test_units_count_by_their_size() -> None:
    """Three equal ones are three; one of forty cases and eight of one are 48² / (40² + 8) of equal size."""
    assert 3 == Clusters.of([(0.0, 7.0)] * 3).equal_units
    assert pytest.approx(2304 / 1608) == Clusters.of([(40.0, 40.0), *[(0.0, 1.0)] * 8]).equal_units


@pytest.mark.parametrize("sizes", [[40, *[1] * 8], [*[20] * 3, *[2] * 20], [30, *[3] * 30], [5] * 12])
def test_intervals_of_unequal_units_cover_the_true_rate_as_often_as_stated(sizes: list[int]) -> None:
    """Checked independently by 400 runs of chains, long and short, that pass or fail as a whole."""
    dice = random.Random(1)  # noqa: S311

    def is_held() -> bool:
        found = clustered([(size * (dice.random() < 0.7), size) for size in sizes])
        return found is not None and found[0] <= 0.7 <= found[1]

    assert sum(is_held() for _ in range(400)) >= 0.93 * 400


@pytest.mark.parametrize("sizes", [[20] * 50, [5] * 100, [1, 1, 1, 1, 10] * 20])
def test_one_more_miss_changes_the_interval_only_slightly(sizes: list[int]) -> None:
    """Misses are added one by one in random units: the width never jumps."""
    dice = random.Random(5)  # noqa: S311
    places = [unit for unit, size in enumerate(sizes) for _ in range(size)]
    dice.shuffle(places)
    misses = [0] * len(sizes)
    widths = []
    for unit in places[: len(places) // 2]:
        misses[unit] += 1
        low, high = clustered([(size - missed, size) for size, missed in zip(sizes, misses, strict=True)]) or (0, 0)
        widths.append(high - low)

    assert all(0.5 < after / before < 1.5 for before, after in pairwise(widths))
