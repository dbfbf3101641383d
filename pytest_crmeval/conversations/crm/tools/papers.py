"""Quotes, contracts, documents and notes."""

from typing import Any

from psycopg import sql

from pytest_crmeval.conversations.crm.tools.entities import CONTRACT, DOCUMENT, NOTE, QUOTE
from pytest_crmeval.conversations.crm.tools.kinds import ID, Kind, invalid
from pytest_crmeval.conversations.crm.tools.registry import Entry, Taken, changing, searching
from pytest_crmeval.conversations.crm.tools.world import ROW_CAP, World, cut
from pytest_crmeval.domain.messages import ToolResult

MOST_COMPARED = 50


def create_quote(world: World, taken: Taken) -> ToolResult:
    """Write a quote for a deal."""
    world.find("Opportunity", taken["opportunity_id"])
    return world.insert(QUOTE, taken)


def modify_quote(world: World, row: dict[str, Any], changes: Taken) -> ToolResult:
    """Change a quote, whatever its status."""
    return world.update(QUOTE, row, changes)


def cancel_quote(world: World, taken: Taken) -> ToolResult:
    """Set a quote's status; to cancel it twice is to cancel it once."""
    return world.update(QUOTE, world.find("Quote", taken["quote_id"]), {"status": "Canceled"})


def delete_quote(world: World, taken: Taken) -> ToolResult:
    """Delete a quote."""
    return world.delete(QUOTE, world.find("Quote", taken["quote_id"]))


def quote_details(world: World, taken: Taken) -> ToolResult:
    """Return one quote."""
    return ToolResult(value=world.find("Quote", taken["quote_id"]))


def compare_quotes(world: World, taken: Taken) -> ToolResult:
    """Return quotes in the order asked for."""
    return ToolResult(value=[world.find("Quote", quote) for quote in taken["quote_ids"]])


def compare_quote_details(world: World, taken: Taken) -> ToolResult:
    """Return quotes with what is compared most set apart."""
    quotes = [world.find("Quote", quote) for quote in taken["quote_ids"]]
    return ToolResult(
        value={
            "quotes": quotes,
            "amounts": [quote["amount"] for quote in quotes],
            "statuses": [quote["status"] for quote in quotes],
            "total_amount": round(sum(quote["amount"] for quote in quotes), 2),
        }
    )


def quote_prefixes(world: World, taken: Taken) -> ToolResult:
    """Return the prefixes in use."""
    del taken
    query = sql.SQL('SELECT DISTINCT quote_prefix COLLATE "C" FROM quotes WHERE quote_prefix IS NOT NULL ORDER BY 1')
    prefixes = [prefix for (prefix,) in world.query(query)]
    return ToolResult(value=prefixes[:ROW_CAP], note=cut(len(prefixes)) if len(prefixes) > ROW_CAP else "")


def create_contract(world: World, taken: Taken) -> ToolResult:
    """Write a contract with a client, perhaps about a deal."""
    world.find("Client", taken["client_id"])
    if "opportunity_id" in taken:
        world.find("Opportunity", taken["opportunity_id"])
    return world.insert(CONTRACT, {"status": "Pending", **taken})


def upload_document(world: World, taken: Taken) -> ToolResult:
    """Attach a file to a record."""
    world.find(taken["entity_type"], taken["entity_id"])
    return world.insert(DOCUMENT, taken)


def add_note(world: World, taken: Taken) -> ToolResult:
    """Write a note on a record."""
    world.find(taken["entity_type"], taken["entity_id"])
    return world.insert(NOTE, taken)


def _ids(label: str, value: object) -> list[str]:
    if not isinstance(value, list | tuple) or not value or len(value) > MOST_COMPARED:
        raise invalid(f"{label} must be a list of 1 to {MOST_COMPARED} ids.")
    return [ID.take(label, item) for item in value]


IDS = Kind(
    schema={"type": "array", "items": ID.schema, "minItems": 1, "maxItems": MOST_COMPARED},
    take=_ids,
    filter_schema={},
    seek=_ids,
    plant=_ids,
)

ENTRIES = (
    searching(QUOTE, "Find quotes, cheapest first. Every filter has to match; without any, all are found."),
    Entry(
        name="create_quote",
        description="Write a quote for an existing deal.",
        handler=create_quote,
        required=QUOTE.kinds("opportunity_id", "amount", "status"),
        optional=QUOTE.kinds("version", "valid_until", "quote_prefix"),
    ),
    changing(QUOTE, "Change fields of a quote; what is not given stays as it is.", modify_quote),
    Entry(
        name="cancel_quote",
        description="Cancel a quote. It stays in the CRM, with the status Canceled.",
        handler=cancel_quote,
        required=QUOTE.kinds("quote_id"),
    ),
    Entry(
        name="delete_quote",
        description="Delete a quote for good. To keep it on record, cancel it instead.",
        handler=delete_quote,
        required=QUOTE.kinds("quote_id"),
    ),
    Entry(
        name="quote_details",
        description="Show one quote with all its fields.",
        handler=quote_details,
        required=QUOTE.kinds("quote_id"),
    ),
    Entry(
        name="compare_quotes",
        description="Show several quotes side by side, in the order given.",
        handler=compare_quotes,
        required={"quote_ids": IDS},
    ),
    Entry(
        name="compare_quote_details",
        description="Show several quotes, their amounts, their statuses and what they cost together.",
        handler=compare_quote_details,
        required={"quote_ids": IDS},
    ),
    Entry(name="quote_prefixes", description="List the quote prefixes that are in use.", handler=quote_prefixes),
    searching(CONTRACT, "Find contracts. Every filter has to match; without any, all are found."),
    Entry(
        name="create_contract",
        description="Write a contract with an existing client. Without a status it is Pending.",
        handler=create_contract,
        required=CONTRACT.kinds("client_id"),
        optional=CONTRACT.kinds("opportunity_id", "status", "value", "start_date", "end_date", "document_url"),
    ),
    Entry(
        name="upload_document",
        description="Attach a file to an opportunity, contract, quote or client.",
        handler=upload_document,
        required=DOCUMENT.kinds("entity_type", "entity_id", "file_name"),
        optional=DOCUMENT.kinds("uploaded_by", "uploaded_at", "file_url"),
    ),
    Entry(
        name="add_note",
        description="Write a note on an opportunity, client, contact, quote or contract.",
        handler=add_note,
        required=NOTE.kinds("entity_type", "entity_id", "content"),
        optional=NOTE.kinds("created_by", "created_at"),
    ),
)
