"""A terminal that is closed while a run goes on in it."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.postgres.processes import SECONDS, eventually
from tests.projects import case, report_of

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]

STALLING = """
import time
from bots import Half

played = []

class Stalling(Half):
    def reply(self, messages, tools):
        played.extend([1] if len(messages) < 3 else [])
        while len(played) > 2:
            time.sleep(0.01)
        return super().reply(messages, tools)
"""

BELONGING = """
import fcntl, os, sys, termios

fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""A session that is told when its terminal hangs up."""


def test_a_run_that_loses_its_terminal_ends_gracefully(project: Project) -> None:
    """As by Ctrl-C; what is said to nobody is no error, and what is finished is in the report."""
    pytester = project([case(f"case-{number}") for number in range(5)])
    pytester.makepyfile(stalling=STALLING)
    run = f"hangup-{os.getpid()}"
    journal = pytester.path / "reports" / run / "trials.jsonl"
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
        eventually(lambda: on_record(journal) == 2, "two cases are played")
        os.close(ours)
        status = process.wait(SECONDS)
    finally:
        process.kill()
        process.wait()

    assert pytest.ExitCode.INTERRUPTED == status
    assert 2 == len(report_of(pytester.path)["trials"])


def on_record(journal: Path) -> int:
    """Count the trials in a journal."""
    return journal.read_text(encoding="utf-8").count('{"trial"') if journal.exists() else 0
