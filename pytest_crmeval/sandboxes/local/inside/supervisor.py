"""The supervisor: it starts a fork server, waits outside until the fork server is over, and leaves nothing behind."""

import json
import os
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pytest_crmeval.sandboxes.local.inside import cleaning, kernel, levels
from pytest_crmeval.sandboxes.local.inside.fork_server import ForkServer
from pytest_crmeval.sandboxes.local.inside.messages import send
from pytest_crmeval.sandboxes.local.inside.template import KEPT, PIDS, REPORT
from pytest_crmeval.sandboxes.local.inside.template_process import TemplateProcess


def supervise(control: socket.socket, isolation_request: Mapping[str, Any]) -> None:
    """Keep a fork server until it ends."""
    asked = levels.IsolationRequest(**{name: isolation_request[name] for name in levels.IsolationRequest.__slots__})
    kernel.adopt_orphans()
    try:
        outer = levels.leave(asked)
    except OSError as error:
        _say(control, failed=str(error))
        return
    if fork_server := os.fork():
        control.close()
        _wait(fork_server, outer.folder)
    else:
        _serve(control, asked, outer)


def _serve(control: socket.socket, isolation_request: levels.IsolationRequest, outer: levels.OuterFolders) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kernel.adopt_orphans()  # a fork does not inherit it, and the next run must not begin before they are gone
    try:
        isolation = levels.enter(isolation_request, outer)
    except OSError as error:
        _say(control, failed=str(error))
        return
    _hold_library(isolation, isolation_request.library)
    os.environ["TMPDIR"] = isolation.folders[1]
    os.chdir(isolation.box)
    report, pids = _pipe(REPORT), _pipe(PIDS)
    filters = {kind: (made.packed, made.pids) for kind, made in isolation.filters.items()}
    template = TemplateProcess({"box": isolation.box, "packages": isolation_request.packages, "filters": filters}, pids)
    _say(control, ready=True)
    ForkServer(control=control, isolation=isolation, template=template, report=report).serve()


def _say(control: socket.socket, **message: object) -> None:
    send(control, json.dumps(message).encode())


def _pipe(number: int) -> int:
    """Make a pipe that the template writes to by this number; return its other end, where reading does not wait."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.dup2(writing, number)
    os.close(writing)
    return reading


def _hold_library(isolation: levels.Isolation, library: str) -> None:
    """Find modules by a descriptor where root's library can't be reached by the user that root has become."""
    if isolation.library is None:
        return
    if not os.access(library, os.R_OK | os.X_OK):
        os.dup2(isolation.library, KEPT, inheritable=False)
        # Packages that are loaded have their own: the rest of them is looked for there, encodings for one.
        for paths in (sys.path, *(getattr(module, "__path__", []) for module in list(sys.modules.values()))):
            paths[:] = [path.replace(library, f"/proc/self/fd/{KEPT}", 1) for path in paths]
    os.close(isolation.library)


def _wait(fork_server: int, outer: str) -> None:
    os.waitpid(fork_server, 0)
    with suppress(ChildProcessError):
        while True:
            _end_orphans()
            os.waitpid(-1, 0)
    if outer:
        for room in levels.FOLDERS:
            cleaning.empty(f"{outer}/{room}")
            Path(outer, room).rmdir()
        Path(outer).rmdir()


def _end_orphans() -> None:
    """End what a fork server has left that was killed itself."""
    with suppress(FileNotFoundError, ProcessLookupError):
        for orphan in Path(f"/proc/self/task/{os.getpid()}/children").read_bytes().split():
            os.kill(int(orphan), signal.SIGKILL)
