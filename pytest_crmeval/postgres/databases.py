"""The databases of a run on a server: one per worker; all are dropped at the end."""

import os
import re
import secrets
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pytest_postgresql.janitor import DatabaseJanitor

from pytest_crmeval.postgres.embedded import OLDEST, ServerUnavailable

SCHEMA = Path(__file__).with_name("schema.sql")
CONNECT_SECONDS = 3
PREFIX = "crmeval_"
MARK = "made by pytest-crmeval for one run; may be dropped when that run is over"
"""The comment of every database that we create. A database without it, and without the name of one that is being
created, is not ours and never dropped."""

_NO_LIMITS = {
    "idle_in_transaction_session_timeout": 90_600,
    "idle_session_timeout": 140_000,
    "transaction_timeout": 170_000,
}
"""Session time-outs that a server may set, with the version that introduced them. We turn them off: a trial waits for
models, and the connection that marks a run as alive is idle until the run ends."""

_KEEPALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
"""A host that disappears (no power, no network) is noticed within a minute, not after two hours."""

Connection = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a database."""

    conninfo: str
    embedded: bool = False
    """Whether it is on the embedded server: then the PG* variables, which libpq reads, are hidden."""

    def __str__(self) -> str:
        """Return host and port, without the password."""
        try:
            parts = conninfo_to_dict(self.conninfo)
        except (psycopg.ProgrammingError, UnicodeError):
            return _INVALID
        return f"PostgreSQL at {parts.get('host', 'localhost')}:{parts.get('port', 5432)}"

    def connect(self, *, dbname: str | None = None, name: str | None = None) -> Connection:
        """Connect in autocommit mode; the caller closes the connection."""
        parts = self._parts()
        asked = {"dbname": dbname, "application_name": name}
        parts.update({key: value for key, value in asked.items() if value is not None})
        with _no_environment() if self.embedded else nullcontext():
            connection = psycopg.connect(make_conninfo("", **parts), autocommit=True, prepare_threshold=None)
        try:
            version = connection.info.server_version
            known = [name for name, since in _NO_LIMITS.items() if version >= since]
            connection.execute("; ".join(f"SET {name} = 0" for name in known).encode())
        except psycopg.Error:
            connection.close()
            raise
        return connection

    def answers(self) -> bool:
        """Whether the server is running, even if it refuses our connection because there are too many."""
        conninfo = make_conninfo("", **self._parts())
        with _no_environment() if self.embedded else nullcontext():
            try:
                psycopg.connect(conninfo).close()
            except psycopg.errors.ConnectionTimeout:
                return False  # a ping would block the whole process for the same time again
            except psycopg.OperationalError:
                return psycopg.pq.PGconn.ping(conninfo.encode()) == psycopg.pq.Ping.OK
        return True

    def _parts(self) -> dict[str, Any]:
        given = conninfo_to_dict(self.conninfo)
        return {"dbname": "postgres", **_KEEPALIVE, **given, "connect_timeout": CONNECT_SECONDS}

    def connect_apart(self, schema: str) -> Connection:
        """Connect to a copy of the CRM's tables in its own schema, which is created anew."""
        connection = self.connect()
        try:
            name = sql.Identifier(schema)
            make = "DROP SCHEMA IF EXISTS {0} CASCADE; CREATE SCHEMA {0}; SET search_path = {0}"
            connection.execute(sql.SQL(make).format(name))
            connection.execute(SCHEMA.read_bytes())
        except psycopg.Error:
            connection.close()
            raise
        return connection

    def at(self, dbname: str) -> "Address":
        """Return the address of another database on the same server."""
        return replace(self, conninfo=make_conninfo(self.conninfo, dbname=dbname))


class Janitor(DatabaseJanitor):
    """pytest-postgresql's janitor for any address: the original has no ``sslmode`` and other parameters."""

    def __init__(self, server: Address | Connection, dbname: str, *, as_template: bool = False) -> None:
        """Work on a connection that is open, or with a new one for each step."""
        super().__init__(user="", host="", port="", dbname=dbname, as_template=as_template)
        self._server = server

    def init(self) -> None:
        """Create the database under a unique name, mark it as ours, and only then rename it.

        A process that is killed in between leaves a database that the next run recognizes and drops.
        """
        final, self.dbname = self.dbname, f"{_prefix(self.dbname)}new-{secrets.token_hex(4)}"
        super().init()
        made, self.dbname = sql.Identifier(self.dbname), final
        with self.cursor() as cursor:
            cursor.execute(sql.SQL("COMMENT ON DATABASE {} IS {}").format(made, MARK))
            cursor.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(made, sql.Identifier(final)))

    @contextmanager
    def cursor(self, dbname: str | None = None) -> Iterator[psycopg.Cursor[Any]]:
        """Return a cursor outside of a transaction: databases can't be created inside one."""
        server = self._server
        opened = server.connect(dbname=dbname) if isinstance(server, Address) else nullcontext(server)
        with opened as connection, connection.cursor() as cursor:
            yield cursor


