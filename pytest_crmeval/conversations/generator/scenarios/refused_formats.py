"""Requests that the CRM refuses because of their format: file names, addresses, and notes on the wrong entity."""

from pytest_crmeval.conversations.generator import vocabulary
from pytest_crmeval.conversations.generator.intents import Intent, Scenario, Slot
from pytest_crmeval.conversations.generator.mail import domain, mailbox
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.scenarios import recovery, unused_names
from pytest_crmeval.conversations.generator.scenarios.follow_ups import OpenRequest
from pytest_crmeval.conversations.generator.scenarios.notes_and_files import note_text
from pytest_crmeval.conversations.generator.scenarios.refused_values import CHOICE, REFUSED, changed
from pytest_crmeval.conversations.generator.story import Story

NO_FILE = "File name must consist of"
NO_ADDRESS = "Invalid email format"
_FORBIDDEN = ("exe", "zip", "jpg", "png", "mp4", "html", "rar", "eml")
_FILED = ("Opportunity", "Client", "Quote", "Contract")


def _unfiled(story: Story, row: Row, name: str, allowed: str) -> Intent:
    return OpenRequest(
        tool="upload_document",
        args={"entity_type": row.entity, "entity_id": row.ref, "file_name": name},
        slots={"record": story.refer_to(row), "file": name},
        error=NO_FILE,
        skills=REFUSED | {"document"},
        about=row,
        given={"file_name": allowed},
        follow_up=recovery.with_another_file,
    )


def forbidden_file_type(story: Story) -> Intent | None:
    """Upload a file of a type that the CRM refuses."""
    row = story.pick(story.chance.one_of(_FILED))
    names = vocabulary.files(row.entity)
    stem = story.chance.one_of(names.stems)
    name = f"{stem}.{story.chance.one_of(_FORBIDDEN)}"
    return _unfiled(story, row, name, f"{stem}.{story.chance.one_of(names.extensions)}")


def forbidden_file_name(story: Story) -> Intent | None:
    """Upload a file with spaces in its name."""
    row = story.pick(story.chance.one_of(_FILED))
    names = vocabulary.files(row.entity)
    stem = story.chance.one_of([stem for stem in names.stems if "-" in stem or "_" in stem])
    allowed = f"{stem}.{story.chance.one_of(names.extensions)}"
    return _unfiled(story, row, allowed.replace("-", " ").replace("_", " "), allowed)


def note_on_file(story: Story) -> Intent | None:
    """Add a note to a file, which can't have notes."""
    known = [row.ref for row in story.world.rows if row.entity in _FILED]
    files = [row for row in story.world.of("Document") if row["entity_id"] in known]
    if not files:
        return None
    file = story.chance.one_of(files)
    owner = story.world.row(file["entity_id"])
    text = note_text(story, owner.entity)
    return OpenRequest(
        tool="add_note",
        args={"entity_type": "Document", "entity_id": file.ref, "content": text},
        slots={"file": file["file_name"], "note": text},
        error=CHOICE,
        skills=REFUSED | {"note"},
        looked_at=(file,),
        rows=(owner,),
        follow_up=recovery.on_what_it_belongs_to,
    )


def note_on_company(story: Story) -> Intent | None:
    """Add a note to a company, which can't have notes."""
    company = story.pick("Company")
    text = story.chance.one_of(vocabulary.notes("competition" if company["type"] == "Competitor" else "call"))
    return Intent(
        tool="add_note",
        args={"entity_type": "Company", "entity_id": company.ref, "content": text},
        slots={"company": story.refer_to(company), "kind": company["type"].lower(), "note": text},
        error=CHOICE,
        skills=REFUSED | {"note"},
        looked_at=(company,),
    )


def _malformed(story: Story, address: str) -> str:
    """Return an e-mail address with a mistake in its format."""
    room, _, where = address.partition("@")
    return story.chance.one_of((f"{room}@{where.removesuffix('.example')}", f"{room}.{where}", f"{room}@@{where}"))


def malformed_contact_email(story: Story) -> Intent | None:
    """Give a contact a malformed e-mail address."""
    person = story.pick("Contact")
    where = domain(story.world.client_of(person).full_name)
    address = mailbox(story.chance, person["first_name"], person["last_name"], where)
    wrong = _malformed(story, address)
    follow_up = None if address == person["email"] else recovery.with_the_right_address
    given = {"email": address}
    said: dict[str, Slot] = {"email": wrong}
    return changed(story, person, "contact", {"email": wrong}, said, error=NO_ADDRESS, given=given, follow_up=follow_up)


def malformed_client_email(story: Story) -> Intent | None:
    """Give a client a malformed e-mail address."""
    client = story.pick("Client")
    address = unused_names.mailbox(story, client.full_name)
    wrong = _malformed(story, address)
    given, follow_up = {"email": address}, recovery.with_the_right_address
    return changed(
        story, client, "client", {"email": wrong}, {"email": wrong}, error=NO_ADDRESS, given=given, follow_up=follow_up
    )


def new_contact_with_malformed_email(story: Story) -> Intent | None:
    """Add a contact with a malformed e-mail address."""
    client = story.pick("Client")
    first, last, feminine = unused_names.person(story)
    address = mailbox(story.chance, first, last, domain(client.full_name))
    wrong = _malformed(story, address)
    return OpenRequest(
        tool="create_new_contact",
        args={"first_name": first, "last_name": last, "client_id": client.ref, "email": wrong},
        slots={"client": story.refer_to(client), "first": first, "last": last, "email": wrong},
        error=NO_ADDRESS,
        skills=REFUSED | {"creation"},
        given={"email": address},
        feminine=feminine,
        follow_up=recovery.with_the_right_address,
    )


SCENARIOS = (
    Scenario(make=forbidden_file_type, entity="Document", tools=["upload_document"], weight=0.7, trouble=True),
    Scenario(make=forbidden_file_name, entity="Document", tools=["upload_document"], weight=0.7, trouble=True),
    Scenario(make=note_on_file, entity="Document", tools=["add_note"], weight=0.5, trouble=True),
    Scenario(make=note_on_company, entity="Company", tools=["add_note"], weight=0.6, trouble=True),
    Scenario(make=malformed_contact_email, entity="Contact", tools=["modify_contact"], weight=0.8, trouble=True),
    Scenario(make=malformed_client_email, entity="Client", tools=["modify_client"], weight=0.5, trouble=True),
    Scenario(
        make=new_contact_with_malformed_email, entity="Contact", tools=["create_new_contact"], weight=0.6, trouble=True
    ),
)
