"""How many more cases would settle an inconclusive gate."""

from collections.abc import Sequence
from math import ceil, inf

from pytest_crmeval.domain.interval import LEVEL, deviations_of, wilson
from pytest_crmeval.journal.figures import Figure
from pytest_crmeval.report.gate import COUNTS, MONEY, Gate, is_share
from pytest_crmeval.report.paired import Pair, times_to_find


def margin_of(comparison: str, value: float, bound: float) -> float:
    """Return how far a value is on the right side of a bound; below zero on the wrong one."""
    if comparison == "==":
        return 0.0 - abs(value - bound)  # avoids -0.0
    return value - bound if comparison.startswith(">") else bound - value


def to_settle(gate: Gate, figure: Figure, bound: float) -> int | None:
    """Return how many more cases would settle a rule; 0 if its interval is on one side of the bound."""
    if figure.low is None or figure.high is None:
        return 0 if gate.metric in {*COUNTS, *MONEY} else None
    if not figure.low <= bound <= figure.high:
        return 0
    return _more(_units(figure), _times(gate, figure, bound))


def to_be_sure(gate: Gate, figure: Figure, end: float, level: float) -> int | None:
    """Return how many more cases would bring the end of an interval of that level beyond the bound.

    None if the value is on the wrong side of it: then no number of cases does.
    """
    if margin_of(gate.comparison, figure.value, gate.bound) <= 0:
        return None
    if is_share(gate.metric):
        from pytest_crmeval.report.exact_interval import size_with

        times = size_with(figure.value, gate.bound, level) / size_with(figure.value, end, level)
    else:
        times = ((end - figure.value) / (gate.bound - figure.value)) ** 2
    return _more(_units(figure), times)


def _units(figure: Figure) -> int:
    return figure.units or figure.n or 0


def to_find(pairs: Sequence[Pair], chance: float) -> int | None:
    """Return how many more cases that change like these would make the difference significant, in either direction."""
    times = times_to_find(pairs, chance)
    return 0 if times <= 1 else _more(len({pair.unit for pair in pairs}), times)


def _more(units: int, times: float) -> int | None:
    """Return the number of additional cases, from the factor by which the number must grow."""
    return None if times == inf or not units else max(1, ceil(units * (times - 1) - 1e-9))


def _times(gate: Gate, figure: Figure, bound: float) -> float:
    """Return the factor of observations for which the interval excludes the bound, if the value stays the same."""
    half = ((figure.high or 0.0) - (figure.low or 0.0)) / 2
    if figure.value == bound or not half:
        return inf
    if is_share(gate.metric) and 0.0 < bound < 1.0 and not gate.baseline:
        drawn = figure.value * (1 - figure.value) * (deviations_of(LEVEL) / half) ** 2
        size = drawn if figure.method == "bootstrap" else observations_for_width(figure.value, 2 * half)
        return observations_needed(figure.value, bound) / size
    return (half / (figure.value - bound)) ** 2


def observations_needed(value: float, bound: float, level: float = LEVEL) -> float:
    """Return the number of observations from which the interval of a constant share excludes the bound; maybe infinite.

    Wilson's interval contains exactly the bounds that the score test does not reject.
    """
    if value == bound:
        return inf
    return deviations_of(level) ** 2 * bound * (1 - bound) / (value - bound) ** 2


def observations_for_width(share: float, width: float) -> float:
    """Return the number of observations for which Wilson's interval of a share has this width."""
    low, high = 0.0, 1e9
    for _ in range(100):
        middle = (low + high) / 2
        found = wilson(share * middle, middle) or (0.0, 1.0)
        low, high = (middle, high) if found[1] - found[0] > width else (low, middle)
    return high
