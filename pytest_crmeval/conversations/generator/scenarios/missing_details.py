"""Requests that lack a value, which the agent has to ask for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pytest_crmeval.conversations.generator import days, figures, vocabulary
from pytest_crmeval.conversations.generator.intents import Intent, Scenario, Slot
from pytest_crmeval.conversations.generator.rows import STAGES
from pytest_crmeval.conversations.generator.scenarios import unused_names
from pytest_crmeval.conversations.generator.scenarios.deals import pick_open
from pytest_crmeval.conversations.generator.scenarios.follow_ups import OpenRequest, apply_to_world
from pytest_crmeval.conversations.generator.scenarios.notes_and_files import file_name, note_text
from pytest_crmeval.conversations.generator.story import Story

UNCLEAR = frozenset({"clarification"})


def _asked(slots: dict[str, Slot], tool: str, given: dict[str, Any], **rest: Any) -> OpenRequest:  # noqa: ANN401
    """Return a request that can't be fulfilled yet."""
    return OpenRequest(tool="", args={}, slots=slots, asks=True, skills=UNCLEAR, wanted=tool, given=given, **rest)


def _filled(story: Story, last: OpenRequest, found: dict[str, Any], said: dict[str, Slot], phrase: str) -> Intent:
    """Return the request, complete with the user's answer."""
    args = {**last.given, **found}
    about = apply_to_world(story, last.wanted, args, last.about, feminine=last.feminine)
    kind = "creation" if last.wanted.startswith("create") else "update"
    return Intent(tool=last.wanted, args=args, slots=said, phrase=phrase, skills=frozenset({kind}), about=about)


def _other(story: Story, values: Sequence[str], last: OpenRequest, column: str) -> str:
    """Draw another value than the record has."""
    now = last.about[column] if last.about else ""
    return story.chance.one_of([value for value in values if value != now])


_ANSWERS: Mapping[str, tuple[str, str, Callable[[Story, OpenRequest], str]]] = {
    "file_it_is": ("file_name", "file", lambda story, last: file_name(story, last.given["entity_type"])),
    "words_are": ("content", "note", lambda story, last: note_text(story, last.given["entity_type"])),
    "number_it_is": ("phone", "phone", lambda story, _: unused_names.phone(story)),
    "last_name_it_is": ("last_name", "last", lambda story, _: unused_names.person(story)[1]),
    "stage_it_is": ("stage", "stage", lambda story, last: _other(story, STAGES, last, "stage")),
    "owner_it_is": ("owner", "owner", lambda story, last: _other(story, vocabulary.owners(), last, "owner")),
}
"""Wording of an answer -> the column that was missing, its slot in the wording, and how the value is drawn."""


def _answer(story: Story, last: OpenRequest, phrase: str) -> Intent:
    """Return the request, complete with the one value that was missing."""
    column, slot, draw = _ANSWERS[phrase]
    value = draw(story, last)
    return _filled(story, last, {column: value}, {slot: value}, phrase)


def client_without_email(story: Story) -> Intent | None:
    """Add a client without its e-mail address and status."""
    name = unused_names.company(story)
    return _asked({"name": name}, "create_new_client", {"name": name}, follow_up=_email_it_is)


def _email_it_is(story: Story, last: OpenRequest) -> Intent:
    address, status = (
        unused_names.mailbox(story, last.given["name"]),
        story.chance.one_of(("Active", "Prospect")),
    )
    found = {"email": address, "status": status}
    return _filled(story, last, found, {"email": address, "status": status}, "email_it_is")


def deal_without_amount(story: Story) -> Intent | None:
    """Open a deal without its amount and stage."""
    client = story.pick("Client")
    name = unused_names.next_deal(story, client)
    slots: dict[str, Slot] = {"client": story.refer_to(client), "title": name}
    given = {"name": name, "client_id": client.ref}
    return _asked(slots, "create_new_opportunity", given, follow_up=_worth_it_is)


