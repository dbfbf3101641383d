"""New contracts, and questions about contracts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any

from pytest_crmeval.conversations.generator import days, figures
from pytest_crmeval.conversations.generator.intents import Intent, Scenario, Slot
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.scenarios.quote_questions import are_new, are_news
from pytest_crmeval.conversations.generator.scenarios.quotes import call_without, way_to_deal
from pytest_crmeval.conversations.generator.story import Story
from pytest_crmeval.conversations.scorers.facts import NOTHING

_CREATION, _LOOKUP = frozenset({"creation"}), frozenset({"lookup"})
_STATUSES = ("Active", "Active", "Pending", "Expired")
_LENGTHS = (6, 12, 12, 18, 24, 36)
"""In months."""
_URL = "https://files.{}.example/contracts/C-{}.pdf"
_HOUSES = ("docs", "legal", "archive", "vault")
_SAFE = 28
"""The last day that every month has."""
_PAIR = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Some terms of a contract, and how they are said."""

    said: str
    columns: Mapping[str, Any] = field(default_factory=dict)
    relative: bool = False


def _range(story: Story) -> Terms:
    """Return start and end written out, whole months apart."""
    start = story.now.date() + timedelta(days=story.chance.between(1, 120))
    start = start.replace(day=1) if story.chance.chance(0.5) and start.month != story.now.month else start
    end = days.months_on(start, story.chance.one_of(_LENGTHS)) - timedelta(days=1)
    said = story.chance.one_of(("from {} to {}", "running from {} to {}", "start {}, end {}"))
    said = said.format(days.written(story.chance, start), days.written(story.chance, end))
    return Terms(said=said, columns={"start_date": start.isoformat(), "end_date": end.isoformat()})


def _span(story: Story) -> Terms:
    """Return the start, and the number of months until the end."""
    start = story.day_ahead()
    if start.value.day > _SAFE:
        return _range(story)
    months = story.chance.one_of(_LENGTHS)
    later = story.chance.one_of(("ending exactly {} months later", "end date exactly {} months after the start"))
    said = f"starting {start.said}, {later.format(figures.count(story.chance, months))}"
    end = days.months_on(start.value, months)
    return Terms(said=said, columns={"start_date": start.iso, "end_date": end.isoformat()}, relative=start.relative)


def _start(story: Story) -> Terms:
    day = story.day_ahead()
    return Terms(said=f"starting {day.said}", columns={"start_date": day.iso}, relative=day.relative)


def _conditions(story: Story, client: Row) -> Iterator[Terms]:
    """Yield more terms; a second contract of a client has an end date, which distinguishes it from the first."""
    if story.chance.chance(0.35):
        status = story.chance.one_of(("Active", "Active", "Pending"))
        yield Terms(said=status.lower(), columns={"status": status})
    if story.chance.chance(0.12):
        url = _URL.format(story.chance.one_of(_HOUSES), story.chance.digits("xxxxx"))
        yield Terms(said=f"document at {url}", columns={"document_url": url})
    if story.world.of("Contract", client_id=client.ref):
        yield _range(story)
    elif story.chance.chance(0.75):
        yield story.chance.one_of((_range, _span, _span, _start))(story)


def _agreed(story: Story, client: Row, terms: Sequence[Terms], slots: Mapping[str, Slot], **columns: Any) -> Intent:  # noqa: ANN401 (JSON)
    """Create a contract; it is pending unless the terms have a status."""
    agreed = {name: value for part in terms for name, value in part.columns.items()}
    args = {"client_id": client.ref, **columns, **agreed}
    contract = story.world.create("Contract", story.number, {"status": "Pending", **args})
    return Intent(
        tool="create_contract",
        args=args,
        slots=slots,
        skills=_CREATION | ({"date"} if "start_date" in agreed else frozenset()),
        about=contract,
        relative=any(part.relative for part in terms),
    )


def _may_sign(story: Story, client: Row) -> bool:
    """Whether another contract of a client could be distinguished from the others."""
    return all(contract.seeded for contract in story.world.of("Contract", client_id=client.ref))


def _has_none(story: Story, deal: Row) -> bool:
    """Whether a deal has no contract yet, and may have one."""
    return not story.world.of("Contract", opportunity_id=deal.ref) and _may_sign(story, story.world.client_of(deal))


