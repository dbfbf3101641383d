"""Tools for clients, their contacts, and other companies."""

from typing import Any

from pytest_crmeval.conversations.crm.tools.definition import Arguments, ToolDefinition, modify_tool, search_tool
from pytest_crmeval.conversations.crm.tools.entities import CLIENT, COMPANY, CONTACT
from pytest_crmeval.conversations.crm.tools.session import CrmSession
from pytest_crmeval.conversations.crm.tools.value_types import RefusedCall
from pytest_crmeval.domain.messages import ToolResult


def create_new_client(session: CrmSession, arguments: Arguments) -> ToolResult:
    """Create a client, unless its e-mail address is in use."""
    _refuse_used(session, arguments["email"])
    return session.insert(CLIENT, arguments)


def ensure_client(session: CrmSession, arguments: Arguments) -> ToolResult:
    """Return the client with an e-mail address; create it if there is none."""
    known = session.client_with(arguments["email"])
    return ToolResult(value=known) if known else session.insert(CLIENT, arguments)


def modify_client(session: CrmSession, row: dict[str, Any], changes: Arguments) -> ToolResult:
    """Change a client, unless the new e-mail address belongs to another client."""
    if "email" in changes:
        _refuse_used(session, changes["email"], by_others_than=row["client_id"])
    return session.update(CLIENT, row, changes)


def create_new_contact(session: CrmSession, arguments: Arguments) -> ToolResult:
    """Create a contact at a client."""
    session.find("Client", arguments["client_id"])
    return session.insert(CONTACT, arguments)


def modify_contact(session: CrmSession, row: dict[str, Any], changes: Arguments) -> ToolResult:
    """Change a contact."""
    return session.update(CONTACT, row, changes)


def _refuse_used(session: CrmSession, email: str, *, by_others_than: str | None = None) -> None:
    known = session.client_with(email)
    if known and known["client_id"] != by_others_than:
        raise RefusedCall("conflict", f"Client already exists with email '{email}'.")


DEFINITIONS = (
    search_tool(CLIENT, "Find clients that match all filters. Without filters, all clients are returned."),
    ToolDefinition(
        name="create_new_client",
        description="Create a client. The e-mail address must not belong to another client.",
        handler=create_new_client,
        required=CLIENT.types("name", "email", "status"),
        optional=CLIENT.types("industry", "phone", "address", "owner", "created_date"),
    ),
    modify_tool(CLIENT, "Change fields of a client. Omitted fields keep their values.", modify_client),
    ToolDefinition(
        name="ensure_client",
        description="Return the client with this e-mail address, or create it if there is none.",
        handler=ensure_client,
        required=CLIENT.types("email", "name", "status"),
    ),
    search_tool(
        CONTACT, "Find contacts (people at clients) that match all filters. Without filters, all are returned."
    ),
    ToolDefinition(
        name="create_new_contact",
        description="Create a contact: a person at an existing client.",
        handler=create_new_contact,
        required=CONTACT.types("first_name", "last_name", "client_id"),
        optional=CONTACT.types("email", "phone", "title", "notes"),
    ),
    modify_tool(CONTACT, "Change fields of a contact. Omitted fields keep their values.", modify_contact),
    search_tool(
        COMPANY, "Find partners, vendors and competitors that match all filters. These companies are not clients."
    ),
)
