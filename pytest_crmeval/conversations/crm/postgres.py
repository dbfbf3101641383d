"""The CRM on a real PostgreSQL: one transaction per trial, a savepoint before each call that follows a write."""

import secrets
from collections.abc import Iterator, Sequence
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

from pytest_crmeval.conversations.crm.seeds import seed_rows
from pytest_crmeval.conversations.crm.tools import TOOLS, TOOLS_WITH_PAGES, run
from pytest_crmeval.conversations.crm.tools.session import CrmSession
from pytest_crmeval.conversations.crm.tools.value_types import RefusedCall
from pytest_crmeval.domain.conversation import Seed
from pytest_crmeval.domain.messages import ErrorKind, Tool, ToolCall, ToolError, ToolResult
from pytest_crmeval.domain.state import TABLES, State
from pytest_crmeval.ports.crm import CrmConnectionLost, SeedError
from pytest_crmeval.ports.crm_calls import writes

TIMEOUT_SECONDS = 5.0
VACUUM_EVERY = 2000
"""Seeded rows between two vacuums, which remove rolled-back rows: until then every scan reads them."""
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


def _new_tools(*, in_pages: bool = False) -> tuple[Tool, ...]:
    return tuple(definition.tool for definition in (TOOLS_WITH_PAGES if in_pages else TOOLS).values())


_TOOLS = {in_pages: _new_tools(in_pages=in_pages) for in_pages in (False, True)}


class PostgresCrm:
    """A CRM in one database, over one connection."""

    def __init__(self, connection: psycopg.Connection[Any], *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._connection = connection
        self._session: CrmSession | None = None
        self._rolled_back = 0
        """Seeded rows since the last vacuum."""
        self._tools = {in_pages: _new_tools(in_pages=in_pages) for in_pages in (False, True)}
        self._in_pages = False
        self._encoded: tuple[Seed, datetime, bytes, Sequence[Jsonb]] | None = None
        """The last seed as a statement with its values: the agent's trial has the same one as the reference."""
        self._safe = False
        """Whether there is a savepoint of the present state."""
        set_json_loads(msgspec.json.decode, connection)
        connection.prepare_threshold = 2  # few different queries, each run many times
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
        """The tools that can be called; copies, because an agent may adapt a schema in place."""
        return self._tools[self._in_pages]

    @contextmanager
    def seeded(self, seed: Seed, now: datetime, salt: str = "", page_size: int = 0) -> Iterator[None]:
        """Hold exactly the rows of ``seed`` while the context lasts; everything is rolled back at its end."""
        if self._session is not None:
            raise RuntimeError("this CRM is in use by another trial")
        if self._rolled_back >= VACUUM_EVERY:  # autovacuum is off in the embedded server, and too slow elsewhere
            self._rolled_back = 0
            with suppress(psycopg.errors.QueryCanceled):  # a busy server: the next vacuum removes the rows
                self._command(_VACUUM)
        self._rolled_back += sum(map(len, seed.values())) or 1
        self._command(b"BEGIN")
        try:
            self._insert_seed(seed, now)
            # With a salt the ids of new rows are the same each time; without, they are random.
            bits = Random(salt).getrandbits if salt else secrets.randbits  # noqa: S311 (not a secret)
            self._session, self._safe = CrmSession(self._connection, now, bits, page_size), False
            self._in_pages = bool(page_size)
            if self._tools[self._in_pages] != _TOOLS[self._in_pages]:
                self._tools[self._in_pages] = _new_tools(in_pages=self._in_pages)
            yield
        finally:
            self._session, self._in_pages = None, False
            if not self.is_lost:
                with suppress(CrmConnectionLost):  # the server rolls back by itself, and the trial is complete
                    self._command(b"ROLLBACK")

    def call(self, call: ToolCall) -> ToolResult:
        """Run a tool call; a refused call changes nothing."""
        if self._session is None or self._connection.info.transaction_status is TransactionStatus.IDLE:
            raise RuntimeError("a tool was called outside of seeded(): it would have changed the CRM permanently")
        if not self._safe:
            self._command(b"SAVEPOINT before_call")
            self._safe = True
        try:
            result = run(self._session, call)
        except RefusedCall as refusal:
            return self._refused(refusal.error.kind, refusal.error.message)
        except psycopg.errors.QueryCanceled:
            return self._refused("timeout", "This took too long and was stopped; ask for less.")
        except psycopg.errors.UniqueViolation as error:
            return self._refused("conflict", f"Already in use: {error.diag.message_detail}")
        except (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded) as error:
            return self._refused("invalid_argument", _message(error))
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

    def _refused(self, kind: ErrorKind, message: str) -> ToolResult:
        """Undo what a call did before it was refused, and return the reason."""
        self._command(b"ROLLBACK TO SAVEPOINT before_call")
        return ToolResult(error=ToolError(kind=kind, message=message))

    def _command(self, command: bytes) -> None:
        """Begin, save or roll back with libpq: psycopg drops its prepared statements with every rollback."""
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
            raise CrmConnectionLost(f"the connection to PostgreSQL was lost: {_message(error)}") from error

    def _insert_seed(self, seed: Seed, now: datetime) -> None:
        if self._encoded is None or self._encoded[0] is not seed or self._encoded[1] != now:
            tables = seed_rows(seed, now)
            values = [Jsonb(msgspec.json.encode(rows), dumps=bytes) for rows in tables.values()]
            self._encoded = (seed, now, _insert_into(tuple(tables)) if tables else b"", values)
        _, _, statement, encoded = self._encoded
        if not statement:
            return
        try:
            self._connection.execute(statement, encoded)
        except (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded) as error:
            entity = next((f".{name}" for name, (table, _) in TABLES.items() if table == error.diag.table_name), "")
            detail = error.diag.message_detail or ""
            raise SeedError(f"seed_data{entity}: {_message(error)} {detail}".strip()) from error
        except psycopg.Error as error:
            self._check_session(error)
            raise


@cache  # bounded by the number of tables
def _insert_into(tables: tuple[str, ...]) -> bytes:
    """Return one statement for all tables: foreign keys are checked at its end, and it takes one round trip."""
    *first, last = (
        sql.SQL("INSERT INTO {0} SELECT * FROM jsonb_populate_recordset(NULL::{0}, %s)").format(sql.Identifier(table))
        for table in tables
    )
    named = [sql.SQL("{} AS ({})").format(sql.Identifier(f"t{place}"), insert) for place, insert in enumerate(first)]
    return (sql.SQL("WITH {} {}").format(sql.SQL(", ").join(named), last) if named else last).as_bytes()


def _message(error: psycopg.Error) -> str:
    """Return the message of the server, or else of the driver, in one line."""
    return error.diag.message_primary or str(error).splitlines()[0]