def _said(money: str, terms: Sequence[Terms]) -> str:
    return ", ".join((money, *(part.said for part in terms)))


def write_contract(story: Story) -> Intent | None:
    """Create a contract with a client, without a deal."""
    client = story.pick("Client", lambda client: _may_sign(story, client))
    said, terms = story.refer_to(client), list(_conditions(story, client))
    value = figures.exact(figures.amount(story.chance, 5_000, 600_000))
    slots: dict[str, Slot] = {"client": said, "terms": _said(story.money(value), terms)}
    return replace(_agreed(story, client, terms, slots, value=value), looked_at=[client])


def write_contract_for_deal(story: Story) -> Intent | None:
    """Create a contract for a deal, with a value that the user says."""
    deal = story.pick("Opportunity", lambda deal: deal["stage"] != "Closed-Lost" and _has_none(story, deal))
    client, said = story.world.client_of(deal), story.refer_to(deal)
    terms = list(_conditions(story, client))
    value = figures.exact(figures.near(story.chance, deal["amount"]))
    slots: dict[str, Slot] = {"deal": said, "terms": _said(story.money(value), terms)}
    intent = _agreed(story, client, terms, slots, opportunity_id=deal.ref, value=value)
    return replace(intent, looked_at=way_to_deal(story, deal, said))


def sign_won_deal(story: Story) -> Intent | None:
    """Create the contract for a deal that was won, with the deal's amount as its value."""
    deal = story.pick("Opportunity", lambda deal: deal["stage"] == "Closed-Won" and _has_none(story, deal))
    said, terms = story.refer_to(deal), _range(story)
    intent = _agreed(
        story,
        story.world.client_of(deal),
        [terms],
        {"deal": said, "dates": terms.said},
        opportunity_id=deal.ref,
        value=deal["amount"],
    )
    return replace(intent, skills=intent.skills | _LOOKUP, looked_at=way_to_deal(story, deal, said))


def sign_approved_quote(story: Story) -> Intent | None:
    """Create the contract for a deal, with the amount of its approved quote as its value."""

    def fits(deal: Row) -> bool:
        return deal["stage"] != "Closed-Lost" and len(_approved(story, deal)) == 1 and _has_none(story, deal)

    deal = story.pick("Opportunity", fits)
    said, terms = story.refer_to(deal), _range(story)
    (quote,) = _approved(story, deal)
    slots: dict[str, Slot] = {"deal": said, "dates": terms.said}
    columns = {"opportunity_id": deal.ref, "value": quote["amount"]}
    intent = _agreed(story, story.world.client_of(deal), [terms], slots, **columns)
    seen = [*way_to_deal(story, deal, said), *story.world.of("Quote", opportunity_id=deal.ref)]
    return replace(intent, skills=intent.skills | _LOOKUP, looked_at=seen)


def _approved(story: Story, deal: Row) -> list[Row]:
    return story.world.of("Quote", opportunity_id=deal.ref, status="Approved")


def _values(contracts: Sequence[Row]) -> list[Any]:
    return [contract["value"] for contract in contracts] or [NOTHING]


def _looked_up(story: Story, contracts: Sequence[Row], slots: Mapping[str, Slot], **filters: str) -> Intent:
    """Ask for contracts."""
    return Intent(
        tool="contract_search",
        args=filters,
        slots=slots,
        facts=_values(contracts),
        skills=_LOOKUP if contracts else _LOOKUP | {"absence"},
        looked_at=contracts or story.world.of("Contract"),
    )


def contracts_of_client(story: Story) -> Intent | None:
    """Ask which contracts a client has."""

    def is_news(client: Row) -> bool:
        contracts = _contracts(story, client)
        return are_new(story, contracts or [client]) and are_news(story, contracts, "Contract")

    client = story.pick("Client", is_news)
    intent = _looked_up(story, _contracts(story, client), {"client": story.refer_to(client)}, client_id=client.ref)
    return replace(intent, about=client)


def total_of_contracts(story: Story) -> Intent | None:
    """Ask for the total value of a client's contracts."""

    def are_several(client: Row) -> bool:
        contracts = _contracts(story, client)
        return len(contracts) >= _PAIR and are_new(story, contracts)

    client = story.pick("Client", are_several)
    contracts = _contracts(story, client)
    intent = _looked_up(story, contracts, {"client": story.refer_to(client)}, client_id=client.ref)
    total = figures.exact(round(sum(_values(contracts)), 2))
    return replace(intent, facts=[total], skills=_LOOKUP | {"aggregation"}, about=client)


