"""Rules about records that are created."""

from datetime import timedelta
from fractions import Fraction

from pytest_crmeval.conversations.generator.days import months_on
from pytest_crmeval.conversations.generator.figures import CURRENCIES
from pytest_crmeval.conversations.generator.hard.policies.rule import adapted
from pytest_crmeval.conversations.generator.hard.request import Block, Call
from pytest_crmeval.conversations.generator.hard.rounding import Rounding
from pytest_crmeval.conversations.generator.hard.scene import Scene
from pytest_crmeval.conversations.generator.mail import domain
from pytest_crmeval.conversations.generator.rows import STAGES
from pytest_crmeval.conversations.generator.vocabulary import industries

_HALFWAY = 5
"""Some round this up, others to the nearest even number."""
_FIRST_STAGES = STAGES[:2]
"""Deals in the others may need a close date or a probability by another rule."""


def currency(scene: Scene) -> list[Block]:
    """Enter a deal whose amount is in another currency."""
    other, client = scene.twins()
    foreign = scene.chance.one_of([code for code in CURRENCIES if code != scene.currency])
    rate = Fraction(scene.chance.between(78, 127), 100)
    rate += Fraction(1, 100) if rate == 1 else 0
    amount = 100 * scene.chance.between(150, 1500)
    while amount * rate % 10 == _HALFWAY:
        amount += 100
    exact = amount * rate
    nearest = Rounding(way="nearest", step=10, said="").of(exact)
    scene.rules.append(
        f"Currency: all amounts in the CRM are in {scene.currency}. An amount in {foreign} is converted at "
        f"{float(rate):.2f} "
        f"{scene.currency} for 1 {foreign} and rounded to the nearest 10."
    )
    name, stage = scene.deal_names(1)[0], scene.chance.one_of(_FIRST_STAGES)

    def new(client_id: str, value: int) -> list[Call]:
        arguments = {"client_id": client_id, "name": name, "amount": value, "stage": stage}
        return [("create_new_opportunity", arguments)]

    slots = {"client": client["name"], "name": name, "amount": f"{foreign} {amount:,}", "stage": stage}
    right = new(client.ref, nearest)
    return [[adapted("hard_new_deal", slots, right, new(client.ref, amount), first_match=new(other.ref, nearest))]]


def contract_terms(scene: Scene) -> list[Block]:
    """Write a contract, of which the rules fix the dates."""
    other, client = scene.twins()
    months = scene.chance.one_of((6, 12, 18, 24))
    start = months_on(scene.today.replace(day=1), 1)
    end = months_on(start, months) - timedelta(days=1)
    value = 1000 * scene.chance.between(12, 240)
    scene.rules.append(
        f"Contracts: a contract starts on the first day of next month and ends on the last day before {months} "
        f"months have "
        "passed. It has the status Pending. Both dates are entered, whatever was said."
    )

    def new(client_id: str, **dates: str) -> list[Call]:
        return [("create_contract", {"client_id": client_id, "value": value, "status": "Pending", **dates})]

    dates = {"start_date": start.isoformat(), "end_date": end.isoformat()}
    slots = {"client": client["name"], "amount": scene.money(value)}
    naive = new(client.ref, start_date=scene.today.isoformat())
    right = new(client.ref, **dates)
    return [[adapted("hard_contract", slots, right, naive, first_match=new(other.ref, **dates))]]


def names_of_deals(scene: Scene) -> list[Block]:
    """Enter a deal, the name of which has to follow a pattern."""
    other, client = scene.twins()
    form = scene.chance.one_of(("{name} {year}", "{year} {name}", "{name} ({year})"))
    what, stage, amount = scene.deal_names(1)[0], scene.chance.one_of(_FIRST_STAGES), scene.amount()
    name = form.format(name=what, year=scene.today.year)
    example = form.format(name="Boiler service", year=scene.today.year - 1)
    scene.rules.append(
        "Names: the name of a new deal contains the year in which it is entered, in the form of "
        f'"{example}". Add the year, whatever the user calls the deal.'
    )

    def new(client_id: str, called: str) -> list[Call]:
        arguments = {"client_id": client_id, "name": called, "amount": amount, "stage": stage}
        return [("create_new_opportunity", arguments)]

    slots = {"client": client["name"], "name": what, "amount": scene.money(amount), "stage": stage}
    right, naive = new(client.ref, name), new(client.ref, what)
    return [[adapted("hard_new_deal", slots, right, naive, first_match=new(other.ref, name))]]


def owners_by_industry(scene: Scene) -> list[Block]:
    """Enter a client, whose owner follows from the industry."""
    one, two = scene.chance.some(industries(), 2)
    people = [scene.owner(), scene.owner(), scene.owner()]
    scene.rules.append(
        f"New clients: those in {one.name} belong to {people[0]}, those in {two.name} to {people[1]}, all others to "
        f"{people[2]}. Every new client is entered as Prospect, with its owner and industry."
    )
    industry, owner = scene.chance.one_of(((one.name, people[0]), (two.name, people[1])))
    name = scene.client_name()
    given = {"name": name, "email": f"hello@{domain(name)}", "industry": industry}
    right: list[Call] = [("create_new_client", {**given, "status": "Prospect", "owner": owner})]
    naive: list[Call] = [("create_new_client", {**given, "status": "Active"})]
    return [[adapted("hard_new_client", given, right, naive)]]
