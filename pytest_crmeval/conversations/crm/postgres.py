"""The CRM on a real PostgreSQL: one transaction per trial, a savepoint before each call that follows a write."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cache
from random import Random
from typing import Any

import msgspec
import psycopg
from psycopg import sql
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.types.json import Jsonb, set_json_loads

from pytest_crmeval.conversations.crm.seeds import planted
from pytest_crmeval.conversations.crm.tools import TOOLS, run
from pytest_crmeval.conversations.crm.tools.kinds import Refusal
from pytest_crmeval.conversations.crm.tools.world import World
from pytest_crmeval.domain.calls import writes
from pytest_crmeval.domain.conversation import Seed
from pytest_crmeval.domain.messages import ErrorKind, Tool, ToolCall, ToolError, ToolResult
from pytest_crmeval.domain.state import TABLES, State
from pytest_crmeval.ports.crm import CrmConnectionLost, SeedError

TIMEOUT_SECONDS = 5.0
VACUUM_EVERY = 100
"""Transactions between two vacuums, which remove rolled-back rows: until then every scan reads them.

A trial has two transactions, one for the reference and one for the agent, so a vacuum adds 0.06 ms per trial.
"""
_ENDS_SESSION = frozenset({"FATAL", "PANIC"})
_SNAPSHOT = (
    sql.SQL("SELECT jsonb_build_object({})")
    .format(
        sql.SQL(", ").join(
            sql.SQL("{}, (SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]') FROM {} t)").format(
                sql.Literal(table), sql.Identifier(table)
            )
            for table, _ in TABLES.values()
        )
    )
    .as_bytes()
)
_VACUUM = (
    sql.SQL("VACUUM (SKIP_LOCKED) {}")
    .format(sql.SQL(", ").join(sql.Identifier(table) for table, _ in TABLES.values()))
    .as_bytes()
)


def _fresh() -> tuple[Tool, ...]:
    return tuple(entry.tool for entry in TOOLS.values())


_TOOLS = _fresh()


def _bits(salt: str) -> Callable[[int], int]:
    """Return where ids come from: the same again from the same salt, chance without one."""
    return Random(salt).getrandbits if salt else secrets.randbits  # noqa: S311 (to be repeated, not to be secret)


class PostgresCrm:
    """A CRM in one database, over one connection."""

    def __init__(self, connection: psycopg.Connection[Any], *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._connection = connection
        self._world: World | None = None
        self._rolled_back = 0
        """Transactions since the last vacuum."""
        self._tools = _fresh()
        self._safe = False
        """Whether there is a savepoint that holds everything as it is now."""
        set_json_loads(msgspec.json.decode, connection)
        connection.prepare_threshold = 2  # few queries, many times
        limit = sql.Literal(f"{max(1, round(timeout_seconds * 1000))}ms")
        connection.execute(sql.SQL("SET TIME ZONE 'UTC'; SET statement_timeout = {}").format(limit))

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """The connection; CrmConnectionLost if the server does not answer on it."""
        try:
            self._connection.execute("SELECT 1")
        except psycopg.Error as error:
            self._check_session(error)
            raise
        return self._connection

    @property
    def is_lost(self) -> bool:
        """Whether the connection is known to be lost."""
        return self._connection.closed

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @property
    def tools(self) -> Sequence[Tool]:
        """What can be called; a copy, in case that somebody adapts a schema in place."""
        return self._tools

    @contextmanager
    def seeded(self, seed: Seed, now: datetime, salt: str = "") -> Iterator[None]:
        """Hold exactly the rows of ``seed`` while the context lasts; everything is rolled back at its end."""
        if self._world is not None:
            raise RuntimeError("this CRM holds the rows of another trial")
        if self._rolled_back >= VACUUM_EVERY:  # autovacuum is off in the embedded server, and too slow elsewhere
            self._rolled_back = 0
            with suppress(psycopg.errors.QueryCanceled):  # a busy server: the next one has more to do
                self._command(_VACUUM)
        self._rolled_back += 1
        self._command(b"BEGIN")
        try:
            self._plant(seed, now)
            self._world, self._safe = World(self._connection, now, _bits(salt)), False
            if self._tools != _TOOLS:
                self._tools = _fresh()
            yield
        finally:
            self._world = None
            if not self.is_lost:
                with suppress(CrmConnectionLost):  # the server rolls back by itself, and the trial is complete
                    self._command(b"ROLLBACK")

    def call(self, call: ToolCall) -> ToolResult:
        """Do what an agent asks; a refusal leaves the state before it untouched."""
        if self._world is None or self._connection.info.transaction_status is TransactionStatus.IDLE:
            raise RuntimeError("a tool was called outside of seeded(): it would have changed the CRM for good")
        if not self._safe:
            self._command(b"SAVEPOINT before_call")
            self._safe = True
        try:
            result = run(self._world, call)
        except Refusal as refusal:
            return self._undone(refusal.error.kind, refusal.error.message)
        except psycopg.errors.QueryCanceled:
            return self._undone("timeout", "This took too long and was stopped; ask for less.")
        except psycopg.errors.UniqueViolation as error:
            return self._undone("conflict", f"Already in use: {error.diag.message_detail}")
        except (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded) as error:
            return self._undone("invalid_argument", _told(error))
        except psycopg.Error as error:
            self._check_session(error)
            raise
        self._safe = not writes(call.tool)
        return result

    def snapshot(self) -> State:
        """Return all rows as they are now."""
        try:
            found = self._connection.execute(_SNAPSHOT).fetchone()
        except psycopg.Error as error:
            self._check_session(error)
            raise
        if found is None:
            raise psycopg.InterfaceError("the server answered a snapshot with no row")
        state: State = found[0]
        return state

    def _undone(self, kind: ErrorKind, message: str) -> ToolResult:
        """Take back what a call may have done before it was refused, and tell why it was."""
        self._command(b"ROLLBACK TO SAVEPOINT before_call")
        return ToolResult(error=ToolError(kind=kind, message=message))

    def _command(self, command: bytes) -> None:
        """Begin, save or roll back by libpq itself: psycopg forgets its prepared statements with every rollback."""
        try:
            result = self._connection.pgconn.exec_(command)
            if result.status != ExecStatus.COMMAND_OK:
                raise psycopg.errors.error_from_result(result)
        except psycopg.Error as error:
            self._check_session(error)
            raise

    def _check_session(self, error: psycopg.Error) -> None:
        """Raise CrmConnectionLost if the session has ended with ``error``.

        libpq may report a connection as open although the server has closed it. Then the server's last message shows
        it, or an error that did not come from the server.
        """
        is_ours = error.sqlstate is None and type(error) in {psycopg.DatabaseError, psycopg.OperationalError}
        if self._connection.closed or is_ours or error.diag.severity_nonlocalized in _ENDS_SESSION:
            self._connection.close()
            raise CrmConnectionLost(f"the connection to PostgreSQL was lost: {_told(error)}") from error

    def _plant(self, seed: Seed, now: datetime) -> None:
        rows = planted(seed, now)
        if not rows:
            return
        try:
            query = _planting(tuple(rows))
            self._connection.execute(query, [Jsonb(found, dumps=msgspec.json.encode) for found in rows.values()])
        except (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded) as error:
            entity = next((f".{name}" for name, (table, _) in TABLES.items() if table == error.diag.table_name), "")
            raise SeedError(f"seed_data{entity}: {_told(error)} {error.diag.message_detail or ''}".strip()) from error
        except psycopg.Error as error:
            self._check_session(error)
            raise


@cache  # bounded by the tables that there are
def _planting(tables: tuple[str, ...]) -> bytes:
    """Return one statement for all tables: it is checked as a whole, and sent at once."""
    inserts = [
        sql.SQL("INSERT INTO {0} SELECT * FROM jsonb_populate_recordset(NULL::{0}, %s)").format(sql.Identifier(table))
        for table in tables
    ]
    *first, last = inserts
    named = [sql.SQL("{} AS ({})").format(sql.Identifier(f"t{place}"), insert) for place, insert in enumerate(first)]
    together = sql.SQL("WITH {} {}").format(sql.SQL(", ").join(named), last) if named else last
    return together.as_bytes()


def _told(error: psycopg.Error) -> str:
    """Return what the server, or else the driver, says, in one line."""
    return error.diag.message_primary or str(error).splitlines()[0]
