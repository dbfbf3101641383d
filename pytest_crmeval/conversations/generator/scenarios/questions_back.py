"""What users ask for without saying enough: which of several it is, or a value that is needed."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from pytest_crmeval.conversations.generator import days, figures, vocabulary
from pytest_crmeval.conversations.generator.intents import Intent, Scenario, Slot
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.scenarios import answers, strangers
from pytest_crmeval.conversations.generator.scenarios.papers import note_text
from pytest_crmeval.conversations.generator.scenarios.unsettled import Unsettled
from pytest_crmeval.conversations.generator.story import Story

VAGUE = frozenset({"clarification", "disambiguation"})
SHORT = 4
"""Letters of a name that is too short to look for."""
MOST = 5
"""So many an agent can be expected to name when it asks which one is meant."""


def _is_new(story: Story, row: Row) -> bool:
    """Whether nobody has talked of a record, nor of what belongs to it: else one would guess that it is meant."""
    talked_of = [other for other in story.world.rows if other.ref in story.seen]
    near = [*talked_of, *story.focus.values()]
    return not any(row.ref in (other.ref, other["client_id"], other["opportunity_id"]) for other in near)


def _are_new(story: Story, rows: Sequence[Row]) -> bool:
    return 1 < len(rows) <= MOST and all(_is_new(story, row) for row in rows)


def _beginning(one: str, other: str) -> str:
    """Return the words with which both names begin."""
    same = []
    for word, match in zip(one.split(), other.split(), strict=False):
        if word != match:
            break
        same.append(word)
    return " ".join(same)


def _namesakes(story: Story) -> tuple[str, list[Row]] | None:
    """Return the name that several clients share, and those clients; none of them is called only that."""
    clients = story.world.of("Client")
    shared = [_beginning(row.full_name, other.full_name) for row in clients for other in clients if row is not other]
    companies = [row.full_name.casefold() for row in story.world.of("Company")]
    for name in story.chance.shuffled(list(dict.fromkeys(shared))):
        found = [row for row in clients if name.casefold() in row.full_name.casefold()]
        alone = any(row.full_name == name for row in found) or any(name.casefold() in other for other in companies)
        if len(name) >= SHORT and not alone and _are_new(story, found):
            return name, found
    return None


def _telling(full: str, shared: str) -> str:
    """Return what tells a name from those that begin alike; all of it, if that is too little to be heard."""
    rest = full.removeprefix(shared).strip()
    return rest if len(rest) >= SHORT else full


def which_client(story: Story) -> Intent | None:
    """Want something done with a client by a name that several have."""
    found = _namesakes(story)
    if found is None:
        return None
    name, rows = found
    what, value, said = story.chance.one_of(_CLIENT_WISHES)(story, rows)
    return Unsettled(
        tool="client_search",
        args={"name": name},
        slots={"name": name, what: said},
        phrase=f"which_client_{what}",
        facts=[_telling(row.full_name, name) for row in rows],
        asks=True,
        skills=VAGUE,
        looked_at=rows,
        rows=rows,
        wanted="add_note" if what == "note" else "modify_client",
        given={"content" if what == "note" else what: value},
        settle=answers.this_client,
    )


def which_person(story: Story) -> Intent | None:
    """Want something done with a person by a last name that several have."""
    people = story.world.of("Contact")
    for last in story.chance.shuffled(list(dict.fromkeys(row["last_name"] for row in people))):
        rows = [row for row in people if last.casefold() in row["last_name"].casefold()]
        if _are_new(story, rows) and all(row["last_name"] == last for row in rows) and _tells_apart(rows):
            what, value, said = story.chance.one_of(_PERSON_WISHES)(story, rows)
            return Unsettled(
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
                settle=answers.this_person,
            )
    return None


def _tells_apart(rows: Sequence[Row]) -> bool:
    return len({row.full_name for row in rows}) == len(rows)


def which_deal(story: Story) -> Intent | None:
    """Want something done with the deal of a client that has several."""
    client = story.pick("Client", lambda row: _are_new(story, story.world.of("Opportunity", client_id=row.ref)))
    if client is None:
        return None
    rows = story.world.of("Opportunity", client_id=client.ref)
    wishes = _DEAL_WISHES if any(row.is_closed for row in rows) else (*_DEAL_WISHES, *_OPEN_DEAL_WISHES)
    what, value, said = story.chance.one_of(wishes)(story, rows)
    return Unsettled(
        tool="opportunity_search",
        args={"client_id": client.ref},
        slots={"client": story.call(client), what: said},
        phrase=f"which_deal_{what}",
        asks=True,
        skills=VAGUE,
        looked_at=[client, *rows],
        rows=rows,
        wanted="add_note" if what == "note" else "modify_opportunity",
        given={"content" if what == "note" else what: value},
        settle=answers.this_deal,
    )


def which_quote(story: Story) -> Intent | None:
    """Want something done with the quote for a deal that has several."""
    deal = story.pick("Opportunity", lambda row: _are_new(story, story.world.of("Quote", opportunity_id=row.ref)))
    if deal is None:
        return None
    rows = story.world.of("Quote", opportunity_id=deal.ref)
    live = not any(row["status"] == "Canceled" for row in rows)
    what = story.chance.one_of(("delete", "cancel", "note") if live else ("delete", "note"))
    text = note_text(story, "Quote")
    slots: dict[str, Slot] = {"deal": story.call(deal)}
    return Unsettled(
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
        settle=answers.this_quote,
    )


Wish = tuple[str, Any, str]
"""What is to be changed, to what, and how that is said."""


def _note(story: Story, rows: Sequence[Row]) -> Wish:
    text = note_text(story, rows[0].entity)
    return "note", text, text


def _owner(story: Story, rows: Sequence[Row]) -> Wish:
    taken = {row["owner"] for row in rows}
    owner = story.chance.one_of([name for name in vocabulary.owners() if name not in taken])
    return "owner", owner, owner


def _phone(story: Story, rows: Sequence[Row]) -> Wish:
    del rows  # a number that nobody has
    number = strangers.phone(story)
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
    del rows  # later than anybody plans
    day = story.now.date() + timedelta(days=story.chance.between(400, 700))
    return "close_date", day.isoformat(), days.written(story.chance, day)


_CLIENT_WISHES = (_note, _owner, _phone)
_PERSON_WISHES = (_note, _title, _phone)
_DEAL_WISHES = (_note, _owner)
_OPEN_DEAL_WISHES = (_amount, _close_date)
MOVES = (
    Scenario(make=which_client, entity="Client", tools=["client_search"], weight=2.5, trouble=True),
    Scenario(make=which_person, entity="Contact", tools=["contact_search"], weight=2.5, trouble=True),
    Scenario(make=which_deal, entity="Opportunity", tools=["opportunity_search"], weight=1.5, trouble=True),
    Scenario(make=which_quote, entity="Quote", tools=["quote_search"], weight=1.5, trouble=True),
)
