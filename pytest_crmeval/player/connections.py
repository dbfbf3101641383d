"""Connections to the databases of this process, which wait for an unreachable server."""

import time
from collections.abc import Callable
from threading import Lock

import psycopg

from pytest_crmeval.player.context import Context
from pytest_crmeval.ports.crm import CrmUnavailable
from pytest_crmeval.postgres.databases import Address, Connection

PAUSE = 0.5
"""Seconds between two attempts to connect to a server that has refused a connection."""
ATTEMPTS = 3
"""How often a first connection is attempted."""


class WorkerDatabase:
    """A database of this process on the run's server, created on first use; thread-safe."""

    def __init__(self, context: Context, suffix: str = "", *, has_tables: bool = True) -> None:
        self._context = context
        self._name = context.worker + suffix
        self._has_tables = has_tables
        self._address: Address | None = None
        self._creating = Lock()
        self._deadline: float | None = None

    def connect(self, connect: Callable[[Address], Connection] = Address.connect, *, again: bool = True) -> Connection:
        """Open a connection with ``connect``; CrmUnavailable if the server is unreachable for too long.

        A running server may refuse it, for example because there are too many connections: then we retry a few times.
        ``again`` retries for longer, because an earlier connection worked. psycopg.Error if all attempts fail.
        """
        attempts = 0
        while True:
            try:
                with self._creating:
                    if self._address is None:
                        databases = self._context.services().server.databases()
                        self._address = databases.create(self._name, has_tables=self._has_tables)
                made = connect(self._address)
            except psycopg.Error as error:
                if why := self._context.services().server.wait_until_back():
                    raise CrmUnavailable(why) from error
                attempts += 1
                if attempts >= ATTEMPTS:
                    if not again:
                        raise
                    now = time.monotonic()
                    self._deadline = self._deadline or now + self._context.options.server_wait
                    if now >= self._deadline:
                        raise
                time.sleep(PAUSE)
            else:
                self._deadline = None
                return made