def _contracts(story: Story, client: Row) -> list[Row]:
    return story.world.of("Contract", client_id=client.ref)


def contract_of_deal(story: Story) -> Intent | None:
    """Ask for the contract of a deal."""

    def is_news(deal: Row) -> bool:
        contracts = story.world.of("Contract", opportunity_id=deal.ref)
        return are_new(story, contracts or [deal]) and are_news(story, contracts, "Contract")

    deal = story.pick("Opportunity", is_news)
    said, contracts = story.refer_to(deal), story.world.of("Contract", opportunity_id=deal.ref)
    intent = _looked_up(story, contracts, {"deal": said}, opportunity_id=deal.ref)
    return replace(intent, about=deal, looked_at=[*intent.looked_at, *way_to_deal(story, deal, said)])


def _ask(story: Story, column: str, word: str = "\n") -> Intent | None:
    """Ask for one column of the only contract of a client, without that ``word`` in the words for it."""

    def is_alone(contract: Row) -> bool:
        return len(story.world.of("Contract", client_id=contract["client_id"])) == 1 and bool(contract[column])

    contract = story.pick_unseen("Contract", is_alone)
    said = call_without(story, contract, word)
    if not said:
        return None
    client = story.world.client_of(contract)
    filters = {"contract_id": contract.ref} if contract.ref in said.object else {"client_id": client.ref}
    intent = _looked_up(story, [contract], {"contract": said}, **filters)
    return replace(intent, facts=[contract[column]], about=contract, looked_at=[contract, client])


def contracts_with_status(story: Story) -> Intent | None:
    """Ask which contracts have a status."""
    status = story.chance.one_of(_STATUSES)
    contracts = story.world.of("Contract", status=status)
    if not are_news(story, contracts, "Contract"):
        return None
    return _looked_up(story, contracts, {"status": status.lower()}, status=status)


def count_contracts(story: Story) -> Intent | None:
    """Ask how many contracts have a status."""
    intent = contracts_with_status(story)
    if intent is None or "absence" in intent.skills:
        return intent
    return replace(intent, facts=[len(intent.looked_at)], skills=_LOOKUP | {"aggregation"})


def first_contract_to_end(story: Story) -> Intent | None:
    """Ask when the first of the active contracts ends."""
    contracts = sorted(story.world.of("Contract", status="Active"), key=lambda contract: str(contract["end_date"]))
    ends = [contract["end_date"] for contract in contracts]
    if len(ends) < _PAIR or not all(ends) or ends[0] == ends[1] or not are_new(story, contracts):
        return None
    intent = _looked_up(story, contracts, {}, status="Active")
    return replace(intent, facts=[ends[0]], skills=_LOOKUP | {"comparison", "date"}, about=contracts[0])


def list_all_contracts(story: Story) -> Intent | None:
    """Ask for all contracts."""
    contracts = story.world.of("Contract")
    if not contracts or not are_news(story, contracts, "Contract"):
        return None
    return replace(_looked_up(story, contracts, {}), tool="list_contracts")


_write = partial(Scenario, entity="Contract", tools=["create_contract"])
_read = partial(Scenario, entity="Contract", tools=["contract_search"])
SCENARIOS = (
    _write(make=write_contract, weight=2.0),
    _write(make=write_contract_for_deal, weight=1.5),
    _write(make=sign_won_deal),
    _write(make=sign_approved_quote),
    _read(make=contracts_of_client, weight=1.5),
    _read(make=total_of_contracts, weight=0.5),
    _read(make=contract_of_deal, weight=0.7),
    _read(make=partial(_ask, column="value"), wordings="ask_contract_value"),
    _read(make=partial(_ask, column="end_date", word="ends on"), wordings="ask_contract_end"),
    _read(make=partial(_ask, column="start_date"), wordings="ask_contract_start", weight=0.4),
    _read(make=partial(_ask, column="status"), wordings="ask_contract_status", weight=0.8),
    _read(make=contracts_with_status, weight=0.8),
    _read(make=count_contracts, weight=0.4),
    _read(make=first_contract_to_end, weight=0.4),
    Scenario(make=list_all_contracts, entity="Contract", tools=["list_contracts"]),
)
