"""The facts that a reply must state if the case does not list them: what the user asked for, as the CRM answered."""

from collections.abc import Mapping, Sequence

from pytest_crmeval.conversations.references import resolve
from pytest_crmeval.domain.expectation import Expectation
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.transcript import Outputs
from pytest_crmeval.ports.crm_calls import writes

MANY = 10
"""If there are more rows than this, the reply need not name them all: their number is enough."""

_NAMES: Mapping[str, Sequence[str]] = {
    "note_id": (),
    "document_id": ("file_name",),
    "contract_id": ("value", "status"),
    "quote_id": ("amount",),
    "contact_id": ("first_name", "last_name"),
    "opportunity_id": ("name",),
    "company_id": ("name",),
    "client_id": ("name",),
}
"""Id of an entity -> the columns with its name; the first id of a row decides its entity."""

_DETAILS: Mapping[str, Sequence[str]] = {
    "view_opportunity_details": ("stage",),
    "quote_details": ("amount", "status"),
    "summarize_opportunities": ("total_count", "total_amount"),
    "compare_quote_details": ("amounts",),
}
"""The facts that are asked about a single object."""

NOTHING = "nothing"
"""The fact that nothing was found, which can be worded in many ways."""


def facts_of(expectation: Expectation, tool: str, value: Json, outputs: Outputs) -> list[Json]:
    """Return the facts that a reply must state after ``tool`` returned ``value``; empty after a change or no call."""
    if expectation.facts is not None:
        return [resolve(fact, outputs) for fact in expectation.facts]
    if not tool or writes(tool) or not expectation.succeeds:
        return []
    if tool in _DETAILS and isinstance(value, Mapping):
        return _flat([value.get(name) for name in _DETAILS[tool]])
    rows = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        return [rows]
    if tool == "summarize_counts":
        rows = [count for count in rows if count != 0]  # zeros need not be reported
    if not rows:
        return [NOTHING]
    return [len(rows)] if len(rows) > MANY else names_of(rows)


def names_of(rows: Sequence[Json]) -> list[Json]:
    """Return the names of rows."""
    return _flat([_name(row) for row in rows])


def _name(row: Json) -> Json:
    if not isinstance(row, Mapping):
        return row
    columns = next((columns for key, columns in _NAMES.items() if key in row), ())
    said = [row[column] for column in columns if row.get(column) is not None]
    return said[:1] if "contract_id" in row else said  # not every contract has a value


def _flat(values: Sequence[Json]) -> list[Json]:
    """Return each fact once."""
    found: list[Json] = []
    for value in values:
        parts = _flat(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        found += [part for part in parts if part is not None and part not in found]
    return found
