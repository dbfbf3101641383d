"""How far a figure can be believed: checked against published examples, and against scipy."""

import random
from itertools import combinations, pairwise
from math import inf, sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm, quantile_test

from pytest_crmeval.domain.file_outcome import pass_at
from pytest_crmeval.domain.interval import Clusters, clustered, deviations_of, wilson
from pytest_crmeval.report.figures import pass_all
from pytest_crmeval.report.sample_size import settling
from pytest_crmeval.report.spreads import percentile, percentile_interval, spread, variance_of
from tests.hypothesis_settings import DETERMINISTIC


@pytest.mark.parametrize(
    ("passed", "scored", "published"),
    [
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0.0000, 0.1611)),
        (1, 29, (0.0061, 0.1718)),
    ],
)
def test_intervals_are_those_that_were_published(passed: int, scored: int, published: tuple[float, float]) -> None:
    """In Newcombe, Statistics in Medicine 17 (1998), table I, method 3."""
    assert pytest.approx(published, abs=0.00005) == wilson(passed, scored)


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize(("passed", "scored"), [(0, 7), (3, 7), (7, 7), (130, 200), (2159, 3600)])
def test_intervals_are_those_of_scipy(passed: int, scored: int, level: float) -> None:
    """Which has Wilson's, too, and takes a second and a half to be loaded."""
    theirs = binomtest(passed, scored).proportion_ci(level, method="wilson")

    assert pytest.approx((theirs.low, theirs.high)) == wilson(passed, scored, level)


def test_what_fails_is_the_mirror_of_what_passes() -> None:
    """20 of 20 is 0 of 20, seen from the other end."""
    none, every = wilson(0, 20), wilson(20, 20)
    assert none
    assert every

    assert pytest.approx((1 - none[1], 1 - none[0])) == every


def test_nothing_scored_has_no_interval() -> None:
    """It is not the interval of zero."""
    assert wilson(0, 0) is None
    assert clustered([]) is None
    assert spread([]) is None


def test_deviations_are_those_of_the_normal_distribution() -> None:
    """Also at the level that is known by heart."""
    levels = (0.5, 0.9, 0.95, 0.99)

    assert pytest.approx([norm.ppf((1 + level) / 2) for level in levels]) == list(map(deviations_of, levels))


def test_cases_that_are_tried_once_are_as_many_as_they_are() -> None:
    """Then the interval is Wilson's own."""
    parts = [(1.0, 1.0)] * 7 + [(0.0, 1.0)] * 3

    assert 10 == Clusters.of(parts).effective
    assert wilson(7, 10) == clustered(parts)


def test_turns_that_go_wrong_together_count_once() -> None:
    """Ten cases of ten turns each, all right or all wrong, are ten observations (nine: a mean was estimated)."""
    parts = [(10.0, 10.0)] * 5 + [(0.0, 10.0)] * 5

    assert pytest.approx(9) == Clusters.of(parts).effective


def test_turns_that_go_wrong_for_themselves_count_each() -> None:
    """Never more than there are: cases that are all alike do not make an observation two."""
    parts = [(4.0, 10.0), (5.0, 10.0), (6.0, 10.0)] * 20

    assert 600 == Clusters.of(parts).effective


@pytest.mark.parametrize("parts", [[(3.0, 3.0), (5.0, 5.0)], [(0.0, 4.0)], [(2.0, 4.0)], [(2.0, 4.0), (3.0, 6.0)]])
def test_where_nothing_differs_units_count(parts: list[tuple[float, float]]) -> None:
    """Perfect, hopeless, alone or all alike: nobody knows how turns depend on each other."""
    assert Clusters.of(parts).equal_units == Clusters.of(parts).effective


def test_units_count_by_their_size() -> None:
    """Three alike are three; one of forty cases and eight of one are 48² / (40² + 8) of one size."""
    assert 3 == Clusters.of([(0.0, 7.0)] * 3).equal_units
    assert pytest.approx(2304 / 1608) == Clusters.of([(40.0, 40.0), *[(0.0, 1.0)] * 8]).equal_units


@pytest.mark.parametrize("sizes", [[40, *[1] * 8], [*[20] * 3, *[2] * 20], [30, *[3] * 30], [5] * 12])
def test_intervals_of_unequal_units_hold_the_truth_as_often_as_they_say(sizes: list[int]) -> None:
    """An independent computation: 400 runs of chains that pass or fail as a whole, long and short ones."""
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


