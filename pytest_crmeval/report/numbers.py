"""The values of metrics as text: the same on the terminal, in Markdown and on the page."""

from pytest_crmeval.domain.usage import money
from pytest_crmeval.report.gate import COUNTS, Gate, GateSyntaxError
from pytest_crmeval.report.ruling import Ruling

_TEN, _MINUTE, _HOUR = 10, 60, 3600


def seconds(value: float) -> str:
    """Return a duration in its most readable unit."""
    if value >= _HOUR:
        return f"{value / _HOUR:.1f} h"
    if value >= _MINUTE:
        return f"{value / _MINUTE:.1f} min"
    if 0 < value < 1:
        thousandths = value * 1000  # may be less than one
        return f"{thousandths:.0f} ms" if thousandths >= _TEN else f"{thousandths:.2g} ms"
    return f"{value:.0f} s" if value >= _TEN or value == int(value) else f"{value:.1f} s"


def value_of(metric: str, value: float) -> str:
    """Return a value in the unit of its metric: a duration, money, a count, or a number with three decimals.

    The value of a plugin's gate has no metric (empty).
    """
    if metric in COUNTS or (not metric and abs(value) > 1 and value == int(value)):
        return f"{value:,.0f}"
    kind = metric.partition("_")[0]
    return {"latency": seconds, "cost": money, "tokens": _whole}.get(kind, _decimals)(value)


def change_of(metric: str, value: float) -> str:
    """Return a difference of two values, with its sign."""
    return f"{'-' if value < 0 else '+'}{value_of(metric, abs(value))}"


def value_beside_bound(metric: str, value: float, bound: float) -> str:
    """Return a value that is compared with a bound; with more digits if it would look like the bound otherwise."""
    text, other = (value_of(metric, number).replace(".0 ", " ") for number in (value, bound))
    if value == bound or text != other:
        return value_of(metric, value)
    return f"{'$' * metric.startswith('cost')}{value:.6g}{' s' * metric.startswith('latency')}"


def metric_of(ruling: Ruling) -> str:
    """Return the metric of a gate; empty for a gate of a plugin, which has a text of its own."""
    try:
        return Gate.parse(ruling.gate).metric
    except GateSyntaxError:
        return ""


def _decimals(value: float) -> str:
    return f"{value:.3f}"


def _whole(value: float) -> str:
    return f"{value:,.0f}"
