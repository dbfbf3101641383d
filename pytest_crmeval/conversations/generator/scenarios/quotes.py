"""What users want quoted."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_crmeval.conversations.generator import figures
from pytest_crmeval.conversations.generator.days import Day
from pytest_crmeval.conversations.generator.intents import Draw, Fix, Intent, Scenario, Slot
from pytest_crmeval.conversations.generator.naming import Referent
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.story import Story

PREFIXES = ("EMEA-xxx", "REN-xxx", "SVC-xxx", "OFR-xxx", "KA-xxx", "PILOT-xx", "DACH-xx", "HW-xxxx")
"""With x for each digit."""
_PERCENTS = (3, 4, 5, 6, 8, 10, 12, 15, 20, 25)
_STEP = 250
_TRIES = 8
_PAIR = 2
_CROWD = 5
"""So many quotes are enough for a deal."""
_CREATION, _DATE = frozenset({"creation"}), frozenset({"date"})

Extra = tuple[str, str, str, bool]
"""What else is said of a new quote: column, value, words, whether one has to know what day it is."""


def siblings(story: Story, quote: Row) -> list[Row]:
    """Return all quotes of a quote's deal, itself among them."""
    return story.world.of("Quote", opportunity_id=quote["opportunity_id"])


def way_to_deal(story: Story, deal: Row, said: Referent) -> list[Row]:
    """Return what an agent sees before it has found a deal: of one that is described, also its client's others."""
    client = story.world.client_of(deal)
    others = story.world.of("Opportunity", client_id=client.ref) if "description" in said.skills else []
    return [deal, client, *others]


def way_to_quote(story: Story, quote: Row) -> list[Row]:
    """Return what an agent sees before it has found a quote: its deal, and whatever else was quoted there."""
    return [story.world.deal_of(quote), *siblings(story, quote)]


def call_without(story: Story, row: Row, word: str) -> Referent | None:
    """Return how the user speaks of a record, but not by the very thing that he wants to know."""
    said = (story.call(row) for _ in range(_TRIES))
    return next((each for each in said if word not in each.object), None)


def until(day: Day) -> str:
    """Return a day as it is said after *until* or *to*: two weeks from now, not in two weeks."""
    return f"{day.said.removeprefix('in ')} from now" if day.said.startswith("in ") else day.said


def _has_room(story: Story, deal: Row) -> bool:
    """Whether another quote on an open deal could still be told from the others."""
    quotes = story.world.of("Quote", opportunity_id=deal.ref)
    return not deal.is_closed and len(quotes) < _CROWD and (len(quotes) < _PAIR or all(each.seeded for each in quotes))


def _is_bare(story: Story, deal: Row) -> bool:
    """Whether an open deal has so few quotes that another one needs no version."""
    return not deal.is_closed and len(story.world.of("Quote", opportunity_id=deal.ref)) < _PAIR


def fresh_version(story: Story, quotes: Sequence[Row]) -> str:
    """Return a version that comes after those of the quotes."""
    taken = [each["version"] for each in quotes if each["version"]]
    last = max((int(version.split(".")[0]) for version in taken), default=0)
    numbers = [f"{last + 1}.0", *(f"{last}.{minor}" for minor in (1, 2) if last)]
    return story.chance.one_of([number for number in numbers if number not in taken])


def fresh_amount(like: Row, quotes: Sequence[Row]) -> Draw:
    """Return how to draw an amount of the same size that none of the quotes has."""
    taken = [like["amount"], *(each["amount"] for each in quotes)]

    def draw(story: Story) -> tuple[float, str]:
        amount = figures.exact(figures.near(story.chance, like["amount"]))
        while amount in taken:
            amount += _STEP
        return amount, story.money(amount)

    return draw


def _part(amount: float, percent: int) -> float | None:
    """Return so many percent of an amount; None if that does not come out to the cent."""
    cents, rest = divmod(round(amount * 100) * percent, 100)
    return None if rest else figures.exact(cents / 100)


def parts(amount: float, quotes: Sequence[Row], sign: int) -> list[tuple[int, float]]:
    """Return percentages that one may add to an amount, or take off it, and what comes of it."""
    taken = [each["amount"] for each in quotes]
    found = [(percent, _part(amount, 100 + sign * percent)) for percent in _PERCENTS]
    return [
        (percent, part) for percent, part in found if part is not None and part not in taken and part <= figures.MOST
    ]


