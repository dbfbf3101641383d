"""How likely one of k samples solves a problem, estimated from n of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import comb


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The samples of one problem that were judged, and how many of them solve it."""

    samples: int
    solved: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The mean over problems."""

    value: float
    problems: int
    """That have samples enough."""
    short: int
    """Problems that have fewer than k samples: they are left out, since nothing can be said of them."""


def pass_at_k(samples: int, solved: int, k: int) -> float:
    """Return the unbiased estimate for one problem; ValueError if there are fewer than k samples."""
    if not 1 <= k <= samples or not 0 <= solved <= samples:
        raise ValueError(f"pass@{k} can't be told from {solved} of {samples} samples")
    return 1.0 - comb(samples - solved, k) / comb(samples, k)


def estimate(tallies: Iterable[Tally], k: int) -> Estimate | None:
    """Return the mean over problems; None if none has k samples."""
    known = list(tallies)
    values = [pass_at_k(tally.samples, tally.solved, k) for tally in known if tally.samples >= k]
    if not values:
        return None
    return Estimate(value=sum(values) / len(values), problems=len(values), short=len(known) - len(values))
