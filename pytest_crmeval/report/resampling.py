"""What takes scipy: cases drawn again and again, and tests of paired differences. Loaded only where it is wanted."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

from pytest_crmeval.domain.interval import Interval, Part

Side = Literal["two-sided", "less"]
"""Whether any difference is tested for, or only that the second run is worse."""
RESAMPLES = 2000
PERMUTATIONS = 9999
SEED = 20261117
"""The same trials have the same interval, whoever computes it."""
BATCH = 250
"""Resamples at a time: a run of thousands of cases fits into little memory."""
WHOLE = 720_720
"""What all shares of up to 16 trials are whole numbers of: thirds do not add up to one in binary, and this is exact."""


def ratio_interval(parts: Sequence[Part], level: float) -> Interval:
    """Return the percentile interval of a ratio of sums, when units are drawn with replacement."""
    return _ratio_interval(tuple(parts), level)


@lru_cache(maxsize=64)  # the report and its gates ask the same
def _ratio_interval(parts: tuple[Part, ...], level: float) -> Interval:
    hits, sizes = zip(*parts, strict=True)
    return _bootstrap((hits, sizes), _ratio, level)


def mcnemar(better: int, worse: int, side: Side = "two-sided") -> float:
    """Return how likely it is by chance that pairs that differ are so unequally divided, or more: exact.

    The side ``less`` asks only for so many or more that became worse.
    """
    if not better + worse:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(better, better + worse, 0.5, alternative=side).pvalue)


def sign_permutation(differences: Sequence[float], side: Side = "two-sided") -> float:
    """Return the same where repeats make fractions: how likely a mean as far from zero is, were signs by chance.

    Exact where there are few differences; for differences of one size, it is McNemar's.
    """
    found = [whole for difference in differences if (whole := float(round(difference * WHOLE)))]
    if len(found) < 2:  # noqa: PLR2004 (a single sign is as likely as the other)
        return 1.0
    from scipy.stats import permutation_test

    result = permutation_test(
        (found,),
        _mean,
        permutation_type="samples",
        alternative=side,
        vectorized=True,
        n_resamples=PERMUTATIONS,
        batch=BATCH,
        rng=SEED,
    )
    return min(1.0, float(result.pvalue))


def _bootstrap(data: Any, statistic: Any, level: float) -> Interval:  # noqa: ANN401 (as scipy takes them)
    from scipy.stats import bootstrap

    result = bootstrap(
        data,
        statistic,
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=BATCH,
        confidence_level=level,
        method="percentile",
        rng=SEED,
    )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def _ratio(hits: Any, sizes: Any, axis: int = -1) -> Any:  # noqa: ANN401 (arrays)
    return hits.sum(axis=axis) / sizes.sum(axis=axis)


def _mean(values: Any, axis: int = -1) -> Any:  # noqa: ANN401 (arrays)
    return values.mean(axis=axis)
