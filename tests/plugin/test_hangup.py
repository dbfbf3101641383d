"""A terminal that is closed during a run."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.postgres.processes import SECONDS, eventually
from tests.projects import case, report_of

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]

STALLING = """
import time
from pathlib import Path
from bots import Half

begun = []

class Stalling(Half):
    def reply(self, messages, tools):
        begun.extend([1] if len(messages) < 3 else [])
        if len(begun) > 2:
            Path("stalling").touch()
            while not Path("go on").exists():
                time.sleep(0.01)
        return super().reply(messages, tools)
"""

BELONGING = """
import fcntl, os, sys, termios

fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""A session that gets SIGHUP when its terminal is closed."""


def test_run_that_loses_its_terminal_ends_gracefully(project: Project) -> None:
    """As after Ctrl-C: the case in progress is finished. Output to the closed terminal is not an error."""
    pytester = project([case(f"case-{number}") for number in range(5)])
    pytester.makepyfile(stalling=STALLING)
    run = f"hangup-{os.getpid()}"
    words = [sys.executable, "-m", "pytest", "--crmeval-agent", "stalling:Stalling", "--crmeval-run", run]
    ours, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", BELONGING, *words],
        cwd=pytester.path,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    try:
        eventually((pytester.path / "stalling").exists, "the third case is being played")
        os.close(ours)
        (pytester.path / "go on").touch()
        status = process.wait(SECONDS)
    finally:
        process.kill()
        process.wait()

    assert pytest.ExitCode.INTERRUPTED == status
    assert 3 == len(report_of(pytester.path)["trials"])
