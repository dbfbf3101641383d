"""How commands find runs: by id, by path and in other folders; and their errors if there is none."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crmeval import cli
from pytest_crmeval.cli import stop
from pytest_crmeval.journal.jobs import BackgroundRun, State, write_job
from pytest_crmeval.journal.locks import FolderLock, Holder
from tests.fakes import trial
from tests.kept_runs import keep

JOB = BackgroundRun(id="nightly", command=["/nowhere/python"], cwd="/", submitted="2026-11-17T06:00:00+00:00")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a project."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evals").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    "path",
    [
        "reports/nightly",
        "reports/nightly/",
        "reports/latest",
        "reports/nightly/job.json",
        "reports/latest/job.json",
        "reports/nightly/trials.jsonl",
        "reports/nightly.json",
    ],
)
@pytest.mark.parametrize("command", ["status", "stop", "report"])
def test_run_can_be_named_by_a_path(here: Path, capsys: pytest.CaptureFixture[str], command: str, path: str) -> None:
    """The folder, a file in it, its report, or the link to the latest run."""
    keep(here / "reports", "nightly", [trial("one")])
    write_job(here / "reports/nightly", replace(JOB, state=State.FINISHED, exit_status=0))

    assert 0 == cli.main([command, path])
    assert "nightly" in capsys.readouterr().out


def test_runs_of_another_output_folder_are_found_without_naming_it(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """This also works from a subfolder of the project; the latest run is the latest in all folders."""
    (here / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    cli.main(["submit", "--hold", "--run", "usual"])
    cli.main(["submit", "--hold", "--run", "elsewhere", "--output-dir", "results"])
    os.utime(here / "reports/usual/lock", (1, 1))
    monkeypatch.chdir(here / "evals")
    capsys.readouterr()

    assert 0 == cli.main(["list", "--json"])
    listed = json.loads(capsys.readouterr().out)["runs"]
    assert {"usual": str(here / "reports/usual"), "elsewhere": str(here / "results/elsewhere")} == {
        run["id"]: run["folder"] for run in listed
    }
    assert [0, 0, 0] == [cli.main(words) for words in (["stop", "elsewhere"], ["status", "elsewhere"], ["status"])]
    said = capsys.readouterr().out
    assert "run elsewhere is not running: it is submitted" in said
    assert 2 == said.count("run elsewhere: ")
    assert 0 == cli.main(["list", "--reports", str(here / "reports")])
    assert "elsewhere" not in capsys.readouterr().out


def test_output_folder_that_cannot_be_remembered_is_reported(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run is submitted; commands need --reports."""
    (here / ".pytest_cache").touch()

    assert 0 == cli.main(["submit", "--hold", "--run", "mine", "--output-dir", "results"])

    said = capsys.readouterr()
    assert "Not a directory; to find this run later, add --reports results" in said.err
    assert "run mine is submitted, but not started" in said.out


@pytest.mark.parametrize("typed", ["list", "status", "run", "submit"])
def test_a_deleted_current_folder_is_reported(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str
) -> None:
    """Without a traceback."""
    (here / "gone").mkdir()
    monkeypatch.chdir(here / "gone")
    (here / "gone").rmdir()

    assert 2 == cli.main([typed])
    said = capsys.readouterr().err
    assert "crmeval: can't use the current folder: No such file or directory; change to another folder\n" == said


def test_stop_reports_a_suspended_run_instead_of_waiting(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error says what to do: a suspended process handles no signal until it is continued."""
    monkeypatch.setattr(stop, "PATIENCE", 0.0)
    folder = here / "reports/nightly"
    folder.mkdir(parents=True)
    lock = FolderLock.take(folder)
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        lock.sign(Holder.of(process.pid))
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)  # until it is suspended: a SIGTERM before that would end it
        status = cli.main(["stop", "nightly"])
    finally:
        process.kill()
        process.wait()
        lock.close()

    assert 2 == status
    said = capsys.readouterr().err
    assert f"run 'nightly' can't stop: process {process.pid} is suspended" in said
    assert f"kill -CONT {process.pid}, or kill it: crmeval stop nightly --now" in said
