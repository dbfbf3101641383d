"""The client of a template, which is a process that forks on request."""

import marshal
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from typing import Any, NoReturn

from pytest_crmeval.sandboxes.local.inside import pinning, python_program, template
from pytest_crmeval.sandboxes.local.inside.template import PID_BYTES, REPORT, Request

_MAX_PACKET = 1 << 20
_MAX_ANSWER = 256
_START_SECONDS = 20.0
"""Less than a client that closes its fork server is ready to wait."""
_STARTER = f"""
import _socket, marshal, sys, types
control = _socket.socket(fileno=int(sys.argv[1]))
modules, settings = marshal.loads(control.recv({_MAX_PACKET}))
for name, code in modules:
    module = sys.modules[name] = types.ModuleType(name)
    exec(code, module.__dict__)
module.serve(control, settings)
"""


_MODULES: list[Any] = [
    (module.__name__, SourceFileLoader(module.__name__, str(module.__file__)).get_code(module.__name__))
    for module in (pinning, python_program, template)
]
"""Read while they can be: the package is not visible inside the sandbox."""


class TemplateLost(Exception):  # noqa: N818 (it ends the fork server, which is replaced)
    """The template has died."""


class TemplateProcess:
    """The template of one fork server."""

    def __init__(self, settings: dict[str, Any], pids: int) -> None:
        self._settings = settings
        self.pids = pids
        self._executes = os.access(sys.executable, os.X_OK)
        self.pid = 0
        self.control = self._started()

    def begin(self, request: Request, descriptors: Sequence[int]) -> None:
        """Have a program begun; stdin, stdout, stderr and the program are its open files."""
        try:
            socket.send_fds(self.control, [marshal.dumps(request)], descriptors)
        except ConnectionError as error:
            raise TemplateLost from error

    def begun(self) -> int:
        """Return the pid of the program, once per program; 0 if the template has not forked yet."""
        try:
            return int.from_bytes(os.read(self.pids, PID_BYTES), "little")
        except BlockingIOError:
            return 0

    def ended(self) -> tuple[int, float, int]:
        """Wait for the end of the program; return its status, CPU time and memory. TemplateLost if there is no end."""
        try:
            packet = self.control.recv(_MAX_ANSWER)
        except ConnectionError as error:  # a socket is reset if a message in it was never read
            raise TemplateLost from error
        if not packet:
            raise TemplateLost
        status, cpu_seconds, memory_bytes = marshal.loads(packet)  # noqa: S302 (programs can't write to this socket)
        return status, cpu_seconds, memory_bytes

    def kill(self) -> None:
        """End it, whatever it does."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def restart(self) -> None:
        """Start another one, after this one was killed."""
        self.control.close()
        self.control = self._started()

    def _started(self) -> socket.socket:
        """Start it in a new interpreter, which is small; as a fork of this process where that can't be started."""
        if self._executes:
            control = self._forked()
            with suppress(ConnectionError):  # it has ended, mostly without having read what was sent
                control.send(marshal.dumps((_MODULES, self._settings)))
                if self._is_ready(control):
                    return control
            control.close()
            os.waitpid(self.pid, 0)
            self._executes = False
        control = self._forked()
        if self._is_ready(control):
            return control
        raise TemplateLost

    def _is_ready(self, control: socket.socket) -> bool:
        """Wait until it says so, or ends; TemplateLost if it hangs."""
        control.settimeout(_START_SECONDS)
        try:
            said = control.recv(_MAX_ANSWER)
        except TimeoutError as error:
            self.kill()
            raise TemplateLost from error
        control.settimeout(None)
        return bool(said)

    def _forked(self) -> socket.socket:
        ours, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            self._become_template(control)
        control.close()
        return ours

    def _become_template(self, control: socket.socket) -> NoReturn:
        try:
            if self._executes:
                control.set_inheritable(True)
                command = [sys.executable, "-I", "-S", "-B", "-c", _STARTER, str(control.fileno())]
                # What the linker looks up before the first run is not looked up again in every one.
                os.execve(sys.executable, command, {**os.environ, "LD_BIND_NOW": "1"})  # noqa: S606 (no shell)
            os.closerange(3, control.fileno())
            os.closerange(control.fileno() + 1, REPORT)
            template.serve(control, self._settings)
        finally:
            os._exit(1)
