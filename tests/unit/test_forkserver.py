"""A worker that the fork server makes is like one that starts from nothing."""

import os
import signal
from pathlib import Path
from typing import Any

import execnet
import pytest
from execnet import gateway_io

from tests.forkserver import HOME, ForkedWorker

DESCRIBE_YOURSELF = """
import os, signal, sys
channel.send({
    "folder": os.getcwd(), "environment": dict(os.environ), "path": sys.path, "arguments": sys.argv,
    "files": sorted(os.listdir("/proc/self/fd")), "main": sys.modules["__main__"].__name__,
    "interrupt": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
    "group": os.getpgid(0), "session": os.getsid(0),
})
"""
pytestmark = pytest.mark.skipif(HOME not in os.environ, reason="processes are started from nothing")


def description(group: execnet.Group) -> dict[str, Any]:
    """Return what a new worker says about its surroundings."""
    said: dict[str, Any] = group.makegateway("popen").remote_exec(DESCRIBE_YOURSELF).receive()
    return said


def test_forked_worker_has_the_surroundings_of_a_new_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folder, environment, search path, arguments, open files, signals and process group are the same."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRESH", "1")
    monkeypatch.setenv("LINES", "24")  # the readline module sets it for child processes behind Python's back
    group = execnet.Group()
    forked = description(group)
    monkeypatch.setattr(gateway_io, "Popen2IOMaster", ForkedWorker.__base__)
    new = description(group)
    group.terminate(timeout=60)

    assert forked == new


def test_a_killed_forked_worker_is_noticed() -> None:
    """Its exit status names the signal, as that of a child process would."""
    group = execnet.Group()
    gateway = group.makegateway("popen")
    process = gateway._io.popen  # type: ignore[attr-defined]  # noqa: SLF001 (execnet has no other way)
    os.kill(process.pid, signal.SIGKILL)

    assert -signal.SIGKILL == process.wait()
    group.terminate(timeout=60)
