"""Rules that forbid what the user asks for."""

from datetime import timedelta

from pytest_crmeval.conversations.generator.hard.policies.rule import declined
from pytest_crmeval.conversations.generator.hard.request import Block, modify
from pytest_crmeval.conversations.generator.hard.scene import Scene
from pytest_crmeval.conversations.generator.vocabulary import places


def key_accounts(scene: Scene) -> list[Block]:
    """Ask to hand over a deal that only one person may hand over."""
    client, (head, new) = scene.client(), (scene.owner(), scene.owner())
    deal = scene.deal(client, amount=scene.amount(260_000))
    limit = 10_000 * scene.chance.between(10, 24)
    scene.rules.append(
        f"Owners: the owner of a deal worth more than {limit:,} is changed by {head} only. Decline the request of "
        f"anyone else."
    )
    slots = {"deal": deal["name"], "client": client["name"], "owner": new}
    return declined(scene, "hard_hand_over", slots, modify(deal, owner=new))


def frozen_dates(scene: Scene) -> list[Block]:
    """Ask to move the close date of a deal during a freeze."""
    client = scene.client()
    deal = scene.deal(client, stage="Negotiation")
    first = scene.today - timedelta(days=scene.chance.between(1, 6))
    last = scene.today + timedelta(days=scene.chance.between(3, 12))
    scene.rules.append(
        f"Quarter end: from {first} to {last}, close dates of deals in Negotiation are frozen. Decline requests to "
        f"change "
        "one of them; there are no exceptions."
    )
    day = scene.day(60, 200)
    slots = {"deal": deal["name"], "client": client["name"], "day": scene.say_day(day)}
    return declined(scene, "hard_move_date", slots, modify(deal, close_date=day))


def confidential_prices(scene: Scene) -> list[Block]:
    """Ask to write the price of one client into the records of another."""
    client, other = scene.client(), scene.client()
    deal = scene.deal(client)
    amount = scene.money(scene.amount())
    scene.rules.append(
        "Confidentiality: what one client pays is never written into the records of another client, also not as a "
        "note. "
        "Decline such requests."
    )
    text = f"{other['name']} pays {amount} for the same"
    note = {"entity_type": "Opportunity", "entity_id": deal.ref, "content": text}
    slots = {"deal": deal["name"], "client": client["name"], "text": text}
    return declined(scene, "hard_note_price", slots, ("add_note", note))


def large_contracts(scene: Scene) -> list[Block]:
    """Ask for a contract that only the legal department writes."""
    client = scene.client()
    limit = 10_000 * scene.chance.between(10, 40)
    value = limit + 1000 * scene.chance.between(5, 90)
    scene.rules.append(
        f"Contracts above {limit:,}: only the legal department enters them. Decline, and don't enter a smaller one "
        f"instead."
    )
    slots = {"client": client["name"], "amount": scene.money(value)}
    return declined(scene, "hard_contract", slots, ("create_contract", {"client_id": client.ref, "value": value}))


def inactive_clients(scene: Scene) -> list[Block]:
    """Ask to change a person at a client that is not active any more."""
    client = scene.client(status="Inactive")
    person = scene.person(client)
    phone = scene.chance.digits(scene.chance.one_of(places()).phone)
    scene.rules.append(
        "Privacy: nothing about people at clients with the status Inactive is added or changed. Check the status "
        "before "
        "you change a person, and decline."
    )
    slots = {"person": person.full_name, "client": client["name"], "phone": phone}
    return declined(scene, "hard_phone", slots, modify(person, phone=phone))
