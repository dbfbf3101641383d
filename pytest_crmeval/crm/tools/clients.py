"""Clients, their contacts, and notes."""

from typing import Literal

from pytest_crmeval.crm.tools.registry import Arguments, Connection, Email, Text, entry, find, insert, search
from pytest_crmeval.domain.json import Json

ClientStatus = Literal["Active", "Prospect", "Inactive"]


class ClientSearch(Arguments):
    """Filters of ``client_search``."""

    client_id: str | None = None
    name: str | None = None
    email: str | None = None
    status: ClientStatus | None = None
    industry: str | None = None


class NewClient(Arguments):
    """Arguments of ``create_new_client``."""

    name: Text
    email: Email
    status: ClientStatus
    industry: str | None = None
    phone: str | None = None
    address: str | None = None
    owner: str | None = None


class ContactSearch(Arguments):
    """Filters of ``contact_search``."""

    contact_id: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    client_id: str | None = None


class NewContact(Arguments):
    """Arguments of ``create_new_contact``."""

    first_name: Text
    last_name: Text
    client_id: str
    email: Email | None = None
    phone: str | None = None
    title: str | None = None
    notes: str | None = None


class NewNote(Arguments):
    """Arguments of ``add_note``."""

    entity_type: Literal["Opportunity", "Client", "Contact", "Quote", "Contract"]
    entity_id: str
    content: Text
    created_by: str | None = None


def client_search(connection: Connection, arguments: ClientSearch) -> Json:
    """Find clients."""
    return search(connection, "clients", 'name COLLATE "C", client_id', arguments.given())


def create_new_client(connection: Connection, arguments: NewClient) -> Json:
    """Create a client."""
    return insert(connection, "clients", arguments.given())


def contact_search(connection: Connection, arguments: ContactSearch) -> Json:
    """Find contacts."""
    return search(connection, "contacts", 'last_name COLLATE "C", contact_id', arguments.given())


def create_new_contact(connection: Connection, arguments: NewContact) -> Json:
    """Create a contact at a client."""
    find(connection, "Client", arguments.client_id)
    return insert(connection, "contacts", arguments.given())


def add_note(connection: Connection, arguments: NewNote) -> Json:
    """Attach a note to a record."""
    find(connection, arguments.entity_type, arguments.entity_id)
    return insert(connection, "notes", arguments.given())


ENTRIES = (
    entry(client_search, ClientSearch, "Find clients whose fields contain the given text; no filter lists all."),
    entry(create_new_client, NewClient, "Create a client. The e-mail address must not be in use."),
    entry(contact_search, ContactSearch, "Find people at clients; no filter lists all."),
    entry(create_new_contact, NewContact, "Create a person who works at an existing client."),
    entry(add_note, NewNote, "Write a note on a client, contact, opportunity, quote or contract."),
)
