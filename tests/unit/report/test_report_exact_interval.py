"""Exact confidence intervals: checked against scipy, and by enumerating all outcomes."""

import subprocess
import sys
from math import comb, inf

import pytest
from scipy.stats import binomtest

from pytest_crmeval.domain.interval import Clusters
from pytest_crmeval.report.exact_interval import clopper_pearson, exact_clustered, size_with


@pytest.mark.parametrize("level", [0.8, 0.9, 0.98])
@pytest.mark.parametrize(("passed", "scored"), [(0, 1), (1, 1), (0, 7), (3, 7), (7, 7), (130, 200), (3599, 3600)])
def test_intervals_are_those_of_scipy(passed: int, scored: int, level: float) -> None:
    theirs = binomtest(passed, scored).proportion_ci(level, method="exact")

    assert pytest.approx((theirs.low, theirs.high)) == clopper_pearson(passed, scored, level)


def test_without_observations_there_is_no_interval() -> None:
    """It is not the interval of zero."""
    assert clopper_pearson(0, 0, 0.9) is None
    assert exact_clustered([], 0.9) is None


@pytest.mark.parametrize("share", [0.5, 0.75, 0.9, 0.97, 0.99, 0.999])
@pytest.mark.parametrize("count", [1, 20, 50, 200])
def test_each_end_misses_the_true_rate_at_most_as_often_as_stated(count: int, share: float) -> None:
    """All outcomes, by their probability: each end of a 90 % interval misses in at most 5 %."""
    chances = [comb(count, n) * share**n * (1 - share) ** (count - n) for n in range(count + 1)]
    ends = [clopper_pearson(n, count, 0.9) or (1.0, 0.0) for n in range(count + 1)]

    assert sum(chance for chance, (low, _) in zip(chances, ends, strict=True) if low > share) <= 0.05
    assert sum(chance for chance, (_, high) in zip(chances, ends, strict=True) if high < share) <= 0.05


def test_independent_cases_all_count() -> None:
    assert clopper_pearson(7, 10, 0.9) == exact_clustered([(1.0, 1.0)] * 7 + [(0.0, 1.0)] * 3, 0.9)


def test_few_units_give_a_wider_bound() -> None:
    """Twelve cases, each three times the same: eleven observations (a mean was estimated), or by Student fewer."""
    alike = [(3.0, 3.0)] * 8 + [(0.0, 3.0)] * 4
    found, eleven = exact_clustered(alike, 0.9), clopper_pearson(11 * 2 / 3, 11, 0.9)
    assert found
    assert eleven

    size = 11 * (1.68957 / 1.79588) ** 2  # Student's t at 95 %, of 35 and of 11 degrees of freedom, from a table
    assert pytest.approx(clopper_pearson(size * 2 / 3, size, 0.9), abs=1e-4) == found
    assert found[0] < eleven[0]


@pytest.mark.parametrize("parts", [[(3.0, 3.0), (5.0, 5.0)], [(0.0, 4.0)], [(99.0, 99.0), (0.0, 1.0)]])
def test_units_that_hardly_differ_count_once_each(parts: list[tuple[float, float]]) -> None:
    """All correct, a single unit, or one large and one small unit: by their size."""
    share, units = sum(hits for hits, _ in parts) / sum(size for _, size in parts), Clusters.of(parts).equal_units

    assert clopper_pearson(share * units, units, 0.9) == exact_clustered(parts, 0.9)


@pytest.mark.parametrize(("share", "end"), [(0.66, 0.6), (1.0, 0.99), (0.3, 0.35), (0.0, 0.05)])
def test_number_of_observations_gives_an_interval_that_ends_at_the_bound(share: float, end: float) -> None:
    size = size_with(share, end, 0.9)
    found = clopper_pearson(share * size, size, 0.9)
    assert found

    assert pytest.approx(end) == found[end > share]


def test_bound_almost_equal_to_the_rate_needs_an_absurd_number_of_cases() -> None:
    assert inf == size_with(0.6, 0.6 - 1e-7, 0.9)


def test_gate_without_confidence_does_not_load_the_module() -> None:
    code = (
        "import sys, pytest_crmeval.report.gating; print([name for name in ('scipy', 'numpy') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert "[]\n" == shown.stdout
