"""The columns and tools of the CRM as plain data, to check files without importing the database code."""

from collections.abc import Mapping

COLUMNS: Mapping[str, frozenset[str]] = {
    entity: frozenset(names.split())
    for entity, names in {
        "Client": "client_id name industry email phone address status created_date owner",
        "Company": "company_id name type industry address contacts",
        "Contact": "contact_id first_name last_name title email phone client_id notes",
        "Opportunity": "opportunity_id client_id name stage amount close_date owner probability notes created_at",
        "Quote": "quote_id opportunity_id version amount status valid_until created_date quote_prefix",
        "Contract": "contract_id client_id opportunity_id start_date end_date value status document_url",
        "Document": "document_id entity_type entity_id file_name uploaded_by uploaded_at file_url",
        "Note": "note_id entity_type entity_id content created_by created_at",
    }.items()
}
"""Entity -> its columns."""

CHOICES = frozenset({"stage", "status", "type"})
"""Columns that take one of a few fixed values."""

DEFAULTS: Mapping[tuple[str, str], str] = {("create_contract", "status"): "Pending"}
"""Tool and argument -> the value that is written if the argument is left out."""

TOOLS: Mapping[str, str] = {
    tool: entity
    for entity, tools in {
        "Client": "client_search create_new_client modify_client ensure_client list_clients",
        "Company": "company_search list_companies",
        "Contact": "contact_search create_new_contact modify_contact list_contacts",
        "Opportunity": "opportunity_search create_new_opportunity modify_opportunity clone_opportunity "
        "delete_opportunity view_opportunity_details opportunity_details summarize_opportunities list_opportunities",
        "Quote": "quote_search create_quote modify_quote cancel_quote delete_quote quote_details compare_quotes "
        "compare_quote_details quote_prefixes list_quotes",
        "Contract": "contract_search create_contract list_contracts",
        "Document": "upload_document list_documents",
        "Note": "add_note list_notes",
        "": "summarize_counts",
    }.items()
    for tool in tools.split()
}
"""Tool -> the entity that it reads or writes."""

CATEGORIES: Mapping[str, str] = {
    "Client": "Client Management",
    "Company": "Company / Account Management",
    "Contact": "Contact Management",
    "Opportunity": "Opportunity Management",
    "Quote": "Quote Management",
    "Contract": "Contract Management",
    "Document": "Document Management",
    "Note": "Notes & Collaboration",
}
"""Entity -> the category of tasks about it."""

_OWN_SHAPE: Mapping[str, frozenset[str]] = {
    "delete_opportunity": frozenset({"value"}),
    "delete_quote": frozenset({"value"}),
    "quote_prefixes": frozenset({"value"}),
    "compare_quote_details": frozenset({"quotes", "amounts", "statuses", "total_amount"}),
    "summarize_opportunities": frozenset({"total_count", "total_amount", "by_stage", "by_owner"}),
}


def result_fields(tool: str) -> frozenset[str] | None:
    """Return the fields of a tool's result that a reference can name; None if they are unknown."""
    if tool.startswith("list_"):
        return frozenset()  # the result has rows by id, and no fields
    return _OWN_SHAPE.get(tool) or COLUMNS.get(TOOLS.get(tool, ""))


def makes_new(tool: str) -> bool:
    """Whether the result of a tool contains nothing but its arguments."""
    return tool.startswith(("create_", "add_", "upload_", "delete_"))
