"""New quotes."""

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
_MOST = 5
"""The most quotes for a deal."""
_CREATION, _DATE = frozenset({"creation"}), frozenset({"date"})

Extra = tuple[str, str, str, bool]
"""An optional column of a new quote: column, value, words, whether it is a date relative to today."""


def siblings(story: Story, quote: Row) -> list[Row]:
    """Return all quotes of a quote's deal, itself among them."""
    return story.world.of("Quote", opportunity_id=quote["opportunity_id"])


def way_to_deal(story: Story, deal: Row, said: Referent) -> list[Row]:
    """Return what an agent sees until it has found a deal; by a description, also the client's other deals."""
    client = story.world.client_of(deal)
    others = story.world.of("Opportunity", client_id=client.ref) if "description" in said.skills else []
    return [deal, client, *others]


def way_to_quote(story: Story, quote: Row) -> list[Row]:
    """Return what an agent sees until it has found a quote: its deal, and all quotes for that."""
    return [story.world.deal_of(quote), *siblings(story, quote)]


def call_without(story: Story, row: Row, word: str) -> Referent | None:
    """Return words for a record that don't contain ``word``; None if none were found."""
    said = (story.refer_to(row) for _ in range(_TRIES))
    return next((each for each in said if word not in each.object), None)


def until(day: Day) -> str:
    """Return a date in a form that fits after *until* or *to*: two weeks from now, not in two weeks."""
    return f"{day.said.removeprefix('in ')} from now" if day.said.startswith("in ") else day.said


def _has_room(story: Story, deal: Row) -> bool:
    """Whether another quote for an open deal could be distinguished from the others."""
    quotes = story.world.of("Quote", opportunity_id=deal.ref)
    return not deal.is_closed and len(quotes) < _MOST and (len(quotes) < _PAIR or all(each.seeded for each in quotes))


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
    """Return a function that draws an amount of the same size that none of the quotes has."""
    taken = [like["amount"], *(each["amount"] for each in quotes)]

    def draw(story: Story) -> tuple[float, str]:
        amount = figures.exact(figures.near(story.chance, like["amount"]))
        while amount in taken:
            amount += _STEP
        return amount, story.money(amount)

    return draw


def parts(amount: float, quotes: Sequence[Row], sign: int) -> list[tuple[int, float]]:
    """Return the percentages by which an amount can be raised or reduced exactly to the cent, with the results."""
    taken = [each["amount"] for each in quotes]
    found = []
    for percent in _PERCENTS:
        cents, rest = divmod(round(amount * 100) * (100 + sign * percent), 100)
        part = figures.exact(cents / 100)
        if not rest and part not in taken and part <= figures.MOST:
            found.append((percent, part))
    return found


def _extras(story: Story, quotes: Sequence[Row]) -> Iterator[Extra]:
    """Yield optional columns of a new quote; it has a version if the deal has several quotes."""
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
    """Create a quote for a deal."""
    said = story.refer_to(deal)
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
    """Return the intent of a new quote whose amount may be corrected in the next turn."""
    return replace(intent, fixes=(fix_amount(intent.about, money, quotes),)) if intent.about else intent


def fix_amount(quote: Row, said: str, quotes: Sequence[Row]) -> Fix:
    """Return how the user may correct the amount of a quote."""
    draw = fresh_amount(quote, quotes)
    return Fix(tool="modify_quote", row=quote, column="amount", thing="the quoted amount", said=said, draw=draw)


def draft_quote(story: Story) -> Intent | None:
    """Draft a quote for an open deal, perhaps with a version, an expiry date and a prefix."""
    deal = story.pick("Opportunity", lambda deal: _has_room(story, deal))
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
    """Create a quote that is already sent or approved."""
    deal = story.pick("Opportunity", lambda deal: _is_bare(story, deal))
    quotes = story.world.of("Quote", opportunity_id=deal.ref)
    amount, money = fresh_amount(deal, quotes)(story)
    status = story.chance.one_of(("Sent", "Sent", "Approved"))
    slots = {"amount": money, "status": status.lower()}
    return _fixable(_quoted(story, deal, {"amount": amount, "status": status}, slots), money, quotes)


def quote_full_amount(story: Story) -> Intent | None:
    """Draft a quote over the amount of the deal."""

    def is_new(deal: Row) -> bool:
        return _is_bare(story, deal) and not story.world.of("Quote", opportunity_id=deal.ref, amount=deal["amount"])

    deal = story.pick("Opportunity", is_new)
    intent = _quoted(story, deal, {"amount": deal["amount"], "status": "Draft"}, {})
    return replace(intent, skills=_CREATION | {"lookup"})


def quote_below_deal(story: Story) -> Intent | None:
    """Draft a quote over the amount of the deal less a percentage."""

    def prices(deal: Row) -> list[tuple[int, float]]:
        return parts(deal["amount"], story.world.of("Quote", opportunity_id=deal.ref), -1)

    deal = story.pick("Opportunity", lambda deal: _is_bare(story, deal) and bool(prices(deal)))
    percent, amount = story.chance.one_of(prices(deal))
    slots = {"percent": figures.percent(story.chance, percent)}
    intent = _quoted(story, deal, {"amount": amount, "status": "Draft"}, slots)
    return replace(intent, skills=_CREATION | {"arithmetic"})


SCENARIOS = tuple(
    Scenario(make=make, entity="Quote", tools=["create_quote"], weight=weight)
    for make, weight in ((draft_quote, 3.0), (record_quote, 1.0), (quote_full_amount, 1.0), (quote_below_deal, 1.0))
)
