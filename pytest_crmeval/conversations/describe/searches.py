"""Which searches of a conversation find nothing, estimated from the file, without a database."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from pytest_crmeval.conversations.dataset.crm_schema import CHOICES, TOOLS
from pytest_crmeval.conversations.dataset.knowledge import leaves
from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.conversations.references import resolved
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.state import TABLES
from pytest_crmeval.domain.transcript import Fields
from pytest_crmeval.ports.crm_calls import canonical

Row = Mapping[str, Any]
_ORDER = ("name", "last_name", "first_name", "file_name", "amount", "start_date", "value", "created_at")
"""The columns that rows are sorted by, if they have them."""
_DEFAULTS = {"Client": "Active", "Quote": "Draft", "Contract": "Active", "Opportunity": "Qualification"}
"""The status or stage of a seeded row that leaves it out."""


def turns_that_find_nothing(record: ConversationRecord) -> Iterator[bool]:
    """Yield for each turn whether one of its searches finds nothing."""
    crm = _SimulatedCrm(record)
    outputs: dict[int, Fields] = {}
    for turn in record.turns:
        if not turn.expect_success:
            yield False
            continue
        in_vain = False
        for call in map(canonical, turn.calls):
            try:
                rows = crm.answer(resolved(call, outputs))
            except RecursionError:  # arguments so deep contain no reference
                rows = crm.answer(call)
            outputs.setdefault(turn.turn_id, next(iter(rows), {}))
            in_vain |= _searches(call.tool) and not rows
        yield in_vain


def _searches(tool: str) -> bool:
    return tool.endswith("_search") or tool.startswith("list_")


class _SimulatedCrm:
    """The rows of a conversation while its calls are made, approximately."""

    def __init__(self, record: ConversationRecord) -> None:
        tables = msgspec.structs.asdict(record.initial_entities.seed_data)
        self._tables: dict[str, dict[str, Row]] = {}
        for entity, (_, id_column) in TABLES.items():
            choice = "stage" if entity == "Opportunity" else "status"
            default = {choice: _DEFAULTS[entity]} if entity in _DEFAULTS else {}
            seeded = tables[entity.lower()].items()
            self._tables[entity] = {str(key): {**default, **row, id_column: str(key)} for key, row in seeded}

    def answer(self, call: ToolCall) -> Sequence[Row]:
        """Make a call and return the rows of its result."""
        entity = TOOLS.get(call.tool, "")
        if not entity:
            return []
        verb = call.tool.partition("_")[0]
        if _searches(call.tool):
            return self._matching(entity, call.arguments)
        if verb == "ensure" and (known := self._matching(entity, {"email": call.arguments.get("email")})):
            return known
        if verb in {"create", "ensure", "add", "upload"}:
            return [self._insert(entity, call.arguments)]
        if verb == "compare":
            given = leaves("", call.arguments.get("quote_ids"))
            return [self._tables[entity].get(str(each), {}) for _, each in given]
        return self._with_one_row(entity, verb, call.arguments)

    def _with_one_row(self, entity: str, verb: str, arguments: Mapping[str, Any]) -> Sequence[Row]:
        """Show, change, clone or delete the row whose id is given."""
        identity = str(arguments.get(TABLES[entity][1], ""))
        row = self._tables[entity].get(identity)
        if row is None:
            return []
        if verb == "delete":
            del self._tables[entity][identity]
            if entity == "Opportunity":  # its quotes are deleted with it
                quotes = self._tables["Quote"].items()
                self._tables["Quote"] = {key: row for key, row in quotes if row.get("opportunity_id") != identity}
            return []
        if verb == "clone":
            return [self._insert(entity, {**row, **arguments, "name": f"{row.get('name')} (Clone)"})]
        changes = {"status": "Canceled"} if verb == "cancel" else arguments if verb == "modify" else {}
        self._tables[entity][identity] = {**row, **changes}
        return [self._tables[entity][identity]]

    def _matching(self, entity: str, filters: Mapping[str, Any]) -> Sequence[Row]:
        found = [row for row in self._tables[entity].values() if all(_fits(row, *each) for each in filters.items())]
        return sorted(found, key=lambda row: [_rank(row.get(column)) for column in _ORDER])

    def _insert(self, entity: str, row: Row) -> Row:
        identity = f"new-{sum(map(len, self._tables.values()))}-{entity}"
        self._tables[entity][identity] = {**row, TABLES[entity][1]: identity}
        return self._tables[entity][identity]


def _rank(value: object) -> tuple[bool, float, str]:
    """Return the sort key of a value: numbers by size, texts alphabetically, null at the end."""
    number = float(value) if isinstance(value, int | float) else 0.0
    return value is None, number, value if isinstance(value, str) else ""


def _fits(row: Row, column: str, wanted: object) -> bool:
    """Whether a row matches a filter: texts by a part, in any case; everything else exactly."""
    value = row.get(column)
    if isinstance(value, str) and isinstance(wanted, str) and column not in CHOICES:
        return wanted.casefold() in value.casefold()
    if isinstance(value, list):
        return str(wanted).casefold() in ", ".join(map(str, value)).casefold()
    return value == wanted
