"""When models are retired, and what replaces them: as the installed SDKs state it, which a test compares.

Successors of OpenAI's models are those of its deprecations page; those of Anthropic's are the current model of the
line.
The dates hold for the providers' own APIs: clouds have their own.
"""

from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

SOON = timedelta(days=90)
_TABLE = """
2024-11-06 claude-haiku-5-5 claude-instant-1.1 claude-instant-1.1-100k claude-instant-1.2
2024-11-06 claude-sonnet-5-5 claude-1.3 claude-1.3-100k
2025-07-21 claude-sonnet-5-5 claude-3-sonnet-20240229 claude-2.1 claude-2.0
2026-01-05 claude-opus-5-5 claude-3-opus-20240229
2026-02-19 claude-sonnet-5-5 claude-3-7-sonnet-latest claude-3-7-sonnet-20250219
2026-02-19 claude-haiku-5-5 claude-3-5-haiku-latest claude-3-5-haiku-20241022
2026-06-15 claude-opus-5-5 claude-opus-4-0 claude-opus-4-20250514
2026-06-15 claude-sonnet-5-5 claude-sonnet-4-0 claude-sonnet-4-20250514
2026-06-30 claude-mythos-5-2 claude-mythos-preview
2026-11-30 claude-sonnet-5-5 claude-sonnet-4-5 claude-sonnet-4-5-20250929
2024-09-13 - gpt-3.5-turbo-16k gpt-3.5-turbo-0301 gpt-3.5-turbo-0613 gpt-3.5-turbo-16k-0613
2024-12-06 - gpt-4-vision-preview
2025-06-06 - gpt-4-32k gpt-4-32k-0314 gpt-4-32k-0613
2025-07-28 - o1-preview o1-preview-2024-09-12
2025-10-10 - gpt-4o-audio-preview-2024-10-01
2025-10-27 - o1-mini o1-mini-2024-09-12
2026-02-12 - codex-mini-latest
2026-02-17 - chatgpt-4o-latest
2026-03-26 - gpt-4-0125-preview gpt-4-turbo-preview gpt-4-0314
2026-05-07 - gpt-4o-audio-preview gpt-4o-audio-preview-2024-12-17 gpt-4o-audio-preview-2025-06-03
2026-05-07 - gpt-4o-mini-audio-preview gpt-4o-mini-audio-preview-2024-12-17
2026-07-23 - gpt-5.1-codex gpt-5.1-chat-latest gpt-5-chat-latest gpt-4o-search-preview gpt-4o-mini-search-preview
2026-07-23 - gpt-4o-search-preview-2025-03-11 gpt-4o-mini-search-preview-2025-03-11
2026-08-10 - gpt-5.3-chat-latest gpt-5.2-chat-latest
2026-09-28 - gpt-3.5-turbo-1106
2026-10-23 gpt-5.6-terra gpt-3.5-turbo gpt-3.5-turbo-0125 o4-mini o4-mini-2025-04-16
2026-10-23 gpt-5.6-sol gpt-4 gpt-4-0613 gpt-4-1106-preview gpt-4-turbo gpt-4-turbo-2024-04-09 gpt-4o-2024-05-13
2026-10-23 gpt-5.6-sol o1 o1-2024-12-17 o3-mini o3-mini-2025-01-31
2026-10-23 - gpt-4.1-nano gpt-4.1-nano-2025-04-14
2026-12-11 gpt-5.6-sol gpt-5 gpt-5-2025-08-07 o3 o3-2025-04-16
2026-12-11 gpt-5.6-terra gpt-5-mini gpt-5-mini-2025-08-07
2026-12-11 gpt-5.6-luna gpt-5-nano gpt-5-nano-2025-08-07
2027-01-14 gpt-6-luna gpt-4.1 gpt-4.1-mini gpt-4.1-2025-04-14 gpt-4.1-mini-2025-04-14
2027-01-14 gpt-6-luna gpt-4o gpt-4o-2024-11-20 gpt-4o-2024-08-06 gpt-4o-mini gpt-4o-mini-2024-07-18
2027-01-20 - gpt-audio-mini gpt-audio-mini-2025-12-15
2027-04-01 - gpt-5.4-nano gpt-5.4-nano-2026-03-17 gpt-5.1 gpt-5.1-2025-11-13
"""
"""Date, successor (or -) and models."""


class Retirement(NamedTuple):
    """The end of a model."""

    date: date
    successor: str
    """Empty if it is not known."""


@cache
def retirements() -> dict[str, Retirement]:
    """Return the retirement of each model that has a date."""
    found: dict[str, Retirement] = {}
    for line in _TABLE.split("\n")[1:-1]:
        day, successor, *models = line.split()
        found |= dict.fromkeys(models, Retirement(date.fromisoformat(day), successor.strip("-")))
    return found


def retirement_notice(model: str, today: date | None = None) -> str:
    """Return a warning if a model is retired or will be within 90 days, with its successor; empty if it is not."""
    found, today = retirements().get(model), today or date.today()  # noqa: DTZ011 (dates of providers have no zone)
    if found is None or found.date - today > SOON:
        return ""
    when = "was retired" if found.date <= today else "will be retired"
    then = f"its successor is {found.successor}" if found.successor else "crmeval models lists others"
    return f"{model} {when} on {found.date}; {then}"
