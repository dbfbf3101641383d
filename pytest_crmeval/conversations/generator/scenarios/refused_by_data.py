"""Requests that the CRM refuses because of its data: the deal is closed, the address taken, the record missing."""

from typing import Any

from pytest_crmeval.conversations.generator import days, figures
from pytest_crmeval.conversations.generator.intents import Intent, Scenario, Slot
from pytest_crmeval.conversations.generator.rows import STAGES, Row
from pytest_crmeval.conversations.generator.scenarios import recovery, unused_names
from pytest_crmeval.conversations.generator.scenarios.deals import from_today
from pytest_crmeval.conversations.generator.scenarios.follow_ups import OpenRequest
from pytest_crmeval.conversations.generator.scenarios.notes_and_files import note_text
from pytest_crmeval.conversations.generator.story import Story

CLOSED = "Cannot modify closed opportunity"
TAKEN = "already exists with email"
MISSING = "not found"
OVER = "today or in the future"
REFUSED = frozenset({"refusal"})


def _is_closed(deal: Row) -> bool:
    return deal.is_closed


_ORDINARY = {
    "amount": "set_deal_amount",
    "stage": "move_deal_on",
    "probability": "set_deal_probability",
    "day": "set_close_date",
}
"""Slot -> wordings for open deals; most users don't know that the deal is closed."""


def _change_closed(
    story: Story, deal: Row, change: dict[str, Any], said: dict[str, Slot], *, relative: bool = False
) -> OpenRequest:
    plain = _ORDINARY[next(iter(said))] if story.chance.chance(0.6) else ""
    return OpenRequest(
        tool="modify_opportunity",
        args={"opportunity_id": deal.ref, **change},
        slots={"deal": story.refer_to(deal), **said},
        phrase=plain,
        error=CLOSED,
        skills=REFUSED | {"update"},
        about=deal,
        relative=relative,
        follow_up=recovery.as_a_note,
    )


def change_closed_amount(story: Story) -> Intent | None:
    """Change the amount of a closed deal."""
    deal = story.pick("Opportunity", _is_closed)
    amount = figures.exact(figures.near(story.chance, deal["amount"]))
    return _change_closed(story, deal, {"amount": amount}, {"amount": story.money(amount)})


def reopen_closed_deal(story: Story) -> Intent | None:
    """Reopen a closed deal."""
    deal = story.pick("Opportunity", _is_closed)
    stage = story.chance.one_of(STAGES)
    return _change_closed(story, deal, {"stage": stage}, {"stage": stage})


def change_closed_probability(story: Story) -> Intent | None:
    """Change the probability of a closed deal."""
    deal = story.pick("Opportunity", _is_closed)
    value = 5 * story.chance.between(2, 19)
    return _change_closed(story, deal, {"probability": value}, {"probability": figures.percent(story.chance, value)})


def change_closed_date(story: Story) -> Intent | None:
    """Change the close date of a closed deal."""
    deal = story.pick("Opportunity", _is_closed)
    day = days.ahead(story.chance, story.now.date())
    return _change_closed(story, deal, {"close_date": day.iso}, {"day": from_today(day)}, relative=day.relative)


def clone_past_deal(story: Story) -> Intent | None:
    """Clone a deal whose close date is past, which the clone would share."""
    today = story.now.date().isoformat()
    deal = story.pick("Opportunity", lambda row: bool(row["close_date"]) and row["close_date"] < today)
    return OpenRequest(
        tool="clone_opportunity",
        args={"opportunity_id": deal.ref},
        slots={"deal": story.refer_to(deal)},
        error=OVER,
        skills=REFUSED | {"date"},
        about=deal,
        follow_up=recovery.as_a_note,
    )


def _respelt(story: Story, address: str) -> str:
    """Return an address, perhaps capitalized, which makes no difference to the CRM."""
    return address.capitalize() if story.chance.chance(0.15) else address


def add_client_with_taken_email(story: Story) -> Intent | None:
    """Add a client with the e-mail address of another one."""
    other = story.pick_unseen("Client", lambda client: bool(client["email"]))
    name, address = unused_names.company(story), _respelt(story, other["email"])
    status = story.chance.one_of(("Active", "Prospect"))
    return OpenRequest(
        tool="create_new_client",
        args={"name": name, "email": address, "status": status},
        slots={"name": name, "email": address, "status": status},
        error=TAKEN,
        skills=REFUSED | {"creation"},
        looked_at=(other,),
        follow_up=recovery.with_another_address,
    )


def take_clients_email(story: Story) -> Intent | None:
    """Give a client the e-mail address of another one."""
    client = story.pick("Client")
    others = [
        row for row in story.world.of("Client") if row["email"] and row is not client and row.ref not in story.seen
    ]
    if not others:
        return None
    other = story.chance.one_of(others)
    address = _respelt(story, other["email"])
    return OpenRequest(
        tool="modify_client",
        args={"client_id": client.ref, "email": address},
        slots={"client": story.refer_to(client), "email": address},
        error=TAKEN,
        skills=REFUSED | {"update"},
        about=client,
        looked_at=(other,),
        follow_up=recovery.with_another_address,
    )


