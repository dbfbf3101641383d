"""Percentages and rounding, as users and rules ask for them."""

from dataclasses import dataclass
from fractions import Fraction

from pytest_crmeval.conversations.generator.seeded_random import SeededRandom

_WAYS = (
    ("nearest", "rounded to the nearest {}"),
    ("nearest", "to the nearest {}"),
    ("up", "rounded up to the next {}"),
    ("up", "rounded up to a multiple of {}"),
    ("down", "rounded down to a multiple of {}"),
    ("down", "rounded down to the full {}"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounding:
    """How an amount is rounded."""

    way: str
    step: int
    said: str

    def of(self, value: Fraction) -> int:
        """Return an amount rounded."""
        steps = value / self.step
        if self.way == "nearest":
            return int(steps + Fraction(1, 2)) * self.step
        return -int(-steps // 1) * self.step if self.way == "up" else int(steps) * self.step

    def wrongly(self, value: Fraction) -> int:
        """Return an amount rounded the wrong way; if that makes no difference, to the unit."""
        other = Rounding(way="up" if self.way == "down" else "down", step=self.step, said="").of(value)
        return other if other != self.of(value) else int(value + Fraction(1, 2))


def any_rounding(chance: SeededRandom) -> Rounding:
    """Return a way to round."""
    way, said = chance.one_of(_WAYS)
    step = chance.one_of((10, 50, 100, 250))
    return Rounding(way=way, step=step, said=said.format(step))


def changed_by(amount: int, percent: int) -> Fraction:
    """Return an amount, a percentage more or, if that is negative, less."""
    return amount * (1 + Fraction(percent, 100))
