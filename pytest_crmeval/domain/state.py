"""What a CRM holds at one moment."""

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
"""Entity -> its table and primary key, in an order in which each row is known before it is referred to."""

FREE_TEXT = frozenset({"content", "notes"})
"""Columns that hold sentences: who writes one down may leave out its last full stop, or its capital."""

CLOCKS = frozenset({"created_date", "created_at", "uploaded_at"})
"""Columns that say when, not what."""


def meant(column: str, value: Json) -> Json:
    """Return what a cell means: of a sentence, its words; of anything else, itself."""
    if column in FREE_TEXT and isinstance(value, str):
        return " ".join(value.casefold().split()).rstrip(".!; ")
    return value