def _extras(story: Story, quotes: Sequence[Row]) -> Iterator[Extra]:
    """Yield what else is said of a new quote; where there are several, it has a version."""
    if len(quotes) >= _PAIR or story.chance.chance(0.35):
        version = fresh_version(story, quotes)
        yield "version", version, f"version {version}", False
    if story.chance.chance(0.45):
        day = story.day_ahead()
        yield "valid_until", day.iso, f"valid until {until(day)}", day.relative
    if story.chance.chance(0.15):
        prefix = story.chance.digits(story.chance.one_of(PREFIXES))
        yield "quote_prefix", prefix, f"prefix {prefix}", False


def _quoted(story: Story, deal: Row, columns: Mapping[str, Any], slots: Mapping[str, Slot]) -> Intent:
    """Write a quote for a deal."""
    said = story.call(deal)
    args = {"opportunity_id": deal.ref, **columns}
    return Intent(
        tool="create_quote",
        args=args,
        slots={"deal": said, **slots},
        skills=_CREATION,
        about=story.world.create("Quote", story.number, args),
        looked_at=way_to_deal(story, deal, said),
    )


def _fixable(intent: Intent, money: str, quotes: Sequence[Row]) -> Intent:
    """Return a new quote whose amount may be put right later."""
    return replace(intent, fixes=(fix_amount(intent.about, money, quotes),)) if intent.about else intent


def fix_amount(quote: Row, said: str, quotes: Sequence[Row]) -> Fix:
    """Return that the amount of a quote may have to be put right."""
    draw = fresh_amount(quote, quotes)
    return Fix(tool="modify_quote", row=quote, column="amount", thing="the quoted amount", said=said, draw=draw)


def draft_quote(story: Story) -> Intent | None:
    """Draft a quote for an open deal, perhaps with a version, a last day and a prefix."""
    deal = story.pick("Opportunity", lambda deal: _has_room(story, deal))
    if deal is None:
        return None
    quotes = story.world.of("Quote", opportunity_id=deal.ref)
    amount, money = fresh_amount(deal, quotes)(story)
    extras = list(_extras(story, quotes))
    columns = {"amount": amount, "status": "Draft", **{column: value for column, value, _, _ in extras}}
    terms = ", ".join((money, *(words for _, _, words, _ in extras)))
    intent = _fixable(_quoted(story, deal, columns, {"terms": terms}), money, quotes)
    if "valid_until" not in columns:
        return intent
    return replace(intent, skills=_CREATION | _DATE, relative=any(counted for *_, counted in extras))


def record_quote(story: Story) -> Intent | None:
    """Write down a quote that is out already."""
    deal = story.pick("Opportunity", lambda deal: _is_bare(story, deal))
    if deal is None:
        return None
    quotes = story.world.of("Quote", opportunity_id=deal.ref)
    amount, money = fresh_amount(deal, quotes)(story)
    status = story.chance.one_of(("Sent", "Sent", "Approved"))
    slots = {"amount": money, "status": status.lower()}
    return _fixable(_quoted(story, deal, {"amount": amount, "status": status}, slots), money, quotes)


def quote_full_amount(story: Story) -> Intent | None:
    """Draft a quote over what the deal is worth."""

    def is_new(deal: Row) -> bool:
        return _is_bare(story, deal) and not story.world.of("Quote", opportunity_id=deal.ref, amount=deal["amount"])

    deal = story.pick("Opportunity", is_new)
    if deal is None:
        return None
    intent = _quoted(story, deal, {"amount": deal["amount"], "status": "Draft"}, {})
    return replace(intent, skills=_CREATION | {"lookup"})


def quote_below_deal(story: Story) -> Intent | None:
    """Draft a quote over what the deal is worth, less some percent."""

    def prices(deal: Row) -> list[tuple[int, float]]:
        return parts(deal["amount"], story.world.of("Quote", opportunity_id=deal.ref), -1)

    deal = story.pick("Opportunity", lambda deal: _is_bare(story, deal) and bool(prices(deal)))
    if deal is None:
        return None
    percent, amount = story.chance.one_of(prices(deal))
    slots = {"percent": figures.percent(story.chance, percent)}
    intent = _quoted(story, deal, {"amount": amount, "status": "Draft"}, slots)
    return replace(intent, skills=_CREATION | {"arithmetic"})


MOVES = tuple(
    Scenario(make=make, entity="Quote", tools=["create_quote"], weight=weight)
    for make, weight in ((draft_quote, 3.0), (record_quote, 1.0), (quote_full_amount, 1.0), (quote_below_deal, 1.0))
)
