"""New contacts, changes of contacts, and questions about them."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from pytest_crmeval.conversations.generator import vocabulary
from pytest_crmeval.conversations.generator.intents import Intent, Scenario, Slot
from pytest_crmeval.conversations.generator.mail import domain, domain_of, plain
from pytest_crmeval.conversations.generator.naming import Referent, by_name
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.scenarios.details import (
    ColumnChange,
    another,
    answered,
    change_of,
    found,
    in_words,
    listed,
)
from pytest_crmeval.conversations.generator.scenarios.unused_names import phone
from pytest_crmeval.conversations.generator.story import Story

_EXTRAS = (
    *(("email",), ("phone",), ("title", "email"), ("title", "phone"), ("email", "phone")),
    *(("title", "email", "phone"), ("title", "notes"), ("email", "notes")),
)


def _new_email(story: Story, row: Row) -> str:
    """Return another address in the client's domain."""
    client = story.world.client_of(row)
    where = domain_of(client["email"] or "") or domain(client["name"])
    first, last = plain(row["first_name"]), plain(row["last_name"])
    boxes = (f"{first}.{last}", f"{first[:1]}.{last}", f"{last}.{first}", f"{first}-{last}", first, last)
    return another(story.chance, [f"{box}@{where}" for box in boxes], row["email"])


def _new_first_name(story: Story, row: Row) -> str:
    """Return another first name of the same language; of any, if the language of the present name is unknown."""
    known = [contact["first_name"] for contact in story.world.of("Contact")]
    regions = [(region.first_f if row.feminine else region.first_m) for region in vocabulary.people()]
    own = next((names for names in regions if row["first_name"] in names), story.chance.one_of(regions))
    return story.chance.one_of([name for name in own if name not in known and " " not in name] or [f"{known[0]}-Lee"])


_CHANGES: Mapping[str, ColumnChange] = {
    change.column: change
    for change in (
        change_of("title", "the title", vocabulary.titles),
        ColumnChange(column="email", thing="the e-mail address", draw=_new_email),
        ColumnChange(column="phone", thing="the phone number", draw=phone),
        change_of("notes", "the notes field", vocabulary.contact_notes),
        ColumnChange(
            column="last_name",
            thing="the last name",
            draw=lambda story, row: another(
                story.chance, story.chance.one_of(vocabulary.people()).last, row["last_name"]
            ),
        ),
        ColumnChange(column="first_name", thing="the first name", draw=_new_first_name),
    )
}


def _new_person(story: Story, client: Row) -> Row:
    """Return a person who is not in the CRM yet; a contact with the same last name may be."""
    region = story.chance.one_of(vocabulary.people())
    feminine = story.chance.chance(0.5)
    names = region.first_f if feminine else region.first_m
    known = [row["first_name"] for row in story.world.of("Contact")]
    first = story.chance.one_of([name for name in names if name not in known and " " not in name])
    lasts = [row["last_name"] for row in story.world.of("Contact")]
    last = story.chance.one_of(lasts if lasts and story.chance.chance(0.15) else region.last)
    columns = {"first_name": first, "last_name": last, "client_id": client.ref}
    return Row(entity="Contact", ref="", columns=columns, feminine=feminine)


def add_contact(story: Story) -> Intent | None:
    """Add a contact of a client, with optional columns."""
    client = story.pick("Client")
    person = _new_person(story, client)
    extras = ("title",) if story.chance.chance(0.4) else story.chance.one_of(_EXTRAS)
    more = {column: _CHANGES[column].draw(story, person) for column in extras}
    said = {"title": more["title"]} if extras == ("title",) else {"details": in_words(story.chance, more)}
    subject, own = ("she", "her") if person.feminine else ("he", "his")
    introduced = Referent(object=person.full_name, own=own, subject=subject)
    slots: dict[str, Slot] = {"person": introduced, "client": story.refer_to(client), **said}
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


