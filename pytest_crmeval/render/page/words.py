"""Numbers, names and links as the page shows them."""

import re
from urllib.parse import urlencode

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.usage import money
from pytest_crmeval.report.numbers import seconds as duration

NOTHING = "\N{EN DASH}"
"""Shown for a value that is unknown or was not scored."""
_MILLION = 1_000_000
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)
_VARIABLE = re.compile(r"[#…]")
"""Placeholders in a reason for what differs from trial to trial."""


def rate(value: float | None) -> str:
    """Return a rate with three digits; a dash if there is none."""
    return NOTHING if value is None else f"{value:.3f}"


def percent(value: float | None) -> str:
    """Return a rate in whole per cent; 100 % and 0 % are exact."""
    if value is None:
        return NOTHING
    shown = min(99, max(1, round(value * 100))) if 0 < value < 1 else round(value * 100)
    return f"{shown} %"


def interval(low: float | None, high: float | None) -> str:
    """Return an interval of rates; empty if it is unknown."""
    return "" if low is None or high is None else f"{rate(low)} to {rate(high)}"


def signed(value: float) -> str:
    """Return a difference of two rates."""
    return f"{value:+.3f}".replace("-", "\N{MINUS SIGN}")


def dollars(value: float | None) -> str:
    """Return an amount of money; a dash if it is unknown."""
    return NOTHING if value is None else money(value)


def seconds(value: float | None) -> str:
    """Return a duration in its most readable unit."""
    return NOTHING if value is None else duration(value)


def whole(value: float) -> str:
    """Return a count, or a number with four significant digits."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"


def amount(value: int | None) -> str:
    """Return a count that may be very large."""
    if value is None:
        return NOTHING
    return f"{value / _MILLION:.1f} M" if value >= _MILLION else f"{value:,}"


def moment(when: object) -> str:
    """Return a time stamp for people."""
    return str(when).replace("T", " ", 1).replace("+00:00", " UTC")


def words(name: str) -> str:
    """Return a field name of the report for people."""
    return name.replace("_", " ")


def to_trials(**wanted: str) -> str:
    """Return a link to the list of trials with filters set; characters that can't be in a URL become question marks."""
    chosen = {name: value for name, value in wanted.items() if value}
    return f"#trials?{urlencode(chosen, errors='replace')}"


def to_trial(suite: str, subject: str, case: str, trial: int = 1) -> str:
    """Return a link to a trial by its names."""
    wanted = {"suite": suite, "subject": subject, "case": case, "trial": trial}
    return f"#case?{urlencode(wanted, errors='replace')}"


def short(text: str) -> str:
    """Return a text with only the beginnings of its ids."""
    return _UUID.sub(lambda found: cut(found[0], 8), text)


def in_common(reason: str) -> str:
    """Return the longest text that all trials with a reason share."""
    return max((part.strip() for part in _VARIABLE.split(reason)), key=len)
