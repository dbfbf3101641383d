"""Telemetry of learners: the database ``atlas``, created where it is missing, and its export as JSON Lines."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from pytest_crmeval.agents.atlas.telemetry.sessions import CarefulLog, SessionLog
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.domain.wire import encoded

NAME = "atlas"
SCHEMA = Path(__file__).with_name("schema.sql")
_LOCK = 7_141_957
"""Advisory lock for creating the tables: of two concurrent processes one would fail."""

Connection = psycopg.Connection[Any]
Connect = Callable[[str | None], Connection]
"""Connects to a database of a server by its name; None: to the one in its address."""
FILE = "atlas.jsonl"
"""The name of the export in the folder of a run."""
_OF_RUN: dict[str, bytes] = {
    "sessions": b"SELECT to_jsonb(t) FROM crmeval.sessions t WHERE run = %s ORDER BY started, id",
    **{
        table: b"SELECT to_jsonb(t) FROM crmeval.%b t JOIN crmeval.sessions s ON s.id = t.session_id "
        b"WHERE s.run = %%s ORDER BY t.at" % table.encode()
        for table in ("attempts", "guidance", "rewards", "playbook")
    },
    "registry": b"SELECT to_jsonb(t) FROM crmeval.registry t WHERE run = %s ORDER BY learning_key",
}


class Telemetry:
    """The database with the telemetry of a run."""

    def __init__(self, connect: Connect, name: str | None, run: str, redact: Callable[[Json], Json]) -> None:
        self._connect = connect
        self._name = name
        self._run = run
        self._redact = redact
        self._made = False

    def open(self) -> None:
        """Create the database and its tables where they are missing."""
        if self._name is not None:
            with self._connect(None) as connection:
                query = "SELECT 1 FROM pg_database WHERE datname = %s"
                if connection.execute(query, [self._name]).fetchone() is None:
                    # Another process may create it at the same time.
                    with suppress(psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
                        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(self._name)))
        with self.connected() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            connection.execute(SCHEMA.read_bytes())
        self._made = True

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """Lend a connection."""
        with self._connect(self._name) as connection:
            yield connection

    @contextmanager
    def session(self, planned: PlannedCase, key: str) -> Iterator[CarefulLog]:
        """Yield the log of one conversation; an exception is logged, and a failing database does not stop it."""
        with ExitStack() as stack:

            def begun() -> SessionLog:
                if not self._made:
                    self.open()
                return SessionLog(stack.enter_context(self.connected()), self._run, planned, key, self._redact)

            log = CarefulLog(begun)
            try:
                yield log
            except BaseException:
                log.broken()
                raise


def export(connection: psycopg.Connection[Any], run: str, folder: Path) -> Path:
    """Append the rows of a run to the export of its earlier parts; OSError if that can't be written."""
    path = folder / FILE
    with path.open("ab") as file:
        for line in rows(connection, run):
            file.write(line)
    return path


def rows(connection: psycopg.Connection[Any], run: str) -> Iterator[bytes]:
    """Yield all rows of a run, each with the name of its table."""
    for table, query in _OF_RUN.items():
        for (row,) in connection.execute(query, [run]):
            yield encoded({"table": table, **row}) + b"\n"
