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

FREE_TEXT = frozenset({"content", "notes"})
"""Columns with sentences, in which case and the final full stop don't matter."""

CLOCKS = frozenset({"created_date", "created_at", "uploaded_at"})
"""Columns with times, which are not compared."""


def meant(column: str, value: Json) -> Json:
    """Return a cell in the form in which it is compared: normalized for sentences, else unchanged."""
    if column in FREE_TEXT and isinstance(value, str):
        return " ".join(value.casefold().split()).rstrip(".!; ")
    return value