def _change(story: Story, column: str, *, empty: bool = False) -> Intent | None:
    """Change one column of a contact; one that is ``empty``, if that is asked for."""
    row = story.pick("Contact", lambda contact: not (empty and contact[column]))
    name, client = row.full_name, story.world.client_of(row)
    return _found_by(name, client, _CHANGES[column].made(story, row))


def _found_by(name: str, client: Row, intent: Intent) -> Intent:
    """Add the client to the records seen, unless the contact is referred to by name or by a pronoun."""
    said = intent.slots["contact"]
    alone = isinstance(said, Referent) and (said.known or said.object == name)
    return intent if alone else replace(intent, looked_at=(*intent.looked_at, client))


def _ask(story: Story, column: str, *, named: bool = False) -> Intent | None:
    """Ask for one column of a contact, who is referred to by name if ``named``."""
    row = story.pick_unseen("Contact", lambda contact: bool(contact[column]))
    said = by_name(row) if named else story.refer_to(row)
    intent = answered(story, row, column, said, {name: row[name] for name in ("first_name", "last_name")})
    return _found_by(row.full_name, story.world.client_of(row), intent)


def _find_by(story: Story, column: str) -> Intent | None:
    """Ask for contacts by first or last name, which often several have."""
    row = story.pick_unseen("Contact")
    args = {column: row[column]}
    return listed(story, "contact_search", args, found(story, "Contact", args), args)


def find_contact_by_title(story: Story) -> Intent | None:
    """Ask who has a job title at a client."""
    row = story.pick_unseen("Contact", lambda contact: bool(contact["title"]))
    client = story.world.client_of(row)
    args = {"title": row["title"], "client_id": client.ref}
    slots = {"title": row["title"], "client": story.refer_to(client)}
    return _also(listed(story, "contact_search", args, found(story, "Contact", args), slots), client)


def people_at_client(story: Story) -> Intent | None:
    """Ask for the contacts of a client."""
    row = story.pick_unseen("Contact")
    client = story.world.client_of(row)
    people = story.world.of("Contact", client_id=client.ref)
    slots = {"client": story.refer_to(client)}
    return _also(listed(story, "contact_search", {"client_id": client.ref}, people, slots), client)


def _also(intent: Intent | None, client: Row) -> Intent | None:
    """Add the client to the records seen."""
    return intent and replace(intent, looked_at=(*intent.looked_at, client))


def list_all_contacts(story: Story) -> Intent | None:
    """Ask for all contacts."""
    return listed(story, "list_contacts", {}, story.world.of("Contact"), {})


_write = partial(Scenario, entity="Contact", tools=["modify_contact"], joins=True)
_read = partial(Scenario, entity="Contact", tools=["contact_search"])

SCENARIOS = (
    Scenario(make=add_contact, entity="Contact", tools=["create_new_contact"], weight=4.0),
    _write(make=partial(_change, column="title"), wordings="change_contact_title", weight=2.0),
    _write(make=partial(_change, column="email"), wordings="change_contact_email", weight=1.5),
    _write(make=partial(_change, column="phone"), wordings="change_contact_phone", weight=2.0),
    _write(make=partial(_change, column="last_name"), wordings="change_contact_last_name", weight=0.8),
    _write(make=partial(_change, column="first_name"), wordings="correct_contact_first_name", weight=0.7),
    _write(make=partial(_change, column="notes", empty=True), wordings="fill_contact_notes"),
    _read(make=partial(_ask, column="phone"), wordings="ask_contact_phone"),
    _read(make=partial(_ask, column="email"), wordings="ask_contact_email"),
    # By name: "the CTO of Acme" would contain the answer.
    _read(make=partial(_ask, column="title", named=True), wordings="ask_contact_title"),
    _read(make=partial(_find_by, column="last_name"), wordings="find_contacts_by_last_name", weight=1.5),
    _read(make=partial(_find_by, column="first_name"), wordings="find_contacts_by_first_name", weight=0.7),
    _read(make=find_contact_by_title),
    _read(make=people_at_client, weight=1.5),
    Scenario(make=list_all_contacts, entity="Contact", tools=["list_contacts"], weight=0.5),
)
