"""Random choices that are the same on every machine and with every version of Python."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar
from uuid import UUID

T = TypeVar("T")
_HEX = 16


class SeededRandom:
    """Makes the same choices for the same seed, if it is called in the same order.

    Only ``Random.random`` is used: Python guarantees its sequence for a seed across versions, and no other method's.
    """

    def __init__(self, *seed: object) -> None:
        self._random = Random("/".join(map(str, seed)))  # noqa: S311 (not a secret)

    def below(self, number: int) -> int:
        """Return an integer from 0 to ``number`` - 1."""
        return int(self._random.random() * number)

    def between(self, low: int, high: int) -> int:
        """Return an integer from ``low`` to ``high``, both included."""
        return low + self.below(high - low + 1)

    def chance(self, share: float) -> bool:
        """Return True with the probability ``share``."""
        return self._random.random() < share

    def one_of(self, things: Sequence[T]) -> T:
        """Return one of the things."""
        return things[self.below(len(things))]

    def shuffled(self, things: Sequence[T]) -> list[T]:
        """Return the things in random order."""
        left, found = list(things), []
        while left:
            found.append(left.pop(self.below(len(left))))
        return found

    def some(self, things: Sequence[T], number: int) -> list[T]:
        """Return ``number`` different things, or all if there are fewer."""
        return self.shuffled(things)[:number]

    def weighted(self, things: Sequence[tuple[T, float]]) -> T:
        """Return one of the things, with probabilities proportional to their weights."""
        left = self._random.random() * sum(weight for _, weight in things)
        for thing, weight in things:
            left -= weight
            if left < 0:
                return thing
        return things[-1][0]

    def uuid(self) -> str:
        """Return an id in the form that the CRM uses."""
        digits = "".join(f"{self.below(_HEX):x}" for _ in range(32))
        return str(UUID(digits, version=4))

    def digits(self, pattern: str) -> str:
        """Return a pattern with a digit in place of each x."""
        return "".join(str(self.below(10)) if letter == "x" else letter for letter in pattern)
