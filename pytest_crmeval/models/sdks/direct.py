"""Our own HTTP/1.1 below the SDKs: it takes half of the CPU time of httpx2's connections.

It sends requests whose body is at hand, and returns responses that have been read completely. Anything else is left to
httpx2's own transport.
"""

import asyncio
import os
import select
import ssl
import time
from contextlib import suppress
from typing import cast

import httpx2

from pytest_crmeval.models.sdks.bodies import ARRIVALS
from pytest_crmeval.models.sdks.event_loop import TooLargeError
from pytest_crmeval.models.sdks.http1 import ResponseReader

_PORTS = {"http": 80, "https": 443}
_METHODS = frozenset({"GET", "POST"})
_NEXT_ADDRESS = 0.25
"""Seconds after which another address of a server is tried as well, as by httpx2."""
_BLOCK = 1 << 16

_Place = tuple[str, str, int]
"""Scheme, host and port."""


class DirectTransport(httpx2.AsyncBaseTransport):
    """Sends requests over connections that it keeps open; to be used in one event loop."""

    def __init__(self, context: ssl.SSLContext, limits: httpx2.Limits) -> None:
        context.set_alpn_protocols(["http/1.1"])
        self._context = context
        self._limits = limits
        self._room = asyncio.Semaphore(limits.max_connections or 1)
        self._connections: set[Connection] = set()
        self._idle: dict[_Place, list[tuple[Connection, float]]] = {}
        """The connections without a request, and since when; the last used is last."""
        self._other: httpx2.AsyncHTTPTransport | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, and read the whole response."""
        place = (request.url.scheme, request.url.host, request.url.port or _PORTS.get(request.url.scheme, 0))
        if not _is_plain(request):
            return await self._transport().handle_async_request(request)
        content = _as_bytes(request)
        async with self._room:
            connection = self._kept(place) or await self._opened(place)
            reader = await connection.exchange(content)
            if reader.keeps_open:
                self._idle.setdefault(place, []).append((connection, time.monotonic()))
            else:
                connection.close()
        extensions: dict[str, object] = {"http_version": b"HTTP/1.1", "reason_phrase": reader.reason}
        if reader.body.is_stream:
            extensions[ARRIVALS] = reader.body.arrivals
        return httpx2.Response(reader.status, headers=reader.headers, content=reader.content, extensions=extensions)

    async def aclose(self) -> None:
        """Close all connections."""
        for connection in tuple(self._connections):
            connection.close()
        if self._other is not None:
            await self._other.aclose()
        await asyncio.sleep(0)  # until the sockets are closed

    def _transport(self) -> httpx2.AsyncHTTPTransport:
        if self._other is None:
            self._other = httpx2.AsyncHTTPTransport(verify=self._context, limits=self._limits)
        return self._other

    def _kept(self, place: _Place) -> "Connection | None":
        """Return the connection that was used last, if one is open; those that were idle for too long are closed."""
        idle, longest = self._idle.get(place, []), self._limits.keepalive_expiry or 0.0
        oldest = time.monotonic() - longest
        while idle and idle[0][1] < oldest:
            idle.pop(0)[0].close()
        while idle:
            connection, _ = idle.pop()
            if connection.is_usable():
                return connection
            connection.close()
        return None

    async def _opened(self, place: _Place) -> "Connection":
        scheme, host, port = place
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_connection(
                lambda: Connection(self._connections),
                host,
                port,
                ssl=self._context if scheme == "https" else None,
                happy_eyeballs_delay=_NEXT_ADDRESS,
            )
        except (OSError, UnicodeError) as error:  # the latter from names that can't exist
            raise httpx2.ConnectError(str(error)) from error
        return connection


class Connection(asyncio.Protocol):
    """A connection to a server, with at most one request at a time."""

    def __init__(self, connections: "set[Connection]") -> None:
        self._connections = connections
        """The open connections, this one included."""
        self._transport: asyncio.Transport | None = None
        self._reader: ResponseReader | None = None
        self._response: asyncio.Future[ResponseReader] | None = None

    async def exchange(self, request: bytes) -> ResponseReader:
        """Send a request, and return its response; without one, the connection is closed."""
        if self._transport is None:
            raise httpx2.ConnectError("the server has closed the connection")
        self._reader, self._response = ResponseReader(), asyncio.get_running_loop().create_future()
        try:
            self._transport.write(request)
            return await self._response
        except BaseException:
            self.close()
            raise
        finally:
            self._reader = self._response = None

    def is_usable(self) -> bool:
        """Whether the server keeps the connection open, as far as is known: closing it makes the socket readable."""
        return self._transport is not None and not self._transport.is_closing() and not _is_readable(self._descriptor)

    def close(self) -> None:
        """Close it at once."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        """Read a part of the response."""
        if self._reader is None or self._response is None or self._response.done():
            self.close()  # nothing was asked
            return
        try:
            if self._reader.feed(data):
                self._response.set_result(self._reader)
        except (httpx2.HTTPError, TooLargeError) as error:
            self._response.set_exception(error)

    def connection_lost(self, error: Exception | None) -> None:
        """End."""
        if error is not None:
            self._read_rest()
        if self._reader is not None and self._response is not None and not self._response.done():
            try:
                if error is not None and not isinstance(error, ssl.SSLError):
                    raise httpx2.ReadError(str(error)) from error
                self._reader.end()
                self._reader.keeps_open = False
                self._response.set_result(self._reader)
            except httpx2.HTTPError as ended:
                self._response.set_exception(ended)
        self._transport = None
        self._connections.discard(self)

    def _read_rest(self) -> None:
        """Read what arrived before an error: a server may answer before it has read a long request, and close."""
        if self._transport is None or self._transport.get_extra_info("ssl_object") is not None:
            return
        with suppress(OSError):  # there is no more
            while self._response is not None and not self._response.done():
                data = os.read(self._descriptor, _BLOCK)
                if not data:
                    break
                self.data_received(data)

    @property
    def _descriptor(self) -> int:
        assert self._transport is not None  # noqa: S101 (asked only while it is open)
        descriptor: int = self._transport.get_extra_info("socket").fileno()
        return descriptor


def _is_plain(request: httpx2.Request) -> bool:
    """Whether there is nothing unusual about a request."""
    timeouts = request.extensions.get("timeout", {})
    return (
        request.url.scheme in _PORTS
        and request.method in _METHODS
        and isinstance(request.stream, httpx2.ByteStream)
        and request.extensions.keys() <= {"timeout"}
        and not any(seconds is not None for seconds in timeouts.values())
    )


def _as_bytes(request: httpx2.Request) -> bytes:
    lines = [b"%b %b HTTP/1.1" % (request.method.encode(), request.url.raw_path)]
    lines += [b"%b: %b" % header for header in request.headers.raw]
    head = b"\r\n".join(lines)
    if not head.count(b"\n") == head.count(b"\r") == len(lines) - 1 or b"\0" in head:
        raise httpx2.LocalProtocolError("Illegal header value")
    return b"%b\r\n\r\n%b" % (head, request.content)


def _is_readable(descriptor: int) -> bool:
    if not hasattr(select, "poll"):
        return bool(select.select([descriptor], [], [], 0)[0])
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
