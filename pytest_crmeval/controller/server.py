"""The PostgreSQL of the run, external or embedded, started by the controller when a case needs it."""

import os
import threading
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from pytest_crmeval.controller.outage import OutageWatch
from pytest_crmeval.models.shared_control import SharedControl
from pytest_crmeval.options.environment import read_env_file
from pytest_crmeval.options.reading import options_of

if TYPE_CHECKING:  # psycopg takes 0.3 s to import, and is needed only when a case is played
    from pytest_crmeval.postgres.databases import Address, RunDatabases
    from pytest_crmeval.postgres.embedded import EmbeddedServer


_GIVING = ("host", "port", "user", "password", "options", "maintenance_dbname")
"""Options of pytest-postgresql that name an existing server."""


class RunServer:
    """The run's server in the process that owns it."""

    def __init__(self, config: pytest.Config, control: SharedControl) -> None:
        self._config = config
        self.outage = OutageWatch(self, control, options_of(config).server_wait)
        self._beginning, self._opening = threading.Lock(), threading.Lock()
        self._starting: Future[Address] | None = None
        self._embedded: EmbeddedServer | None = None
        self._databases: RunDatabases | None = None
        self._alive: Any = None
        self._stopped = False
        self._description = "not needed"

    def __str__(self) -> str:
        """Return a description of the server, without its password."""
        return self._description

    @property
    def has_begun(self) -> bool:
        """Whether the server was requested."""
        return self._starting is not None

    def begin(self) -> None:
        """Start it in the background, once."""
        with self._beginning:
            if self._starting is None:
                self._starting = Future()
                threading.Thread(target=self._start, args=[self._starting], daemon=True).start()

    def databases(self) -> "RunDatabases":
        """Wait until the server is ready and return the run's databases on it; UsageError if there is no server.

        They are created here and not in the background: while it connects, libpq must not see the PG* variables of the
        user's environment, and a thread that hid them would also hide them from the user's code.
        """
        from pytest_crmeval.postgres.embedded import ServerUnavailable

        self.begin()
        with self._opening:
            try:
                self._databases = self._databases or self._opened()
            except ServerUnavailable as error:
                raise pytest.UsageError(f"crmeval: {error}") from error
        return self._databases

    def wait_until_back(self) -> str:
        """Wait for an unreachable server; return why the run can't continue if it does not come back."""
        return self.outage.wait()

    def answers(self) -> bool:
        """Whether the server is reachable; if so, the connection that marks the run as alive is restored."""
        if self._databases is None:
            return True  # not opened yet: ``databases`` reports errors
        if not self._databases.address.answers():
            return False
        import psycopg

        with self._opening, suppress(psycopg.OperationalError):  # too many: the workers' connections mark it as alive
            if not self._stopped:  # a probe may outlive the run
                self._alive = self._databases.reopened(self._alive)
        return True

    @property
    def has_ended(self) -> bool:
        """Whether the server was embedded and has ended."""
        return self._embedded is not None and self._embedded.has_ended

    def stop(self) -> None:
        """Drop the databases, and stop an embedded server."""
        with self._opening:
            self._stopped = True
        if self._databases is not None:
            self._databases.close(self._alive)
        if self._starting is not None:
            self._starting.exception()  # an embedded server that is still starting can be stopped only afterwards
        if self._embedded is not None:
            self._embedded.stop()

    def _start(self, starting: "Future[Address]") -> None:
        try:
            starting.set_result(self._located())
        except Exception as error:  # noqa: BLE001 (raised in the threads that wait for the server)
            starting.set_exception(error)

    def _located(self) -> "Address":
        from pytest_crmeval.postgres.databases import Address
        from pytest_crmeval.postgres.embedded import EmbeddedServer, find_binaries

        given = given_server(self._config)
        if given:
            return Address(given)
        binaries = find_binaries(self._config.getoption("postgresql_exec", None))
        self._description = f"embedded {binaries}"
        self._embedded = EmbeddedServer(binaries)
        self._embedded.wait()
        return Address(self._embedded.conninfo, embedded=True)

    def _opened(self) -> "RunDatabases":
        from pytest_crmeval.postgres.databases import RunDatabases

        assert self._starting is not None  # noqa: S101 (begun before)
        databases = RunDatabases(self._starting.result(), options_of(self._config).run)
        self._alive = databases.open()
        if not databases.address.embedded:
            self._description = f"PostgreSQL at {self._alive.info.host}:{self._alive.info.port} (external)"
        return databases


def given_server(config: pytest.Config) -> str | None:
    """Return the conninfo of an external server, from CRMEVAL_DSN or pytest-postgresql's options; else None."""
    read_env_file(config)
    dsn = os.environ.get("CRMEVAL_DSN")
    if dsn:
        return dsn

    def option(name: str) -> str | None:
        found = config.getoption(f"postgresql_{name}", None)
        return str(found) if found else None

    def setting(name: str) -> str | None:
        return option(name) or config.getini(f"postgresql_{name}") or None

    if not any(map(option, _GIVING)) and not (config.pluginmanager.hasplugin("pytest_postgresql") and setting("port")):
        return None
    from psycopg.conninfo import make_conninfo

    return make_conninfo(
        host=setting("host"),
        port=setting("port"),
        user=setting("user"),
        password=setting("password"),
        options=setting("options"),
        dbname=setting("maintenance_dbname"),
    )
