"""Bootstrap and tests of paired differences. They need scipy, and are loaded only when they are used."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from pytest_crmeval.domain.interval import Interval, Part

Side = Literal["two-sided", "less"]
"""Whether any difference is tested for, or only that the second run is worse."""
RESAMPLES = 2000
PERMUTATIONS = 9999
SEED = 20261117
"""The same trials always have the same interval."""
BATCH = 250
"""Resamples at a time, to limit the memory for thousands of cases."""
WHOLE = 720_720
"""A common multiple that makes shares of up to 16 trials whole numbers, so that sums are exact."""


def ratio_interval(parts: Sequence[Part], level: float) -> Interval:
    """Return the percentile interval of a ratio of sums, when units are drawn with replacement."""
    return _ratio_interval(tuple(parts), level)


@lru_cache(maxsize=64)  # the report and its gates need the same intervals
def _ratio_interval(parts: tuple[Part, ...], level: float) -> Interval:
    hits, sizes = zip(*parts, strict=True)
    from scipy.stats import bootstrap

    result = bootstrap(
        (hits, sizes),
        lambda hits, sizes, axis=-1: hits.sum(axis=axis) / sizes.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=BATCH,
        confidence_level=level,
        method="percentile",
        rng=SEED,
    )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def mcnemar(better: int, worse: int, side: Side = "two-sided") -> float:
    """Return the p-value of McNemar's exact test: pairs that differ are as unequally divided by chance.

    The side ``less`` tests only whether more became worse.
    """
    if not better + worse:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(better, better + worse, 0.5, alternative=side).pvalue)


def sign_permutation(differences: Sequence[float], side: Side = "two-sided") -> float:
    """Return the p-value for fractions, by a permutation of signs: a mean is as far from zero by chance.

    Exact for few differences; for differences of one size, it is McNemar's test.
    """
    found = [whole for difference in differences if (whole := float(round(difference * WHOLE)))]
    if len(found) < 2:  # noqa: PLR2004 (both signs are equally likely)
        return 1.0
    from scipy.stats import permutation_test

    result = permutation_test(
        (found,),
        lambda values, axis=-1: values.mean(axis=axis),
        permutation_type="samples",
        alternative=side,
        vectorized=True,
        n_resamples=PERMUTATIONS,
        batch=BATCH,
        rng=SEED,
    )
    return min(1.0, float(result.pvalue))
