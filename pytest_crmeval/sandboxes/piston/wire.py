"""HTTP to one server: connections that are kept, and a deadline for every answer.

The standard library's client, because a run makes thousands of small requests: it took 0.13 ms of CPU for one of 5 kB
where httpx2 took 0.63 (medians of 7 times 100), and it heeds no proxy of the environment, which would not know a
server on this machine.
"""

import socket
import threading
import time
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection

from pytest_crmeval.sandboxes.piston.addresses import API, PistonAddress

CONNECT_SECONDS = 5.0
MAX_BYTES = 1 << 28
"""Of one answer."""
_CHUNK = 1 << 16


class LostError(Exception):
    """A server could not be asked, or did not answer in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PistonAnswer:
    """What a server said."""

    status: int
    body: bytes = field(repr=False)
    seconds: float = 0.0
    """How long it took, the way included."""


class Wire:
    """Asks one server, from several threads at once."""

    def __init__(self, address: PistonAddress) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._idle: list[HTTPConnection] = []
        self._busy: set[HTTPConnection] = set()
        self._closed = False

    def ask(self, path: str, body: bytes | None = None, *, seconds: float) -> PistonAnswer:
        """Get a path of the API, or post to it; LostError if there is no answer in time."""
        connection, used = self._taken()
        answer = self._answered(connection, path, body, seconds)
        if answer is None and used:  # the server has closed a connection that was kept for long
            answer = self._answered(self._fresh(), path, body, seconds)
        if answer is None:
            raise LostError("it closed the connection without an answer")
        return answer

    def close(self) -> None:
        """Close every connection; a thread that waits for an answer gets an error."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = list(self._busy)
        for connection in idle:
            connection.close()
        for connection in busy:
            _shut(connection.sock)

    def _answered(
        self, connection: HTTPConnection, path: str, body: bytes | None, seconds: float
    ) -> PistonAnswer | None:
        """Ask, and read the answer; None if the connection was closed before anything came back."""
        start = time.monotonic()
        keep = False
        try:
            response = self._begun(connection, path, body, seconds)
            if response is None:
                return None
            read = _read(connection, response, start + seconds)
            keep = not response.will_close
            return PistonAnswer(status=response.status, body=read, seconds=time.monotonic() - start)
        except TimeoutError as error:
            raise LostError(f"it did not answer within {seconds:g} s") from error
        except (OSError, HTTPException) as error:
            raise LostError(str(error) or type(error).__name__) from error
        finally:
            self._back(connection, keep=keep)

    def _begun(self, connection: HTTPConnection, path: str, body: bytes | None, seconds: float) -> HTTPResponse | None:
        """Send a request; None if the connection was closed before anything came back."""
        try:
            if connection.sock is None:
                connection.connect()
            connection.sock.settimeout(seconds)
            try:
                connection.request("GET" if body is None else "POST", f"{self._address.base}{API}{path}", body, _JSON)
            except (BrokenPipeError, ConnectionResetError):
                if body is None or len(body) < _CHUNK:
                    return None
                # Too much for it: it has answered before it has read everything, and the answer can be read.
            return connection.getresponse()
        except (BrokenPipeError, ConnectionResetError):  # RemoteDisconnected is one
            return None

    def _taken(self) -> tuple[HTTPConnection, bool]:
        with self._lock:
            if self._idle:
                connection = self._idle.pop()
                self._busy.add(connection)
                return connection, True
        return self._fresh(), False

    def _fresh(self) -> HTTPConnection:
        kind = HTTPSConnection if self._address.scheme == "https" else HTTPConnection
        connection = kind(self._address.host, self._address.port, timeout=CONNECT_SECONDS)
        with self._lock:
            if self._closed:
                raise LostError("the sandbox is closed")
            self._busy.add(connection)
        return connection

    def _back(self, connection: HTTPConnection, *, keep: bool) -> None:
        with self._lock:
            self._busy.discard(connection)
            keep = keep and not self._closed
            if keep:
                self._idle.append(connection)
        if not keep:
            connection.close()


_JSON = {"Content-Type": "application/json", "Accept-Encoding": "identity"}


def _read(connection: HTTPConnection, response: HTTPResponse, deadline: float) -> bytes:
    parts = []
    size = 0
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if connection.sock is not None:  # http.client lets go of it when the answer is the last one
            connection.sock.settimeout(left)
        part = response.read1(_CHUNK)
        if not part:
            break
        parts.append(part)
        size += len(part)
        if size > MAX_BYTES:
            raise LostError(f"its answer has more than {MAX_BYTES:,} bytes")
    # read1 does not notice that it was the end, and the connection would not take a next request.
    left_over = response.length
    response.close()
    if left_over:
        raise LostError(f"its answer ended {left_over:,} bytes too early")
    return b"".join(parts)


def _shut(connection: socket.socket | None) -> None:
    if connection is None:
        return
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:  # it is closed already, which is all that is wanted
        return
