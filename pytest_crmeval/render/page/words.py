"""Numbers as the page says them."""

from pytest_crmeval.domain.usage import money

NOTHING = "\N{EN DASH}"
"""Said of what is not known, or was not scored."""
_TEN, _MINUTE, _HOUR = 10, 60, 3600
_MILLION = 1_000_000


def rate(value: float | None) -> str:
    """Return a rate with three digits; what was not scored is a dash."""
    return NOTHING if value is None else f"{value:.3f}"


def percent(value: float | None) -> str:
    """Return a rate as a whole per cent, never 100 % or 0 % of what is not quite."""
    if value is None:
        return NOTHING
    shown = min(99, max(1, round(value * 100))) if 0 < value < 1 else round(value * 100)
    return f"{shown} %"


def interval(low: float | None, high: float | None) -> str:
    """Return how far a rate can be believed; nothing if nobody knows."""
    return "" if low is None or high is None else f"{rate(low)}{NOTHING}{rate(high)}"


def signed(value: float) -> str:
    """Return a difference of two rates."""
    return f"{value:+.3f}".replace("-", "\N{MINUS SIGN}")


def dollars(value: float | None) -> str:
    """Return a sum; what nobody knows is a dash."""
    return NOTHING if value is None else money(value)


def seconds(value: float | None) -> str:
    """Return a time as short as it can be read."""
    if value is None:
        return NOTHING
    if value >= _HOUR:
        return f"{value / _HOUR:.1f} h"
    if value >= _MINUTE:
        return f"{value / _MINUTE:.1f} min"
    if 0 < value < 1:
        return _parts(value)
    return f"{value:.0f} s" if value >= _TEN or value == int(value) else f"{value:.1f} s"


def whole(value: float) -> str:
    """Return a count, or a number that hardly is one."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"


def amount(value: int | None) -> str:
    """Return a count that may be very large."""
    if value is None:
        return NOTHING
    return f"{value / _MILLION:.1f} M" if value >= _MILLION else f"{value:,}"


def moment(when: object) -> str:
    """Return a point in time as people write it."""
    return str(when).replace("T", " ", 1).replace("+00:00", " UTC")


def words(name: str) -> str:
    """Return a name of the report as people write it."""
    return name.replace("_", " ")


def _parts(value: float) -> str:
    """Return milliseconds, of which there may be parts."""
    thousandths = value * 1000
    return f"{thousandths:.0f} ms" if thousandths >= 1 else f"{thousandths:.2g} ms"
