"""Requests whose arguments come from several earlier results: a client by its contract, then a deal, then a quote."""

from collections.abc import Callable
from datetime import timedelta

from pytest_crmeval.conversations.generator.figures import percent
from pytest_crmeval.conversations.generator.hard.request import Block, Call, Request, modify, with_mistakes
from pytest_crmeval.conversations.generator.hard.rounding import any_rounding, changed_by
from pytest_crmeval.conversations.generator.hard.scene import Scene
from pytest_crmeval.conversations.generator.rows import STAGES, Row

DEPENDENT = frozenset({"dependent-steps"})
_CLIENTS: tuple[tuple[str, str, Callable[[Row], str | int]], ...] = (
    ("min", "the one whose active contract ends first", lambda contract: str(contract["end_date"])),
    ("max", "the one whose active contract ends last", lambda contract: str(contract["end_date"])),
    ("max", "the one with the highest value of its active contract", lambda contract: int(contract["value"])),
    ("min", "the one with the lowest value of its active contract", lambda contract: int(contract["value"])),
)
_DEALS: tuple[tuple[str, str, Callable[[Row], str | int]], ...] = (
    ("max", "the largest deal that is still open", lambda deal: int(deal["amount"])),
    ("min", "the smallest deal that is still open", lambda deal: int(deal["amount"])),
    ("max", "the open deal with the latest close date", lambda deal: str(deal["close_date"])),
    ("min", "the open deal with the earliest close date", lambda deal: str(deal["close_date"])),
)

_NOTES = (
    "Postponed after the quarterly review",
    "Moved with the renewal of the contract",
    "Waiting for the new budget year",
    "Board wants to see references first",
    "New date agreed with their buyer",
    "On hold until the audit is over",
)


def follow_chain(scene: Scene) -> list[Block]:
    """Find a deal through clients and contracts, and write a quote for it, or change it."""
    owner = scene.owner()
    clients = sorted(
        (scene.client(owner=owner) for _ in range(scene.chance.between(5, 7))), key=lambda each: each["name"]
    )
    contracts = [_contract(scene, client) for client in clients]
    deals = {client.ref: _deals(scene, client) for client in clients}
    best, whom, by = scene.chance.one_of(_CLIENTS)
    contract = (min if best == "min" else max)(contracts, key=by)
    best, which, by = scene.chance.one_of(_DEALS)
    deal = (min if best == "min" else max)(deals[contract["client_id"]], key=by)
    first = deals[clients[0].ref][0]
    slots = {"owner": owner, "whom": whom, "which": which}
    if scene.chance.chance(0.6):
        return [[_quoted(scene, deal, first, slots)]]
    return [[_postponed(scene, deal, first, slots)]]


def _contract(scene: Scene, client: Row) -> Row:
    """Add an active contract, and now and then an expired one, which is not meant."""
    start = scene.today - timedelta(days=scene.chance.between(30, 200))
    end = scene.today + timedelta(days=len(scene.world.rows) % 7 + 7 * scene.chance.between(3, 50))
    if scene.chance.chance(0.4):
        past = scene.today - timedelta(days=scene.chance.between(10, 60))
        value = scene.amount(5_000, 900_000)
        scene.add("Contract", client_id=client.ref, status="Expired", value=value, end_date=past.isoformat())
    while any(row["end_date"] == end.isoformat() for row in scene.world.of("Contract")):
        end += timedelta(days=1)
    days = {"start_date": start.isoformat(), "end_date": end.isoformat()}
    return scene.add("Contract", client_id=client.ref, status="Active", value=scene.amount(), **days)


def _deals(scene: Scene, client: Row) -> list[Row]:
    """Add open deals, and now and then a larger one that is closed; return those that are open."""
    if scene.chance.chance(0.5):
        scene.deal(client, stage="Closed-Won", amount=scene.amount(600_000, 900_000), probability=None)
    days = scene.chance.some(range(25, 200), scene.chance.between(2, 3))
    return [scene.deal(client, stage=scene.chance.one_of(STAGES[:-1]), close_date=scene.day(day, day)) for day in days]


def _quoted(scene: Scene, deal: Row, first: Row, slots: dict[str, str]) -> Request:
    change, rounding, until = scene.chance.between(3, 14), any_rounding(scene.chance), scene.day(8, 18)

    def quote(about: Row, *, wrongly: bool = False) -> list[Call]:
        exact = changed_by(about["amount"], -change)
        amount = rounding.wrongly(exact) if wrongly else rounding.of(exact)
        arguments = {"opportunity_id": about.ref, "amount": amount, "status": "Draft", "valid_until": until}
        return [("create_quote", arguments)]

    return Request(
        phrase="hard_chain_quote",
        slots={
            **slots,
            "percent": percent(scene.chance, change),
            "rounding": rounding.said,
            "until": scene.say_day(until),
        },
        calls=quote(deal),
        mistakes=with_mistakes(
            rounds_wrongly=quote(deal, wrongly=True), first_match=quote(first) if first is not deal else None
        ),
        skills=DEPENDENT | {"rounding"},
    )


def _postponed(scene: Scene, deal: Row, first: Row, slots: dict[str, str]) -> Request:
    day, text = scene.day(205, 300), scene.chance.one_of(_NOTES)

    def calls(about: Row) -> list[Call]:
        note = {"entity_type": "Opportunity", "entity_id": about.ref, "content": text}
        return [modify(about, close_date=day), ("add_note", note)]

    return Request(
        phrase="hard_chain_change",
        slots={**slots, "note": text, "day": scene.say_day(day)},
        calls=calls(deal),
        mistakes=with_mistakes(first_match=calls(first) if first is not deal else None),
        skills=DEPENDENT,
    )
