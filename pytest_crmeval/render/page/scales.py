"""Axes: positions of values and ticks."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Maps values from ``low`` to ``high`` to places from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False
    """Whether equal distances are equal ratios; all values must be above zero."""

    def __call__(self, value: float) -> float:
        """Return the position of a value, clipped to the ends of the axis."""
        low, high, at = (log10(number) if self.logarithmic else number for number in (self.low, self.high, value))
        share = (at - low) / (high - low) if high > low else 0.5
        return round(self.start + min(1.0, max(0.0, share)) * (self.end - self.start), 1)

    def ticks(self, most: int = 5) -> Sequence[float]:
        """Return at least two and at most ``most`` round values."""
        if self.logarithmic:
            first, last = round(log10(self.low)), round(log10(self.high))
            stride = max(1, ceil((last - first) / (most - 1)))
            return [10.0**exponent for exponent in range(first, last + 1, stride)]
        step = _step(self.high - self.low or 1.0, max(1, most - 1))
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [round(number * step, 12) for number in range(first, last + 1)]


def linear(values: Sequence[float], start: float, end: float) -> Scale:
    """Return a scale from zero that has room for the values."""
    high = max([*values, 0.0]) or 1.0
    step = _step(high, 4)
    return Scale(low=0.0, high=step * ceil(high / step - 1e-9), start=start, end=end)


def stretched(values: Sequence[float], start: float, end: float) -> Scale:
    """Return a scale from the smallest value to the largest."""
    return Scale(low=min(values), high=max(values), start=start, end=end)


def logarithmic(values: Sequence[float], start: float, end: float) -> Scale:
    """Return a scale of whole decades that has room for the values, all of them above zero."""
    low, high = floor(log10(min(values)) + 1e-9), ceil(log10(max(values)) - 1e-9)
    return Scale(low=10.0**low, high=10.0 ** max(high, low + 1), start=start, end=end, logarithmic=True)


def _step(span: float, parts: int) -> float:
    """Return a round step that divides the span into at most ``parts``."""
    raw = span / parts
    power = 10.0 ** floor(log10(raw))
    return next(step * power for step in _STEPS if step * power >= raw * (1 - 1e-9))
