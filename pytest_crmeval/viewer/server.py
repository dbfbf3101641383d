"""The web server of `crmeval view`: loopback only, and only for requests with its token."""

import json
import secrets
import time
from collections.abc import Mapping
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pytest_crmeval.viewer.site import NotFoundError, Query, Site, SiteAnswer

HOST = "127.0.0.1"
POLL = 0.5
"""Seconds between two looks for changes while a page is open."""
ALIVE = 15.0
"""Seconds without a change after which a browser is asked whether it is still there."""
LONGEST = 4_000
"""Characters of an address."""
LARGEST = 100_000
"""Bytes of a request that writes."""
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class ViewServer(ThreadingHTTPServer):
    """Serves a site below ``/TOKEN/``."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int, token: str = "") -> None:
        self.over = Event()
        self.site: Site
        super().__init__((HOST, port), _Handler)
        self.token = token or secrets.token_urlsafe(24)

    @property
    def root(self) -> str:
        """The path below which all pages are."""
        return f"/{self.token}/"

    @property
    def url(self) -> str:
        """The address to open."""
        return f"http://{HOST}:{self.server_port}{self.root}"

    @property
    def hosts(self) -> frozenset[str]:
        """The names by which browsers reach this server; another name belongs to a page that wants to read it."""
        return frozenset(f"{name}:{self.server_port}" for name in (HOST, "localhost"))

    def server_close(self) -> None:
        """Stop listening, and end the streams of changes."""
        self.over.set()
        super().server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 (its signature)
        """Ignore connections that browsers close early; report other errors."""
        import sys

        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One connection of a browser."""

    server: ViewServer
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        """Answer with a page, or with a stream of changes."""
        if refused := self._refused():
            self._send(refused)
            return
        parts = urlsplit(self.path)
        path = unquote(parts.path.removeprefix(self.server.root), errors="replace")
        query = dict(parse_qsl(parts.query, errors="replace"))
        if path == "events":
            self._stream(query)
        else:
            self._send(self.server.site.answer(path, query))

    def do_POST(self) -> None:
        """Store an annotation that a page of ours has sent; other requests are refused."""
        if refused := self._refused() or self._refused_to_write():
            self.close_connection = True  # its content was not read
            self._send(refused)
            return
        path = unquote(urlsplit(self.path).path.removeprefix(self.server.root), errors="replace")
        self._send(self.server.site.accept(path, self._body()))

    def _refused_to_write(self) -> SiteAnswer | None:
        """Return why a request may not change anything; None if a page of this server has sent it."""
        if self.headers.get("Origin") != f"http://{self.headers.get('Host')}":
            return _refusal(403, "only pages of crmeval view may write")
        if self.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            return _refusal(403, "only pages of crmeval view may write")
        if self.headers.get_content_type() != "application/json":
            return _refusal(415, "send JSON")
        length = self.headers.get("Content-Length", "")
        return None if length.isdecimal() and int(length) <= LARGEST else _refusal(413, "the note is too long")

    def _body(self) -> object:
        """Return the content of the request; None if it is not JSON."""
        try:
            return json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        except ValueError:
            return None

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 (its signature)
        """Log nothing: the terminal shows the address, which has the token."""

    def _refused(self) -> SiteAnswer | None:
        """Return why a request is not answered; None if it is."""
        if self.headers.get("Host") not in self.server.hosts:
            return _refusal(403, "this server only accepts requests for 127.0.0.1 and localhost")
        token, slash, _ = urlsplit(self.path).path.removeprefix("/").partition("/")
        if not slash or not compare_digest(token.encode(), self.server.token.encode()):
            return _refusal(403, "open the complete address that crmeval view printed")
        return _refusal(414, "the address is too long") if len(self.path) > LONGEST else None

    def _send(self, answer: SiteAnswer) -> None:
        self.send_response(answer.status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        if answer.location:
            self.send_header("Location", answer.location)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    def _stream(self, query: Query) -> None:
        """Send an event when the page has changed, until the browser is gone."""
        self.send_response(200)
        for name, value in {**_HEADERS, "Content-Type": "text/event-stream", "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        version, sent = "", 0.0
        while not self.server.over.wait(POLL if sent else 0.0):
            try:
                now = self.server.site.version(query)
            except NotFoundError:  # the run was deleted
                return
            if now != version or time.monotonic() - sent > ALIVE:
                self.wfile.write(b"data: changed\n\n" if now != version else b": alive\n\n")
                self.wfile.flush()
                version, sent = now, time.monotonic()


def _refusal(status: int, reason: str) -> SiteAnswer:
    return SiteAnswer(f"{reason}\n".encode(), "text/plain; charset=utf-8", status)
