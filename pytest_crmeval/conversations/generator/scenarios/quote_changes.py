"""Changes of quotes."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from pytest_crmeval.conversations.generator import days, figures
from pytest_crmeval.conversations.generator.intents import Fix, Intent, Scenario, Slot
from pytest_crmeval.conversations.generator.naming import Referent
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.scenarios.quotes import (
    PREFIXES,
    call_without,
    fix_amount,
    fresh_amount,
    fresh_version,
    parts,
    siblings,
    until,
    way_to_quote,
)
from pytest_crmeval.conversations.generator.story import Story

_UPDATE, _DATE, _ARITHMETIC = frozenset({"update"}), frozenset({"date"}), frozenset({"arithmetic"})
_SPANS = ((7, "one week"), (10, "10 days"), (10, "ten days"), (30, "30 days"), (45, "45 days"), (60, "60 days"))


def _changed(story: Story, row: Row, changes: Mapping[str, Any], **slots: Slot) -> Intent:
    """Change a quote."""
    intent = Intent(
        tool="modify_quote",
        args={"quote_id": row.ref, **changes},
        slots={**slots, "quote": slots.get("quote") or story.refer_to(row)},
        skills=_UPDATE,
        about=row,
        looked_at=way_to_quote(story, row),
    )
    row.columns.update(changes)
    return intent


def _called(story: Story, quote: Row) -> Referent | None:
    """Return words for a quote without its status, because that is to change."""
    return call_without(story, quote, f"the {quote['status'].lower()} quote")


def _fresh_day(story: Story) -> tuple[str, str]:
    """Draw a date, written out."""
    day = story.now.date() + timedelta(days=story.chance.between(10, 150))
    return day.isoformat(), days.written(story.chance, day)


def _become(story: Story, status: str, *before: str) -> Intent | None:
    """Give a quote another status."""
    quote = story.pick("Quote", lambda quote: quote["status"] in before)
    said = _called(story, quote)
    return _changed(story, quote, {"status": status}, quote=said) if said else None


def send_quote(story: Story) -> Intent | None:
    """Mark a draft as sent."""
    return _become(story, "Sent", "Draft")


def approve_quote(story: Story) -> Intent | None:
    """Approve a quote."""
    return _become(story, "Approved", "Draft", "Sent")


def reject_quote(story: Story) -> Intent | None:
    """Mark a quote as rejected."""
    return _become(story, "Rejected", "Sent")


def reopen_quote(story: Story) -> Intent | None:
    """Make a draft of a quote again."""
    return _become(story, "Draft", "Sent", "Rejected", "Canceled")


def send_quote_until(story: Story) -> Intent | None:
    """Mark a draft as sent, and say how long it holds."""
    quote = story.pick("Quote", lambda quote: quote["status"] == "Draft")
    said = _called(story, quote)
    if not said:
        return None
    day = story.day_ahead()
    intent = _changed(story, quote, {"status": "Sent", "valid_until": day.iso}, quote=said, until=until(day))
    return replace(intent, skills=_UPDATE | _DATE, relative=day.relative)


def reprice_quote(story: Story) -> Intent | None:
    """Set the amount of a quote."""
    quote = story.pick("Quote", _is_alive)
    others = siblings(story, quote)
    amount, money = fresh_amount(quote, others)(story)
    intent = _changed(story, quote, {"amount": amount}, amount=money)
    return replace(intent, fixes=(fix_amount(quote, money, others),))


def reissue_quote(story: Story) -> Intent | None:
    """Make a new version of a quote, at another amount."""
    quote = story.pick("Quote", _is_alive)
    amount, money = fresh_amount(quote, siblings(story, quote))(story)
    version = fresh_version(story, siblings(story, quote))
    return _changed(story, quote, {"amount": amount, "version": version}, amount=money, version=version)


def discount_quote(story: Story) -> Intent | None:
    """Take some percent off a quote."""
    return _by_percent(story, -1)


def raise_quote(story: Story) -> Intent | None:
    """Add some percent to a quote."""
    return _by_percent(story, 1)


def _by_percent(story: Story, sign: int) -> Intent | None:
    def prices(quote: Row) -> list[tuple[int, float]]:
        return parts(quote["amount"], siblings(story, quote), sign)

    quote = story.pick("Quote", lambda quote: _is_alive(quote) and bool(prices(quote)))
    said = call_without(story, quote, quote.ref)  # lint finds no amount by an id
    if not said:
        return None
    percent, amount = story.chance.one_of(prices(quote))
    intent = _changed(story, quote, {"amount": amount}, quote=said, percent=figures.percent(story.chance, percent))
    return replace(intent, skills=_UPDATE | _ARITHMETIC)


def extend_quote(story: Story) -> Intent | None:
    """Say until when a quote is valid."""
    day = story.day_ahead()
    quote = story.pick("Quote", lambda quote: _is_alive(quote) and quote["valid_until"] != day.iso)
    said = until(day)
    fix = Fix(tool="modify_quote", row=quote, column="valid_until", thing="the last day", said=said, draw=_fresh_day)
    intent = _changed(story, quote, {"valid_until": day.iso}, until=said)
    return replace(intent, skills=_UPDATE | _DATE, relative=day.relative, fixes=(fix,))


def prolong_quote(story: Story) -> Intent | None:
    """Make a quote valid for some weeks or days more than it is."""
    quote = story.pick("Quote", lambda quote: _is_alive(quote) and bool(quote["valid_until"]))
    weeks = story.chance.between(2, 6)
    number, span = story.chance.one_of(((7 * weeks, f"{figures.count(story.chance, weeks)} weeks"), *_SPANS))
    day = date.fromisoformat(quote["valid_until"]) + timedelta(days=number)
    intent = _changed(story, quote, {"valid_until": day.isoformat()}, span=span)
    return replace(intent, skills=_UPDATE | _DATE | _ARITHMETIC)


def revise_quote(story: Story) -> Intent | None:
    """Give a quote another version."""
    quote = story.pick("Quote", _is_alive)
    version = fresh_version(story, siblings(story, quote))
    return _changed(story, quote, {"version": version}, version=version)


def set_quote_prefix(story: Story) -> Intent | None:
    """Give a quote another prefix."""
    prefix = story.chance.digits(story.chance.one_of(PREFIXES))
    quote = story.pick("Quote", lambda quote: quote["quote_prefix"] != prefix)
    return _changed(story, quote, {"quote_prefix": prefix}, prefix=prefix)


def cancel_quote(story: Story) -> Intent | None:
    """Cancel a quote."""
    quote = story.pick("Quote", _is_alive)
    said = _called(story, quote)
    if not said:
        return None
    slots, seen = {"quote": said}, way_to_quote(story, quote)
    quote.columns["status"] = "Canceled"
    args = {"quote_id": quote.ref}
    return Intent(tool="cancel_quote", args=args, slots=slots, skills=_UPDATE, about=quote, looked_at=seen)


def delete_quote(story: Story) -> Intent | None:
    """Delete a quote."""
    quote = story.pick("Quote", lambda quote: not story.world.has_papers(quote))
    slots, seen = {"quote": story.refer_to(quote)}, way_to_quote(story, quote)
    story.world.remove(quote)
    skills = frozenset({"deletion"})
    return Intent(tool="delete_quote", args={"quote_id": quote.ref}, slots=slots, skills=skills, looked_at=seen)


def _is_alive(quote: Row) -> bool:
    return quote["status"] in ("Draft", "Sent", "Approved")


_OFTEN = (send_quote, approve_quote, reject_quote, reprice_quote, discount_quote, extend_quote, prolong_quote)
_SELDOM = (reopen_quote, send_quote_until, reissue_quote, raise_quote, revise_quote, set_quote_prefix)
SCENARIOS = (
    *(Scenario(make=make, entity="Quote", tools=["modify_quote"], weight=1.0, joins=True) for make in _OFTEN),
    *(Scenario(make=make, entity="Quote", tools=["modify_quote"], weight=0.5, joins=True) for make in _SELDOM),
    Scenario(make=cancel_quote, entity="Quote", tools=["cancel_quote"], weight=1.5, joins=True),
    Scenario(make=delete_quote, entity="Quote", tools=["delete_quote"], weight=1.5),
)
