"""What users want of the people at clients."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from pytest_crmeval.conversations.generator import vocabulary
from pytest_crmeval.conversations.generator.intents import Intent, Scenario, Slot
from pytest_crmeval.conversations.generator.mail import domain, domain_of, plain
from pytest_crmeval.conversations.generator.naming import Referent, by_name
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.scenarios.particulars import (
    Change,
    another,
    answered,
    found,
    listed,
    phone,
    told,
)
from pytest_crmeval.conversations.generator.story import Story

_EXTRAS = (
    *(("email",), ("phone",), ("title", "email"), ("title", "phone"), ("email", "phone")),
    *(("title", "email", "phone"), ("title", "notes"), ("email", "notes")),
)


def _new_title(story: Story, row: Row) -> str:
    return another(story.chance, vocabulary.titles(), row["title"])


def _new_email(story: Story, row: Row) -> str:
    """Return another address in the domain of the client."""
    client = story.world.client_of(row)
    where = domain_of(client["email"] or "") or domain(client["name"])
    first, last = plain(row["first_name"]), plain(row["last_name"])
    boxes = (f"{first}.{last}", f"{first[:1]}.{last}", f"{last}.{first}", f"{first}-{last}", first, last)
    return another(story.chance, [f"{box}@{where}" for box in boxes], row["email"])


def _new_notes(story: Story, row: Row) -> str:
    return another(story.chance, vocabulary.contact_notes(), row["notes"])


def _new_last_name(story: Story, row: Row) -> str:
    return another(story.chance, story.chance.one_of(vocabulary.people()).last, row["last_name"])


def _new_first_name(story: Story, row: Row) -> str:
    """Return another first name of the same language, or of any, if nobody knows whose it was."""
    known = [contact["first_name"] for contact in story.world.of("Contact")]
    regions = [(region.first_f if row.feminine else region.first_m) for region in vocabulary.people()]
    own = next((names for names in regions if row["first_name"] in names), story.chance.one_of(regions))
    return story.chance.one_of([name for name in own if name not in known and " " not in name] or [f"{known[0]}-Lee"])


_CHANGES: Mapping[str, Change] = {
    change.column: change
    for change in (
        Change(column="title", thing="the title", draw=_new_title),
        Change(column="email", thing="the e-mail address", draw=_new_email),
        Change(column="phone", thing="the phone number", draw=phone),
        Change(column="notes", thing="the notes field", draw=_new_notes),
        Change(column="last_name", thing="the last name", draw=_new_last_name),
        Change(column="first_name", thing="the first name", draw=_new_first_name),
    )
}


def _stranger(story: Story, client: Row) -> Row:
    """Return a person whom nobody has heard of yet, though perhaps of somebody of that last name."""
    region = story.chance.one_of(vocabulary.people())
    feminine = story.chance.chance(0.5)
    names = region.first_f if feminine else region.first_m
    known = [row["first_name"] for row in story.world.of("Contact")]
    first = story.chance.one_of([name for name in names if name not in known and " " not in name])
    lasts = [row["last_name"] for row in story.world.of("Contact")]
    last = story.chance.one_of(lasts if lasts and story.chance.chance(0.15) else region.last)
    columns = {"first_name": first, "last_name": last, "client_id": client.ref}
    return Row(entity="Contact", ref="", columns=columns, feminine=feminine)


def _introduced(person: Row) -> Referent:
    """Return how one speaks of somebody who is named for the first time."""
    subject, own = ("she", "her") if person.feminine else ("he", "his")
    return Referent(object=person.full_name, own=own, subject=subject)


def add_contact(story: Story) -> Intent | None:
    """Add somebody who works for a client, with what is known of them."""
    client = story.pick("Client")
    if client is None:
        return None
    person = _stranger(story, client)
    extras = ("title",) if story.chance.chance(0.4) else story.chance.one_of(_EXTRAS)
    more = {column: _CHANGES[column].draw(story, person) for column in extras}
    said = {"title": more["title"]} if extras == ("title",) else {"details": told(story.chance, more)}
    slots: dict[str, Slot] = {"person": _introduced(person), "client": story.call(client), **said}
    columns = {**person.columns, **more}
    row = story.world.create("Contact", story.number, columns, feminine=person.feminine)
    return Intent(
        tool="create_new_contact",
        args=columns,
        slots=slots,
        phrase="add_contact_with_title" if "title" in said else "",
        skills=frozenset({"creation"}),
        about=row,
        looked_at=(client,),
        fixes=tuple(_CHANGES[column].fix(row) for column in extras if column != "notes"),
    )


def _changed(story: Story, column: str, *, empty: bool = False) -> Intent | None:
    row = story.pick("Contact", lambda contact: not (empty and contact[column]))
    if row is None:
        return None
    name, client = row.full_name, story.world.client_of(row)
    return _found_by(name, client, _CHANGES[column].made(story, row))


def _found_by(name: str, client: Row, intent: Intent) -> Intent:
    """Return an intent in which the client is looked at, too, unless the person is called by name or by a pronoun."""
    said = intent.slots["contact"]
    alone = isinstance(said, Referent) and (said.known or said.object == name)
    return intent if alone else replace(intent, looked_at=(*intent.looked_at, client))


def change_contact_title(story: Story) -> Intent | None:
    """Give a person another job."""
    return _changed(story, "title")


def change_contact_email(story: Story) -> Intent | None:
    """Give a person another e-mail address."""
    return _changed(story, "email")


def change_contact_phone(story: Story) -> Intent | None:
    """Give a person another phone number."""
    return _changed(story, "phone")


def change_contact_last_name(story: Story) -> Intent | None:
    """Marry a person."""
    return _changed(story, "last_name")


def correct_contact_first_name(story: Story) -> Intent | None:
    """Spell a person's first name as it should be."""
    return _changed(story, "first_name")


