"""A full disk: real writes that the kernel refuses."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.projects import case, report_of

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]

FULL_AFTER_TWO = """
import os, pathlib, resource

played = []

def pytest_crmeval_trial_finished(config, trial):
    played.append(trial)
    if len(played) == 2 and "FULL" in os.environ:
        (journal,) = pathlib.Path("reports").glob("*-*/trials.jsonl")
        size = journal.stat().st_size + 20
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
"""


def test_full_disk_stops_the_run_with_one_line_and_loses_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal has complete lines, and the run can be resumed when there is space again."""
    pytester = project([case(f"case-{number}") for number in range(6)])
    pytester.makeconftest(FULL_AFTER_TWO)
    run = "full-disk"
    command = [sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider", "--crmeval-run", run, "-n", "1"]

    monkeypatch.setenv("FULL", "yes")
    result = subprocess.run(command, cwd=pytester.path, capture_output=True, text=True, check=False)

    assert 1 == result.returncode
    said = result.stdout + result.stderr
    assert "trials.jsonl: File too large; finished trials are saved" in said
    assert "INTERNALERROR" not in said
    assert "Traceback" not in said

    monkeypatch.delenv("FULL")
    again = subprocess.run(command, cwd=pytester.path, capture_output=True, text=True, check=False)

    assert 0 == again.returncode, again.stdout
    assert "(4 to play, resumed: 2 done)" in again.stdout
    assert 6 == report_of(pytester.path)["results"][0]["passed"]
