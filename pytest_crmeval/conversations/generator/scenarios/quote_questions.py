"""Questions about quotes."""

from collections.abc import Sequence
from dataclasses import replace

from pytest_crmeval.conversations.generator import figures
from pytest_crmeval.conversations.generator.intents import Intent, Scenario
from pytest_crmeval.conversations.generator.naming import Referent
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.scenarios.quotes import call_without, siblings, way_to_deal, way_to_quote
from pytest_crmeval.conversations.generator.story import Story
from pytest_crmeval.conversations.scorers.facts import MANY, NOTHING

_LOOKUP, _COMPARISON = frozenset({"lookup"}), frozenset({"lookup", "comparison"})
_TOTAL = frozenset({"lookup", "aggregation"})
_STATUSES = ("Draft", "Draft", "Sent", "Sent", "Approved", "Rejected", "Canceled")
_PAIR = 2


def are_new(story: Story, rows: Sequence[Row]) -> bool:
    """Whether none of the rows has been seen, and they are not too many."""
    return len(rows) <= MANY and not any(row.ref in story.seen for row in rows)


def are_news(story: Story, rows: Sequence[Row], entity: str) -> bool:
    """Whether a list of the rows is unknown: one has not been seen, or there are none and that is not known yet."""
    unseen = [row for row in rows or story.world.of(entity) if row.ref not in story.seen]
    return bool(unseen) and len(rows) <= MANY


def _quotes_on(story: Story, deal: Row) -> list[Row]:
    return story.world.of("Quote", opportunity_id=deal.ref)


def _amounts(quotes: Sequence[Row]) -> list[float]:
    """Return the amounts, by which a reply names quotes."""
    return [quote["amount"] for quote in quotes]


def _asked(story: Story, quote: Row, said: Referent, column: str) -> Intent:
    """Ask for a column of a quote."""
    return Intent(
        tool="quote_details",
        args={"quote_id": quote.ref},
        slots={"quote": said},
        facts=[quote[column]],
        skills=_LOOKUP,
        about=quote,
        looked_at=way_to_quote(story, quote),
    )


def ask_quote_amount(story: Story) -> Intent | None:
    """Ask what a quote comes to."""
    quote = story.pick_unseen("Quote")
    return _asked(story, quote, story.refer_to(quote), "amount")


def ask_quote_status(story: Story) -> Intent | None:
    """Ask how a quote stands."""
    quote = story.pick_unseen("Quote")
    said = call_without(story, quote, f"the {quote['status'].lower()} quote")
    return _asked(story, quote, said, "status") if said else None


def ask_quote_validity(story: Story) -> Intent | None:
    """Ask until when a quote is valid."""
    quote = story.pick_unseen("Quote", lambda quote: bool(quote["valid_until"]))
    return _asked(story, quote, story.refer_to(quote), "valid_until")


def ask_quote_version(story: Story) -> Intent | None:
    """Ask which version a quote is."""
    quote = story.pick_unseen("Quote", lambda quote: bool(quote["version"]))
    said = call_without(story, quote, "version")
    return _asked(story, quote, said, "version") if said else None


def _on_deal(story: Story, deal: Row, quotes: Sequence[Row]) -> Intent:
    """Ask for the quotes on a deal."""
    said = story.refer_to(deal)
    return Intent(
        tool="quote_search",
        args={"opportunity_id": deal.ref},
        slots={"deal": said},
        facts=_amounts(quotes) or [NOTHING],
        skills=_LOOKUP if quotes else _LOOKUP | {"absence"},
        about=deal,
        looked_at=[*way_to_deal(story, deal, said), *_quotes_on(story, deal)],
    )


def quotes_of_deal(story: Story) -> Intent | None:
    """Ask which quotes a deal has."""

    def is_news(deal: Row) -> bool:
        quotes = _quotes_on(story, deal)
        return are_new(story, quotes or [deal]) and are_news(story, quotes, "Quote")

    deal = story.pick("Opportunity", is_news)
    return _on_deal(story, deal, _quotes_on(story, deal))