@DETERMINISTIC
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 6)), min_size=2, max_size=40))
def test_variance_from_sums_equals_the_variance_of_the_units(drawn: list[tuple[int, int]]) -> None:
    """This holds after any additions and removals."""
    parts = [(min(hits, size), size) for hits, size in drawn]
    sums = Clusters.of(parts)
    sums.add((1, 3))
    sums.add((1, 3), -1)

    assert Clusters.of(parts) == sums
    assert pytest.approx(variance_of(parts), abs=1e-12) == sums.variance


def test_the_variance_of_a_ratio_is_the_one_that_resampling_shows() -> None:
    """An independent computation: the spread of ratios of 4,000 samples of such cases."""
    dice = random.Random(7)  # noqa: S311 (no secret)

    def sample() -> list[tuple[float, float]]:
        cases = [(dice.choice((0.2, 0.9)), dice.randint(1, 8)) for _ in range(80)]
        return [(sum(dice.random() < rate for _ in range(turns)), turns) for rate, turns in cases]

    samples = [sample() for _ in range(4000)]
    ratios = [sum(hits for hits, _ in parts) / sum(size for _, size in parts) for parts in samples]
    mean = sum(ratios) / len(ratios)
    shown = sum((ratio - mean) ** 2 for ratio in ratios) / len(ratios)
    told = sum(map(variance_of, samples)) / len(samples)

    assert pytest.approx(shown, rel=0.08) == told


def test_a_mean_has_the_usual_interval() -> None:
    """1, 2, 3, 4: the mean is 2.5, its standard error the root of 5/3 by 4."""
    half = 1.959964 * sqrt(5 / 3 / 4)

    assert pytest.approx((2.5 - half, 2.5 + half), abs=1e-6) == spread([(float(n), 1.0) for n in (1, 2, 3, 4)])
    assert spread([(1.0, 1.0)]) is None


@pytest.mark.parametrize("share", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("count", [5, 36, 90, 400, 1200, 20_000])
def test_percentiles_lie_where_scipy_says(share: float, count: int) -> None:
    """Between order statistics, by the binomial distribution; where scipy has no bound, there is no interval."""
    dice = random.Random(count)  # noqa: S311
    values = sorted(dice.lognormvariate(0, 1) for _ in range(count))
    theirs: Any = quantile_test(values, p=share).confidence_interval(0.95)
    known = theirs.low == theirs.low and theirs.high == theirs.high

    assert (pytest.approx((theirs.low, theirs.high)) if known else None) == percentile_interval(values, share)


def test_percentiles_are_between_two_values_in_proportion() -> None:
    """As spreadsheets have them."""
    values = [1.0, 2.0, 4.0, 8.0]

    assert [1.0, 3.0, 8.0] == [percentile(values, share) for share in (0.0, 0.5, 1.0)]
    assert pytest.approx(4 + 4 * 0.7) == percentile(values, 0.9)


def test_repeats_do_not_narrow_a_percentile() -> None:
    """Forty cases, each ten times the same, know as much as forty."""
    once = [float(n) for n in range(40)]
    often = sorted(once * 10)

    assert percentile_interval(once, 0.5) == percentile_interval(often, 0.5, units=40)


@DETERMINISTIC
@given(st.integers(1, 400), st.data())
def test_so_many_observations_settle_a_rate(scored: int, data: st.DataObject) -> None:
    """Just beyond the number the interval is without the bound, just below it is not."""
    passed, bound = data.draw(st.integers(0, scored)), data.draw(st.floats(0.01, 0.99))
    rate = passed / scored
    needed = settling(rate, bound)
    if needed == inf or needed > 1e9:
        return
    beyond, short = wilson(rate * needed * 1.001, needed * 1.001), wilson(rate * needed * 0.999, needed * 0.999)
    assert beyond
    assert short

    assert not beyond[0] <= bound <= beyond[1]
    assert short[0] <= bound <= short[1]


def test_a_rate_at_the_bound_is_never_settled() -> None:
    """However many cases there are."""
    assert inf == settling(0.6, 0.6)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("passed", [0, 1, 3, 5])
def test_pass_at_k_is_what_drawing_k_of_the_trials_shows(passed: int, k: int) -> None:
    """An independent computation: all ways to take k of five trials."""
    drawn = list(combinations([True] * passed + [False] * (5 - passed), k))

    assert pytest.approx(sum(map(any, drawn)) / len(drawn)) == pass_at(5, passed, k)
    assert pytest.approx(sum(map(all, drawn)) / len(drawn)) == pass_all(5, passed, k)


def test_one_of_one_is_a_pass_rate() -> None:
    """Both of them, for k = 1."""
    assert 0.3 == pass_all(10, 3, 1)
    assert pytest.approx(0.3) == pass_at(10, 3, 1)
