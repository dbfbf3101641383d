"""What users want reckoned of deals: amounts that are not said, and days."""

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from fractions import Fraction

from pytest_crmeval.conversations.generator import days, figures
from pytest_crmeval.conversations.generator.intents import Intent, Slot
from pytest_crmeval.conversations.generator.naming import Referent, by_name
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.scenarios.deals import (
    UPDATE,
    change,
    change_move,
    fix,
    from_today,
    pick_open,
)
from pytest_crmeval.conversations.generator.story import Story

RECKONED = UPDATE | {"arithmetic"}
_PERCENTS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 20, 25, 30)
_SHARES = {"a tenth": 10, "a fifth": 5, "a quarter": 4, "a third": 3}
_TIMES = {"double": 2, "triple": 3}
_SHORT_MONTH = 28
"""A month after any day up to this one there is the same day again."""


def _reckon(
    story: Story, rule: Callable[[Fraction], Fraction], slots: Mapping[str, Slot], only: Row | None = None
) -> Intent | None:
    """Change the amount of a deal, or of this one, by a rule whose result is exact to the cent."""

    def result(deal: Row) -> Fraction:
        return rule(Fraction(round(deal["amount"] * 100)))

    def fits(deal: Row) -> bool:
        return (
            (only is None or deal is only) and result(deal).denominator == 1 and 0 < result(deal) <= figures.MOST * 100
        )

    deal = pick_open(story, fits)
    if deal is None:
        return None
    amount = figures.exact(int(result(deal)) / 100)
    return change(deal, {"amount": amount}, {"deal": _call(story, deal, slots), **slots}, skills=RECKONED)


def _call(story: Story, deal: Row, slots: Mapping[str, Slot]) -> Referent:
    """Return how a deal is spoken of: "half of it", with no figure, would mean something else in every conversation."""
    referent = story.call(deal)
    vague = referent.known or "pronoun" in referent.skills
    return by_name(deal) if vague and slots.keys().isdisjoint(("percent", "sum")) else referent


def _by_percent(story: Story, sign: int) -> Intent | None:
    percent = story.chance.one_of(_PERCENTS)
    said = figures.percent(story.chance, percent)
    return _reckon(story, lambda cents: cents * Fraction(100 + sign * percent, 100), {"percent": said})


def _by_sum(story: Story, sign: int) -> Intent | None:
    """Change an amount by a round sum, a small part of it."""
    deal = pick_open(story)
    if deal is None:
        return None
    part = int(deal["amount"] * story.chance.between(4, 30) // 100)
    step = 10 ** (len(str(part)) - 1)
    sum_ = max(1, part // step) * step
    return _reckon(story, lambda cents: cents + sign * 100 * sum_, {"sum": story.money(sum_)}, deal)


def raise_deal_by_percent(story: Story) -> Intent | None:
    """Raise what a deal is worth by a percentage; how much that is, is not said."""
    return _by_percent(story, 1)


def cut_deal_by_percent(story: Story) -> Intent | None:
    """Lower what a deal is worth by a percentage."""
    return _by_percent(story, -1)


def raise_deal_by_sum(story: Story) -> Intent | None:
    """Add a sum to what a deal is worth."""
    return _by_sum(story, 1)


def cut_deal_by_sum(story: Story) -> Intent | None:
    """Take a sum off what a deal is worth."""
    return _by_sum(story, -1)


def cut_deal_by_share(story: Story) -> Intent | None:
    """Take a quarter or a third off what a deal is worth."""
    share = story.chance.one_of(list(_SHARES))
    return _reckon(story, lambda cents: cents - cents / _SHARES[share], {"share": share})


def halve_deal(story: Story) -> Intent | None:
    """Cut a deal to half of what it is worth."""
    return _reckon(story, lambda cents: cents / 2, {})


def multiply_deal(story: Story) -> Intent | None:
    """Double or triple what a deal is worth."""
    times = story.chance.one_of(list(_TIMES))
    return _reckon(story, lambda cents: cents * _TIMES[times], {"times": times})


def set_close_date(story: Story) -> Intent | None:
    """Set when a deal is to close, to the letter or counted from today."""
    deal, day = pick_open(story), story.day_ahead()
    if deal is None or deal["close_date"] == day.iso:
        return None
    said = from_today(day)
    slots: dict[str, Slot] = {"deal": story.call(deal), "day": said}
    skills = UPDATE | {"date"}
    fixes = [fix(deal, "close_date", said)]
    return change(deal, {"close_date": day.iso}, slots, skills=skills, fixes=fixes, relative=day.relative)


def _shift(story: Story, sign: int) -> Intent | None:
    """Move a close date from where it is; not into the past, and not to a day that a month does not have."""
    unit = story.chance.one_of(("day", "week", "week", "month"))
    number = story.chance.between(3, 20) if unit == "day" else story.chance.between(1, 4)
    amount = "a" if number == 1 and story.chance.chance(0.6) else figures.count(story.chance, number)

    def shifted(deal: Row) -> date:
        return _later(date.fromisoformat(deal["close_date"]), sign * number, unit)

    deal = pick_open(story, lambda deal: _is_dated(deal) and shifted(deal) >= story.now.date())
    if deal is None:
        return None
    slots: dict[str, Slot] = {"deal": story.call(deal), "span": f"{amount} {unit}{'s' if number > 1 else ''}"}
    return change(deal, {"close_date": shifted(deal).isoformat()}, slots, skills=RECKONED | {"date"})


def _is_dated(deal: Row) -> bool:
    return bool(deal["close_date"]) and date.fromisoformat(deal["close_date"]).day <= _SHORT_MONTH


def _later(day: date, number: int, unit: str) -> date:
    if unit == "month":
        return days.months_on(day, number)
    return day + timedelta(days=number * (7 if unit == "week" else 1))


def push_close_date(story: Story) -> Intent | None:
    """Let a deal close later than planned."""
    return _shift(story, 1)


def pull_close_date(story: Story) -> Intent | None:
    """Let a deal close sooner than planned."""
    return _shift(story, -1)


MOVES = (
    change_move(raise_deal_by_percent, 0.8),
    change_move(cut_deal_by_percent, 0.8),
    change_move(raise_deal_by_sum, 0.7),
    change_move(cut_deal_by_sum, 0.7),
    change_move(cut_deal_by_share, 0.4),
    change_move(halve_deal, 0.3),
    change_move(multiply_deal, 0.4),
    change_move(set_close_date, 1.6),
    change_move(push_close_date, 1.0),
    change_move(pull_close_date, 0.6),
)
