"""The database ``atlas``: made where it is missing, with our tables in a schema of their own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from pytest_crmeval.agents.atlas.telemetry.careful import CarefulLog
from pytest_crmeval.agents.atlas.telemetry.sessions import SessionLog
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.trial import PlannedCase

NAME = "atlas"
SCHEMA = Path(__file__).with_name("schema.sql")
_LOCK = 7_141_957
"""Whoever makes tables holds this: of two that make the same at the same time, one would fail."""

Connection = psycopg.Connection[Any]
Connect = Callable[[str | None], Connection]
"""Connects to a database of a server by its name; None: to the one that its address names."""


class Telemetry:
    """What a run writes down about its learners."""

    def __init__(self, connect: Connect, name: str | None, run: str, redact: Callable[[Json], Json]) -> None:
        self._connect = connect
        self._name = name
        self._run = run
        self._redact = redact
        self._made = False

    def open(self) -> None:
        """Make the database and its tables where they are missing."""
        if self._name is not None:
            with self._connect(None) as connection:
                _make(connection, self._name)
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
        """Write down one conversation; one that breaks off is told so, and one that can't be written down goes on."""
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


def _make(connection: Connection, name: str) -> None:
    found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
    if found is None:
        with suppress(psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):  # somebody was quicker
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
