"""The content of a CRM."""

from collections.abc import Mapping, Sequence

from pytest_crmeval.domain.json import Json

Row = Mapping[str, Json]
State = Mapping[str, Sequence[Row]]
"""Table name -> rows, as JSON primitives."""

TABLES: Mapping[str, tuple[str, str]] = {
    "Client": ("clients", "client_id"),
    "Company": ("companies", "company_id"),
    "Contact": ("contacts", "contact_id"),
    "Opportunity": ("opportunities", "opportunity_id"),
    "Quote": ("quotes", "quote_id"),
    "Contract": ("contracts", "contract_id"),
    "Document": ("documents", "document_id"),
    "Note": ("notes", "note_id"),
}
"""Entity -> its table and primary key, ordered so that references point to earlier tables."""
