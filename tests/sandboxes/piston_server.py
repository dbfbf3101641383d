"""A real HTTP server on this machine that answers like Piston 3.1.1, runs programs, and fails on request.

``with PistonServer() as server: PistonSandbox(server.url)``. It isolates nothing: it is for programs of tests.
"""

import json
import re
import socket
import struct
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.sandboxes.piston_jobs import EscapeError, Settings, execute

HOST = "127.0.0.1"
_ROWS: Mapping[str, tuple[str, list[str], str]] = {
    "c": ("12.2.0", ["gcc"], "gcc"),
    "c++": ("12.2.0", ["cpp", "g++"], "gcc"),
    "python": ("3.11.2", ["py", "py3", "python3", "python3.11"], ""),
    "python2": ("2.7.18", ["py2", "python2"], ""),
    "pypy": ("3.9.16", ["pypy3"], ""),
    "javascript": ("18.15.0", ["node-javascript", "node-js", "javascript", "js"], "node"),
    "java": ("15.0.2", [], ""),
    "go": ("1.16.2", ["go", "golang"], ""),
    "rust": ("1.68.2", ["rs"], ""),
    "kotlin": ("1.8.20", ["kt"], ""),
    "csharp": ("6.12.0", ["mono", "mono-csharp", "mono-c#", "mono-cs", "c#", "cs"], "mono"),
    "csharp.net": ("5.0.201", ["csharp", "c#", "cs", "dotnet-cs"], "dotnet"),
    "ruby": ("3.0.1", ["ruby3", "rb"], ""),
    "php": ("8.2.3", [], ""),
    "haskell": ("9.0.1", ["haskell", "hs"], ""),
}
"""Version, aliases and runtime, as the packages of Piston have them."""
_OK_RUN = {"stdout": "", "stderr": "", "output": "", "code": None, "signal": None, "message": "", "status": "XX"}
_BUSY = "bash: fork: retry: Resource temporarily unavailable\n"
_STARVED = {**_OK_RUN, "stderr": _BUSY, "output": _BUSY, "code": 254, "status": "RE"}


class RefusalError(Exception):
    """An answer that is not 200."""

    def __init__(self, status: int, body: Mapping[str, Any] | None) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


