"""The client of a fork server, which is a process that answers one request at a time and may be lost."""

import json
import marshal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pytest_crmeval.sandboxes.local.inside.messages import RunRequest, RunResult, receive, send
from pytest_crmeval.sandboxes.local.listening import Listener
from pytest_crmeval.sandboxes.local.machine import ENVIRONMENT, interpreter

_START = str(Path(__file__).parent / "inside" / "start.py")
_START_SECONDS = 120.0
_GRACE_SECONDS = 120.0
"""Seconds that an answer may take beyond the limit of the run, on a busy machine."""
_STOP_SECONDS = 30.0


class Unavailable(Exception):  # noqa: N818 (the next level is tried)
    """A level is not available on this machine."""


class ForkServerLost(Exception):  # noqa: N818 (another fork server is tried)
    """The fork server has died, or does not answer."""


class ForkServerProcess:
    """One isolated process, for one thread at a time."""

    def __init__(self, isolation_request: Mapping[str, Any]) -> None:
        self._control, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with inner:
            self.process = subprocess.Popen(  # noqa: S603 (our own interpreter and file)
                [interpreter(), "-I", "-S", "-B", _START, str(inner.fileno()), json.dumps(isolation_request)],
                pass_fds=[inner.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=ENVIRONMENT,
                cwd="/",
                start_new_session=True,
            )
        self._control.settimeout(_START_SECONDS)

    def wait(self) -> None:
        """Wait until it is isolated; Unavailable, with the reason, if it can't be."""
        message, _ = self._received()
        if "failed" in message:
            raise Unavailable(message["failed"])

    def run(
        self, request: RunRequest, descriptors: Sequence[int], stderr: Listener
    ) -> tuple[RunResult, dict[str, int]]:
        """Have a request run, and listen to its stderr meanwhile; the files that it found are the caller's to close."""
        fields: Any = tuple(request)
        try:
            send(self._control, marshal.dumps(fields), descriptors)
        except OSError as error:
            raise ForkServerLost(f"it did not accept a request: {error}") from error
        if not stderr.until(self._control.fileno(), request.wall_seconds + _GRACE_SECONDS):
            raise ForkServerLost("it did not answer")
        message, found = self._received()
        result = RunResult(*message)
        return result, dict(zip(result.found, found, strict=True))

    def _received(self) -> tuple[Any, list[int]]:
        try:
            packet, descriptors = receive(self._control)
        except OSError as error:
            raise ForkServerLost(f"its connection broke: {error}") from error
        if not packet:
            raise ForkServerLost("it died")
        return json.loads(packet.decode()), descriptors

    def hang_up(self) -> None:
        """End what it runs, although another thread waits for the answer, and closes it then."""
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End it: a fork server ends by itself when the other end of its socket is closed."""
        self._control.close()
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
