"""Requests as they come, and answers on their way, well or badly."""

import gzip
import json
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from tests.providers.answers import (
    Answer,
    CloseAtOnce,
    CloseMidBody,
    Drip,
    Hang,
    Huge,
    Malformed,
    Raw,
    Say,
    Slow,
    Speaking,
    Status,
    ThenClose,
)
from tests.providers.dialects import Dialect, dialect_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One request, as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: dict[str, Any]
    time: float = field(default_factory=time.monotonic)

    @property
    def dialect(self) -> Dialect:
        """The API dialect of a path; KeyError if the path is unknown."""
        found = dialect_of(self.path)
        if found is None:
            raise KeyError(self.path)
        return found

    @property
    def model(self) -> str:
        """Which model is asked; clouds have it in the path."""
        return str(self.body.get("model", self.path))

    @property
    def last_user_text(self) -> str:
        """What the user said last."""
        return self.dialect.last_user_text(self.body)

    @property
    def results(self) -> tuple[str, ...]:
        """The texts of the tool results that end the dialogue; none if the user spoke last."""
        return tuple(self.dialect.results(self.body))

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools on offer."""
        return tuple(self.dialect.tools(self.body))


class Line:
    """One connection."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connection
        self._file = connection.makefile("rb")

    def read(self) -> Seen | None:
        """Return the next request; None if there is none."""
        first = self._file.readline()
        if not first:
            return None
        method, path, _ = first.decode("latin-1").split()
        headers = dict(self._headers())
        body = self._file.read(int(headers.get("content-length", 0)))
        return Seen(method=method, path=path, headers=headers, body=json.loads(body or b"{}"))

    def _headers(self) -> Iterator[tuple[str, str]]:
        while line := self._file.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            yield name.lower(), value.strip()

    def send(self, content: bytes) -> bool:
        """Send everything; the line stays."""
        self._socket.sendall(content)
        return True

    def pause(self, seconds: float | None = None) -> bool:
        """Wait, forever without a limit; return False as soon as the client has disconnected."""
        self._socket.settimeout(seconds)
        try:
            return bool(self._socket.recv(1, socket.MSG_PEEK))
        except TimeoutError:
            return True
        finally:
            self._socket.settimeout(None)

    def hang_up(self) -> None:
        """Wake another thread that reads or writes."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go."""
        self._file.close()
        self._socket.close()


@dataclass(frozen=True, slots=True)
class Delivery:
    """One answer on its way."""

    line: Line
    seen: Seen
    dialect: Dialect
    number: int

    def of(self, answer: Answer) -> bool:
        """Answer; False if the connection ends with it."""
        match answer:
            case Hang():
                return self.line.pause()
            case Slow(seconds, then):
                return self.line.pause(seconds) and self.of(then)
            case Drip():
                return self._drip(answer)
            case _:
                self.line.send(self._content(answer))
                return not isinstance(answer, CloseAtOnce | CloseMidBody | ThenClose)

    def _content(self, answer: Speaking | Status | Malformed | Raw | CloseAtOnce | CloseMidBody | ThenClose) -> bytes:
        match answer:
            case Raw() | CloseAtOnce():
                return answer.content
            case CloseMidBody():
                return self._spoken(Say("half of this " * 100))[:-200]
            case ThenClose(then):
                return self._spoken(then)
            case Malformed(body, content_type):
                return http(HTTPStatus.OK, body, {"content-type": content_type})
            case Status():
                body = _json(self.dialect.error(answer)) if answer.body is None else answer.body
                return http(answer.code, body, answer.headers)
        return self._spoken(answer)

    def _spoken(self, answer: Speaking) -> bytes:
        speech = answer.speech
        body = _json(self.dialect.answer(speech, self.seen.model, self.number))
        headers = {self.dialect.request_id: f"req_{self.number}", **speech.headers}
        if isinstance(answer, Huge) and answer.zipped:
            return http(HTTPStatus.OK, gzip.compress(body, 1), {**headers, "content-encoding": "gzip"})
        return http(HTTPStatus.OK, body, headers, chunked=isinstance(answer, Huge))

    def _drip(self, answer: Drip) -> bool:
        content = self._spoken(answer.then)
        start = content.index(b"\r\n\r\n") + 4 if answer.body_only else 0
        self.line.send(content[:start])
        for position in range(start, len(content)):
            if not self.line.pause(1 / answer.per_second):
                return False
            self.line.send(content[position : position + 1])
        return True


def http(code: int, body: bytes, headers: Mapping[str, str] | None = None, *, chunked: bool = False) -> bytes:
    """Return a whole response."""
    told = {"content-type": "application/json", **(headers or {})}
    if chunked:
        told["transfer-encoding"] = "chunked"
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    else:
        told["content-length"] = str(len(body))
    lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    return f"HTTP/1.1 {code} Told\r\n{lines}\r\n".encode("latin-1") + body


def _json(body: dict[str, Any]) -> bytes:
    return json.dumps(body).encode()
