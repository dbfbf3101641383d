"""What users leave out, and have to be asked for."""

from dataclasses import replace
from typing import Any

from pytest_crmeval.conversations.generator import days, figures, vocabulary
from pytest_crmeval.conversations.generator.intents import Intent, Scenario, Slot
from pytest_crmeval.conversations.generator.rows import STAGES, Row
from pytest_crmeval.conversations.generator.scenarios import strangers
from pytest_crmeval.conversations.generator.scenarios.papers import file_name, note_text
from pytest_crmeval.conversations.generator.scenarios.unsettled import Unsettled, enact
from pytest_crmeval.conversations.generator.story import Story

UNCLEAR = frozenset({"clarification"})


def _is_open(deal: Row) -> bool:
    return not deal.is_closed


def _asked(slots: dict[str, Slot], tool: str, given: dict[str, Any], **rest: Any) -> Unsettled:  # noqa: ANN401
    """Return a wish that can't be fulfilled before more is known."""
    return Unsettled(tool="", args={}, slots=slots, asks=True, skills=UNCLEAR, wanted=tool, given=given, **rest)


def _filled(story: Story, last: Unsettled, found: dict[str, Any], said: dict[str, Slot], phrase: str) -> Intent:
    """Return what was wanted, now that all of it is known."""
    args = {**last.given, **found}
    about = enact(story, last.wanted, args, last.about, feminine=last.feminine)
    kind = "creation" if last.wanted.startswith("create") else "update"
    return Intent(tool=last.wanted, args=args, slots=said, phrase=phrase, skills=frozenset({kind}), about=about)


def client_without_email(story: Story) -> Intent | None:
    """Want a new client, and say nothing but its name."""
    name = strangers.company(story)
    return _asked({"name": name}, "create_new_client", {"name": name}, settle=_email_it_is)


def _email_it_is(story: Story, last: Unsettled) -> Intent:
    address, status = (
        strangers.mailbox(story, last.given["name"]),
        story.chance.one_of(("Active", "Prospect")),
    )
    found = {"email": address, "status": status}
    return _filled(story, last, found, {"email": address, "status": status}, "email_it_is")


def deal_without_amount(story: Story) -> Intent | None:
    """Want a new deal, and don't say what it is worth."""
    client = story.pick("Client")
    if client is None:
        return None
    name = strangers.next_deal(story, client)
    slots: dict[str, Slot] = {"client": story.call(client), "title": name}
    given = {"name": name, "client_id": client.ref}
    return _asked(slots, "create_new_opportunity", given, settle=_worth_it_is)


def _worth_it_is(story: Story, last: Unsettled) -> Intent:
    amount, stage = figures.exact(figures.amount(story.chance)), story.chance.one_of(STAGES)
    said: dict[str, Slot] = {"amount": story.money(amount), "stage": stage}
    return _filled(story, last, {"amount": amount, "stage": stage}, said, "worth_it_is")


def file_without_name(story: Story) -> Intent | None:
    """Want a file on record, and don't say which."""
    row = story.pick(story.chance.one_of(("Opportunity", "Client", "Quote", "Contract")))
    if row is None:
        return None
    given = {"entity_type": row.entity, "entity_id": row.ref}
    return _asked({"record": story.call(row)}, "upload_document", given, about=row, settle=_file_it_is)


def _file_it_is(story: Story, last: Unsettled) -> Intent:
    name = file_name(story, last.given["entity_type"])
    return _filled(story, last, {"file_name": name}, {"file": name}, "file_it_is")


def note_without_words(story: Story) -> Intent | None:
    """Want something noted, and don't say what."""
    row = story.pick(story.chance.one_of(("Opportunity", "Client", "Contact")))
    if row is None:
        return None
    given = {"entity_type": row.entity, "entity_id": row.ref}
    return _asked({"record": story.call(row)}, "add_note", given, about=row, settle=_words_are)


def _words_are(story: Story, last: Unsettled) -> Intent:
    text = note_text(story, last.given["entity_type"])
    return _filled(story, last, {"content": text}, {"note": text}, "words_are")


