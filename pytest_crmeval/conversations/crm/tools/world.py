"""What tools do with rows: SQL whose identifiers are all our own, and whose values are all parameters."""

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
from pytest_crmeval.conversations.crm.tools.kinds import Refusal, uuid
from pytest_crmeval.domain import cutting
from pytest_crmeval.domain.messages import ToolResult

Connection = psycopg.Connection[Any]
Row = dict[str, Any]
ROW_CAP = 50


@dataclass(frozen=True, slots=True)
class World:
    """The CRM of one trial, for the tools."""

    connection: Connection
    now: datetime
    bits: Callable[[int], int] = secrets.randbits
    """What the ids of new rows are made from: so many bits at a time."""
    _made: Iterator[int] = field(default_factory=count)

    def search(self, entity: Entity, filters: Mapping[str, Any]) -> ToolResult:
        """Return the rows that match every filter, in order; where there are too many, the first, and a note."""
        rows, note = self.rows(entity, filters)
        return ToolResult(value=rows, note=note)

    def rows(self, entity: Entity, filters: Mapping[str, Any]) -> tuple[list[Row], str]:
        """Return the rows of a search, and what has to be said about them."""
        values = list(filters.values())
        query, count = _selection(entity.name, tuple(filters))
        found = [row for (row,) in self.connection.execute(query, values)]
        if len(found) <= ROW_CAP:
            return found, ""
        total = self._one(count, values)
        return found[:ROW_CAP], cut(total)

    def find(self, entity: str, row_id: str) -> Row:
        """Return one row, or refuse (V7)."""
        row = self._one(_finding(entity), [found]) if (found := uuid(row_id)) else None
        if row is None:
            shown = cutting.cut(row_id, 100, "")
            raise Refusal("not_found", f"{entity} not found with ID '{shown}'.")
        found_row: Row = row
        return found_row

    def insert(self, entity: Entity, values: Mapping[str, Any]) -> ToolResult:
        """Write one row and return it."""
        values = {entity.key: self._new_id(), **values}
        if entity.clock:
            values = {entity.clock: self.now, **values}
        return ToolResult(value=self._one(_insertion(entity.table, tuple(values)), list(values.values())))

    def update(self, entity: Entity, row: Mapping[str, Any], changes: Mapping[str, Any]) -> ToolResult:
        """Change one row and return it as it is then."""
        if not changes:
            return ToolResult(value=dict(row))
        query = _change(entity.name, tuple(changes))
        return ToolResult(value=self._one(query, [*changes.values(), row[entity.key]]))

    def delete(self, entity: Entity, row: Mapping[str, Any]) -> ToolResult:
        """Take one row away, and what belongs to it."""
        self.connection.execute(_deletion(entity.name), [row[entity.key]])
        return ToolResult(value=True)

    def client_with(self, email: str) -> Row | None:
        """Return the client with an e-mail address, which upper and lower case don't tell apart."""
        row: Row | None = self._one(_BY_EMAIL, [email])
        return row

    def query(self, query: sql.SQL | sql.Composed, values: Sequence[Any] = ()) -> Sequence[tuple[Any, ...]]:
        """Return what a query of a tool's own finds."""
        return self.connection.execute(query, values).fetchall()

    def _new_id(self) -> UUID:
        """Return an id that sorts after those made before: rows that are alike are found in the order they were made.

        A UUID of version 7 whose time is the conversation's, whose counter is the trial's, whose rest nobody guesses.
        """
        time = int(self.now.timestamp() * 1000) & (1 << 48) - 1
        counter = next(self._made) & (1 << 30) - 1
        high, low = counter >> 18, counter & (1 << 18) - 1
        tail = self.bits(44)
        return UUID(int=time << 80 | 7 << 76 | high << 64 | 2 << 62 | low << 44 | tail)

    def _one(self, query: bytes, values: Sequence[Any]) -> Any:  # noqa: ANN401 (JSON from the server)
        row = self.connection.execute(query, values).fetchone()
        return row[0] if row else None


def cut(total: int) -> str:
    """Return the note on a result that is not all there is."""
    return f"These are the first {ROW_CAP} of {total} rows; search with filters to see others."


def where(entity: Entity, filters: Sequence[str]) -> sql.Composable:
    """Return the condition that all filters make, with a placeholder for each."""
    conditions = [sql.SQL(entity.columns[name].condition).format(sql.Identifier(name)) for name in filters]
    return sql.SQL(" AND ").join(conditions) if conditions else sql.SQL("true")


@cache  # bounded by the columns that there are
def _selection(name: str, filters: tuple[str, ...]) -> tuple[bytes, bytes]:
    entity = ENTITIES[name]
    table, matching = sql.Identifier(entity.table), where(entity, filters)
    rows = sql.SQL("SELECT to_jsonb(t) FROM {} t WHERE {} ORDER BY {} LIMIT {}").format(
        table, matching, sql.SQL(entity.order), sql.Literal(ROW_CAP + 1)
    )
    count = sql.SQL("SELECT count(*) FROM {} t WHERE {}").format(table, matching)
    return rows.as_bytes(), count.as_bytes()


@cache
def _finding(name: str) -> bytes:
    entity = ENTITIES[name]
    return (
        sql.SQL("SELECT to_jsonb(t) FROM {} t WHERE {} = %s")
        .format(sql.Identifier(entity.table), sql.Identifier(entity.key))
        .as_bytes()
    )


@cache
def _insertion(table: str, columns: tuple[str, ...]) -> bytes:
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
def _change(name: str, columns: tuple[str, ...]) -> bytes:
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


@cache
def _deletion(name: str) -> bytes:
    entity = ENTITIES[name]
    return (
        sql.SQL("DELETE FROM {} WHERE {} = %s")
        .format(sql.Identifier(entity.table), sql.Identifier(entity.key))
        .as_bytes()
    )


_BY_EMAIL = (
    sql.SQL("SELECT to_jsonb(t) FROM clients t WHERE lower(email) = lower(%s) ORDER BY {} LIMIT 1")
    .format(sql.SQL(CLIENT.order))
    .as_bytes()
)
