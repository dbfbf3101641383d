"""What servers say about their limits in the headers of an answer. What can't be understood was not said."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal

LONGEST = 120.0
"""Seconds: no server makes a run stand still for longer, whatever it says and whatever its clock shows."""
DAY = 86_400.0

Kind = Literal["requests", "tokens", "output"]
"""What is limited: calls, tokens of all sorts, tokens that are written."""

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
class Reading:
    """What is left, and for how long there is no more."""

    limit: str
    """The header that said it."""
    kind: Kind
    remaining: int
    seconds: float
    """Until all is there again."""


def readings(headers: Mapping[str, str], now: datetime) -> Iterator[Reading]:
    """Find what remains; ``now`` is when the answer came, by the clock on the wall."""
    sent = _date(headers.get("date")) or now  # the server's own clock, if it shows it: ours may be wrong
    for kind, name, reset in _HEADERS:
        remaining, seconds = _count(headers.get(name)), _seconds(headers.get(reset), sent)
        if remaining is not None and seconds is not None:
            yield Reading(limit=name, kind=kind, remaining=remaining, seconds=bounded(seconds))


def bounded(seconds: float) -> float:
    """Return a time to wait that does no harm: what is no number is no time."""
    return min(seconds, LONGEST) if seconds > 0 else 0.0


def _count(said: object) -> int | None:
    return int(said) if isinstance(said, str) and _COUNT.fullmatch(said) else None


def _number(said: object) -> float | None:
    return float(said) if isinstance(said, str) and _NUMBER.fullmatch(said) else None


def _seconds(said: object, now: datetime) -> float | None:
    """Read ``1.5``, ``6m0s`` or a time of day; more than a day is nonsense, such as seconds since 1970."""
    if not isinstance(said, str):
        return None
    if _DURATION.fullmatch(said):
        seconds: float | None = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(said))
    else:
        seconds = _until(said, now) if (number := _number(said)) is None else number
    return None if seconds is None or seconds > DAY else seconds


def _until(said: str, now: datetime) -> float | None:
    try:
        return _between(now, datetime.fromisoformat(said))
    except ValueError:
        return None


def _date(said: object) -> datetime | None:
    """Read a date as HTTP writes it."""
    try:
        return parsedate_to_datetime(said) if isinstance(said, str) else None
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _between(start: datetime, end: datetime) -> float:
    return (_aware(end) - _aware(start)).total_seconds()


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
