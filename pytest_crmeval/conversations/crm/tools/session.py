"""How tools read and write rows. In all SQL, identifiers are ours and values are parameters."""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from itertools import count
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from pytest_crmeval.conversations.crm.tools.entities import CLIENT, ENTITIES, Entity
from pytest_crmeval.conversations.crm.tools.value_types import RefusedCall, uuid
from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.messages import ToolResult

Connection = psycopg.Connection[Any]
Row = dict[str, Any]
ROW_CAP = 50


@dataclass(frozen=True, slots=True)
class CrmSession:
    """The CRM during one trial: what a tool works with."""

    connection: Connection
    now: datetime
    bits: Callable[[int], int] = secrets.randbits
    """The source of random bits for the ids of new rows; takes the number of bits."""
    page_size: int = 0
    """Rows that a search shows at a time; 0: there are no pages, and the first rows are all that is shown."""
    _made: Iterator[int] = field(default_factory=count)

    def rows(self, entity: Entity, filters: Mapping[str, Any]) -> tuple[list[Row], str]:
        """Return the rows that match every filter, in order. If there are too many: some of them, and a note.

        The filter ``cursor`` is the number of rows on the pages before.
        """
        filters = dict(filters)
        start, most = filters.pop("cursor", 0), self.page_size or ROW_CAP
        values = list(filters.values())
        query, count = _select(entity.name, tuple(filters))
        found = [row for (row,) in self.connection.execute(query, [*values, most + 1, start])]
        if len(found) <= most and not start:
            return found, ""
        total = self._one(count, values)
        return found[:most], page_note(start, len(found[:most]), total) if self.page_size else capped(total)

    def find(self, entity: str, row_id: str) -> Row:
        """Return one row, or refuse (V7)."""
        row: Row | None = self._one(_select_by_id(entity), [key]) if (key := uuid(row_id)) else None
        if row is None:
            raise RefusedCall("not_found", f"{entity} not found with ID '{cut(row_id, 100, '')}'.")
        return row

    def insert(self, entity: Entity, values: Mapping[str, Any]) -> ToolResult:
        """Write one row and return it."""
        values = {entity.key: self._new_id(), **values}
        if entity.clock:
            values = {entity.clock: self.now, **values}
        return ToolResult(value=self._one(_insert(entity.table, tuple(values)), list(values.values())))

    def update(self, entity: Entity, row: Mapping[str, Any], changes: Mapping[str, Any]) -> ToolResult:
        """Change one row and return the new version."""
        if not changes:
            return ToolResult(value=dict(row))
        query = _update(entity.name, tuple(changes))
        return ToolResult(value=self._one(query, [*changes.values(), row[entity.key]]))

    def delete(self, entity: Entity, row: Mapping[str, Any]) -> ToolResult:
        """Delete one row, with the rows that depend on it."""
        query = sql.SQL("DELETE FROM {} WHERE {} = %s")
        self.connection.execute(
            query.format(sql.Identifier(entity.table), sql.Identifier(entity.key)), [row[entity.key]]
        )
        return ToolResult(value=True)

    def client_with(self, email: str) -> Row | None:
        """Return the client with an e-mail address; upper and lower case are the same."""
        row: Row | None = self._one(_BY_EMAIL, [email])
        return row

    def query(self, query: sql.SQL | sql.Composed, values: Sequence[Any] = ()) -> Sequence[tuple[Any, ...]]:
        """Return the rows that a tool's own query finds."""
        return self.connection.execute(query, values).fetchall()

    def _new_id(self) -> UUID:
        """Return an id that sorts after earlier ones, so that equal rows are found in the order of their creation.

        It is a UUID of version 7 with the conversation's time, a counter of this trial, and random bits.
        """
        time = int(self.now.timestamp() * 1000) & (1 << 48) - 1
        counter = next(self._made) & (1 << 30) - 1
        high, low = counter >> 18, counter & (1 << 18) - 1
        return UUID(int=time << 80 | 7 << 76 | high << 64 | 2 << 62 | low << 44 | self.bits(44))

    def _one(self, query: bytes, values: Sequence[Any]) -> Any:  # noqa: ANN401 (JSON from the server)
        row = self.connection.execute(query, values).fetchone()
        return row[0] if row else None


def capped(total: int) -> str:
    """Return the note on a result that shows only the first rows."""
    return f"Only the first {ROW_CAP} of {total} rows are shown; use filters to see others."


def page_note(start: int, shown: int, total: int) -> str:
    """Return the note on one page of a result."""
    last = start + shown
    what = f"Rows {start + 1} to {last} of {total}." if shown else f"There are only {total} rows."
    more = f" For the next page, make the same call with the cursor '{cursor_after(last)}'." if last < total else ""
    return f"{what}{more}"


def cursor_after(rows: int) -> str:
    """Return the cursor of the page that begins after so many rows."""
    return f"after-{rows}"


def where(entity: Entity, filters: Sequence[str]) -> sql.Composable:
    """Return the SQL condition of all filters, with a placeholder for each."""
    conditions = [sql.SQL(entity.columns[name].condition).format(sql.Identifier(name)) for name in filters]
    return sql.SQL(" AND ").join(conditions) if conditions else sql.SQL("true")


@cache  # bounded by the number of columns
def _select(name: str, filters: tuple[str, ...]) -> tuple[bytes, bytes]:
    entity = ENTITIES[name]
    table, matching = sql.Identifier(entity.table), where(entity, filters)
    rows = sql.SQL("SELECT to_jsonb(t) FROM {} t WHERE {} ORDER BY {} LIMIT %s OFFSET %s").format(
        table, matching, sql.SQL(entity.order)
    )
    count = sql.SQL("SELECT count(*) FROM {} t WHERE {}").format(table, matching)
    return rows.as_bytes(), count.as_bytes()


@cache
def _select_by_id(name: str) -> bytes:
    entity = ENTITIES[name]
    return (
        sql.SQL("SELECT to_jsonb(t) FROM {} t WHERE {} = %s")
        .format(sql.Identifier(entity.table), sql.Identifier(entity.key))
        .as_bytes()
    )


@cache
def _insert(table: str, columns: tuple[str, ...]) -> bytes:
    return (
        sql.SQL("INSERT INTO {} AS t ({}) VALUES ({}) RETURNING to_jsonb(t)")
        .format(
            sql.Identifier(table),
            sql.SQL(", ").join(map(sql.Identifier, columns)),
            sql.SQL(", ").join(sql.Placeholder() for _ in columns),
        )
        .as_bytes()
    )


@cache
def _update(name: str, columns: tuple[str, ...]) -> bytes:
    entity = ENTITIES[name]
    return (
        sql.SQL("UPDATE {} AS t SET {} WHERE {} = %s RETURNING to_jsonb(t)")
        .format(
            sql.Identifier(entity.table),
            sql.SQL(", ").join(sql.SQL("{} = %s").format(sql.Identifier(column)) for column in columns),
            sql.Identifier(entity.key),
        )
        .as_bytes()
    )


_BY_EMAIL = (
    sql.SQL("SELECT to_jsonb(t) FROM clients t WHERE lower(email) = lower(%s) ORDER BY {} LIMIT 1")
    .format(sql.SQL(CLIENT.order))
    .as_bytes()
)
