"""Intervals of ratios without bounds, and of percentiles."""

from collections.abc import Sequence
from math import ceil, exp, floor, lgamma, log, log1p, sqrt

from pytest_crmeval.domain.interval import LEVEL, Interval, Part, deviations_of

_FAR = 10
"""Standard deviations beyond which a binomial probability is too small to change a sum."""


def spread(parts: Sequence[Part], level: float = LEVEL) -> Interval | None:
    """Return the normal interval of an unbounded ratio, such as dollars per trial; None for fewer than two units."""
    parts = [part for part in parts if part[1]]
    if len(parts) < 2:  # noqa: PLR2004 (one unit says nothing about others)
        return None
    half = deviations_of(level) * sqrt(variance_of(parts))
    return ratio(parts) - half, ratio(parts) + half


def ratio(parts: Sequence[Part]) -> float:
    """Return the sum of all hits divided by the sum of all sizes."""
    return sum(hits for hits, _ in parts) / sum(size for _, size in parts)


def variance_of(parts: Sequence[Part]) -> float:
    """Return the variance of a ratio of sums over independent units, linearised; 0 if there is only one of them."""
    if len(parts) < 2:  # noqa: PLR2004
        return 0.0
    share, whole, count = ratio(parts), sum(size for _, size in parts), len(parts)
    return count / (count - 1) * sum((hits - share * size) ** 2 for hits, size in parts) / whole**2


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return the value below which a share of the sorted values lies, between two of them in proportion."""
    place = (len(ordered) - 1) * share
    below, above = ordered[floor(place)], ordered[ceil(place)]
    return below + (above - below) * (place - floor(place))


def percentile_interval(
    ordered: Sequence[float], share: float, level: float = LEVEL, units: int | None = None
) -> Interval | None:
    """Return an interval of a percentile, for any distribution of the sorted values; None if there are too few.

    The ranks are those of as many values as there are independent ``units``.
    """
    count = units or len(ordered)
    tail, below, low, high = (1 - level) / 2, 0.0, 0, 0
    first = max(0, floor(count * share - _FAR * sqrt(count * share * (1 - share))))
    for rank in range(
        first, count + 1
    ):  # ``below``: probability that fewer than ``rank`` values are below the percentile
        low = rank if below <= tail else low
        if below >= 1 - tail:
            high = rank
            break
        ways = lgamma(count + 1) - lgamma(rank + 1) - lgamma(count - rank + 1)
        below += exp(ways + rank * log(share) + (count - rank) * log1p(-share))
    if not (low and high):
        return None
    scale = len(ordered) / count
    return ordered[max(0, floor(low * scale) - 1)], ordered[min(len(ordered), ceil(high * scale)) - 1]
