"""Confidence intervals in plain arithmetic, because scipy takes a second to load."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import Self

NORMAL = 1.959963984540054
"""Number of standard deviations that contain 95 % of a normal distribution."""
LEVEL = 0.95
FEW, ENOUGH = 3, 20
"""The variance between units is ignored up to FEW units with a hit, or with a miss, and used fully from ENOUGH on."""
ROUNDING = 1e-12
"""Relative rounding error below which a variance counts as 0."""
Interval = tuple[float, float]
Part = tuple[float, float]
"""Hits and total of one independent unit, a case or a chain."""


def unit_of(case: str, chain: str) -> str:
    """Return the independent unit of a case: its chain, or the case itself if it is in none."""
    return f"chain {chain}" if chain else f"case {case}"


def wilson(passed: float, scored: float, level: float = LEVEL) -> Interval | None:
    """Return the interval of Wilson's score for a rate of ``passed`` among ``scored``; None if nothing was scored.

    It stays within 0 and 1 and, unlike the normal interval, has a width at 0 and 1.
    """
    if not scored:
        return None
    rate, deviations = passed / scored, deviations_of(level)
    weight = deviations**2 / scored
    middle = (rate + weight / 2) / (1 + weight)
    half = deviations / (1 + weight) * sqrt(max(0.0, rate * (1 - rate)) / scored + weight / (4 * scored))
    return max(0.0, middle - half), min(1.0, middle + half)


def clustered(parts: Sequence[Part], level: float = LEVEL) -> Interval | None:
    """Return Wilson's interval of a share whose observations are clustered in units; None if there are none.

    The sample size is ``Clusters.effective``, because turns of one conversation often fail together.
    """
    return Clusters.of(parts).interval(level)


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


@cache
def deviations_of(level: float) -> float:
    """Return the number of standard deviations that contain a share of a normal distribution."""
    if level == LEVEL:
        return NORMAL
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + level) / 2)
