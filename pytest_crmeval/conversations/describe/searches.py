"""What the calls of a conversation find, as far as the file alone can tell: no database is asked."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from pytest_crmeval.conversations.dataset.entities import CHOICES, TOOLS
from pytest_crmeval.conversations.dataset.knowledge import leaves
from pytest_crmeval.conversations.dataset.records import ConversationRecord, TurnRecord
from pytest_crmeval.domain.calls import canonical
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.references import Fields, Outputs, resolved
from pytest_crmeval.domain.state import TABLES

Row = Mapping[str, Any]
_ORDER = ("name", "last_name", "first_name", "file_name", "amount", "start_date", "value", "created_at")
"""What rows are sorted by, if they have it."""
_UNSAID = {"Client": "Active", "Quote": "Draft", "Contract": "Active", "Opportunity": "Qualification"}
"""What a seeded row is, if it does not say."""


def calls_of(turn: TurnRecord) -> Sequence[ToolCall]:
    """Return what a turn asks of the CRM, in the one form; nothing if it has no tool."""
    written = [(turn.expected_tool, turn.expected_args)]
    written += [(further.expected_tool, further.expected_args) for further in turn.further_calls]
    return [canonical(ToolCall(tool=tool, arguments=arguments)) for tool, arguments in written if tool]


def turns_in_vain(record: ConversationRecord) -> Iterator[bool]:
    """Yield of each turn whether it looks for something that is not there."""
    crm = _Crm(record)
    outputs: dict[int, Fields] = {}
    for turn in record.turns:
        if not turn.expect_success:
            yield False
            continue
        found = []
        for call in calls_of(turn):
            found.append(crm.answer(_resolved(call, outputs)))
            outputs.setdefault(turn.turn_id, next(iter(found[0]), {}))
        yield any(_looks(call.tool) and not rows for call, rows in zip(calls_of(turn), found, strict=True))


def _resolved(call: ToolCall, outputs: Outputs) -> ToolCall:
    try:
        return resolved(call, outputs)
    except RecursionError:  # nobody refers to anything that deep
        return call


def _looks(tool: str) -> bool:
    return tool.endswith("_search") or tool.startswith("list_")


class _Crm:
    """The rows of a conversation while its calls are made, roughly."""

    def __init__(self, record: ConversationRecord) -> None:
        tables = msgspec.structs.asdict(record.initial_entities.seed_data)
        self._tables: dict[str, dict[str, Row]] = {
            entity: {str(key): _seeded(entity, str(key), row) for key, row in tables[entity.lower()].items()}
            for entity in TABLES
        }

    def answer(self, call: ToolCall) -> Sequence[Row]:
        """Make a call and return the rows that it shows."""
        entity = TOOLS.get(call.tool, "")
        if not entity:
            return []
        verb = call.tool.partition("_")[0]
        if _looks(call.tool):
            return self._matching(entity, call.arguments)
        if verb == "ensure" and (known := self._matching(entity, {"email": call.arguments.get("email")})):
            return known
        if verb in {"create", "ensure", "add", "upload"}:
            return [self._keep(entity, call.arguments)]
        if verb == "compare":
            given = leaves("", call.arguments.get("quote_ids"))
            return [self._tables[entity].get(str(each), {}) for _, each in given]
        return self._about_one(entity, verb, call.arguments)

    def _about_one(self, entity: str, verb: str, arguments: Mapping[str, Any]) -> Sequence[Row]:
        """Do something with the row whose id is given; there are few such verbs."""
        identity = str(arguments.get(TABLES[entity][1], ""))
        row = self._tables[entity].get(identity)
        if row is None:
            return []
        if verb == "delete":
            self._forget(entity, identity)
            return []
        if verb == "clone":
            return [self._keep(entity, {**row, **arguments, "name": f"{row.get('name')} (Clone)"})]
        changes = {"status": "Canceled"} if verb == "cancel" else arguments if verb == "modify" else {}
        self._tables[entity][identity] = {**row, **changes}
        return [self._tables[entity][identity]]

    def _matching(self, entity: str, filters: Mapping[str, Any]) -> Sequence[Row]:
        found = [row for row in self._tables[entity].values() if all(_fits(row, *each) for each in filters.items())]
        return sorted(found, key=lambda row: [_rank(row.get(column)) for column in _ORDER])

    def _keep(self, entity: str, row: Row) -> Row:
        identity = f"new-{sum(map(len, self._tables.values()))}-{entity}"
        self._tables[entity][identity] = {**row, TABLES[entity][1]: identity}
        return self._tables[entity][identity]

    def _forget(self, entity: str, identity: str) -> None:
        """Take a row away, and the quotes that hang on it."""
        del self._tables[entity][identity]
        if entity == "Opportunity":
            quotes = self._tables["Quote"]
            self._tables["Quote"] = {key: row for key, row in quotes.items() if row.get("opportunity_id") != identity}


def _seeded(entity: str, identity: str, row: Row) -> Row:
    choice = "stage" if entity == "Opportunity" else "status"
    unsaid = {choice: _UNSAID[entity]} if entity in _UNSAID else {}
    return {**unsaid, **row, TABLES[entity][1]: identity}


def _rank(value: object) -> tuple[bool, float, str]:
    """Return where a value comes in a column: numbers by size, texts by letters, nothing at the end."""
    number = float(value) if isinstance(value, int | float) else 0.0
    return value is None, number, value if isinstance(value, str) else ""


def _fits(row: Row, column: str, wanted: object) -> bool:
    """Whether a row is what a filter looks for: texts by a part, whatever their case; all else to the letter."""
    value = row.get(column)
    if isinstance(value, str) and isinstance(wanted, str) and column not in CHOICES:
        return wanted.casefold() in value.casefold()
    if isinstance(value, list):
        return str(wanted).casefold() in ", ".join(map(str, value)).casefold()
    return value == wanted
