"""The CRM on a real PostgreSQL: one transaction per trial, one savepoint per call."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus
from psycopg.types.json import Jsonb

from pytest_crmeval.crm.tools import TOOLS
from pytest_crmeval.crm.tools.registry import Refusal
from pytest_crmeval.domain.conversation import Seed
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Tool, ToolCall, ToolError, ToolResult
from pytest_crmeval.domain.state import TABLES, State
from pytest_crmeval.ports.crm import SeedError

_SNAPSHOT = sql.SQL("SELECT jsonb_build_object({})").format(
    sql.SQL(", ").join(
        sql.SQL("{}, (SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]') FROM {} t)").format(
            sql.Literal(table), sql.Identifier(table)
        )
        for table, _ in TABLES.values()
    )
)


class PostgresCrm:
    """A CRM in one database, over one connection."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    @property
    def tools(self) -> Sequence[Tool]:
        """What can be called."""
        return tuple(entry.tool for entry in TOOLS.values())

    @contextmanager
    def seeded(self, seed: Seed) -> Iterator[None]:
        """Hold exactly the rows of ``seed`` while the context lasts; everything is rolled back at its end."""
        with self._connection.transaction(force_rollback=True):
            self._plant(seed)
            yield

    def call(self, call: ToolCall) -> ToolResult:
        """Do what an agent asks; a refusal leaves the state before it untouched."""
        if self._connection.info.transaction_status is TransactionStatus.IDLE:
            raise RuntimeError("a tool was called outside of seeded(): it would have changed the CRM for good")
        entry = TOOLS.get(call.tool) if isinstance(call.tool, str) else None
        if entry is None:
            known = ", ".join(sorted(TOOLS))
            return _refused("unknown_tool", f"there is no tool {call.tool!r}; the tools are: {known}")
        try:
            with self._connection.transaction():
                return ToolResult(value=entry.run(self._connection, call.arguments))
        except Refusal as refusal:
            return ToolResult(error=refusal.error)
        except psycopg.errors.UniqueViolation as error:
            return _refused("conflict", f"already in use: {error.diag.message_detail}")
        except (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded) as error:
            return _refused("invalid_argument", _told(error))

    def snapshot(self) -> State:
        """Return all rows as they are now."""
        found = self._connection.execute(_SNAPSHOT).fetchone()
        if found is None:
            raise psycopg.InterfaceError("the server answered a snapshot with no row")
        state: State = found[0]
        return state

    def _plant(self, seed: Seed) -> None:
        if unknown := sorted(seed.keys() - TABLES.keys()):
            raise SeedError(f"seed_data.{unknown[0]}: there is no such entity; there are {', '.join(TABLES)}")
        for entity, (table, key) in TABLES.items():
            rows = [{**row, key: row_id} for row_id, row in seed.get(entity, {}).items()]
            rows.sort(key=sorted)
            for columns, alike in groupby(rows, key=sorted):
                try:
                    self._insert(table, columns, list(alike))
                except (psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError) as error:
                    raise SeedError(f"seed_data.{entity}: {_told(error)}") from error

    def _insert(self, table: str, columns: Sequence[str], rows: Sequence[Mapping[str, Json]]) -> None:
        names = sql.SQL(", ").join(map(sql.Identifier, columns))
        self._connection.execute(
            sql.SQL("INSERT INTO {0} ({1}) SELECT {1} FROM jsonb_populate_recordset(NULL::{0}, %s)").format(
                sql.Identifier(table), names
            ),
            (Jsonb(rows),),
        )


def _told(error: psycopg.Error) -> str:
    """Return what the server, or else the driver, says, in one line."""
    return error.diag.message_primary or str(error).splitlines()[0]


def _refused(kind: Any, message: str) -> ToolResult:  # noqa: ANN401 (one of ToolError's literals)
    return ToolResult(error=ToolError(kind=kind, message=message))
