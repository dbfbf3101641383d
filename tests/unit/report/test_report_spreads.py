"""Intervals of ratios and percentiles, pass@k, and sample sizes: compared with scipy and by resampling."""

import random
from itertools import combinations
from math import inf, sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import quantile_test

from pytest_crmeval.domain.file_outcome import pass_at
from pytest_crmeval.domain.interval import Clusters, clustered, wilson
from pytest_crmeval.report.figures import pass_all
from pytest_crmeval.report.sample_size import observations_needed
from pytest_crmeval.report.spreads import percentile, percentile_interval, spread, variance_of
from tests.hypothesis_settings import DETERMINISTIC


def test_nothing_scored_has_no_interval() -> None:
    """It is not the interval of zero."""
    assert wilson(0, 0) is None
    assert clustered([]) is None
    assert spread([]) is None


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
    output = sum(map(variance_of, samples)) / len(samples)

    assert pytest.approx(shown, rel=0.08) == output


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
def test_computed_number_of_observations_excludes_the_bound(scored: int, data: st.DataObject) -> None:
    """Just beyond the number the interval is without the bound, just below it is not."""
    passed, bound = data.draw(st.integers(0, scored)), data.draw(st.floats(0.01, 0.99))
    rate = passed / scored
    needed = observations_needed(rate, bound)
    if needed == inf or needed > 1e9:
        return
    beyond, short = wilson(rate * needed * 1.001, needed * 1.001), wilson(rate * needed * 0.999, needed * 0.999)
    assert beyond
    assert short

    assert not beyond[0] <= bound <= beyond[1]
    assert short[0] <= bound <= short[1]


def test_a_rate_at_the_bound_is_never_settled() -> None:
    assert inf == observations_needed(0.6, 0.6)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("passed", [0, 1, 3, 5])
def test_pass_at_k_is_what_drawing_k_of_the_trials_shows(passed: int, k: int) -> None:
    """An independent computation: all ways to take k of five trials."""
    drawn = list(combinations([True] * passed + [False] * (5 - passed), k))

    assert pytest.approx(sum(map(any, drawn)) / len(drawn)) == pass_at(5, passed, k)
    assert pytest.approx(sum(map(all, drawn)) / len(drawn)) == pass_all(5, passed, k)


def test_one_of_one_is_a_pass_rate() -> None:
    assert 0.3 == pass_all(10, 3, 1)
    assert pytest.approx(0.3) == pass_at(10, 3, 1)
