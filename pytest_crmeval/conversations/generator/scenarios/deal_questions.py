"""What users want to know of deals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pytest_crmeval.conversations.generator import figures, vocabulary
from pytest_crmeval.conversations.generator.intents import Intent, Scenario, Slot
from pytest_crmeval.conversations.generator.naming import Referent, by_name
from pytest_crmeval.conversations.generator.rows import CLOSED, STAGES, Row
from pytest_crmeval.conversations.generator.story import Story

MANY = 10
"""Of more rows than this nobody wants to hear all."""
EQUAL = ("client_id", "stage")
"""Filters that find what is equal; the others find what has them in it."""
LOOKUP = frozenset({"lookup"})
_LONG = 5
"""Letters of a word that is worth looking for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Some of the deals: what finds them, and how one speaks of them."""

    filters: Mapping[str, str]
    rows: Sequence[Row]
    said: Referent

    @property
    def names_are_apart(self) -> bool:
        """Whether no name is part of another."""
        names = [row["name"].lower() for row in self.rows]
        return not any(one in other for at, one in enumerate(names) for other in names[:at] + names[at + 1 :])


def _found(story: Story, filters: Mapping[str, str]) -> list[Row]:
    """Return what the CRM finds."""
    return [
        deal
        for deal in story.world.of("Opportunity")
        if all(_matches(deal[name], value, name in EQUAL) for name, value in filters.items())
    ]


def _matches(value: str | None, wanted: str, equal: bool) -> bool:  # noqa: FBT001 (of our own)
    return value == wanted if equal else wanted.lower() in (value or "").lower()


def _key(tool: str, args: Mapping[str, str]) -> str:
    return " ".join((tool, *(f"{name}={value}" for name, value in args.items())))


def _is_news(story: Story, tool: str, args: Mapping[str, str]) -> bool:
    """Whether nobody knows the answer yet: it was not asked for, and it has to do with deals that nobody has seen.

    That there are none can be known by whoever has seen all deals.
    """
    rows = _found(story, args) or story.world.of("Opportunity")
    return _key(tool, args) not in story.seen and any(row.ref not in story.seen for row in rows)


def _search(
    story: Story, args: Mapping[str, str], slots: Mapping[str, Slot], phrase: str = "", *, client: Row | None = None
) -> Intent | None:
    """Return a search that finds up to ten deals, or none; the reply has to name all."""
    rows = _found(story, args)
    if len(rows) > MANY or not _is_news(story, "opportunity_search", args):
        return None
    story.seen.add(_key("opportunity_search", args))
    if client:
        story.focus["Client"] = client
    return Intent(
        tool="opportunity_search",
        args=args,
        slots=slots,
        phrase=phrase,
        facts=None if rows else ["nothing"],
        skills=LOOKUP if rows else LOOKUP | {"absence"},
        about=rows[0] if len(rows) == 1 else None,
        looked_at=rows,
    )


def _ask(story: Story, *columns: str) -> Intent | None:
    """Ask what is in columns of a deal that nobody has looked at."""
    deal = story.pick_unseen("Opportunity", lambda deal: all(deal[column] is not None for column in columns))
    if deal is None:
        return None
    referent = story.call(deal)
    tells = "stage" in columns and deal["stage"] in referent.object
    return Intent(
        tool="view_opportunity_details",
        args={"opportunity_id": deal.ref},
        slots={"deal": by_name(deal) if tells else referent},
        facts=[stage_word(deal[column]) if column == "stage" else deal[column] for column in columns],
        skills=LOOKUP,
        about=deal,
    )


def stage_word(stage: str) -> str:
    """Return the word of a stage that nobody can avoid: won, not Closed-Won."""
    return stage.removeprefix("Closed-").lower() if stage in CLOSED else stage


def ask_deal_stage(story: Story) -> Intent | None:
    """Ask how far a deal is."""
    return _ask(story, "stage")


def ask_deal_amount(story: Story) -> Intent | None:
    """Ask what a deal is worth."""
    return _ask(story, "amount")


def ask_close_date(story: Story) -> Intent | None:
    """Ask when a deal is to close, or was."""
    return _ask(story, "close_date")


def ask_deal_owner(story: Story) -> Intent | None:
    """Ask whose a deal is."""
    return _ask(story, "owner")


def ask_deal_probability(story: Story) -> Intent | None:
    """Ask how likely a deal is."""
    return _ask(story, "probability")


def ask_how_deal_stands(story: Story) -> Intent | None:
    """Ask for stage and amount at once."""
    return _ask(story, "stage", "amount")


def deals_of_client(story: Story) -> Intent | None:
    """Ask which deals there are with a client; perhaps there are none."""

    def fits(client: Row) -> bool:
        return bool(story.world.of("Opportunity", client_id=client.ref)) or client.ref not in story.seen

    client = story.pick("Client", fits)
    if client is None:
        return None
    return _search(story, {"client_id": client.ref}, {"client": story.call(client)}, client=client)


def deals_in_stage(story: Story) -> Intent | None:
    """Ask which deals are in a stage, perhaps only those of a client."""
    stage = _stage(story, STAGES)
    client = story.pick("Client") if story.chance.chance(0.3) else None
    if client is None:
        return _search(story, {"stage": stage}, {"stage": stage})
    args = {"client_id": client.ref, "stage": stage}
    return _search(story, args, {"client": story.call(client), "stage": stage}, client=client)


def _stage(story: Story, stages: Sequence[str]) -> str:
    """Return one of the stages, most often one that there are deals in."""
    there = [stage for stage in stages if story.world.of("Opportunity", stage=stage)]
    return story.chance.one_of(there if there and story.chance.chance(0.9) else stages)


def closed_deals(story: Story) -> Intent | None:
    """Ask which deals were won, or lost."""
    stage = _stage(story, CLOSED)
    return _search(story, {"stage": stage}, {"outcome": stage_word(stage)})


def deals_of_owner(story: Story) -> Intent | None:
    """Ask which deals somebody has; now and then somebody who has none."""
    owner = _owner(story) if story.chance.chance(0.85) else story.chance.one_of(vocabulary.owners())
    return _search(story, {"owner": owner}, {"owner": owner}) if owner else None


def _owner(story: Story) -> str:
    owners = [deal["owner"] for deal in story.world.of("Opportunity") if deal["owner"]]
    return story.chance.one_of(owners) if owners else ""


def deals_by_word(story: Story) -> Intent | None:
    """Ask for deals by a word of their name; perhaps there are none."""
    names = [deal["name"] for deal in story.world.of("Opportunity") if deal.ref not in story.seen]
    if not names or story.chance.chance(0.2):
        names = [name for kind in vocabulary.industries() for name in kind.deals]
    words = [word for word in story.chance.one_of(names).split() if len(word) >= _LONG and word.isalpha()]
    if not words:
        return None
    word = story.chance.one_of(words).lower()
    return _search(story, {"name": word}, {"word": word})


def list_all_deals(story: Story) -> Intent | None:
    """Ask for all deals, if they are few."""
    rows = story.world.of("Opportunity")
    if not 1 < len(rows) <= MANY or not _is_news(story, "list_opportunities", {}):
        return None
    story.seen.add(_key("list_opportunities", {}))
    return Intent(tool="list_opportunities", args={}, slots={}, skills=LOOKUP, looked_at=rows)


def _all(story: Story) -> Scope:
    said = story.chance.one_of(("all our deals", "all the deals we have", "all deals in the system"))
    return _scope(story, {}, said)


def _of_client(story: Story) -> Scope | None:
    client = story.pick("Client")
    if client is None:
        return None
    referent = story.call(client)
    forms = (f"{referent.own} deals", f"all of {referent.own} deals", f"the deals with {referent.object}")
    return _scope(story, {"client_id": client.ref}, story.chance.one_of(forms), referent.skills)


def _in_stage(story: Story) -> Scope:
    stage = story.chance.one_of((*STAGES, *CLOSED))
    word = stage_word(stage)
    forms = (f"the deals in {stage}", f"our {stage} deals", f"all deals in stage {stage}")
    closed = (f"the deals we have {word}", f"all deals that we {word}", f"our {word} deals")
    return _scope(story, {"stage": stage}, story.chance.one_of(closed if stage in CLOSED else forms))


def _of_owner(story: Story) -> Scope | None:
    owner = _owner(story)
    forms = (f"{owner}'s deals", f"the deals {owner} owns", f"all deals that are {owner}'s")
    return _scope(story, {"owner": owner}, story.chance.one_of(forms)) if owner else None


def _scope(story: Story, filters: Mapping[str, str], said: str, skills: frozenset[str] = frozenset()) -> Scope:
    referent = Referent(object=said, own=said, subject=said, skills=skills)
    return Scope(filters=filters, rows=_found(story, filters), said=referent)


_SCOPES: Sequence[tuple[Callable[[Story], Scope | None], float]] = (
    *((_all, 1.5), (_of_client, 3.0), (_in_stage, 2.0), (_of_owner, 2.0)),
)


def _summary(story: Story, facts: Callable[[int, float], Sequence[Any]]) -> Intent | None:
    """Ask for the number of several deals, for what they come to, or for both."""
    scope = story.chance.weighted(_SCOPES)(story)
    if scope is None or len(scope.rows) < 2 or not _is_news(story, "summarize_opportunities", scope.filters):  # noqa: PLR2004
        return None
    story.seen.add(_key("summarize_opportunities", scope.filters))
    total = figures.exact(sum(round(row["amount"] * 100) for row in scope.rows) / 100)
    return Intent(
        tool="summarize_opportunities",
        args=scope.filters,
        slots={"deals": scope.said},
        facts=facts(len(scope.rows), total),
        skills=frozenset({"aggregation"}),
    )


def total_of_deals(story: Story) -> Intent | None:
    """Ask what several deals come to."""
    return _summary(story, lambda _, total: [total])


def number_of_deals(story: Story) -> Intent | None:
    """Ask how many deals there are of a kind."""
    return _summary(story, lambda number, _: [number])


def sum_up_deals(story: Story) -> Intent | None:
    """Ask how many deals there are of a kind, and what they come to."""
    return _summary(story, lambda number, total: [number, total])


def _compare(story: Story, rank: Callable[[Sequence[Row]], Row | None], skills: frozenset[str]) -> Intent | None:
    """Ask which of several deals stands out; the reply has to name it."""
    scope = story.chance.weighted(_SCOPES)(story)
    if scope is None or not 1 < len(scope.rows) <= MANY or not scope.names_are_apart:
        return None
    tool = "opportunity_search" if scope.filters else "list_opportunities"
    first = rank(scope.rows)
    if first is None or not _is_news(story, tool, scope.filters):
        return None
    story.seen.add(_key(tool, scope.filters))
    return Intent(
        tool=tool,
        args=scope.filters,
        slots={"deals": scope.said},
        facts=[first["name"]],
        skills=skills,
        about=first,
        looked_at=scope.rows,
    )


def _extreme(sign: int, rows: Sequence[Row]) -> Row | None:
    """Return the row with the largest amount, or the smallest; None if two share it."""
    first, second = sorted(rows, key=lambda row: -sign * row["amount"])[:2]
    return first if first["amount"] != second["amount"] else None


def _first_to_close(today: str, rows: Sequence[Row]) -> Row | None:
    """Return the open deal that closes before all others; None if there is none, or if that can be disputed."""
    dated = sorted((row for row in rows if row["close_date"]), key=lambda row: str(row["close_date"]))
    days = [str(row["close_date"]) for row in dated[:2]]
    is_clear = len(set(days)) == 2 and days[0] >= today and not dated[0].is_closed  # noqa: PLR2004
    return dated[0] if is_clear else None


def biggest_deal(story: Story) -> Intent | None:
    """Ask which of several deals is worth most."""
    return _compare(story, partial(_extreme, 1), frozenset({"comparison"}))


def smallest_deal(story: Story) -> Intent | None:
    """Ask which of several deals is worth least."""
    return _compare(story, partial(_extreme, -1), frozenset({"comparison"}))


def closes_first(story: Story) -> Intent | None:
    """Ask which of several deals is to close first."""
    return _compare(story, partial(_first_to_close, story.now.date().isoformat()), frozenset({"comparison", "date"}))


def _move(make: Callable[[Story], Intent | None], weight: float, *tools: str) -> Scenario:
    return Scenario(make=make, entity="Opportunity", tools=tools, weight=weight, joins=True)


_VIEW, _SEARCH, _SUM = "view_opportunity_details", "opportunity_search", "summarize_opportunities"
MOVES = (
    _move(ask_deal_stage, 1.4, _VIEW),
    _move(ask_deal_amount, 1.4, _VIEW),
    _move(ask_close_date, 1.2, _VIEW),
    _move(ask_deal_owner, 1.0, _VIEW),
    _move(ask_deal_probability, 1.0, _VIEW),
    _move(ask_how_deal_stands, 1.0, _VIEW),
    _move(deals_of_client, 2.0, _SEARCH),
    _move(deals_in_stage, 1.3, _SEARCH),
    _move(closed_deals, 0.8, _SEARCH),
    _move(deals_of_owner, 1.2, _SEARCH),
    _move(deals_by_word, 1.2, _SEARCH),
    _move(list_all_deals, 0.7, "list_opportunities"),
    _move(total_of_deals, 1.2, _SUM),
    _move(number_of_deals, 0.8, _SUM),
    _move(sum_up_deals, 0.8, _SUM),
    _move(biggest_deal, 1.0, _SEARCH, "list_opportunities"),
    _move(smallest_deal, 0.6, _SEARCH, "list_opportunities"),
    _move(closes_first, 0.8, _SEARCH, "list_opportunities"),
)
