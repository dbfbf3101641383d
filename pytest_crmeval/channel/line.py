"""The line on which workers ask the controller: what xdist has no way for while a run is going on."""

import contextlib
import hmac
import json
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping
from io import BufferedRWPair
from typing import Any

from pytest_crmeval.domain.wire import plain
from pytest_crmeval.player.queue_client import ControllerGoneError

_ENCODER = json.JSONEncoder(default=plain)
BREATH = 0.05
"""Seconds until the controller listens again after it could not."""


class Line:
    """The controller's end: loopback only, one JSON object per line, a secret first.

    xdist hands values to workers when they start and takes reports back; between the two, workers can't ask. Each
    caller has a thread of its own, so an answer may take its time. ``hung_up`` is called in that thread when the
    caller is gone, however it went.
    """

    def __init__(self, answers: Mapping[str, Callable[[Any], Any]], hung_up: Callable[[], None] = lambda: None) -> None:
        self._answers = answers
        self._hung_up = hung_up
        self._secret = secrets.token_hex(16)
        self._closed = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> list[str | int]:
        """What a worker needs to know: JSON primitives, for ``workerinput``."""
        host, port = self._listener.getsockname()
        return [str(host), int(port), self._secret]

    def close(self) -> None:
        """Hang up; closing alone would not wake the thread that accepts."""
        self._closed = True
        with contextlib.suppress(OSError):  # not connected: macOS says so of every listener
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                caller, _ = self._listener.accept()
            except OSError:  # closed; or too many files are open, and soon there will be fewer
                time.sleep(BREATH)
            else:
                self._attend(caller)

    def _attend(self, caller: socket.socket) -> None:
        try:
            threading.Thread(target=self._serve, args=[caller], daemon=True).start()
        except RuntimeError:  # no more threads: whoever calls is not left waiting
            caller.close()

    def _serve(self, caller: socket.socket) -> None:
        # Whoever says what no worker says is not answered: a port scanner, half a line of a worker that was killed.
        try:
            with (
                contextlib.suppress(OSError, ValueError, KeyError, TypeError),
                caller,
                caller.makefile("rwb") as line,
            ):
                # Small questions and answers: Nagle's algorithm would hold each up for 40 ms.
                caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for question in line:
                    line.write(_line(self._answer(json.loads(question))))
                    line.flush()
        finally:
            self._hung_up()

    def _answer(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        if not hmac.compare_digest(self._secret, question["secret"]):
            return {"error": "this line belongs to another run"}
        try:
            return {"answer": self._answers[question["ask"]](question["about"])}
        except Exception as error:  # noqa: BLE001 (told to the worker, which raises it)
            return {"error": str(error)}


class LineError(ControllerGoneError):
    """The controller has answered with an error, or is gone."""


class LineToController:
    """A worker's end of the line: as many calls as there are questions at the same time, kept for the next ones."""

    def __init__(self, host: str, port: int, secret: str) -> None:
        self._address = (host, port)
        self._secret = secret
        self._calls: dict[BufferedRWPair, socket.socket] = {}
        self._idle: list[BufferedRWPair] = []

    def ask(self, what: str, about: object = None) -> Any:  # noqa: ANN401 (JSON enters here)
        """Ask the controller and wait for its answer."""
        call = self._call()
        try:
            reply = _reply(call, {"secret": self._secret, "ask": what, "about": about})
        except BaseException:  # Ctrl-C: the answer to this question must not be taken for the answer to the next
            self._hang_up(call)
            raise
        self._idle.append(call)
        if "error" in reply:
            raise LineError(reply["error"])
        return reply["answer"]

    def close(self) -> None:
        """Hang up."""
        self._idle.clear()
        for call in list(self._calls):
            self._hang_up(call)

    def _call(self) -> BufferedRWPair:
        """Return a call on which nobody waits for an answer."""
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        caller = socket.create_connection(self._address)
        caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made = caller.makefile("rwb")
        self._calls[made] = caller
        return made

    def _hang_up(self, call: BufferedRWPair) -> None:
        caller = self._calls.pop(call, None)
        if caller is None:
            return  # somebody else has
        with contextlib.suppress(OSError), caller:  # what can't be written any more; whom nobody hears any more
            caller.shutdown(socket.SHUT_RDWR)  # wakes a thread of ours that still waits for an answer
            call.close()


def _reply(call: BufferedRWPair, question: Mapping[str, Any]) -> dict[str, Any]:
    call.write(_line(question))
    call.flush()
    said = call.readline()
    if not said:
        raise LineError("the controller is gone")
    reply: dict[str, Any] = json.loads(said)
    return reply


def _line(message: Mapping[str, Any]) -> bytes:
    return _ENCODER.encode(message).encode() + b"\n"
