"""Writes that a turn did not ask for and that the agent undid in the same turn: the final state does not show them."""

from collections.abc import Iterator

from pytest_crmeval.conversations.columns import CLOCKS
from pytest_crmeval.conversations.scorers.groundedness import kind_of, rows_in
from pytest_crmeval.conversations.scorers.turns import Played
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.state import TABLES, Row, State
from pytest_crmeval.domain.transcript import Answered
from pytest_crmeval.ports.crm_calls import writes

_KEYS = {f"delete_{entity.lower()}": key for entity, (_, key) in TABLES.items()}
"""Tool -> the argument with the id of the row that it deletes."""


class Rows:
    """The rows of a CRM by id, kept up to date with what the calls of a trial return."""

    def __init__(self, before: State) -> None:
        keys = dict(TABLES.values())
        self._rows: dict[str, Row] = {str(row[keys[table]]): row for table, rows in before.items() for row in rows}

    def play(self, turn: Played) -> ToolCall | None:
        """Apply the calls of a turn; return the first write that was neither requested nor kept, if there is one."""
        before = dict(self._rows)
        steps = [(call, row_id, row) for call, row_id, row in _written(turn.calls) if self._apply(row_id, row)]
        return next((call for call, row_id, row in steps if self._is_undone(turn, row_id, row, before)), None)

    def _apply(self, row_id: str, row: Row | None) -> bool:
        """Store a row, or drop it; return whether that changes anything."""
        old = self._rows.get(row_id)
        if row is None:
            self._rows.pop(row_id, None)
        else:
            self._rows[row_id] = row
        return old != row

    def _is_undone(self, turn: Played, row_id: str, row: Row | None, before: dict[str, Row]) -> bool:
        """Whether a write changed a row, and the row is unchanged at the end of the turn."""
        old, new = before.get(row_id), self._rows.get(row_id)
        if old is None:
            return new is None and row is not None and not _creates(turn, row)
        if new is None or row is None:
            return row is None and not _asks_for(turn, {str(old[name]) for name in old if name.endswith("_id")})
        flipped = {
            name for name in row.keys() - CLOCKS if row[name] != old.get(name) and new.get(name) == old.get(name)
        }
        return bool(flipped - _requested(turn, row_id))


def _written(calls: Answered) -> Iterator[tuple[ToolCall, str, Row | None]]:
    """Yield each successful write with the resulting row; None if it was deleted."""
    for call, result in calls:
        if result.refused or not writes(call.tool):
            continue
        if key := _KEYS.get(call.tool):
            yield call, str(call.arguments.get(key)), None
        for row in rows_in(result.value):
            yield call, str(row[kind_of(row)]), row


def _expected(turn: Played) -> list[ToolCall]:
    return [part.expected for part in turn.parts if part.writes and part.expectation.succeeds]


def _asks_for(turn: Played, ids: set[str]) -> bool:
    """Whether the turn should write one of these rows."""
    return any(not ids.isdisjoint(map(str, call.arguments.values())) for call in _expected(turn))


def _creates(turn: Played, row: Row) -> bool:
    """Whether the turn should create a row of the same entity."""
    kind = kind_of(row)
    return any(
        kind == kind_of(made)
        for part in turn.parts
        if part.writes and not part.expected.tool.startswith(("modify_", "delete_", "cancel_"))
        for made in rows_in(part.reference_value)
    )


def _requested(turn: Played, row_id: str) -> set[str]:
    """Return the columns of a row that the turn should change."""
    calls = [call for call in _expected(turn) if row_id in map(str, call.arguments.values())]
    changed = {name for call in calls if call.tool.startswith("modify_") for name in call.arguments}
    return changed | ({"status"} if any(call.tool == "cancel_quote" for call in calls) else set())
