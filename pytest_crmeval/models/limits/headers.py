"""Rate limits in the headers of an answer. Headers that can't be parsed are ignored."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal

LONGEST = 120.0
"""Seconds that a header may pause calls at most, because it or the server's clock may be wrong."""
DAY = 86_400.0

Kind = Literal["requests", "tokens", "output"]
"""What is limited: calls, all tokens, output tokens."""

_HEADERS: tuple[tuple[Kind, str, str], ...] = (
    ("requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("requests", "anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("tokens", "anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ("tokens", "anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
    ("output", "anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
)
_COUNT = re.compile(r"[0-9]{1,15}")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h|d)")
_DURATION = re.compile(rf"(?:{_PART.pattern})+")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": DAY}


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitStatus:
    """What remains of a limit, and the time until it is reset."""

    limit: str
    """The name of the header."""
    kind: Kind
    remaining: int
    seconds: float
    """Until the limit is reset."""


def readings(headers: Mapping[str, str], now: datetime) -> Iterator[LimitStatus]:
    """Yield what remains of each limit; ``now`` is the date and time of the answer."""
    sent = _date(headers.get("date")) or now  # the server's clock, if it is there: ours may differ
    for kind, name, reset in _HEADERS:
        remaining, seconds = headers.get(name), _seconds(headers.get(reset), sent)
        if isinstance(remaining, str) and _COUNT.fullmatch(remaining) and seconds is not None:
            yield LimitStatus(limit=name, kind=kind, remaining=int(remaining), seconds=bounded(seconds))


def bounded(seconds: float) -> float:
    """Return a time to wait from 0 to LONGEST; 0 for NaN."""
    return min(seconds, LONGEST) if seconds > 0 else 0.0


def _seconds(said: object, now: datetime) -> float | None:
    """Parse ``1.5``, ``6m0s`` or a time; None if it is more than a day, such as seconds since 1970."""
    if not isinstance(said, str):
        return None
    if _DURATION.fullmatch(said):
        seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(said))
    elif _NUMBER.fullmatch(said):
        seconds = float(said)
    else:
        try:
            seconds = (_aware(datetime.fromisoformat(said)) - _aware(now)).total_seconds()
        except ValueError:
            return None
    return None if seconds > DAY else seconds


def _date(said: object) -> datetime | None:
    """Parse a date of HTTP."""
    try:
        return parsedate_to_datetime(said) if isinstance(said, str) else None
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