@dataclass(frozen=True, slots=True)
class RunDatabases:
    """The databases of one run."""

    address: Address
    run: str

    @property
    def prefix(self) -> str:
        """The prefix of all database names of the run."""
        return f"{PREFIX}{self.run}_"

    def open(self) -> Connection:
        """Drop the databases of dead runs, and return the connection that marks this run as alive."""
        try:
            alive = self._connected()
        except (psycopg.Error, UnicodeError) as error:
            raise ServerUnavailable(f"{self.address} can't be reached: {self._reason(error)}") from error
        try:
            self._check(alive)
            self._sweep(alive)
        except psycopg.Error as error:
            alive.close()
            raise ServerUnavailable(f"{self.address} can't be used: {self._reason(error)}") from error
        except ServerUnavailable:
            alive.close()
            raise
        return alive

    def create(self, worker: str, *, has_tables: bool = True) -> Address:
        """Create the database of one worker, with the CRM's tables, and return its address."""
        name = f"{self.prefix}{worker.replace('_', '-')}"
        with self.address.connect() as connection:
            if name in _databases(connection):  # a plugin that repeats the last test of a session sets up again
                _drop(name, connection)
            Janitor(connection, name).init()
        made = self.address.at(name)
        if has_tables:
            with made.connect() as connection:
                connection.execute(SCHEMA.read_bytes())
        return made

    def close(self, alive: Connection) -> None:
        """Drop every database of the run, also those of crashed workers; an embedded server is removed as a whole."""
        if self.address.embedded:
            alive.close()
            return
        try:
            with self.reopened(alive) as connection:
                for name in _databases(connection):
                    if _prefix(name) == self.prefix:
                        _drop(name, connection)
        except psycopg.Error as error:
            sys.stderr.write(
                f"crmeval: could not drop the databases {self.prefix}*, so the next run will: {self._reason(error)}\n"
            )

    def reopened(self, alive: Connection) -> Connection:
        """Return the connection that marks this run as alive, or a new one if it was lost."""
        try:
            alive.execute("SELECT 1")
        except psycopg.Error:
            alive.close()
            return self._connected()
        return alive

    def _connected(self) -> Connection:
        """Connect within the deadline for all hosts of the address together: libpq's own deadline is for each."""
        if self.address.embedded:
            return self.address.connect(name=self.prefix)
        connected: Future[Connection] = Future()

        def call() -> None:
            try:
                connected.set_result(self.address.connect(name=self.prefix))
            except Exception as error:  # noqa: BLE001 (raised in the caller)
                connected.set_exception(error)

        threading.Thread(target=call, daemon=True).start()
        try:
            return connected.result(CONNECT_SECONDS + 0.2)
        except TimeoutError as error:
            raise psycopg.OperationalError(f"no answer within {CONNECT_SECONDS} s") from error

    def _check(self, connection: Connection) -> None:
        """Refuse an old server, a role that may not create databases, and a locale that would change searches."""
        if (version := connection.info.server_version // 10_000) < OLDEST:
            raise ServerUnavailable(f"{self.address} is PostgreSQL {version}; {OLDEST} or newer is needed")
        role, may, lower = connection.execute(
            "SELECT rolname, rolcreatedb OR rolsuper, lower('Ü') FROM pg_roles WHERE rolname = current_user"
        ).fetchone() or ("?", False, "")
        if not may:
            raise ServerUnavailable(
                f"{self.address}: the role {role!r} can't create databases; "
                f"a superuser can allow it: ALTER ROLE {role} CREATEDB"
            )
        if lower != "ü":
            raise ServerUnavailable(f"{self.address}: its locale only supports ASCII letters; use a UTF-8 locale")

    def _sweep(self, connection: Connection) -> None:
        """Drop the databases of runs that have no connection, and to whose databases there is none."""
        connection.execute("SELECT pg_advisory_lock(hashtext(%s))", [PREFIX])  # one process at a time
        rows = connection.execute(
            "SELECT application_name, datname FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        )
        alive = {_prefix(name) for row in rows for name in row if name and name.startswith(PREFIX)}
        if self.prefix in alive:
            raise ServerUnavailable(f"{self.address}: run {self.run!r} is already using it")
        for name in _databases(connection):
            if _prefix(name) not in alive:
                _drop(name, connection)
        connection.execute("SELECT pg_advisory_unlock(hashtext(%s))", [PREFIX])

    def _reason(self, error: Exception) -> str:
        """Return the first line of an error; libpq's message on an invalid address may contain a password."""
        if str(self.address) == _INVALID:
            return "write postgresql://user@host:port/ or host=... user=..."
        return str(error).strip().splitlines()[0]


_INVALID = "PostgreSQL at an invalid address"
_HIDING = threading.Lock()


@contextmanager
def _no_environment() -> Iterator[None]:
    """Hide the PG* variables, which libpq reads while it connects. One thread at a time."""
    with _HIDING:
        hidden = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("PG")}
        try:
            yield
        finally:
            os.environ.update(hidden)


def _drop(name: str, connection: Connection) -> None:
    Janitor(connection, name, as_template=True).drop()  # as_template works for both kinds


def _databases(connection: Connection) -> list[str]:
    """Return our databases: those of this role with our comment, or with the name of one that is being created."""
    rows = connection.execute(
        "SELECT datname FROM pg_database JOIN pg_roles ON pg_roles.oid = datdba "
        "WHERE rolname = current_user AND starts_with(datname, %s) AND datname <> current_database() "
        "AND (shobj_description(pg_database.oid, 'pg_database') = %s OR datname ~ '_new-[0-9a-f]{8}$') "
        "ORDER BY datname",
        [PREFIX, MARK],
    )
    return [name for (name,) in rows]


def _prefix(name: str) -> str:
    """Return the run's part of a name: everything up to the last underscore."""
    return re.sub(r"[^_]*$", "", name)
