"""How far a pass rate can be believed."""

from math import sqrt

NORMAL = 1.959963984540054
"""95 % of a normal distribution are within so many standard deviations."""


def wilson(passed: float, scored: int) -> tuple[float, float] | None:
    """Return the 95 % interval of Wilson's score for a rate of ``passed`` among ``scored``; None if nothing was scored.

    It stays within 0 and 1, and says something at 0 and 1, too, which the usual one does not.
    """
    if not scored:
        return None
    rate, weight = passed / scored, NORMAL**2 / scored
    middle = (rate + weight / 2) / (1 + weight)
    half = NORMAL / (1 + weight) * sqrt(rate * (1 - rate) / scored + weight / (4 * scored))
    return max(0.0, middle - half), min(1.0, middle + half)
