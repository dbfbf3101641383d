"""How far a figure can be believed, in plain arithmetic: no library that takes a second to load at the end of a run."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil, comb, exp, floor, inf, lgamma, log, log1p, sqrt
from typing import Self

NORMAL = 1.959963984540054
"""95 % of a normal distribution are within so many standard deviations."""
LEVEL = 0.95
FEW, ENOUGH = 3, 20
"""The variance between units is ignored up to FEW units with a hit, or with a miss, and used fully from ENOUGH on."""
ROUNDING = 1e-12
"""Relative rounding error below which a variance counts as 0."""
_FAR = 10
"""Standard deviations beyond which a binomial probability is too small to change a sum."""
Interval = tuple[float, float]
Part = tuple[float, float]
"""What one independent unit, a case or a chain, has of a ratio: how many, of how many."""


def unit_of(case: str, chain: str) -> str:
    """Return the independent unit of a case: its chain, or the case itself if it is in none."""
    return f"chain {chain}" if chain else f"case {case}"


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
    return Clusters.of(parts).interval(level)


def effective(parts: Sequence[Part]) -> float:
    """Return the effective sample size of a share; never more than the number of observations."""
    return Clusters.of(parts).effective


def equal_units(parts: Sequence[Part]) -> float:
    """Return how many units of one size would weigh as much: one of forty cases and eight of one are hardly two.

    Kish, Survey Sampling (1965).
    """
    return Clusters.of(parts).equal_units


@dataclass(slots=True)
class Clusters:
    """Sums over the independent units of a share, from which its interval is computed. Units can be added and removed.

    Counts are summed exactly, so a tally that grows trial by trial gives the same interval as the finished report.
    """

    units: int = 0
    hits: float = 0
    size: float = 0
    hits_squared: float = 0
    hits_by_size: float = 0
    size_squared: float = 0
    with_hits: tuple[float, float] = (0, 0)
    """Sums of sizes and squared sizes of the units with a hit."""
    with_misses: tuple[float, float] = (0, 0)
    """The same for the units with a miss."""

    @classmethod
    def of(cls, parts: Iterable[Part]) -> Self:
        """Return the sums over ``parts``."""
        found = cls()
        for part, count in Counter(parts).items():  # of thousands of units most are equal
            found.add(part, count)
        return found

    def add(self, part: Part, count: int = 1) -> None:
        """Add ``count`` equal units, or remove one with a count of -1; an empty unit changes nothing."""
        hits, size = part
        if not size:
            return
        square = size * size
        self.units += count
        self.hits += count * hits
        self.size += count * size
        self.hits_squared += count * hits * hits
        self.hits_by_size += count * hits * size
        self.size_squared += count * square
        if hits > 0:
            self.with_hits = (self.with_hits[0] + count * size, self.with_hits[1] + count * square)
        if hits < size:
            self.with_misses = (self.with_misses[0] + count * size, self.with_misses[1] + count * square)

    @property
    def share(self) -> float | None:
        """The share of hits; None if there are no observations."""
        return self.hits / self.size if self.size else None

    @property
    def equal_units(self) -> float:
        """The equivalent number of units of equal size (Kish)."""
        return self.size**2 / self.size_squared if self.size else 0.0

    @property
    def variance(self) -> float:
        """The variance of the share, linearised; 0 if there is only one unit, or if all have the same share."""
        if self.units < 2:  # noqa: PLR2004 (one unit has no variance)
            return 0.0
        squares = self.hits_squared * self.size**2 + self.hits**2 * self.size_squared
        found = squares - 2 * self.hits * self.size * self.hits_by_size
        return found / self.size**4 * self.units / (self.units - 1) if found > ROUNDING * squares else 0.0

    @property
    def trust(self) -> float:
        """The weight of the variance between units, from 0 to 1, by how many units have a hit, or have a miss.

        A few differing units say little about the correlation within units. The weight grows gradually with their
        number, so that one more miss never makes an interval shrink abruptly.
        """
        if not self.variance:
            return 0.0
        fewer = min(size**2 / squares if squares else 0.0 for size, squares in (self.with_hits, self.with_misses))
        return min(1.0, max(0.0, (fewer - FEW) / (ENOUGH - FEW)))

    @property
    def effective(self) -> float:
        """The effective sample size, from the variance between units, weighted by ``trust``.

        For the rest of the weight each unit counts once: a single miss must not narrow the interval.
        """
        share, variance = self.share, self.variance
        if share is None:
            return 0.0
        alone = self.size_squared == self.size and self.hits_squared == self.hits
        if not variance or alone:
            return self.equal_units
        found = min(self.size, share * (1 - share) / variance)
        return min(found, self.equal_units + self.trust * (found - self.equal_units))

    def interval(self, level: float = LEVEL) -> Interval | None:
        """Return Wilson's interval for the effective sample size; None if there are no observations."""
        size, share = self.effective, self.share
        return None if share is None else wilson(share * size, size, level)


def spread(parts: Sequence[Part], level: float = LEVEL) -> Interval | None:
    """Return the normal interval of a ratio that has no bounds, as dollars per trial; None of fewer than two units."""
    parts = [part for part in parts if part[1]]
    if len(parts) < 2:  # noqa: PLR2004 (one unit says nothing about others)
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
    first = max(0, floor(count * share - _FAR * sqrt(count * share * (1 - share))))
    for rank in range(first, count + 1):  # ``below``: how likely fewer than ``rank`` values are below the percentile
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
