"""Clients, the people who work there, and other companies."""

from typing import Any

from pytest_crmeval.conversations.crm.tools.entities import CLIENT, COMPANY, CONTACT
from pytest_crmeval.conversations.crm.tools.kinds import Refusal
from pytest_crmeval.conversations.crm.tools.registry import Entry, Taken, changing, searching
from pytest_crmeval.conversations.crm.tools.world import World
from pytest_crmeval.domain.messages import ToolResult


def create_new_client(world: World, taken: Taken) -> ToolResult:
    """Create a client, unless its e-mail address is in use."""
    _refuse_used(world, taken["email"])
    return world.insert(CLIENT, taken)


def ensure_client(world: World, taken: Taken) -> ToolResult:
    """Return the client with an e-mail address; create it if there is none."""
    known = world.client_with(taken["email"])
    return ToolResult(value=known) if known else world.insert(CLIENT, taken)


def modify_client(world: World, row: dict[str, Any], changes: Taken) -> ToolResult:
    """Change a client; it can't take another one's e-mail address."""
    if "email" in changes:
        _refuse_used(world, changes["email"], by_others_than=row["client_id"])
    return world.update(CLIENT, row, changes)


def create_new_contact(world: World, taken: Taken) -> ToolResult:
    """Create a contact at a client."""
    world.find("Client", taken["client_id"])
    return world.insert(CONTACT, taken)


def modify_contact(world: World, row: dict[str, Any], changes: Taken) -> ToolResult:
    """Change a contact."""
    return world.update(CONTACT, row, changes)


def _refuse_used(world: World, email: str, *, by_others_than: str | None = None) -> None:
    known = world.client_with(email)
    if known and known["client_id"] != by_others_than:
        raise Refusal("conflict", f"Client already exists with email '{email}'.")


ENTRIES = (
    searching(CLIENT, "Find clients. Every filter has to match; without any, all clients are found."),
    Entry(
        name="create_new_client",
        description="Create a client. Its e-mail address must not belong to another client.",
        handler=create_new_client,
        required=CLIENT.kinds("name", "email", "status"),
        optional=CLIENT.kinds("industry", "phone", "address", "owner", "created_date"),
    ),
    changing(CLIENT, "Change fields of a client; what is not given stays as it is.", modify_client),
    Entry(
        name="ensure_client",
        description="Return the client with this e-mail address; create it if there is none.",
        handler=ensure_client,
        required=CLIENT.kinds("email", "name", "status"),
    ),
    searching(CONTACT, "Find people at clients. Every filter has to match; without any, all are found."),
    Entry(
        name="create_new_contact",
        description="Create a person who works at an existing client.",
        handler=create_new_contact,
        required=CONTACT.kinds("first_name", "last_name", "client_id"),
        optional=CONTACT.kinds("email", "phone", "title", "notes"),
    ),
    changing(CONTACT, "Change fields of a person; what is not given stays as it is.", modify_contact),
    searching(COMPANY, "Find partners, vendors and competitors. They are no clients: deals are not made with them."),
)
