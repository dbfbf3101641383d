"""The databases of a run on a server: a template, one clone per worker, and none left behind."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pytest_postgresql.janitor import DatabaseJanitor

from pytest_crmeval.crm.embedded import ServerUnavailable

SCHEMA = Path(__file__).with_name("schema.sql")
CONNECT_SECONDS = 4
PREFIX = "crmeval_"


class Janitor(DatabaseJanitor):
    """pytest-postgresql's janitor on any conninfo: it knows host, port, user and password, but no ``sslmode``."""

    def __init__(self, conninfo: str, dbname: str, *, template: str | None = None, as_template: bool = False) -> None:
        parts = conninfo_to_dict(conninfo)
        super().__init__(
            user=str(parts.get("user", "")),
            host=str(parts.get("host", "")),
            port=str(parts.get("port", "")),
            dbname=dbname,
            template_dbname=template,
            as_template=as_template,
        )
        self._conninfo = conninfo

    @contextmanager
    def cursor(self, dbname: str | None = None) -> Iterator[psycopg.Cursor[Any]]:
        """Return a cursor outside any transaction: databases can't be made inside one."""
        with connect(self._conninfo, dbname=dbname) as connection, connection.cursor() as cursor:
            yield cursor


def connect(conninfo: str, *, dbname: str | None = None, name: str | None = None) -> psycopg.Connection[Any]:
    """Connect in autocommit mode, with a deadline; closing is the caller's."""
    parts = {"dbname": "postgres", **conninfo_to_dict(conninfo), "connect_timeout": CONNECT_SECONDS}
    asked = {"dbname": dbname, "application_name": name}
    parts.update({key: value for key, value in asked.items() if value is not None})
    return psycopg.connect(make_conninfo("", **parts), autocommit=True, prepare_threshold=None)


@dataclass(frozen=True, slots=True)
class RunDatabases:
    """Names and life of one run's databases."""

    conninfo: str
    run: str

    @property
    def prefix(self) -> str:
        """What all names of the run start with."""
        return f"{PREFIX}{self.run}_"

    @property
    def template(self) -> str:
        """The database that workers clone."""
        return f"{self.prefix}template"

    def open(self) -> psycopg.Connection[Any]:
        """Sweep what dead runs left, make the template, and return the connection that says: this run is alive."""
        try:
            alive = connect(self.conninfo, name=self.prefix)
        except psycopg.Error as error:
            raise ServerUnavailable(f"{shown(self.conninfo)} can't be reached: {_first_line(error)}") from error
        try:
            self._fit(alive)
            self._sweep(alive)
            Janitor(self.conninfo, self.template, as_template=True).init()
            self._load_schema()
        except psycopg.Error as error:
            alive.close()
            raise ServerUnavailable(f"{shown(self.conninfo)} can't be used: {_first_line(error)}") from error
        except ServerUnavailable:
            alive.close()
            raise
        return alive

    def clone(self, worker: str) -> str:
        """Make the database of one worker and return its conninfo."""
        name = f"{self.prefix}{worker}"
        Janitor(self.conninfo, name, template=self.template).init()
        return make_conninfo(self.conninfo, dbname=name)

    def close(self, alive: psycopg.Connection[Any], *, drop: bool) -> None:
        """Drop every database of the run, also those of workers that crashed, unless the server goes with them."""
        try:
            with alive:
                for name in _databases(alive) if drop else ():
                    if _prefix(name) == self.prefix:
                        self._drop(name)
        except psycopg.Error as error:
            sys.stderr.write(f"crmeval: databases {self.prefix}* are left for the next run: {_first_line(error)}\n")

    def _fit(self, connection: psycopg.Connection[Any]) -> None:
        """Refuse a role that may not create databases, and a locale that would make searches differ."""
        where = shown(self.conninfo)
        role, may, lower = connection.execute(
            "SELECT rolname, rolcreatedb OR rolsuper, lower('Ü') FROM pg_roles WHERE rolname = current_user"
        ).fetchone() or ("?", False, "")
        if not may:
            raise ServerUnavailable(
                f"{where}: the role {role!r} may not create databases; ask for: ALTER ROLE {role} CREATEDB"
            )
        if lower != "ü":
            raise ServerUnavailable(f"{where}: its locale knows no letters beyond ASCII; give one with UTF-8")

    def _sweep(self, connection: psycopg.Connection[Any]) -> None:
        """Drop the databases of runs that nobody is connected for any more."""
        connection.execute("SELECT pg_advisory_lock(hashtext(%s))", [PREFIX])  # one sweeper at a time
        living = _living(connection)
        if self.prefix in living:
            raise ServerUnavailable(f"{shown(self.conninfo)}: run {self.run!r} is already using it")
        for name in _databases(connection):
            if _prefix(name) not in living:
                self._drop(name)
        connection.execute("SELECT pg_advisory_unlock(hashtext(%s))", [PREFIX])

    def _load_schema(self) -> None:
        with connect(self.conninfo, dbname=self.template) as connection:
            connection.execute(SCHEMA.read_bytes())

    def _drop(self, name: str) -> None:
        Janitor(self.conninfo, name, as_template=name.endswith("_template")).drop()


def shown(conninfo: str) -> str:
    """Return what may be printed of a conninfo: no password."""
    try:
        parts = conninfo_to_dict(conninfo)
    except psycopg.ProgrammingError:
        return "the PostgreSQL server (its conninfo is not valid)"
    return f"PostgreSQL at {parts.get('host', 'localhost')}:{parts.get('port', 5432)}"


def _databases(connection: psycopg.Connection[Any]) -> list[str]:
    """Return our databases: those with our prefix that belong to this role."""
    rows = connection.execute(
        "SELECT datname FROM pg_database JOIN pg_roles ON pg_roles.oid = datdba "
        "WHERE rolname = current_user AND starts_with(datname, %s) ORDER BY datname",
        [PREFIX],
    )
    return [name for (name,) in rows]


def _living(connection: psycopg.Connection[Any]) -> set[str]:
    """Return the prefixes of the runs that somebody else is connected for, or to a database of."""
    rows = connection.execute("SELECT application_name, datname FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    return {_prefix(name) for row in rows for name in row if name and name.startswith(PREFIX)}


def _prefix(name: str) -> str:
    """Return the run's part of a name: everything up to the last underscore."""
    return re.sub(r"[^_]*$", "", name)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
