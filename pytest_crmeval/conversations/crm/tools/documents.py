"""Tools for quotes, contracts, documents and notes."""

from typing import Any

from psycopg import sql

from pytest_crmeval.conversations.crm.tools.definition import Arguments, ToolDefinition, modify_tool, search_tool
from pytest_crmeval.conversations.crm.tools.entities import CONTRACT, DOCUMENT, NOTE, QUOTE
from pytest_crmeval.conversations.crm.tools.session import ROW_CAP, CrmSession, capped
from pytest_crmeval.conversations.crm.tools.value_types import ID, ValueType, invalid
from pytest_crmeval.domain.messages import ToolResult

MOST_COMPARED = 50


def create_quote(session: CrmSession, arguments: Arguments) -> ToolResult:
    """Write a quote for a deal."""
    session.find("Opportunity", arguments["opportunity_id"])
    return session.insert(QUOTE, arguments)


def modify_quote(session: CrmSession, row: dict[str, Any], changes: Arguments) -> ToolResult:
    """Change a quote, whatever its status."""
    return session.update(QUOTE, row, changes)


def cancel_quote(session: CrmSession, arguments: Arguments) -> ToolResult:
    """Set a quote's status to Canceled, also if it is canceled already."""
    return session.update(QUOTE, session.find("Quote", arguments["quote_id"]), {"status": "Canceled"})


def delete_quote(session: CrmSession, arguments: Arguments) -> ToolResult:
    """Delete a quote."""
    return session.delete(QUOTE, session.find("Quote", arguments["quote_id"]))


def quote_details(session: CrmSession, arguments: Arguments) -> ToolResult:
    """Return one quote."""
    return ToolResult(value=session.find("Quote", arguments["quote_id"]))


def compare_quotes(session: CrmSession, arguments: Arguments) -> ToolResult:
    """Return quotes in the order asked for."""
    return ToolResult(value=[session.find("Quote", quote) for quote in arguments["quote_ids"]])


def compare_quote_details(session: CrmSession, arguments: Arguments) -> ToolResult:
    """Return quotes, with their amounts, statuses and total as separate fields."""
    quotes = [session.find("Quote", quote) for quote in arguments["quote_ids"]]
    return ToolResult(
        value={
            "quotes": quotes,
            "amounts": [quote["amount"] for quote in quotes],
            "statuses": [quote["status"] for quote in quotes],
            "total_amount": round(sum(quote["amount"] for quote in quotes), 2),
        }
    )


def quote_prefixes(session: CrmSession, arguments: Arguments) -> ToolResult:
    """Return the prefixes in use."""
    del arguments
    query = sql.SQL('SELECT DISTINCT quote_prefix COLLATE "C" FROM quotes WHERE quote_prefix IS NOT NULL ORDER BY 1')
    prefixes = [prefix for (prefix,) in session.query(query)]
    return ToolResult(value=prefixes[:ROW_CAP], note=capped(len(prefixes)) if len(prefixes) > ROW_CAP else "")


def create_contract(session: CrmSession, arguments: Arguments) -> ToolResult:
    """Write a contract with a client, perhaps about a deal."""
    session.find("Client", arguments["client_id"])
    if "opportunity_id" in arguments:
        session.find("Opportunity", arguments["opportunity_id"])
    return session.insert(CONTRACT, {"status": "Pending", **arguments})


def upload_document(session: CrmSession, arguments: Arguments) -> ToolResult:
    """Attach a file to a record."""
    session.find(arguments["entity_type"], arguments["entity_id"])
    return session.insert(DOCUMENT, arguments)


def add_note(session: CrmSession, arguments: Arguments) -> ToolResult:
    """Write a note on a record."""
    session.find(arguments["entity_type"], arguments["entity_id"])
    return session.insert(NOTE, arguments)


def _ids(label: str, value: object) -> list[str]:
    if not isinstance(value, list | tuple) or not value or len(value) > MOST_COMPARED:
        raise invalid(f"{label} must be a list of 1 to {MOST_COMPARED} ids.")
    return [ID.parse(label, item) for item in value]


IDS = ValueType(
    schema={"type": "array", "items": ID.schema, "minItems": 1, "maxItems": MOST_COMPARED},
    parse=_ids,
    filter_schema={},
    parse_filter=_ids,
    parse_seed=_ids,
)

DEFINITIONS = (
    search_tool(QUOTE, "Find quotes that match all filters, cheapest first. Without filters, all are returned."),
    ToolDefinition(
        name="create_quote",
        description="Create a quote for an existing deal.",
        handler=create_quote,
        required=QUOTE.types("opportunity_id", "amount", "status"),
        optional=QUOTE.types("version", "valid_until", "quote_prefix"),
    ),
    modify_tool(QUOTE, "Change fields of a quote. Omitted fields keep their values.", modify_quote),
    ToolDefinition(
        name="cancel_quote",
        description="Cancel a quote. It stays in the CRM with the status Canceled.",
        handler=cancel_quote,
        required=QUOTE.types("quote_id"),
    ),
    ToolDefinition(
        name="delete_quote",
        description="Delete a quote permanently. To keep it on record, cancel it instead.",
        handler=delete_quote,
        required=QUOTE.types("quote_id"),
    ),
    ToolDefinition(
        name="quote_details",
        description="Show one quote with all its fields.",
        handler=quote_details,
        required=QUOTE.types("quote_id"),
    ),
    ToolDefinition(
        name="compare_quotes",
        description="Show several quotes, in the given order.",
        handler=compare_quotes,
        required={"quote_ids": IDS},
    ),
    ToolDefinition(
        name="compare_quote_details",
        description="Show several quotes with their amounts, their statuses and the total amount.",
        handler=compare_quote_details,
        required={"quote_ids": IDS},
    ),
    ToolDefinition(
        name="quote_prefixes", description="List the quote prefixes that are in use.", handler=quote_prefixes
    ),
    search_tool(CONTRACT, "Find contracts that match all filters. Without filters, all are returned."),
    ToolDefinition(
        name="create_contract",
        description="Create a contract with an existing client. The default status is Pending.",
        handler=create_contract,
        required=CONTRACT.types("client_id"),
        optional=CONTRACT.types("opportunity_id", "status", "value", "start_date", "end_date", "document_url"),
    ),
    ToolDefinition(
        name="upload_document",
        description="Attach a file to an opportunity, contract, quote or client.",
        handler=upload_document,
        required=DOCUMENT.types("entity_type", "entity_id", "file_name"),
        optional=DOCUMENT.types("uploaded_by", "uploaded_at", "file_url"),
    ),
    ToolDefinition(
        name="add_note",
        description="Add a note to an opportunity, client, contact, quote or contract. It is a record of its own, "
        "which list_notes shows; modify_opportunity and modify_contact change the notes field of a deal or a person.",
        handler=add_note,
        required=NOTE.types("entity_type", "entity_id", "content"),
        optional=NOTE.types("created_by", "created_at"),
    ),
)
