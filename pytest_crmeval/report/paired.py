"""Two runs of the same cases: their difference, its significance, and the minimum detectable difference."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, comb, inf, sqrt
from statistics import NormalDist
from typing import Any

from pytest_crmeval.domain.interval import FEW, LEVEL, Interval, Part, deviations_of
from pytest_crmeval.journal.figures import Figure
from pytest_crmeval.report.comparison import FEWEST

POWER = 0.8
"""The power at which a difference counts as detectable."""
NOTHING = 1e-9
"""Smaller values are rounding errors of binary fractions."""
MCNEMAR = "McNemar, exact"
PERMUTATION = "permutation of signs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A case in both runs: the mean of its trials in each."""

    case: str
    unit: str
    """The independent unit: the case, or its chain."""
    before: float
    after: float

    @property
    def difference(self) -> float:
        """After minus before."""
        return self.after - self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The difference of two runs in one metric."""

    figure: Figure
    p: float
    test: str
    detectable: float


def difference_of(pairs: Sequence[Pair], *, only_worse: bool = False) -> Difference:
    """Return the difference of the second run from the first, over at least one pair.

    If each case has passed or failed once in each run, these are two-by-two tables. Repeats make fractions, and chains
    make cases depend on each other: then whole cases or chains are resampled, or have their signs permuted. With
    ``only_worse``, the test is one-sided: it has more power, because it can't find that the second run is better.
    """
    from pytest_crmeval.report.resampling import Side, mcnemar, sign_permutation

    side: Side = "less" if only_worse else "two-sided"
    sides = 1 if only_worse else 2
    differences = [pair.difference for pair in pairs]
    better, worse = sum(each > 0 for each in differences), sum(each < 0 for each in differences)
    if _is_plain(pairs):
        interval = bonett_price(better, worse, len(pairs))
        figure = _figure(differences, interval, "Bonett-Price", len(pairs))
        seen = detectable(len(pairs), (better + worse + 1) / (len(pairs) + 2), sides=sides)
        return Difference(figure=figure, p=mcnemar(better, worse, side), test=MCNEMAR, detectable=seen)
    parts = _by_unit(pairs)
    sums = [gained for gained, _ in parts.values()]
    return Difference(
        figure=mean_difference(pairs),
        p=sign_permutation(sums, side),
        test=PERMUTATION,
        detectable=_detectable(list(parts.values()), sides),
    )


def mean_difference(pairs: Sequence[Pair]) -> Figure:
    """Return the mean difference of a score, by paired bootstrap of whole cases or chains."""
    from pytest_crmeval.report.resampling import ratio_interval

    differences, parts = [pair.difference for pair in pairs], list(_by_unit(pairs).values())
    means = Counter(round(gained / size, 9) for gained, size in parts)
    if len(parts) - max(means.values()) < FEW:  # resampling equal values would give an interval of zero width
        low, high = bonett_price(0, 0, len(parts))
        mean = sum(differences) / len(differences)
        around = max(-1.0, mean + low), min(1.0, mean + high)
        return _figure(differences, around, "Bonett-Price", len(parts))
    return _figure(differences, ratio_interval(parts, LEVEL), "paired bootstrap", len(parts))


def bonett_price(better: int, worse: int, count: int, level: float = LEVEL) -> Interval:
    """Return the interval of a difference of two shares of the same cases: an adjusted Wald interval.

    It is also meaningful if nothing has changed. Bonett and Price, J. Educ. Behav. Stat. 37 (2012).
    """
    size = count + 2
    up, down = (better + 1) / size, (worse + 1) / size
    half = deviations_of(level) * sqrt((up + down - (up - down) ** 2) / size)
    return max(-1.0, up - down - half), min(1.0, up - down + half)


def detectable(count: int, discordant: float, *, sides: int = 2) -> float:
    """Return the minimum detectable difference with POWER, if at least a share ``discordant`` of the cases differs.

    Connor, Biometrics 43 (1987), solved for the difference; the exact test needs one more differing case than
    the usual one, and is never significant with fewer than six (one-sided: five), all of them in one direction.
    """
    chance, found = _deviations(sides), deviations_of(2 * POWER - 1)
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        differing = max(discordant, middle)
        shown = (chance * sqrt(differing) + found * sqrt(differing - middle**2)) ** 2
        low, high = (low, middle) if (count * middle - 1) * middle >= shown else (middle, high)
    return min(1.0, max(high, fewest_differing(sides) / count))


def fewest_differing(sides: int) -> int:
    """Return how many cases must differ, all in one direction, before an exact test at 5 % finds anything."""
    return FEWEST if sides == 2 else FEWEST - 1  # noqa: PLR2004 (0.5⁵ is 0.03125)


def _deviations(sides: int) -> float:
    """Return the number of standard deviations within which a difference is not significant at 5 %."""
    return deviations_of(1 - 2 * (1 - LEVEL) / sides)


def _detectable(parts: Sequence[Part], sides: int) -> float:
    """Return the same for fractions, from their variance; if none differs, as for verdicts.

    Signs are never significant with fewer than six units that differ, either.
    """
    differing = [abs(gained) for gained, _ in parts if gained]
    if not differing:
        return detectable(len(parts), 1 / (len(parts) + 2), sides=sides)
    least = fewest_differing(sides) * sum(differing) / len(differing) / sum(size for _, size in parts)
    return min(1.0, max(least, (_deviations(sides) + deviations_of(2 * POWER - 1)) * _error(parts)))


def false_alarm(pairs: Sequence[Pair], offset: float) -> float:
    """Return how often the mean difference of two runs of an unchanged agent is less than ``offset``, by chance.

    As many cases change as between these two runs, each for better or worse with the same chance.
    """
    from scipy.stats import binom

    count = len(pairs)
    if not _is_plain(pairs):
        spread = sqrt(sum(gained**2 for gained, _ in _by_unit(pairs).values())) / count
        return float(NormalDist(0.0, spread).cdf(offset)) if spread else 0.0
    share = (sum(bool(pair.difference) for pair in pairs) + 1) / (count + 2)
    changed = range(count + 1)
    # Of ``n`` that change, ``better`` of them for better, the difference is (2 · better - n) / count.
    most = [ceil((offset * count + n) / 2 - NOTHING) - 1 for n in changed]
    likely: Any = binom.pmf(changed, count, share)
    return float((likely * binom.cdf(most, changed, 0.5)).sum())


def times_to_find(pairs: Sequence[Pair], chance: float) -> float:
    """Return how many times as many cases that change as these do would have a p-value below ``chance``.

    Infinite if the mean difference is zero.
    """
    if _is_plain(pairs):
        better = sum(pair.difference > 0 for pair in pairs)
        return _more_coins(better, better + sum(pair.difference < 0 for pair in pairs), chance)
    parts = list(_by_unit(pairs).values())
    mean, differing = sum(gained for gained, _ in parts) / len(pairs), sum(bool(gained) for gained, _ in parts)
    if abs(mean) < NOTHING:
        return inf
    return max(FEWEST / differing, (deviations_of(1 - chance) * _error(parts) / mean) ** 2)


def _more_coins(better: int, differing: int, chance: float) -> float:
    """Return the same for verdicts: the number of equally unbalanced coins until McNemar's test is significant."""
    from pytest_crmeval.report.resampling import mcnemar

    if 2 * better == differing:
        return inf

    def is_found(coins: int) -> bool:
        heads = round(coins * better / differing)
        return mcnemar(heads, coins - heads) < chance

    low = high = differing
    while not is_found(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_found(middle) else (middle, high)
    return high / differing


def fisher(passed: int, tried: int, passed_later: int, tried_later: int) -> float:
    """Return the p-value of a difference between two shares of one case: Fisher's exact test, two-sided."""
    whole, hits = tried + tried_later, passed + passed_later
    possible = range(max(0, hits - tried_later), min(tried, hits) + 1)
    ways = [comb(tried, count) * comb(tried_later, hits - count) for count in possible]
    found = comb(tried, passed) * comb(tried_later, passed_later)
    return sum(way for way in ways if way <= found) / comb(whole, hits)


def holm(chances: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number, in their order: Holm, Scand. J. Statist. 6 (1979)."""
    corrected = [0.0] * len(chances)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        largest = max(largest, min(1.0, (len(chances) - rank) * chances[place]))
        corrected[place] = largest
    return corrected


def _is_plain(pairs: Sequence[Pair]) -> bool:
    """Whether every case is independent and has one verdict in each run."""
    whole = all(value in {0.0, 1.0} for pair in pairs for value in (pair.before, pair.after))
    return whole and len({pair.unit for pair in pairs}) == len(pairs)


def _by_unit(pairs: Sequence[Pair]) -> Mapping[str, Part]:
    parts: dict[str, Part] = {}
    for pair in pairs:
        gained, size = parts.get(pair.unit, (0.0, 0.0))
        parts[pair.unit] = (gained + pair.difference, size + 1)
    return parts


def _error(parts: Sequence[Part]) -> float:
    """Return the standard error of a mean over units; of one unit, the whole range."""
    from pytest_crmeval.report.spreads import variance_of

    return sqrt(variance_of(parts)) if len(parts) > 1 else 1.0


def _figure(differences: Sequence[float], interval: Interval, method: str, units: int) -> Figure:
    count = len(differences)
    return Figure(
        value=sum(differences) / count,
        interval=interval,
        n=count,
        units=units if units < count else None,
        method=method,
    )
