"""How the cells of the CRM's tables are compared."""

from pytest_crmeval.domain.json import Json

FREE_TEXT = frozenset({"content", "notes"})
"""Columns with sentences, in which case and the final full stop don't matter."""

CLOCKS = frozenset({"created_date", "created_at", "uploaded_at"})
"""Columns with times, which are not compared."""


def meant(column: str, value: Json) -> Json:
    """Return a cell in the form in which it is compared: normalized for sentences, else unchanged."""
    if column in FREE_TEXT and isinstance(value, str):
        return " ".join(value.casefold().split()).rstrip(".!; ")
    return value