def fill_contact_notes(story: Story) -> Intent | None:
    """Write something into the notes field of a person, which is empty."""
    return _changed(story, "notes", empty=True)


def _asked(story: Story, column: str, *, named: bool = False) -> Intent | None:
    row = story.pick_unseen("Contact", lambda contact: bool(contact[column]))
    if row is None:
        return None
    said = by_name(row) if named else story.call(row)
    intent = answered(story, row, column, said, {name: row[name] for name in ("first_name", "last_name")})
    return _found_by(row.full_name, story.world.client_of(row), intent)


def ask_contact_phone(story: Story) -> Intent | None:
    """Ask for a person's phone number."""
    return _asked(story, "phone")


def ask_contact_email(story: Story) -> Intent | None:
    """Ask for a person's e-mail address."""
    return _asked(story, "email")


def ask_contact_title(story: Story) -> Intent | None:
    """Ask what a person does; whoever says it does not ask."""
    return _asked(story, "title", named=True)


def find_contacts_by_last_name(story: Story) -> Intent | None:
    """Ask for people by last name; often several have it."""
    row = story.pick_unseen("Contact")
    args = {"last_name": row["last_name"]} if row else {}
    return listed(story, "contact_search", args, found(story, "Contact", args), args) if row else None


def find_contacts_by_first_name(story: Story) -> Intent | None:
    """Ask for somebody of whom the first name is all that is remembered."""
    row = story.pick_unseen("Contact")
    args = {"first_name": row["first_name"]} if row else {}
    return listed(story, "contact_search", args, found(story, "Contact", args), args) if row else None


def find_contact_by_title(story: Story) -> Intent | None:
    """Ask who has a job at a client."""
    row = story.pick_unseen("Contact", lambda contact: bool(contact["title"]))
    if row is None:
        return None
    client = story.world.client_of(row)
    args = {"title": row["title"], "client_id": client.ref}
    slots = {"title": row["title"], "client": story.call(client)}
    return _also(listed(story, "contact_search", args, found(story, "Contact", args), slots), client)


def people_at_client(story: Story) -> Intent | None:
    """Ask whom we know at a client."""
    row = story.pick_unseen("Contact")
    if row is None:
        return None
    client = story.world.client_of(row)
    people = story.world.of("Contact", client_id=client.ref)
    slots = {"client": story.call(client)}
    return _also(listed(story, "contact_search", {"client_id": client.ref}, people, slots), client)


def _also(intent: Intent | None, client: Row) -> Intent | None:
    """Return an intent in which the client is looked at, too."""
    return intent and replace(intent, looked_at=(*intent.looked_at, client))


def list_all_contacts(story: Story) -> Intent | None:
    """Ask for everybody we know."""
    return listed(story, "list_contacts", {}, story.world.of("Contact"), {})


_write = partial(Scenario, entity="Contact", tools=["modify_contact"], joins=True)
_read = partial(Scenario, entity="Contact", tools=["contact_search"])

MOVES = (
    Scenario(make=add_contact, entity="Contact", tools=["create_new_contact"], weight=4.0),
    _write(make=change_contact_title, weight=2.0),
    _write(make=change_contact_email, weight=1.5),
    _write(make=change_contact_phone, weight=2.0),
    _write(make=change_contact_last_name, weight=0.8),
    _write(make=correct_contact_first_name, weight=0.7),
    _write(make=fill_contact_notes),
    _read(make=ask_contact_phone),
    _read(make=ask_contact_email),
    _read(make=ask_contact_title),
    _read(make=find_contacts_by_last_name, weight=1.5),
    _read(make=find_contacts_by_first_name, weight=0.7),
    _read(make=find_contact_by_title),
    _read(make=people_at_client, weight=1.5),
    Scenario(make=list_all_contacts, entity="Contact", tools=["list_contacts"], weight=0.5),
)
