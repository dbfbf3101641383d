"""The PostgreSQL of the run: given, or embedded; on the controller; begun when the first case is collected."""

import json
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import pytest

from pytest_crmeval.options import Options

if TYPE_CHECKING:  # psycopg takes 0.3 s and is wanted only when a case is played
    from multiprocessing.connection import Connection as Pipe

    from pytest_crmeval.crm.databases import RunDatabases
    from pytest_crmeval.crm.embedded import EmbeddedServer


class RunServer:
    """The run's server in the process that owns it."""

    def __init__(self, config: pytest.Config) -> None:
        self._options = Options.from_config(config)
        self._given = _given(config, self._options)
        self._executable: str | None = config.getoption("postgresql_exec", None)
        self._lock = threading.Lock()
        self._starting: Future[RunDatabases] | None = None
        self._embedded: EmbeddedServer | None = None
        self._alive: Any = None

    def __str__(self) -> str:
        """Say which server, for the terminal."""
        if self._given:
            return _shown(self._given)
        from pytest_crmeval.crm.embedded import ServerUnavailable, find_binaries

        try:
            return f"embedded {find_binaries(self._executable)}"
        except ServerUnavailable as error:
            return str(error)

    def begin(self) -> None:
        """Start it in the background, once."""
        with self._lock:
            if self._starting is None:
                self._starting = Future()
                threading.Thread(target=self._start, name="crmeval-server", daemon=True).start()

    def databases(self) -> "RunDatabases":
        """Wait until it is ready; UsageError when it can't be had."""
        from pytest_crmeval.crm.embedded import ServerUnavailable

        self.begin()
        assert self._starting is not None  # noqa: S101 (begun above)
        try:
            return self._starting.result()
        except ServerUnavailable as error:
            where = f"{_shown(self._given)}: " if self._given else ""
            raise pytest.UsageError(f"crmeval: {where}{error}") from error

    def stop(self) -> None:
        """Leave nothing behind."""
        if self._starting is None:
            return
        if self._starting.exception() is None and self._given:
            self._starting.result().close(self._alive)
        elif self._alive is not None:
            self._alive.close()
        if self._embedded is not None:
            self._embedded.stop()

    def _start(self) -> None:
        assert self._starting is not None  # noqa: S101 (begun before this thread)
        try:
            self._starting.set_result(self._opened())
        except Exception as error:  # noqa: BLE001 (handed over whole to whoever waits for the server)
            self._starting.set_exception(error)

    def _opened(self) -> "RunDatabases":
        conninfo = self._given or self._embed()
        from pytest_crmeval.crm.databases import RunDatabases

        if self._embedded is not None:
            self._embedded.wait()
        databases = RunDatabases(conninfo, self._options.run)
        self._alive = databases.open()
        return databases

    def _embed(self) -> str:
        from pytest_crmeval.crm.embedded import EmbeddedServer, find_binaries

        self._embedded = EmbeddedServer(find_binaries(self._executable))
        return self._embedded.conninfo


class LinkedServer:
    """The run's server as a worker sees it: at the other end of the line."""

    def __init__(self, line: "LineToController", run: str) -> None:
        self._line = line
        self._run = run

    def begin(self) -> None:
        """Ask the controller to start it."""
        self._line.ask("begin")

    def databases(self) -> "RunDatabases":
        """Wait until the controller says that it is ready."""
        from pytest_crmeval.crm.databases import RunDatabases

        return RunDatabases(self._line.ask("conninfo"), self._run)


class Line:
    """The controller's end of the line on which workers ask; loopback only, with a secret of this run."""

    def __init__(self, answers: Mapping[str, Callable[[Any], Any]]) -> None:
        import secrets
        from multiprocessing.connection import Listener

        self._answers = answers
        self._secret = secrets.token_hex(16)
        self._listener = Listener(("127.0.0.1", 0), authkey=self._secret.encode())
        threading.Thread(target=self._accept, name="crmeval-line", daemon=True).start()

    @property
    def address(self) -> list[str | int]:
        """What a worker needs to know: JSON primitives, for ``workerinput``."""
        host, port = self._listener.address
        return [str(host), int(port), self._secret]

    def close(self) -> None:
        """Hang up."""
        self._listener.close()

    def _accept(self) -> None:
        from multiprocessing import AuthenticationError

        while True:
            try:
                pipe = self._listener.accept()
            except (AuthenticationError, EOFError, ConnectionError):
                continue  # somebody else's connection, or a worker that died while it called
            except OSError:
                return  # closed
            threading.Thread(target=self._serve, args=[pipe], name="crmeval-line", daemon=True).start()

    def _serve(self, pipe: "Pipe[Any, Any]") -> None:
        with pipe:
            while True:
                try:
                    question = json.loads(pipe.recv_bytes())
                    pipe.send_bytes(json.dumps(self._answer(question)).encode())
                except (EOFError, OSError):
                    return  # the worker is gone

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"answer": self._answers[question["ask"]](question["about"])}
        except Exception as error:  # noqa: BLE001 (told to the worker, which raises it)
            return {"error": str(error)}


class LineToController:
    """A worker's end of the line; it calls when there is something to say."""

    def __init__(self, host: str, port: int, secret: str) -> None:
        self._address = (host, port)
        self._secret = secret
        self._pipe: Pipe[Any, Any] | None = None

    def ask(self, what: str, about: object = None) -> Any:  # noqa: ANN401 (JSON enters here)
        """Ask the controller and wait for its answer."""
        pipe = self._connected()
        pipe.send_bytes(json.dumps({"ask": what, "about": about}).encode())
        reply = json.loads(pipe.recv_bytes())
        if "error" in reply:
            raise pytest.UsageError(reply["error"])
        return reply["answer"]

    def close(self) -> None:
        """Hang up."""
        if self._pipe is not None:
            self._pipe.close()

    def _connected(self) -> "Pipe[Any, Any]":
        if self._pipe is None:
            from multiprocessing.connection import Client

            self._pipe = Client(self._address, authkey=self._secret.encode())
        return self._pipe


def _given(config: pytest.Config, options: Options) -> str | None:
    """Return the conninfo of the server that the user gave: CRMEVAL_DSN, or pytest-postgresql's options."""
    if options.dsn:
        return options.dsn

    def option(name: str) -> str | None:
        found = config.getoption(f"postgresql_{name}", None)
        return str(found) if found else None

    if not (option("host") or option("port")):
        return None
    from psycopg.conninfo import make_conninfo

    def setting(name: str) -> str:
        return option(name) or config.getini(f"postgresql_{name}") or ""

    return make_conninfo(
        host=setting("host"),
        port=setting("port") or "5432",
        user=setting("user"),
        password=setting("password") or None,
        options=setting("options") or None,
        dbname=setting("maintenance_dbname"),
    )


def _shown(conninfo: str) -> str:
    """Return what may be printed of a conninfo: no password."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        parts = conninfo_to_dict(conninfo)
    except ProgrammingError:
        return "the server of CRMEVAL_DSN (not a valid conninfo)"
    return f"PostgreSQL at {parts.get('host', 'localhost')}:{parts.get('port', 5432)} (given)"
