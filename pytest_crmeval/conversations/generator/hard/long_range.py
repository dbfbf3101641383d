"""Things that are said early and needed late."""

from pytest_crmeval.conversations.generator.hard.request import Block, Request, modify, with_mistakes
from pytest_crmeval.conversations.generator.hard.scene import Scene
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.vocabulary import places

LONG = frozenset({"long-range"})
_LABELS = ("purchase order", "project code", "tender number", "cost center", "framework reference", "booking code")


def number_for_later(scene: Scene) -> list[Block]:
    """Give a number for each of two clients with other requests; later ask for a note with that of the first."""
    label = scene.chance.one_of(_LABELS)
    one, other = scene.client(status="Active"), scene.client(status="Active")
    codes = [scene.chance.digits("xx-xxxxx"), scene.chance.digits("xx-xxxxx")]
    deal = scene.deal(one)
    note = {"entity_type": "Opportunity", "entity_id": deal.ref}
    last = Request(
        phrase="hard_number_needed",
        slots={"label": label, "client": one["name"], "deal": deal["name"]},
        calls=[("add_note", {**note, "content": codes[0]})],
        mistakes=with_mistakes(forgets=[("add_note", {**note, "content": codes[1]})]),
        skills=LONG,
    )
    said = [_with_number(scene, client, label, code) for client, code in zip((one, other), codes, strict=True)]
    return [[said[0]], [said[1]], [last]]


def _with_number(scene: Scene, client: Row, label: str, code: str) -> Request:
    person, phone = scene.person(client), scene.chance.digits(scene.chance.one_of(places()).phone)
    return Request(
        phrase="hard_number_said",
        slots={
            "person": person.full_name,
            "client": client["name"],
            "phone": phone,
            "label": label,
            "code": code,
        },
        calls=[modify(person, phone=phone)],
    )


def wrong_deal(scene: Scene) -> list[Block]:
    """Change a deal; later say that it was the wrong one, so that its old amount has to be remembered."""
    client = scene.client()
    deals = [scene.deal(client) for _ in range(2)]
    amount, old = scene.amount(), deals[0]["amount"]
    names = {"client": client["name"], "deal": deals[0]["name"]}
    first = Request(
        phrase="hard_new_amount",
        slots={**names, "amount": scene.money(amount)},
        calls=[modify(deals[0], amount=amount)],
    )
    moved = modify(deals[1], amount=amount)
    last = Request(
        phrase="hard_wrong_deal",
        slots={**names, "other": deals[1]["name"]},
        calls=[modify(deals[0], amount=old), moved],
        mistakes=with_mistakes(forgets=[moved]),
        skills=LONG,
    )
    return [[first], [last]]


def put_back(scene: Scene) -> list[Block]:
    """Change two deals; later undo the change of the first."""
    client = scene.client()
    deals = [scene.deal(client, stage="Proposal") for _ in range(2)]
    days = [scene.day(250, 330), scene.day(250, 330)]
    names = {"client": client["name"], "deal": deals[0]["name"], "other": deals[1]["name"]}
    first = Request(
        phrase="hard_two_days",
        slots={**names, "day": scene.say_day(days[0]), "other_day": scene.say_day(days[1])},
        calls=[modify(deal, close_date=day) for deal, day in zip(deals, days, strict=True)],
    )
    last = Request(
        phrase="hard_put_back",
        slots={"client": client["name"], "deal": deals[0]["name"]},
        calls=[modify(deals[0], close_date=deals[0]["close_date"])],
        mistakes=with_mistakes(forgets=[modify(deals[0], close_date=deals[1]["close_date"])]),
        skills=LONG,
    )
    return [[first], [last]]
