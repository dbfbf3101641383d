"""Changes of deals that have to be calculated: new amounts and dates that the user does not say."""

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from fractions import Fraction
from functools import partial

from pytest_crmeval.conversations.generator import days, figures
from pytest_crmeval.conversations.generator.intents import Intent, Slot
from pytest_crmeval.conversations.generator.naming import by_name
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.scenarios.deals import (
    UPDATE,
    change,
    change_scenario,
    fix,
    from_today,
    pick_open,
)
from pytest_crmeval.conversations.generator.story import Story

CALCULATED = UPDATE | {"arithmetic"}
_PERCENTS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 20, 25, 30)
_SHARES = {"a tenth": 10, "a fifth": 5, "a quarter": 4, "a third": 3}
_TIMES = {"double": 2, "triple": 3}
_SHORT_MONTH = 28
"""The last day that every month has."""


def _reckon(
    story: Story, rule: Callable[[Fraction], Fraction], slots: Mapping[str, Slot], only: Row | None = None
) -> Intent | None:
    """Change the amount of a deal (of ``only`` this one) by a rule whose result is exact to the cent."""

    def result(deal: Row) -> Fraction:
        return rule(Fraction(round(deal["amount"] * 100)))

    def fits(deal: Row) -> bool:
        return (
            (only is None or deal is only) and result(deal).denominator == 1 and 0 < result(deal) <= figures.MOST * 100
        )

    deal = pick_open(story, fits)
    amount = figures.exact(int(result(deal)) / 100)
    referent = story.refer_to(deal)
    # "Half of it", without a figure, would have a different label in every conversation.
    if (referent.known or "pronoun" in referent.skills) and slots.keys().isdisjoint(("percent", "sum")):
        referent = by_name(deal)
    return change(deal, {"amount": amount}, {"deal": referent, **slots}, skills=CALCULATED)


def _by_percent(story: Story, sign: int) -> Intent | None:
    """Change an amount by a percentage."""
    percent = story.chance.one_of(_PERCENTS)
    said = figures.percent(story.chance, percent)
    return _reckon(story, lambda cents: cents * Fraction(100 + sign * percent, 100), {"percent": said})


def _by_sum(story: Story, sign: int) -> Intent | None:
    """Change an amount by a round sum."""
    deal = pick_open(story)
    part = int(deal["amount"] * story.chance.between(4, 30) // 100)
    step = 10 ** (len(str(part)) - 1)
    sum_ = max(1, part // step) * step
    return _reckon(story, lambda cents: cents + sign * 100 * sum_, {"sum": story.money(sum_)}, deal)


def cut_deal_by_share(story: Story) -> Intent | None:
    """Reduce an amount by a quarter, a third or the like."""
    share = story.chance.one_of(list(_SHARES))
    return _reckon(story, lambda cents: cents - cents / _SHARES[share], {"share": share})


def halve_deal(story: Story) -> Intent | None:
    """Halve an amount."""
    return _reckon(story, lambda cents: cents / 2, {})


def multiply_deal(story: Story) -> Intent | None:
    """Double or triple an amount."""
    times = story.chance.one_of(list(_TIMES))
    return _reckon(story, lambda cents: cents * _TIMES[times], {"times": times})


def set_close_date(story: Story) -> Intent | None:
    """Set the close date, written out or relative to today."""
    deal, day = story.pick_or_none("Opportunity", lambda deal: not deal.is_closed), story.day_ahead()
    if deal is None or deal["close_date"] == day.iso:
        return None
    said = from_today(day)
    slots: dict[str, Slot] = {"deal": story.refer_to(deal), "day": said}
    skills = UPDATE | {"date"}
    fixes = [fix(deal, "close_date", said)]
    return change(deal, {"close_date": day.iso}, slots, skills=skills, fixes=fixes, relative=day.relative)


def _shift(story: Story, sign: int) -> Intent | None:
    """Move a close date by days, weeks or months; not into the past, and not to a day that a month lacks."""
    unit = story.chance.one_of(("day", "week", "week", "month"))
    number = story.chance.between(3, 20) if unit == "day" else story.chance.between(1, 4)
    amount = "a" if number == 1 and story.chance.chance(0.6) else figures.count(story.chance, number)

    def shifted(deal: Row) -> date:
        day = date.fromisoformat(deal["close_date"])
        if unit == "month":
            return days.months_on(day, sign * number)
        return day + timedelta(days=sign * number * (7 if unit == "week" else 1))

    def fits(deal: Row) -> bool:
        dated = deal["close_date"] and date.fromisoformat(deal["close_date"]).day <= _SHORT_MONTH
        return bool(dated) and shifted(deal) >= story.now.date()

    deal = pick_open(story, fits)
    slots: dict[str, Slot] = {"deal": story.refer_to(deal), "span": f"{amount} {unit}{'s' if number > 1 else ''}"}
    return change(deal, {"close_date": shifted(deal).isoformat()}, slots, skills=CALCULATED | {"date"})


SCENARIOS = (
    change_scenario(make=partial(_by_percent, sign=1), wordings="raise_deal_by_percent", weight=0.8),
    change_scenario(make=partial(_by_percent, sign=-1), wordings="cut_deal_by_percent", weight=0.8),
    change_scenario(make=partial(_by_sum, sign=1), wordings="raise_deal_by_sum", weight=0.7),
    change_scenario(make=partial(_by_sum, sign=-1), wordings="cut_deal_by_sum", weight=0.7),
    change_scenario(make=cut_deal_by_share, weight=0.4),
    change_scenario(make=halve_deal, weight=0.3),
    change_scenario(make=multiply_deal, weight=0.4),
    change_scenario(make=set_close_date, weight=1.6),
    change_scenario(make=partial(_shift, sign=1), wordings="push_close_date"),
    change_scenario(make=partial(_shift, sign=-1), wordings="pull_close_date", weight=0.6),
)
