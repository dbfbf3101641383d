"""Questions about deals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pytest_crmeval.conversations.generator import figures, vocabulary
from pytest_crmeval.conversations.generator.intents import Intent, Scenario, Slot
from pytest_crmeval.conversations.generator.naming import Referent, by_name
from pytest_crmeval.conversations.generator.rows import CLOSED, STAGES, Row
from pytest_crmeval.conversations.generator.story import Story

MANY = 10
"""The most deals that a question may find."""
EQUAL = ("client_id", "stage")
"""Filters that must be equal; for the others a part is enough."""
LOOKUP = frozenset({"lookup"})
_LONG = 5
"""Letters of a word that is long enough to search for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Some of the deals: the filters that find them, and the words for them."""

    filters: Mapping[str, str]
    rows: Sequence[Row]
    said: Referent

    @property
    def names_are_apart(self) -> bool:
        """Whether no name is part of another."""
        names = [row["name"].lower() for row in self.rows]
        return not any(one in other for at, one in enumerate(names) for other in names[:at] + names[at + 1 :])


def _found(story: Story, filters: Mapping[str, str]) -> list[Row]:
    """Return the deals that the CRM finds."""
    return [
        deal
        for deal in story.world.of("Opportunity")
        if all(
            deal[name] == value if name in EQUAL else value.lower() in (deal[name] or "").lower()
            for name, value in filters.items()
        )
    ]


def _key(tool: str, args: Mapping[str, str]) -> str:
    return " ".join((tool, *(f"{name}={value}" for name, value in args.items())))


def _is_news(story: Story, tool: str, args: Mapping[str, str]) -> bool:
    """Whether the answer is unknown: it was not asked for, and some of the deals have not been seen.

    An agent that has seen all deals knows when there are none.
    """
    rows = _found(story, args) or story.world.of("Opportunity")
    return _key(tool, args) not in story.seen and any(row.ref not in story.seen for row in rows)


def _search(
    story: Story, args: Mapping[str, str], slots: Mapping[str, Slot], phrase: str = "", *, client: Row | None = None
) -> Intent | None:
    """Search for deals; the reply has to name all that are found, up to ten."""
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


def _ask(story: Story, columns: Sequence[str]) -> Intent | None:
    """Ask for columns of a deal that has not been seen."""
    deal = story.pick_unseen("Opportunity", lambda deal: all(deal[column] is not None for column in columns))
    referent = story.refer_to(deal)
    reveals = "stage" in columns and deal["stage"] in referent.object
    return Intent(
        tool="view_opportunity_details",
        args={"opportunity_id": deal.ref},
        slots={"deal": by_name(deal) if reveals else referent},
        facts=[stage_word(deal[column]) if column == "stage" else deal[column] for column in columns],
        skills=LOOKUP,
        about=deal,
    )


def stage_word(stage: str) -> str:
    """Return the word for a stage that every reply contains: won, not Closed-Won."""
    return stage.removeprefix("Closed-").lower() if stage in CLOSED else stage


def deals_of_client(story: Story) -> Intent | None:
    """Ask for the deals of a client; there may be none."""

    def fits(client: Row) -> bool:
        return bool(story.world.of("Opportunity", client_id=client.ref)) or client.ref not in story.seen

    client = story.pick("Client", fits)
    return _search(story, {"client_id": client.ref}, {"client": story.refer_to(client)}, client=client)


def deals_in_stage(story: Story) -> Intent | None:
    """Ask which deals are in a stage, perhaps only those of a client."""
    stage = _stage(story, STAGES)
    client = story.pick_or_none("Client") if story.chance.chance(0.3) else None
    if client is None:
        return _search(story, {"stage": stage}, {"stage": stage})
    args = {"client_id": client.ref, "stage": stage}
    return _search(story, args, {"client": story.refer_to(client), "stage": stage}, client=client)


def _stage(story: Story, stages: Sequence[str]) -> str:
    """Return one of the stages, mostly one that has deals."""
    there = [stage for stage in stages if story.world.of("Opportunity", stage=stage)]
    return story.chance.one_of(there if there and story.chance.chance(0.9) else stages)


def closed_deals(story: Story) -> Intent | None:
    """Ask which deals were won, or lost."""
    stage = _stage(story, CLOSED)
    return _search(story, {"stage": stage}, {"outcome": stage_word(stage)})


def deals_of_owner(story: Story) -> Intent | None:
    """Ask for the deals of an owner, who may have none."""
    owner = _owner(story) if story.chance.chance(0.85) else story.chance.one_of(vocabulary.owners())
    return _search(story, {"owner": owner}, {"owner": owner}) if owner else None


def _owner(story: Story) -> str:
    owners = [deal["owner"] for deal in story.world.of("Opportunity") if deal["owner"]]
    return story.chance.one_of(owners) if owners else ""


def deals_by_word(story: Story) -> Intent | None:
    """Ask for deals by a word in their name; there may be none."""
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


def _of_client(story: Story) -> Scope:
    client = story.pick("Client")
    referent = story.refer_to(client)
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


def _summary(story: Story, *, number: bool = False, total: bool = False) -> Intent | None:
    """Ask for the number of several deals, for their total amount, or for both."""
    scope = story.chance.weighted(_SCOPES)(story)
    if scope is None or len(scope.rows) < 2 or not _is_news(story, "summarize_opportunities", scope.filters):  # noqa: PLR2004
        return None
    story.seen.add(_key("summarize_opportunities", scope.filters))
    facts: list[float] = [len(scope.rows)] if number else []
    facts += [figures.exact(sum(round(row["amount"] * 100) for row in scope.rows) / 100)] if total else []
    return Intent(
        tool="summarize_opportunities",
        args=scope.filters,
        slots={"deals": scope.said},
        facts=facts,
        skills=frozenset({"aggregation"}),
    )


def _compare(story: Story, rank: Callable[[Sequence[Row]], Row | None], skills: frozenset[str]) -> Intent | None:
    """Ask which of several deals comes first by a rank; the reply has to name it."""
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
    """Return the open deal that closes before all others; None if there is none or it is not clear which."""
    dated = sorted((row for row in rows if row["close_date"]), key=lambda row: str(row["close_date"]))
    days = [str(row["close_date"]) for row in dated[:2]]
    is_clear = len(set(days)) == 2 and days[0] >= today and not dated[0].is_closed  # noqa: PLR2004
    return dated[0] if is_clear else None


def biggest_deal(story: Story) -> Intent | None:
    """Ask for the largest of several deals."""
    return _compare(story, partial(_extreme, 1), frozenset({"comparison"}))


def smallest_deal(story: Story) -> Intent | None:
    """Ask for the smallest of several deals."""
    return _compare(story, partial(_extreme, -1), frozenset({"comparison"}))


def closes_first(story: Story) -> Intent | None:
    """Ask which of several deals closes first."""
    return _compare(story, partial(_first_to_close, story.now.date().isoformat()), frozenset({"comparison", "date"}))


_scenario = partial(Scenario, entity="Opportunity", joins=True)
_view_deal = partial(_scenario, tools=["view_opportunity_details"])
_search_deals = partial(_scenario, tools=["opportunity_search"])
_sum_deals = partial(_scenario, tools=["summarize_opportunities"])
_rank_deals = partial(_scenario, tools=["opportunity_search", "list_opportunities"])
SCENARIOS = (
    _view_deal(make=partial(_ask, columns=["stage"]), wordings="ask_deal_stage", weight=1.4),
    _view_deal(make=partial(_ask, columns=["amount"]), wordings="ask_deal_amount", weight=1.4),
    _view_deal(make=partial(_ask, columns=["close_date"]), wordings="ask_close_date", weight=1.2),
    _view_deal(make=partial(_ask, columns=["owner"]), wordings="ask_deal_owner"),
    _view_deal(make=partial(_ask, columns=["probability"]), wordings="ask_deal_probability"),
    _view_deal(make=partial(_ask, columns=["stage", "amount"]), wordings="ask_how_deal_stands"),
    _search_deals(make=deals_of_client, weight=2.0),
    _search_deals(make=deals_in_stage, weight=1.3),
    _search_deals(make=closed_deals, weight=0.8),
    _search_deals(make=deals_of_owner, weight=1.2),
    _search_deals(make=deals_by_word, weight=1.2),
    _scenario(make=list_all_deals, tools=["list_opportunities"], weight=0.7),
    _sum_deals(make=partial(_summary, total=True), wordings="total_of_deals", weight=1.2),
    _sum_deals(make=partial(_summary, number=True), wordings="number_of_deals", weight=0.8),
    _sum_deals(make=partial(_summary, number=True, total=True), wordings="sum_up_deals", weight=0.8),
    _rank_deals(make=biggest_deal),
    _rank_deals(make=smallest_deal, weight=0.6),
    _rank_deals(make=closes_first, weight=0.8),
)