def deal_quotes_with_status(story: Story) -> Intent | None:
    """Ask which quotes of a deal have a status."""
    quote = story.pick_unseen("Quote", lambda quote: len(siblings(story, quote)) >= _PAIR)
    if not are_new(story, siblings(story, quote)):
        return None
    deal, status = story.world.deal_of(quote), quote["status"]
    intent = _on_deal(story, deal, story.world.of("Quote", opportunity_id=deal.ref, status=status))
    args = {"opportunity_id": deal.ref, "status": status}
    return replace(intent, args=args, slots={**intent.slots, "status": status.lower()})


def quotes_with_status(story: Story) -> Intent | None:
    """Ask which quotes have a status."""
    status = story.chance.one_of(_STATUSES)
    quotes = story.world.of("Quote", status=status)
    if not are_news(story, quotes, "Quote"):
        return None
    return Intent(
        tool="quote_search",
        args={"status": status},
        slots={"status": status.lower()},
        facts=_amounts(quotes) or [NOTHING],
        skills=_LOOKUP if quotes else _LOOKUP | {"absence"},
        looked_at=quotes or story.world.of("Quote"),
    )


def count_quotes(story: Story) -> Intent | None:
    """Ask how many quotes have a status."""
    intent = quotes_with_status(story)
    if intent is None or "absence" in intent.skills:
        return intent
    return replace(intent, facts=[len(intent.looked_at)], skills=_TOTAL)


def quotes_with_prefix(story: Story) -> Intent | None:
    """Ask which quotes have a prefix."""
    quote = story.pick_unseen("Quote", lambda quote: bool(quote["quote_prefix"]))
    prefix = quote["quote_prefix"]
    quotes = [each for each in story.world.of("Quote") if prefix.lower() in (each["quote_prefix"] or "").lower()]
    return Intent(
        tool="quote_search",
        args={"quote_prefix": prefix},
        slots={"prefix": prefix},
        facts=_amounts(quotes),
        skills=_LOOKUP,
        looked_at=quotes,
    )


def list_prefixes(story: Story) -> Intent | None:
    """Ask which prefixes are in use."""
    story.pick_unseen("Quote", lambda quote: bool(quote["quote_prefix"]))  # there must be one that has not been seen
    prefixes = sorted({each["quote_prefix"] for each in story.world.of("Quote") if each["quote_prefix"]})
    return Intent(tool="quote_prefixes", args={}, slots={}, facts=prefixes, skills=_LOOKUP)


def list_all_quotes(story: Story) -> Intent | None:
    """Ask for all quotes."""
    quotes = story.world.of("Quote")
    if not quotes or not are_news(story, quotes, "Quote"):
        return None
    return Intent(tool="list_quotes", args={}, slots={}, facts=_amounts(quotes), skills=_LOOKUP, looked_at=quotes)


def _deal_with(story: Story, fewest: int, most: int = MANY) -> Row:
    """Return a deal with a number of quotes in this range, none of which has been seen."""

    def fits(deal: Row) -> bool:
        quotes = _quotes_on(story, deal)
        return fewest <= len(quotes) <= most and are_new(story, quotes) and len(set(_amounts(quotes))) == len(quotes)

    return story.pick("Opportunity", fits)


def _compared(story: Story, deal: Row) -> tuple[Intent, list[Row]]:
    """Compare the quotes of a deal; return them, the cheapest first."""
    quotes = sorted(_quotes_on(story, deal), key=lambda quote: float(quote["amount"]))
    ids = [quote.ref for quote in story.chance.shuffled(quotes)]
    intent = replace(_on_deal(story, deal, quotes), tool="compare_quotes", args={"quote_ids": ids}, skills=_COMPARISON)
    return intent, quotes


def cheaper_of_two(story: Story) -> Intent | None:
    """Ask which of the two quotes on a deal is cheaper."""
    deal = _deal_with(story, _PAIR, _PAIR)
    intent, (low, _) = _compared(story, deal)
    return replace(intent, facts=[low["amount"]], about=low)


def quotes_side_by_side(story: Story) -> Intent | None:
    """Ask what the two quotes on a deal come to, and how they stand."""
    deal = _deal_with(story, _PAIR, _PAIR)
    intent, (low, high) = _compared(story, deal)
    return replace(
        intent, facts=list(dict.fromkeys(quote[name] for quote in (low, high) for name in ("amount", "status")))
    )