class PistonServer:
    """The server, while the context lasts; it may be stopped and started again at the same address."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.faults: deque[str] = deque()
        """What is wrong with the next answers, one after the other."""
        self.always = ""
        """What is wrong with every answer."""
        self.counts: Counter[str] = Counter()
        """Requests by path."""
        self.bodies: list[dict[str, Any]] = []
        """What was asked for."""
        self.most_in_flight = 0
        self.connections = 0
        self.on_execute: Callable[[], None] = lambda: None
        """Called while a program is asked for."""
        self.lock = threading.Lock()
        self.let_go = threading.Event()
        self._in_flight = 0
        self._port = 0
        self._http: _Server | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://{HOST}:{self._port}"

    def start(self) -> None:
        """Listen, where it listened before."""
        self.let_go.clear()
        self._http = _Server((HOST, self._port), self)
        self._port = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """Listen no more, and end every connection."""
        self.let_go.set()
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()
            self._http.drop()
            self._http = None

    def __enter__(self) -> Self:
        """Begin."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End."""
        self.stop()

    def reconfigure(self, **changes: Any) -> None:  # noqa: ANN401
        """Change its settings, as if it were started anew."""
        self.settings = replace(self.settings, **changes)

    def executed(self, body: bytes) -> dict[str, Any]:
        """Run what was asked for."""
        with self.lock:
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
        try:
            self.on_execute()
            return self._checked_and_run(body)
        finally:
            with self.lock:
                self._in_flight -= 1

    def runtimes(self) -> list[dict[str, Any]]:
        """Tell which languages there are."""
        rows = []
        changed = {"python": self.settings.python_version, "c++": self.settings.cpp_version}
        for language in self.settings.languages:
            version, aliases, runtime = _ROWS[language]
            row = {"language": language, "version": changed.get(language) or version, "aliases": aliases}
            rows.append({**row, "runtime": runtime} if runtime else row)
        return rows

    def _checked_and_run(self, body: bytes) -> dict[str, Any]:
        if len(body) > self.settings.body_limit:
            raise RefusalError(400, {"stack": "PayloadTooLargeError: request entity too large\n    at readStream"})
        try:
            asked = json.loads(body)
        except ValueError:
            raise RefusalError(400, {"stack": "SyntaxError: Expected property name or '}' in JSON"}) from None
        with self.lock:
            self.bodies.append(asked)
        row = self._runtime(asked)
        _check_limits(asked, self.settings)
        if not isinstance(asked.get("stdin", ""), str):
            raise RefusalError(400, {})
        try:
            answer = execute(asked, row["language"], self.settings)
        except EscapeError:
            raise RefusalError(500, None) from None
        return {**answer, "language": row["language"], "version": row["version"]}

    def _runtime(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        for name in ("language", "version"):
            if not isinstance(asked.get(name), str):
                raise _refused(f"{name} is required as a string")
        if not isinstance(asked.get("files"), list):
            raise _refused("files is required as an array")
        for number, file in enumerate(asked["files"]):
            if not isinstance(file.get("content"), str):
                raise _refused(f"files[{number}].content is required as a string")
        language, version = asked["language"], asked["version"]
        rows = [row for row in self.runtimes() if language in {row["language"], *row["aliases"]}]
        rows = [row for row in rows if _fits(row["version"], version)]
        if not rows:
            raise _refused(f"{language}-{version} runtime is unknown")
        if all(file.get("encoding", "utf8") != "utf8" for file in asked["files"]):
            raise _refused("files must include at least one utf8 encoded file")
        return rows[0]


def _fits(version: str, wanted: str) -> bool:
    return wanted == "*" or version.startswith(wanted.removesuffix("x").rstrip("."))


def _refused(message: str) -> RefusalError:
    return RefusalError(400, {"message": message})


def _check_limits(asked: Mapping[str, Any], settings: Settings) -> None:
    kinds = ("memory_limit", "timeout") if settings.old else ("memory_limit", "timeout", "cpu_time")
    for name in (f"{stage}_{kind}" for kind in kinds for stage in ("compile", "run")):
        value, most = asked.get(name), (settings.maxima or {}).get(name, -1)
        if not value:
            continue
        if not isinstance(value, int | float):
            raise _refused(f"If specified, {name} must be a number")
        if most > 0 and value > most:
            raise _refused(f"{name} cannot exceed the configured limit of {most}")
        if most > 0 and value < 0:
            raise _refused(f"{name} must be non-negative")


Answer = dict[str, Any]


def _run(answer: Answer, **changes: Any) -> Answer:  # noqa: ANN401
    """Return an answer in which the program has ended in another way; ``output`` is what its streams are."""
    run = {**answer["run"], **changes}
    return {**answer, "run": {**run, "output": run["stderr"] + run["stdout"]}}


def _compile(answer: Answer, **changes: Any) -> Answer:  # noqa: ANN401
    """Return an answer in which the compiler has ended in another way."""
    stage = {**answer["compile"], "stdout": "", **changes}
    stage["output"] = stage["stderr"]
    return {**answer, "compile": stage, "run": dict(stage)}


def _full(answer: Answer, body: bytes) -> Answer:
    """Return what is left of a run whose runner found the disk full."""
    token = re.search(r"fail\('(\w+)'|token = \"(\w+)\"", json.loads(body)["files"][0]["content"])
    assert token is not None
    said = f"{token[1] or token[2]} [Errno 30] Read-only file system: 'crmeval.stdout'\n"
    return _run(answer, stdout="", stderr=said, code=1, status="RE")


_NO_PYTHON = "/srv/packages/python/3.11.2/run: line 2: python3.11: command not found\n"
_LATE = {
    "code": None,
    "signal": "SIGKILL",
    "status": "TO",
    "message": "Time limit exceeded (wall clock)",
    "cpu_time": 1,
}
_KILLED = "/srv/packages/run: line 2:     3 Killed                  program\n"
_NO_MEMORY = "g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n"
WRONG: Mapping[str, Callable[[Answer, bytes], Answer]] = {
    "lost": lambda answer, _: _run(answer, stdout=""),
    "halved": lambda answer, _: _run(answer, stdout=answer["run"]["stdout"][: len(answer["run"]["stdout"]) // 2]),
    "cut": lambda answer, _: {**answer, "run": {**answer["run"], "stdout": ""}},
    "killed": lambda answer, _: _run(answer, stdout="", stderr=_KILLED, code=137, status="RE"),
    "no command": lambda answer, _: _run(answer, stdout="", stderr=_NO_PYTHON, code=127, status="RE"),
    "full": _full,
    "asleep": lambda answer, _: _run(answer, stdout="", **_LATE),
    "compiler killed": lambda answer, _: _compile(answer, stderr="", code=None, signal="SIGKILL", status="SG"),
    "compiler broken": lambda answer, _: _compile(answer, stderr=_NO_MEMORY, code=1, status="RE"),
    "compiler wrong": lambda answer, _: _compile(answer, stderr="main.inc:1:1: error: no\n", code=1, status="RE"),
    "other version": lambda answer, _: {**answer, "version": "3.12.0"},
}
"""Faults that look like results: the program has run, and the answer says something else."""


class _Server(ThreadingHTTPServer):
    """Keeps its connections, so that they can be ended."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], piston: PistonServer) -> None:
        self.piston = piston
        self._open: set[socket.socket] = set()
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        with self.piston.lock:
            self._open.add(request)
            self.piston.connections += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401
        with self.piston.lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Say nothing: clients of these tests go away in the middle."""

    def drop(self) -> None:
        with self.piston.lock:
            left = list(self._open)
        for connection in left:
            with suppress(OSError):  # the client may have been quicker
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two packets: the second would wait for the client, 40 ms
    server: _Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        piston = self.server.piston
        piston.counts[self.path] += 1
        if piston.always and piston.always not in WRONG:
            self._break(piston.always)
        elif self.path == "/":
            self._answer(200, {"message": "Piston v3.1.1"})
        elif self.path == "/api/v2/runtimes":
            self._answer(200, piston.runtimes())
        else:
            self._answer(404, {"message": "Not Found"})

    def do_POST(self) -> None:
        piston = self.server.piston
        piston.counts[self.path] += 1
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with piston.lock:
            fault = piston.always or (piston.faults.popleft() if piston.faults else "")
        if fault in WRONG:
            self._answer(200, WRONG[fault](piston.executed(body), body))
            return
        if fault:
            self._break(fault)
            return
        if self.path != "/api/v2/execute":
            self._answer(404, {"message": "Not Found"})
        elif not (self.headers.get("Content-Type") or "").startswith("application/json"):
            self._answer(415, {"message": "requests must be of type application/json"})
        else:
            self._execute(body)

    def _execute(self, body: bytes) -> None:
        try:
            self._answer(200, self.server.piston.executed(body))
        except RefusalError as error:
            self._answer(error.status, error.body)

    def _answer(self, status: int, body: object, *, raw: bytes | None = None) -> None:
        content = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        if body is not None:
            self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _break(self, fault: str) -> None:
        """Be as broken as was asked for."""
        odd: dict[str, tuple[int, object, bytes | None]] = {
            "garbage": (200, {}, b"<html>it works!</html>"),
            "empty": (200, {}, b""),
            "odd": (200, {"run": {"stdout": ""}}, None),
            "list": (200, [], None),
            "XX": (200, {"run": _OK_RUN, "language": "python", "version": "3.11.2"}, None),
            "starved": (200, {"run": _STARVED, "language": "python", "version": "3.11.2"}, None),
            "unknown": (400, {"message": "python-3.11.2 runtime is unknown"}, None),
            "413": (413, {"message": "too large"}, None),
        }
        if fault in odd:
            status, body, raw = odd[fault]
            self._answer(status, body, raw=raw)
        elif fault.isdigit():
            self._answer(int(fault), {"message": HTTPStatus(int(fault)).phrase} if fault != "500" else None)
        else:
            self._vanish(fault)

    def _vanish(self, fault: str) -> None:
        self.close_connection = True
        if fault == "hang":
            self.server.piston.let_go.wait(60)
        elif fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif fault == "half":
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"run": {')
        elif fault != "close":
            raise ValueError(f"no such fault: {fault}")
