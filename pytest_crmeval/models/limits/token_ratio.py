"""How much of the tokens that calls might take they really take."""

from collections import deque
from math import sqrt

RECENT, ENOUGH = 64, 4
"""Calls that we learn from, and how many there have to be."""
DEVIATIONS = 3.0
"""Standard deviations above the mean: with two, a simulated run came to be 0.2 % above its cap."""


class TokenRatio:
    """What the calls of late took of their bounds."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._mean = self._largest = 1.0
        self._deviation = 0.0

    def note(self, share: float) -> None:
        """Learn from one call."""
        self._recent.append(share)
        if len(self._recent) >= ENOUGH:
            self._largest = max(self._recent)
            self._mean = sum(self._recent) / len(self._recent)
            self._deviation = sqrt(sum((each - self._mean) ** 2 for each in self._recent) / len(self._recent))

    def expected(self, calls: int) -> float:
        """Return a share that so many calls together will hardly exceed; each of a few may be like the largest."""
        return min(self._largest, self._mean + DEVIATIONS * self._deviation / sqrt(calls))