def quote_gap(story: Story) -> Intent | None:
    """Ask how far the two quotes on a deal are apart."""
    deal = _deal_with(story, _PAIR, _PAIR)
    intent, (low, high) = _compared(story, deal)
    return replace(intent, facts=[figures.exact(high["amount"] - low["amount"])], skills=_COMPARISON | {"arithmetic"})


def cheaper_quote_across(story: Story) -> Intent | None:
    """Ask which quote is cheaper, that on one deal or that on another."""
    one = story.pick_unseen("Quote", lambda quote: len(siblings(story, quote)) == 1)
    other = story.pick_unseen(
        "Quote",
        lambda quote: len(siblings(story, quote)) == 1 and quote is not one and quote["amount"] != one["amount"],
    )
    low = min(one, other, key=lambda quote: float(quote["amount"]))
    return Intent(
        tool="compare_quotes",
        args={"quote_ids": [one.ref, other.ref]},
        slots={"one": story.refer_to(one), "other": story.refer_to(other)},
        facts=[low["amount"]],
        skills=_COMPARISON,
        about=low,
        looked_at=[*way_to_quote(story, one), *way_to_quote(story, other)],
    )


def total_of_quotes(story: Story) -> Intent | None:
    """Ask what the quotes of a deal come to together."""
    deal = _deal_with(story, _PAIR)
    quotes = _quotes_on(story, deal)
    args = {"quote_ids": [quote.ref for quote in quotes]}
    total = figures.exact(round(sum(_amounts(quotes)), 2))
    intent = _on_deal(story, deal, quotes)
    return replace(intent, tool="compare_quote_details", args=args, facts=[total], skills=_TOTAL)


def cheapest_quote(story: Story) -> Intent | None:
    """Ask for the lowest amount that was quoted on a deal."""
    return _extreme(story, 0)


def dearest_quote(story: Story) -> Intent | None:
    """Ask for the highest amount that was quoted on a deal."""
    return _extreme(story, -1)


def _extreme(story: Story, place: int) -> Intent | None:
    deal = _deal_with(story, _PAIR)
    quotes = sorted(_quotes_on(story, deal), key=lambda quote: float(quote["amount"]))
    intent = _on_deal(story, deal, quotes)
    return replace(intent, facts=[quotes[place]["amount"]], skills=_COMPARISON, about=quotes[place])


def first_quote_to_expire(story: Story) -> Intent | None:
    """Ask which quote on a deal expires first."""
    deal = _deal_with(story, _PAIR)
    quotes = sorted(_quotes_on(story, deal), key=lambda quote: str(quote["valid_until"]))
    ends = [quote["valid_until"] for quote in quotes]
    if not all(ends) or ends[0] == ends[1]:
        return None
    intent = _on_deal(story, deal, quotes)
    return replace(intent, facts=[ends[0]], skills=_COMPARISON | {"date"}, about=quotes[0])


_BY_TOOL = {
    "quote_details": (
        (ask_quote_amount, 1.0),
        (ask_quote_status, 1.2),
        (ask_quote_validity, 1.0),
        (ask_quote_version, 0.4),
    ),
    "quote_search": (
        *((quotes_of_deal, 1.5), (deal_quotes_with_status, 0.7), (quotes_with_status, 0.8), (count_quotes, 0.5)),
        *((quotes_with_prefix, 0.5), (cheapest_quote, 0.5), (dearest_quote, 0.5), (first_quote_to_expire, 0.5)),
    ),
    "compare_quotes": (
        (cheaper_of_two, 0.8),
        (quotes_side_by_side, 0.8),
        (quote_gap, 0.5),
        (cheaper_quote_across, 0.7),
    ),
    "compare_quote_details": ((total_of_quotes, 1.5),),
    "quote_prefixes": ((list_prefixes, 1.0),),
    "list_quotes": ((list_all_quotes, 1.0),),
}
SCENARIOS = tuple(
    Scenario(make=make, entity="Quote", tools=[tool], weight=weight)
    for tool, makes in _BY_TOOL.items()
    for make, weight in makes
)
