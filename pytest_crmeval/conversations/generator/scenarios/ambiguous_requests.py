"""Requests that could mean several records; the agent has to ask which one."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from pytest_crmeval.conversations.generator import days, figures, vocabulary
from pytest_crmeval.conversations.generator.intents import Intent, Scenario, Slot
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.scenarios import answers, unused_names
from pytest_crmeval.conversations.generator.scenarios.follow_ups import OpenRequest
from pytest_crmeval.conversations.generator.scenarios.notes_and_files import note_text
from pytest_crmeval.conversations.generator.story import Story

VAGUE = frozenset({"clarification", "disambiguation"})
SHORT = 4
"""Letters that a name needs at least to be searched for."""
MOST = 5
"""The most records that an agent can be expected to name when it asks which one is meant."""


def _are_new(story: Story, rows: Sequence[Row]) -> bool:
    """Whether there are several rows, and neither they nor related ones were mentioned: any of them may be meant."""
    near = [*(other for other in story.world.rows if other.ref in story.seen), *story.focus.values()]
    known = {ref for other in near for ref in (other.ref, other["client_id"], other["opportunity_id"])}
    return 1 < len(rows) <= MOST and not any(row.ref in known for row in rows)


def _beginning(one: str, other: str) -> str:
    """Return the words with which both names begin."""
    same = []
    for word, match in zip(one.split(), other.split(), strict=False):
        if word != match:
            break
        same.append(word)
    return " ".join(same)


def _namesakes(story: Story) -> tuple[str, list[Row]] | None:
    """Return the beginning that the names of several clients share, and those clients."""
    clients = story.world.of("Client")
    shared = [_beginning(row.full_name, other.full_name) for row in clients for other in clients if row is not other]
    companies = [row.full_name.casefold() for row in story.world.of("Company")]
    for name in story.chance.shuffled(list(dict.fromkeys(shared))):
        found = [row for row in clients if name.casefold() in row.full_name.casefold()]
        alone = any(row.full_name == name for row in found) or any(name.casefold() in other for other in companies)
        if len(name) >= SHORT and not alone and _are_new(story, found):
            return name, found
    return None


def _distinctive(full: str, shared: str) -> str:
    """Return the part of a name after the shared beginning; all of it, if that part is too short."""
    rest = full.removeprefix(shared).strip()
    return rest if len(rest) >= SHORT else full


def which_client(story: Story) -> Intent | None:
    """Change a client, or add a note to it, by a name that several share."""
    found = _namesakes(story)
    if found is None:
        return None
    name, rows = found
    what, value, said = story.chance.one_of(_CLIENT_WISHES)(story, rows)
    return OpenRequest(
        tool="client_search",
        args={"name": name},
        slots={"name": name, what: said},
        phrase=f"which_client_{what}",
        facts=[_distinctive(row.full_name, name) for row in rows],
        asks=True,
        skills=VAGUE,
        looked_at=rows,
        rows=rows,
        wanted="add_note" if what == "note" else "modify_client",
        given={"content" if what == "note" else what: value},
        follow_up=answers.this_client,
    )


def which_person(story: Story) -> Intent | None:
    """Change a contact, or add a note, by a last name that several share."""
    people = story.world.of("Contact")
    for last in story.chance.shuffled(list(dict.fromkeys(row["last_name"] for row in people))):
        rows = [row for row in people if last.casefold() in row["last_name"].casefold()]
        differ = len({row.full_name for row in rows}) == len(rows)
        if differ and _are_new(story, rows) and all(row["last_name"] == last for row in rows):
            what, value, said = story.chance.one_of(_PERSON_WISHES)(story, rows)
            return OpenRequest(
                tool="contact_search",
                args={"last_name": last},
                slots={"name": last, what: said},
                phrase=f"which_person_{what}",
                asks=True,
                skills=VAGUE,
                looked_at=rows,
                rows=rows,
                wanted="add_note" if what == "note" else "modify_contact",
                given={"content" if what == "note" else what: value},
                follow_up=answers.this_person,
            )
    return None


def which_deal(story: Story) -> Intent | None:
    """Change the deal of a client that has several, or add a note to it."""
    client = story.pick("Client", lambda row: _are_new(story, story.world.of("Opportunity", client_id=row.ref)))
    rows = story.world.of("Opportunity", client_id=client.ref)
    wishes = _DEAL_WISHES if any(row.is_closed for row in rows) else (*_DEAL_WISHES, *_OPEN_DEAL_WISHES)
    what, value, said = story.chance.one_of(wishes)(story, rows)
    return OpenRequest(
        tool="opportunity_search",
        args={"client_id": client.ref},
        slots={"client": story.refer_to(client), what: said},
        phrase=f"which_deal_{what}",
        asks=True,
        skills=VAGUE,
        looked_at=[client, *rows],
        rows=rows,
        wanted="add_note" if what == "note" else "modify_opportunity",
        given={"content" if what == "note" else what: value},
        follow_up=answers.this_deal,
    )


def which_quote(story: Story) -> Intent | None:
    """Cancel or delete the quote for a deal that has several, or add a note to it."""
    deal = story.pick("Opportunity", lambda row: _are_new(story, story.world.of("Quote", opportunity_id=row.ref)))
    rows = story.world.of("Quote", opportunity_id=deal.ref)
    live = not any(row["status"] == "Canceled" for row in rows)
    what = story.chance.one_of(("delete", "cancel", "note") if live else ("delete", "note"))
    text = note_text(story, "Quote")
    slots: dict[str, Slot] = {"deal": story.refer_to(deal)}
    return OpenRequest(
        tool="quote_search",
        args={"opportunity_id": deal.ref},
        slots={**slots, "note": text} if what == "note" else slots,
        phrase=f"which_quote_{what}",
        facts=[row["amount"] for row in rows],
        asks=True,
        skills=VAGUE,
        looked_at=[deal, *rows],
        rows=rows,
        wanted="add_note" if what == "note" else f"{what}_quote",
        given={"content": text} if what == "note" else {},
        follow_up=answers.this_quote,
    )


Wish = tuple[str, Any, str]
"""The column to be changed, its new value, and how that is said."""


def _note(story: Story, rows: Sequence[Row]) -> Wish:
    text = note_text(story, rows[0].entity)
    return "note", text, text


def _owner(story: Story, rows: Sequence[Row]) -> Wish:
    taken = {row["owner"] for row in rows}
    owner = story.chance.one_of([name for name in vocabulary.owners() if name not in taken])
    return "owner", owner, owner


def _phone(story: Story, rows: Sequence[Row]) -> Wish:
    del rows  # the number is unused anyway
    number = unused_names.phone(story)
    return "phone", number, number


def _title(story: Story, rows: Sequence[Row]) -> Wish:
    taken = {row["title"] for row in rows}
    title = story.chance.one_of([title for title in vocabulary.titles() if title not in taken])
    return "title", title, title


def _amount(story: Story, rows: Sequence[Row]) -> Wish:
    taken = {row["amount"] for row in rows}
    amount = figures.exact(figures.amount(story.chance))
    amount = amount + 1 if amount in taken else amount
    return "amount", amount, story.money(amount)


def _close_date(story: Story, rows: Sequence[Row]) -> Wish:
    del rows  # later than every close date
    day = story.now.date() + timedelta(days=story.chance.between(400, 700))
    return "close_date", day.isoformat(), days.written(story.chance, day)


_CLIENT_WISHES = (_note, _owner, _phone)
_PERSON_WISHES = (_note, _title, _phone)
_DEAL_WISHES = (_note, _owner)
_OPEN_DEAL_WISHES = (_amount, _close_date)
SCENARIOS = (
    Scenario(make=which_client, entity="Client", tools=["client_search"], weight=2.5, trouble=True),
    Scenario(make=which_person, entity="Contact", tools=["contact_search"], weight=2.5, trouble=True),
    Scenario(make=which_deal, entity="Opportunity", tools=["opportunity_search"], weight=1.5, trouble=True),
    Scenario(make=which_quote, entity="Quote", tools=["quote_search"], weight=1.5, trouble=True),
)
