"""How far a figure can be believed, in plain arithmetic: no library that takes a second to load at the end of a run."""

from collections.abc import Sequence
from functools import cache
from math import ceil, comb, exp, floor, inf, lgamma, log, log1p, sqrt

NORMAL = 1.959963984540054
"""95 % of a normal distribution are within so many standard deviations."""
LEVEL = 0.95
FEW = 3
"""Fewer units' worth of hits, or of misses, say little of how units vary: each counts once, as where all are alike."""
Interval = tuple[float, float]
Part = tuple[float, float]
"""What one independent unit, a case or a chain, has of a ratio: how many, of how many."""


def wilson(passed: float, scored: float, level: float = LEVEL) -> Interval | None:
    """Return the interval of Wilson's score for a rate of ``passed`` among ``scored``; None if nothing was scored.

    It stays within 0 and 1, and says something at 0 and 1, too, which the usual one does not.
    """
    if not scored:
        return None
    rate, deviations = passed / scored, deviations_of(level)
    weight = deviations**2 / scored
    middle = (rate + weight / 2) / (1 + weight)
    half = deviations / (1 + weight) * sqrt(max(0.0, rate * (1 - rate)) / scored + weight / (4 * scored))
    return max(0.0, middle - half), min(1.0, middle + half)


def clustered(parts: Sequence[Part], level: float = LEVEL) -> Interval | None:
    """Return Wilson's interval of a share whose observations come in units that are not alike; None if there are none.

    So many observations as ``effective`` says count: turns of one conversation go wrong together.
    """
    size = effective(parts)
    return wilson(ratio(parts) * size, size, level) if size else None


def effective(parts: Sequence[Part]) -> float:
    """Return how many independent observations of a share would say as much; never more than there are.

    Where units hardly differ nobody knows, and each counts once, by its size: a single miss must not make a share surer
    than none.
    """
    parts = [part for part in parts if part[1]]
    whole = sum(size for _, size in parts)
    if not parts:
        return 0.0
    share, variance = ratio(parts), variance_of(parts)
    if not variance or share in {0.0, 1.0} or all(size == 1 and hits in {0, 1} for hits, size in parts):
        return equal_units(parts)
    return min(whole if is_varied(parts) else equal_units(parts), share * (1 - share) / variance)


def equal_units(parts: Sequence[Part]) -> float:
    """Return how many units of one size would weigh as much: one of forty cases and eight of one are hardly two.

    Kish, Survey Sampling (1965).
    """
    whole = sum(size for _, size in parts)
    return whole**2 / sum(size**2 for _, size in parts)


def is_varied(parts: Sequence[Part]) -> bool:
    """Whether units that differ are enough to tell from them how far a share can be believed."""
    share = ratio(parts)
    return variance_of(parts) > 0.0 and min(share, 1 - share) * equal_units(parts) >= FEW


def spread(parts: Sequence[Part], level: float = LEVEL) -> Interval | None:
    """Return the normal interval of a ratio that has no bounds, as dollars per trial; None of fewer than two units."""
    parts = [part for part in parts if part[1]]
    if len(parts) < 2:  # noqa: PLR2004 (one tells nothing of the others)
        return None
    half = deviations_of(level) * sqrt(variance_of(parts))
    return ratio(parts) - half, ratio(parts) + half


def ratio(parts: Sequence[Part]) -> float:
    """Return all hits among all there is."""
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
    """Return between which of the sorted values a percentile lies, whatever their distribution; None of too few.

    The ranks are those of as many values as there are independent ``units``.
    """
    count = units or len(ordered)
    tail, below, low, high = (1 - level) / 2, 0.0, 0, 0
    for rank in range(count + 1):  # ``below``: how likely fewer than ``rank`` values are below the percentile
        low = rank if below <= tail else low
        if below >= 1 - tail:
            high = rank
            break
        below += _binomial(count, rank, share)
    if not (low and high):
        return None
    scale = len(ordered) / count
    return ordered[max(0, floor(low * scale) - 1)], ordered[min(len(ordered), ceil(high * scale)) - 1]


def settling(value: float, bound: float, level: float = LEVEL) -> float:
    """Return how many observations of a share, were it to stay, have an interval without the bound; perhaps infinite.

    Wilson's interval is what a test of the bound does not refuse: beyond so many the test refuses it.
    """
    if value == bound:
        return inf
    return deviations_of(level) ** 2 * bound * (1 - bound) / (value - bound) ** 2


def worth(share: float, width: float) -> float:
    """Return of how many observations a share's interval, Wilson's, is so wide."""
    low, high = 0.0, 1e9
    for _ in range(100):
        middle = (low + high) / 2
        found = wilson(share * middle, middle) or (0.0, 1.0)
        low, high = (middle, high) if found[1] - found[0] > width else (low, middle)
    return high


@cache
def deviations_of(level: float) -> float:
    """Return within how many standard deviations a share of a normal distribution lies."""
    if level == LEVEL:
        return NORMAL
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + level) / 2)


def pass_at(tried: int, passed: int, k: int) -> float:
    """Return how likely one of ``k`` trials of a case passes, of which so many were tried and so many passed."""
    return 1.0 - comb(tried - passed, k) / comb(tried, k)


def pass_all(tried: int, passed: int, k: int) -> float:
    """Return how likely all of ``k`` trials of a case pass."""
    return comb(passed, k) / comb(tried, k)


def _binomial(count: int, hits: int, share: float) -> float:
    """Return how likely so many hits are."""
    ways = lgamma(count + 1) - lgamma(hits + 1) - lgamma(count - hits + 1)
    return exp(ways + hits * log(share) + (count - hits) * log1p(-share))
