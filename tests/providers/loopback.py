"""A real HTTP server on this machine that speaks like OpenAI and Anthropic, and fails on request.

Point an SDK at the ``openai_url`` or the ``anthropic_url`` of an open ``Loopback([Status(503), Say("Hello")])``.
"""

import re
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from itertools import count
from types import TracebackType
from typing import Self

from pytest_crmeval.domain.messages import ToolCall
from tests.providers.answers import (
    Answer,
    BrokenArguments,
    Call,
    CloseAtOnce,
    CloseMidBody,
    Drip,
    EmptyChoice,
    Hang,
    Huge,
    Malformed,
    Raw,
    Refuse,
    Say,
    Slow,
    Status,
    ThenClose,
    Tokens,
)
from tests.providers.delivery import Delivery, Line, Seen, http
from tests.providers.dialects import dialect_of
from tests.providers.manners import objection

__all__ = [
    "Answer",
    "Brain",
    "BrokenArguments",
    "Call",
    "CloseAtOnce",
    "CloseMidBody",
    "Drip",
    "EmptyChoice",
    "Hang",
    "Huge",
    "Loopback",
    "Malformed",
    "Raw",
    "Refuse",
    "Say",
    "Seen",
    "Slow",
    "Status",
    "ThenClose",
    "Tokens",
    "crm_brain",
]

HOST = "127.0.0.1"
JOIN_SECONDS = 120.0
_ADD = re.compile(r"Add (?P<name>[^,]+), (?P<email>[^,]+), active\.")


Brain = Callable[[Seen], Answer]
"""Who decides what the server answers."""


def crm_brain(seen: Seen) -> Answer:
    """Play the small cases of ``tests/projects.py`` rightly."""
    asked = _ADD.search(seen.last_user_text)
    if not asked:
        return Say("I can't do that.")
    if seen.results:
        return Say(f"Done: {asked['name']} was created.")
    return Call(ToolCall(tool="create_new_client", arguments={**asked.groupdict(), "status": "Active"}))


def chatty_brain(seen: Seen) -> Answer:
    """Play them rightly, and say more than the rules of `reply` can decide."""
    done = crm_brain(seen)
    return Say("Done. They always pay us in cash.") if seen.results else done


class Loopback:
    """The server, while the context lasts; answers given as a list come one after the other, the last for ever.

    A request that the real servers would not take is refused before anybody is asked what to answer.
    """

    def __init__(self, brain: Brain | Sequence[Answer], tls: ssl.SSLContext | None = None) -> None:
        self.seen: list[Seen] = []
        self.connections = 0
        """How many were ever made."""
        self.described: Callable[[Seen], tuple[int, bytes]] = lambda _: (HTTPStatus.OK, b"{}")
        """What is answered to a GET, which asks about a model before a run; it is not among what is seen."""
        self._brain = brain if callable(brain) else _reciting(brain)
        self._tls = tls
        self._numbers = count(1)
        self._errors: list[Exception] = []
        self._closing = False
        self._lock = threading.Lock()
        self._lines: set[Line] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.socket()

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        return HOST, self._listener.getsockname()[1]

    @property
    def url(self) -> str:
        """Where the server is."""
        return "{}://{}:{}".format("https" if self._tls else "http", *self.address)

    @property
    def openai_url(self) -> str:
        """What OpenAI's SDK wants to know."""
        return f"{self.url}/v1"

    @property
    def anthropic_url(self) -> str:
        """What Anthropic's SDK wants to know."""
        return f"{self.url}/"

    @property
    def open_connections(self) -> int:
        """How many clients are on the line now."""
        return len(self._lines)

    def __enter__(self) -> Self:
        """Listen."""
        self._listener.bind((HOST, 0))
        self._listener.listen(1024)
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave no thread and no socket; raise what went wrong in here."""
        self._close()
        if error is not None:
            for trouble in self._errors:
                error.add_note(f"in the loopback server: {trouble!r}")
        elif self._errors:
            raise ExceptionGroup("in the loopback server", self._errors)

    def _close(self) -> None:
        self._closing = True
        with suppress(OSError):  # It wakes the accepting thread, which does not notice that its socket is closed.
            socket.create_connection(self.address).close()
        self._threads[0].join(JOIN_SECONDS)
        self._listener.close()
        with self._lock:
            for line in self._lines:
                line.hang_up()
        for thread in self._threads:
            thread.join(JOIN_SECONDS)
        if any(thread.is_alive() for thread in self._threads):
            self._errors.append(RuntimeError("a thread of the server did not end"))

    def _start(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, name="loopback", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            if self._closing:
                connection.close()
                return
            self.connections += 1
            if self._tls:
                try:
                    connection = self._tls.wrap_socket(connection, server_side=True)
                except OSError:  # The client does not trust us.
                    connection.close()
                    continue
            line = Line(connection)
            with self._lock:
                self._lines.add(line)
            self._start(self._talk, line)

    def _talk(self, line: Line) -> None:
        try:
            while (seen := line.read()) and self._answer(line, seen):
                pass
        except OSError:
            pass  # The client left, as one does whose patience is over.
        except Exception as error:  # noqa: BLE001 (raised where the server is closed)
            self._errors.append(error)
        finally:
            with self._lock:
                self._lines.discard(line)
            line.close()

    def _answer(self, line: Line, seen: Seen) -> bool:
        """Answer one request; False if no other can follow."""
        if seen.method == "GET" and re.search("/models([/?]|$)", seen.path):
            code, body = self.described(seen)
            return line.send(http(code, body))
        with self._lock:
            self.seen.append(seen)
            number = next(self._numbers)
        dialect = dialect_of(seen.path)
        if dialect is None or seen.method != "POST":
            return line.send(http(HTTPStatus.NOT_FOUND, b'{"error":{"message":"nothing is here"}}'))
        answer = objection(seen.path, seen.headers, seen.body) or self._decided(seen)
        return Delivery(line, seen, dialect, number).of(answer)

    def _decided(self, seen: Seen) -> Answer:
        try:
            return self._brain(seen)
        except Exception as error:  # noqa: BLE001 (raised where the server is closed)
            self._errors.append(error)
            return Status(500, f"the brain failed: {error!r}")


def _reciting(answers: Sequence[Answer]) -> Brain:
    """Return a brain that gives its answers one after the other, the last one for ever."""
    left = list(answers)
    lock = threading.Lock()

    def recite(_: Seen) -> Answer:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return recite