def phone_without_number(story: Story) -> Intent | None:
    """Want a new telephone number for a person, and don't say which."""
    person = story.pick("Contact")
    if person is None:
        return None
    given, slots = {"contact_id": person.ref}, {"contact": story.call(person)}
    return _asked({**slots}, "modify_contact", given, about=person, settle=_number_it_is)


def _number_it_is(story: Story, last: Unsettled) -> Intent:
    number = strangers.phone(story)
    return _filled(story, last, {"phone": number}, {"phone": number}, "number_it_is")


def person_without_last_name(story: Story) -> Intent | None:
    """Want a new person at a client, and give only the first name."""
    client = story.pick("Client")
    if client is None:
        return None
    first, _, feminine = strangers.person(story)
    slots: dict[str, Slot] = {"client": story.call(client), "first": first}
    given = {"first_name": first, "client_id": client.ref}
    return _asked(slots, "create_new_contact", given, feminine=feminine, settle=_last_name_it_is)


def _last_name_it_is(story: Story, last: Unsettled) -> Intent:
    _, name, _ = strangers.person(story)
    return _filled(story, last, {"last_name": name}, {"last": name}, "last_name_it_is")


def deal_change_without_amount(story: Story) -> Intent | None:
    """Want a deal to be worth something else, and don't say what."""
    return _deal_change(story, _amount_it_is)


def deal_change_without_day(story: Story) -> Intent | None:
    """Want a deal to close on another day, and don't say when."""
    return _deal_change(story, _day_it_is)


def deal_change_without_stage(story: Story) -> Intent | None:
    """Want a deal in another stage, and don't say which."""
    return _deal_change(story, _stage_it_is)


def deal_change_without_owner(story: Story) -> Intent | None:
    """Want a deal handed over, and don't say to whom."""
    return _deal_change(story, _owner_it_is)


def _deal_change(story: Story, settle: Any) -> Intent | None:  # noqa: ANN401 (as Unsettled has it)
    deal = story.pick("Opportunity", _is_open)
    if deal is None:
        return None
    given = {"opportunity_id": deal.ref}
    return _asked({"deal": story.call(deal)}, "modify_opportunity", given, about=deal, settle=settle)


def _amount_it_is(story: Story, last: Unsettled) -> Intent:
    known = last.about["amount"] if last.about else 0
    amount = figures.exact(figures.near(story.chance, known))
    return _filled(story, last, {"amount": amount}, {"amount": story.money(amount)}, "amount_it_is")


def _day_it_is(story: Story, last: Unsettled) -> Intent | None:
    day = days.ahead(story.chance, story.now.date())
    if last.about and last.about["close_date"] == day.iso:
        return None
    intent = _filled(story, last, {"close_date": day.iso}, {"day": day.said}, "day_it_is")
    return replace(intent, relative=day.relative)


def _stage_it_is(story: Story, last: Unsettled) -> Intent:
    now = last.about["stage"] if last.about else ""
    stage = story.chance.one_of([stage for stage in STAGES if stage != now])
    return _filled(story, last, {"stage": stage}, {"stage": stage}, "stage_it_is")


def _owner_it_is(story: Story, last: Unsettled) -> Intent:
    now = last.about["owner"] if last.about else ""
    owner = story.chance.one_of([name for name in vocabulary.owners() if name != now])
    return _filled(story, last, {"owner": owner}, {"owner": owner}, "owner_it_is")


MOVES = (
    Scenario(make=client_without_email, entity="Client", trouble=True),
    Scenario(make=deal_without_amount, entity="Opportunity", trouble=True),
    Scenario(make=file_without_name, entity="Document", weight=0.7, trouble=True),
    Scenario(make=note_without_words, entity="Note", weight=0.6, trouble=True),
    Scenario(make=phone_without_number, entity="Contact", trouble=True),
    Scenario(make=person_without_last_name, entity="Contact", weight=0.6, trouble=True),
    Scenario(make=deal_change_without_amount, entity="Opportunity", weight=0.5, trouble=True),
    Scenario(make=deal_change_without_day, entity="Opportunity", weight=0.5, trouble=True),
    Scenario(make=deal_change_without_stage, entity="Opportunity", weight=0.5, trouble=True),
    Scenario(make=deal_change_without_owner, entity="Opportunity", weight=0.5, trouble=True),
)
