"""Rules about quotes."""

from datetime import timedelta
from fractions import Fraction

from pytest_crmeval.conversations.generator.figures import percent
from pytest_crmeval.conversations.generator.hard.policies.rule import adapted
from pytest_crmeval.conversations.generator.hard.request import Block, Call, modify
from pytest_crmeval.conversations.generator.hard.rounding import changed_by
from pytest_crmeval.conversations.generator.hard.scene import Scene, key_of


def largest_discount(scene: Scene) -> list[Block]:
    """Ask for more discount than a sent quote may have."""
    clients = scene.twins()
    deals = scene.same_deals(clients)
    other, quote = (scene.quote(deal, status="Sent") for deal in deals)
    most = scene.chance.between(4, 9)
    asked = most + scene.chance.between(3, 8)
    scene.rules.append(
        f"Discounts: the amount of a quote that has been sent may be lowered by {most} % at most. If more is asked "
        f"for, "
        f"lower it by {most} %, rounded to the nearest unit of the currency, and say so."
    )

    def lowered(by: int) -> list[Call]:
        return [modify(quote, amount=int(changed_by(quote["amount"], -by) + Fraction(1, 2)))]

    slots = {"deal": deals[1]["name"], "client": clients[1]["name"], "percent": percent(scene.chance, asked)}
    right = lowered(most)
    wrong = [modify(other, amount=right[0][1]["amount"])]
    return [[adapted("hard_discount", slots, right, lowered(asked), first_match=wrong)]]


def approval_limit(scene: Scene) -> list[Block]:
    """Ask to approve a quote that only one person may approve."""
    clients = scene.twins()
    deals = scene.same_deals(clients)
    limit = 1000 * scene.chance.between(40, 120)
    other, quote = (scene.quote(deal, status="Sent", amount=scene.amount(150_000)) for deal in deals)
    boss = scene.owner()
    scene.rules.append(
        f"Approvals: a quote of more than {limit:,} is approved by {boss} in person. If anyone else asks for it, "
        f"leave the "
        f'quote as it is and add this note to it: "Needs approval by {boss}".'
    )

    def noted(entity_id: str) -> list[Call]:
        content = f"Needs approval by {boss}"
        return [("add_note", {"entity_type": "Quote", "entity_id": entity_id, "content": content})]

    slots = {"deal": deals[1]["name"], "client": clients[1]["name"]}
    naive = [modify(quote, status="Approved")]
    return [[adapted("hard_approve", slots, noted(quote.ref), naive, first_match=noted(other.ref))]]


def cancel_instead_of_delete(scene: Scene) -> list[Block]:
    """Ask to delete a quote."""
    clients = scene.twins()
    deals = scene.same_deals(clients)
    other, quote = (scene.quote(deal) for deal in deals)
    scene.rules.append(
        "Records: quotes are never deleted, because auditors need them. A quote that is to be deleted is canceled "
        "instead."
    )
    slots = {"deal": deals[1]["name"], "client": clients[1]["name"]}
    right, wrong = ([("cancel_quote", dict(key_of(each)))] for each in (quote, other))
    return [[adapted("hard_delete_quote", slots, right, [("delete_quote", dict(key_of(quote)))], first_match=wrong)]]


def longest_validity(scene: Scene) -> list[Block]:
    """Ask for a quote to be valid for longer than is possible."""
    clients = scene.twins()
    deals = scene.same_deals(clients)
    days = 5 * scene.chance.between(4, 12)
    until = scene.day(5, 15)
    other, quote = (scene.quote(deal, status="Sent", valid_until=until) for deal in deals)
    asked = scene.day(days + 20, days + 90)
    last = (scene.today + timedelta(days=days)).isoformat()
    scene.rules.append(
        f"Validity: a quote is valid for {days} days from today at most. If a later day is asked for, enter the last "
        f"day "
        "that is possible, and say so."
    )
    slots = {"deal": deals[1]["name"], "client": clients[1]["name"], "day": scene.say_day(asked)}
    right, naive = [modify(quote, valid_until=last)], [modify(quote, valid_until=asked)]
    wrong = [modify(other, valid_until=last)]
    return [[adapted("hard_validity", slots, right, naive, first_match=wrong)]]