def _unknown(story: Story, tool: str, key: str, *, skill: str = "lookup") -> Intent:
    """Call a tool with an id that does not exist."""
    made_up = story.chance.uuid()
    skills = REFUSED | {skill}
    return Intent(tool=tool, args={key: made_up}, slots={"id": made_up}, error=MISSING, skills=skills)


def open_unknown_quote(story: Story) -> Intent | None:
    """Ask for a quote that does not exist."""
    return _unknown(story, "quote_details", "quote_id")


def open_unknown_deal(story: Story) -> Intent | None:
    """Ask for a deal that does not exist."""
    return _unknown(story, "view_opportunity_details", "opportunity_id")


def cancel_unknown_quote(story: Story) -> Intent | None:
    """Cancel a quote that does not exist."""
    return _unknown(story, "cancel_quote", "quote_id", skill="update")


def delete_unknown_deal(story: Story) -> Intent | None:
    """Delete a deal that does not exist."""
    return _unknown(story, "delete_opportunity", "opportunity_id", skill="deletion")


def note_on_unknown_contract(story: Story) -> Intent | None:
    """Add a note to a contract that does not exist."""
    made_up, text = story.chance.uuid(), note_text(story, "Contract")
    return Intent(
        tool="add_note",
        args={"entity_type": "Contract", "entity_id": made_up, "content": text},
        slots={"id": made_up, "note": text},
        error=MISSING,
        skills=REFUSED | {"note"},
    )


def write_contract_with_unknown_client(story: Story) -> Intent | None:
    """Create a contract with a client that does not exist."""
    made_up, value = story.chance.uuid(), figures.exact(figures.amount(story.chance))
    return Intent(
        tool="create_contract",
        args={"client_id": made_up, "value": value, "status": "Pending"},
        slots={"id": made_up, "value": story.money(value)},
        error=MISSING,
        skills=REFUSED | {"creation"},
    )


def _gone(story: Story) -> tuple[str, str, str] | None:
    """Return the tool, key and id of the record that the previous turn deleted; None if it deleted none."""
    last = story.last
    if last is None or last.error or not last.tool.startswith("delete_"):
        return None
    ((key, ref),) = last.args.items()
    return last.tool, key, ref


def delete_again(story: Story) -> Intent | None:
    """Delete a record again that was just deleted."""
    gone = _gone(story)
    if gone is None:
        return None
    tool, key, ref = gone
    return Intent(tool=tool, args={key: ref}, slots={}, error=MISSING, skills=REFUSED | {"deletion"})


def open_what_is_gone(story: Story) -> Intent | None:
    """Ask for a record that was just deleted."""
    gone = _gone(story)
    if gone is None:
        return None
    tool, key, ref = gone
    view = "quote_details" if tool == "delete_quote" else "view_opportunity_details"
    return Intent(tool=view, args={key: ref}, slots={}, error=MISSING, skills=REFUSED | {"lookup"})


_DEAL = ["modify_opportunity"]
SCENARIOS = (
    Scenario(make=change_closed_amount, entity="Opportunity", tools=_DEAL, weight=1.2, trouble=True),
    Scenario(make=reopen_closed_deal, entity="Opportunity", tools=_DEAL, weight=1.2, trouble=True),
    Scenario(make=change_closed_probability, entity="Opportunity", tools=_DEAL, weight=0.6, trouble=True),
    Scenario(make=change_closed_date, entity="Opportunity", tools=_DEAL, weight=0.7, trouble=True),
    Scenario(make=clone_past_deal, entity="Opportunity", tools=["clone_opportunity"], weight=0.5, trouble=True),
    Scenario(make=add_client_with_taken_email, entity="Client", tools=["create_new_client"], weight=1.2, trouble=True),
    Scenario(make=take_clients_email, entity="Client", tools=["modify_client"], weight=0.8, trouble=True),
    Scenario(make=open_unknown_quote, entity="Quote", tools=["quote_details"], weight=0.4, trouble=True),
    Scenario(
        make=open_unknown_deal, entity="Opportunity", tools=["view_opportunity_details"], weight=0.3, trouble=True
    ),
    Scenario(make=cancel_unknown_quote, entity="Quote", tools=["cancel_quote"], weight=0.4, trouble=True),
    Scenario(make=delete_unknown_deal, entity="Opportunity", tools=["delete_opportunity"], weight=0.3, trouble=True),
    Scenario(make=note_on_unknown_contract, entity="Contract", tools=["add_note"], weight=0.4, trouble=True),
    Scenario(
        make=write_contract_with_unknown_client, entity="Contract", tools=["create_contract"], weight=0.4, trouble=True
    ),
    Scenario(make=delete_again, entity="Quote", tools=["delete_quote", "delete_opportunity"], weight=3.0, trouble=True),
    Scenario(make=open_what_is_gone, entity="Quote", tools=["quote_details"], weight=3.0, trouble=True),
)
