"""Requests that can't be fulfilled before the agent has asked, and users who react if it has not."""

from pytest_crmeval.conversations.generator.hard.request import Block, Request, modify, with_mistakes
from pytest_crmeval.conversations.generator.hard.scene import Scene
from pytest_crmeval.conversations.generator.vocabulary import places

REACTS = frozenset({"reacting-user"})
ACTED, SILENT = "hard_acted", "hard_silent"


def two_people(scene: Scene) -> list[Block]:
    """Change the telephone number of one of two people with the same name."""
    clients = scene.twins(status="Active")
    other = scene.person(clients[0], title="Head of Procurement")
    person = scene.person(clients[1], like=other, title="Operations Manager")
    phone = scene.chance.digits(scene.chance.one_of(places()).phone)
    names = {"first_name": person["first_name"], "last_name": person["last_name"]}
    slots = {"person": person.full_name, "phone": phone}
    answer = {"person": person.full_name, "client": clients[1]["name"]}
    return [
        [
            Request(
                phrase="hard_two_people",
                slots=slots,
                calls=[("contact_search", names)],
                facts=[],
                asks=True,
                mistakes=with_mistakes(never_asks=[modify(other, phone=phone)]),
                skills=REACTS,
            ),
            Request(
                phrase="hard_one_of_two_people",
                slots=answer,
                calls=[modify(person, phone=phone)],
                if_written=ACTED,
                if_not_asked=SILENT,
                mistakes=with_mistakes(first_match=[modify(other, phone=phone)]),
            ),
        ]
    ]


def two_deals(scene: Scene) -> list[Block]:
    """Change the amount of one of two deals with the same name."""
    clients = scene.twins()
    other, deal = scene.same_deals(clients)
    amount = scene.amount()
    return [
        [
            Request(
                phrase="hard_two_deals",
                slots={"deal": deal["name"], "amount": scene.money(amount)},
                calls=[("opportunity_search", {"name": deal["name"]})],
                facts=[],
                asks=True,
                mistakes=with_mistakes(never_asks=[modify(other, amount=amount)]),
                skills=REACTS,
            ),
            Request(
                phrase="hard_one_of_two_deals",
                slots={"client": clients[1]["name"]},
                calls=[modify(deal, amount=amount)],
                if_written=ACTED,
                if_not_asked=SILENT,
                mistakes=with_mistakes(first_match=[modify(other, amount=amount)]),
            ),
        ]
    ]


def missing_amount(scene: Scene) -> list[Block]:
    """Write a quote, without saying at first how much it is."""
    clients = scene.twins()
    other, deal = scene.same_deals(clients)
    amount, until = scene.amount(), scene.day(8, 18)
    quote = {"opportunity_id": deal.ref, "amount": amount, "status": "Draft", "valid_until": until}
    guess = {"opportunity_id": deal.ref, "amount": deal["amount"], "status": "Draft"}
    return [
        [
            Request(
                phrase="hard_missing_amount",
                slots={"deal": deal["name"], "client": clients[1]["name"]},
                asks=True,
                mistakes=with_mistakes(never_asks=[("create_quote", guess)]),
                skills=REACTS,
            ),
            Request(
                phrase="hard_amount",
                slots={"amount": scene.money(amount), "until": scene.say_day(until)},
                calls=[("create_quote", quote)],
                if_written=ACTED,
                if_not_asked=SILENT,
                mistakes=with_mistakes(first_match=[("create_quote", {**quote, "opportunity_id": other.ref})]),
            ),
        ]
    ]