def _worth_it_is(story: Story, last: OpenRequest) -> Intent:
    amount, stage = figures.exact(figures.amount(story.chance)), story.chance.one_of(STAGES)
    said: dict[str, Slot] = {"amount": story.money(amount), "stage": stage}
    return _filled(story, last, {"amount": amount, "stage": stage}, said, "worth_it_is")


def file_without_name(story: Story) -> Intent | None:
    """Upload a file without its name."""
    row = story.pick(story.chance.one_of(("Opportunity", "Client", "Quote", "Contract")))
    given = {"entity_type": row.entity, "entity_id": row.ref}
    return _asked(
        {"record": story.refer_to(row)},
        "upload_document",
        given,
        about=row,
        follow_up=partial(_answer, phrase="file_it_is"),
    )


def note_without_words(story: Story) -> Intent | None:
    """Add a note without its text."""
    row = story.pick(story.chance.one_of(("Opportunity", "Client", "Contact")))
    given = {"entity_type": row.entity, "entity_id": row.ref}
    return _asked(
        {"record": story.refer_to(row)}, "add_note", given, about=row, follow_up=partial(_answer, phrase="words_are")
    )


def phone_without_number(story: Story) -> Intent | None:
    """Change a contact's phone number without the new number."""
    person = story.pick("Contact")
    given, slots = {"contact_id": person.ref}, {"contact": story.refer_to(person)}
    return _asked({**slots}, "modify_contact", given, about=person, follow_up=partial(_answer, phrase="number_it_is"))


def person_without_last_name(story: Story) -> Intent | None:
    """Add a contact without the last name."""
    client = story.pick("Client")
    first, _, feminine = unused_names.person(story)
    slots: dict[str, Slot] = {"client": story.refer_to(client), "first": first}
    given = {"first_name": first, "client_id": client.ref}
    return _asked(
        slots, "create_new_contact", given, feminine=feminine, follow_up=partial(_answer, phrase="last_name_it_is")
    )


def _deal_change(story: Story, follow_up: Callable[[Story, OpenRequest], Intent | None]) -> Intent | None:
    """Change a column of a deal without the new value."""
    deal = pick_open(story)
    given = {"opportunity_id": deal.ref}
    return _asked({"deal": story.refer_to(deal)}, "modify_opportunity", given, about=deal, follow_up=follow_up)


def _amount_it_is(story: Story, last: OpenRequest) -> Intent:
    known = last.about["amount"] if last.about else 0
    amount = figures.exact(figures.near(story.chance, known))
    return _filled(story, last, {"amount": amount}, {"amount": story.money(amount)}, "amount_it_is")


def _day_it_is(story: Story, last: OpenRequest) -> Intent | None:
    day = days.ahead(story.chance, story.now.date())
    if last.about and last.about["close_date"] == day.iso:
        return None
    intent = _filled(story, last, {"close_date": day.iso}, {"day": day.said}, "day_it_is")
    return replace(intent, relative=day.relative)


_change = partial(Scenario, entity="Opportunity", weight=0.5, trouble=True)
SCENARIOS = (
    Scenario(make=client_without_email, entity="Client", trouble=True),
    Scenario(make=deal_without_amount, entity="Opportunity", trouble=True),
    Scenario(make=file_without_name, entity="Document", weight=0.7, trouble=True),
    Scenario(make=note_without_words, entity="Note", weight=0.6, trouble=True),
    Scenario(make=phone_without_number, entity="Contact", trouble=True),
    Scenario(make=person_without_last_name, entity="Contact", weight=0.6, trouble=True),
    _change(make=partial(_deal_change, follow_up=_amount_it_is), wordings="deal_change_without_amount"),
    _change(make=partial(_deal_change, follow_up=_day_it_is), wordings="deal_change_without_day"),
    _change(
        make=partial(_deal_change, follow_up=partial(_answer, phrase="stage_it_is")),
        wordings="deal_change_without_stage",
    ),
    _change(
        make=partial(_deal_change, follow_up=partial(_answer, phrase="owner_it_is")),
        wordings="deal_change_without_owner",
    ),
)
