"""Runs that are submitted, stopped, killed and resumed: real processes, with the report of an undisturbed run."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.journal.index import run_of
from pytest_crmeval.journal.jobs import State, read_job
from pytest_crmeval.journal.locks import holder_of, is_held
from tests.comparable_reports import figures
from tests.postgres.processes import SECONDS, eventually, running
from tests.projects import case, failing

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
CASES = [case(f"case-{number}") if number % 3 else failing(f"case-{number}") for number in range(9)]

GATED = """
import time
from pathlib import Path
from bots import Half
from pytest_crmeval.controller import in_flight

in_flight.GRACE = 0.5  # what waits at the gate when its run is stopped never ends

class Gated(Half):
    '''Begins no case as long as more are on record than the file "gate" says.'''

    def reply(self, messages, tools):
        while len(messages) < 3 and on_record() >= int(Path("gate").read_text() or 0):
            time.sleep(0.01)
        return super().reply(messages, tools)

def on_record():
    journals = {path.resolve() for path in Path("reports").glob("*/trials.jsonl")}
    return sum(path.read_text().count('{"trial"') for path in journals)
"""

FULL = """
import pathlib, resource

import pytest

played = []

def pytest_crmeval_trial_finished(config, trial):
    played.append(trial)
    if len(played) == 2 and pathlib.Path("full").exists():
        (journal,) = pathlib.Path("reports").glob("job-*/trials.jsonl")
        resource.setrlimit(resource.RLIMIT_FSIZE, (journal.stat().st_size + 20, resource.RLIM_INFINITY))

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary():
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return (yield)
"""
"""A conftest with which the kernel refuses to write more than two trials while a file exists.

The limit applies to every file of the process, so it ends before the log is longer than that journal.
"""

JUMPING = """
import time

played, wall = [], time.time

def pytest_crmeval_trial_finished(config, trial):
    played.append(trial)
    hours = {3: -5, 6: 48}.get(len(played))
    if hours:
        time.time = lambda: wall() + 3600 * hours
"""
"""A conftest with which the system clock jumps twice: back, and far ahead."""


class Desk:
    """A project, and functions that run commands in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = f"job-{folder.name[-24:]}-{os.getpid()}"[:40]
        """Other tests use the same server at the same time."""
        self.gate(0)

    @property
    def place(self) -> Path:
        """The folder of the run."""
        return self.folder / "reports" / self.run

    def types(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command and wait for its end."""
        command = [sys.executable, "-m", "pytest_crmeval.cli", *words]
        return subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False, timeout=2 * SECONDS
        )

    @contextmanager
    def running(self, *words: str) -> Iterator[None]:
        """Run a command and wait for its end after the block."""
        command = [sys.executable, "-m", "pytest_crmeval.cli", *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, cwd=self.folder, **pipes) as process:  # type: ignore[call-overload] # as below
            yield
            process.communicate(timeout=2 * SECONDS)

    def submits(self, *words: str) -> None:
        """Submit the run."""
        said = self.types("submit", ".", "--agent", "gated:Gated", "--run", self.run, *words)
        assert 0 == said.returncode, said.stderr

    def gate(self, cases: int) -> None:
        """Let this many cases be played in total."""
        (self.folder / "gate.part").write_text(str(cases))
        (self.folder / "gate.part").replace(self.folder / "gate")

    def until(self, cases: int) -> None:
        """Let this many cases be played, and wait for them."""
        self.gate(cases)
        eventually(lambda: cases == sum(task.done for task in run_of(self.place).tasks), f"{cases} cases are done")

    def kill(self) -> None:
        """Kill the run, as the kernel does when memory is exhausted."""
        eventually(lambda: (found := holder_of(self.place)) is not None and found.is_here, "the lock names its holder")
        holder = holder_of(self.place)
        assert holder is not None
        os.kill(holder.pid, signal.SIGKILL)
        eventually(lambda: not is_held(self.place), "it is gone")

    def listed(self) -> dict[str, Any]:
        """Return the line of `crmeval list` about the run."""
        runs = json.loads(self.types("list", "--json").stdout)["runs"]
        return next(run for run in runs if run["id"] == self.run)

    def report(self, run: str = "") -> dict[str, Any]:
        """Return the report."""
        document: dict[str, Any] = json.loads((self.folder / f"reports/{run or self.run}.json").read_text("utf-8"))
        return document

    def undisturbed(self) -> dict[str, Any]:
        """Return the figures of the same evaluation, run by pytest alone and undisturbed."""
        self.gate(1000)
        with running(self.folder, "--crmeval-agent", "gated:Gated", "--crmeval-run", f"u{self.run}"[:40]) as run:
            assert pytest.ExitCode.TESTS_FAILED == run.end(), run.output()
        return figures(self.report(f"u{self.run}"[:40]))


@pytest.fixture
def desk(project: Project) -> Iterator[Desk]:
    """Return a project whose agent waits at a gate; all its processes end with the test."""
    pytester = project(CASES)
    pytester.makepyfile(gated=GATED)
    desk = Desk(pytester.path)
    yield desk
    if is_held(desk.place):
        desk.kill()


def test_run_that_is_killed_repeatedly_ends_with_the_same_report(desk: Desk) -> None:
    """During a case, during a line, before the start; each time it is lost and resumed."""
    desk.submits()
    desk.until(3)
    desk.kill()
    lost = desk.listed()
    with (desk.place / "trials.jsonl").open("ab") as journal:
        journal.write(b'{"trial": {"key": "test_crm.py::te')
    with desk.running("run", desk.run):
        eventually(lambda: is_held(desk.place), "it has the lock")
        desk.kill()  # pytest is not even imported
    killed_early = read_job(desk.place)
    (desk.place / "lock").write_text('{"pid": 1, "birth": "another-boot 1", "host": "here", "since": "1970"}')
    assert 0 == desk.types("run", desk.run, "--detach").returncode
    desk.until(6)
    desk.kill()
    desk.gate(1000)
    again = desk.types("run", desk.run)
    complete = desk.types("run", desk.run)

    assert ("lost", 3, 9) == (lost["state"], lost["done"], lost["total"])
    assert (State.RUNNING, 9) == (killed_early.state, killed_early.tasks[0].total)
    assert pytest.ExitCode.TESTS_FAILED == again.returncode, again.stdout
    assert "(3 to play, resumed: 6 done)" in again.stdout
    assert "(0 to play, resumed: 9 done)" in complete.stdout
    assert desk.undisturbed() == figures(desk.report())
    assert ("finished", 9, 1) == tuple(desk.listed()[name] for name in ("state", "done", "exit_status"))


def test_stopped_run_continues_where_it_was(desk: Desk) -> None:
    desk.submits()
    desk.until(4)
    holder = holder_of(desk.place)
    assert holder is not None
    session = os.getsid(holder.pid)
    second = desk.types("run", desk.run)
    with running(desk.folder, "--crmeval-run", desk.run) as pytest_itself:
        by_hand = pytest_itself.end()
    stopped = desk.types("stop", desk.run)
    job = read_job(desk.place)
    left = desk.report()["trials"]
    desk.gate(1000)
    again = desk.types("run", desk.run)

    assert holder.pid == session
    assert (2, 4) == (second.returncode, by_hand)
    for said in (second.stderr, pytest_itself.output()):
        assert f"the run {desk.run!r} is being run by process {holder.pid} on {holder.host}, since" in said
    assert 0 == stopped.returncode, stopped.stderr
    assert "cases in progress have at most a minute" in stopped.stdout
    assert f"run {desk.run} has stopped: 4 of 9 cases are done; resume it: crmeval run" in stopped.stdout
    assert (State.STOPPED, pytest.ExitCode.INTERRUPTED) == (job.state, job.exit_status)
    assert "the run was stopped: SIGTERM" in (desk.place / "run.log").read_text()
    assert 4 == len(left)
    assert "(5 to play, resumed: 4 done)" in again.stdout
    assert figures(desk.report()) == desk.undisturbed()


def test_stopping_a_plain_run_shows_how_to_resume_it(desk: Desk) -> None:
    with running(desk.folder, "--crmeval-agent", "gated:Gated", "--crmeval-run", desk.run) as plain:
        desk.until(2)
        stopped = desk.types("stop", desk.run)
        plain.end()

    assert f"2 of 9 cases are done; resume it: pytest ... --crmeval-run={desk.run}\n" in stopped.stdout


def test_run_stops_at_once_with_now(desk: Desk) -> None:
    """Even if it does not react; its state is stopped, not lost."""
    (desk.folder / "conftest.py").write_text(
        "import signal\ndef pytest_configure():\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    )
    desk.submits()
    desk.until(2)

    stopped = desk.types("stop", desk.run, "--now")

    assert 0 == stopped.returncode, stopped.stderr
    assert ("stopped", 2) == (desk.listed()["state"], desk.listed()["done"])


def test_run_can_be_stopped_before_it_has_started(desk: Desk) -> None:
    desk.submits()

    stopped = desk.types("stop", desk.run)

    assert 0 == stopped.returncode, stopped.stderr
    assert "stopped" == desk.listed()["state"]


def test_signal_during_the_start_stops_the_run(desk: Desk) -> None:
    (desk.folder / "conftest.py").write_text(
        "import time\nfrom pathlib import Path\nPath('loading').touch()\nwhile True:\n    time.sleep(0.01)\n"
    )
    desk.submits("--hold")
    with desk.running("run", desk.run):
        eventually((desk.folder / "loading").exists, "it loads its conftest")
        holder = holder_of(desk.place)
        assert holder is not None

        os.kill(holder.pid, signal.SIGTERM)

        eventually(lambda: not is_held(desk.place), "it has ended")
    job = read_job(desk.place)
    assert (State.STOPPED, pytest.ExitCode.INTERRUPTED) == (job.state, job.exit_status)


CAN_NOT_BEGIN = pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--", "--no-such-option"], "unrecognized arguments: --no-such-option"),
        (["--agent", "nobody:Here"], "there is no module 'nobody' on the Python path"),
        (["-k", "nothing-like-it"], "9 deselected"),
        (["--eval", "nothing"], "--crmeval-suite 'nothing': unknown suite; suites: crm"),
        (["--agent", "openai:gpt-4.1"], "needs the environment variable OPENAI_API_KEY"),
    ],
    ids=["option", "agent", "nothing", "suite", "key"],
)


@CAN_NOT_BEGIN
def test_submit_reports_a_run_that_cannot_start_and_leaves_no_files(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    """The error of pytest is shown, and no run is listed."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    refused = desk.types("submit", ".", "--run", desk.run, *words)

    assert 2 == refused.returncode, refused.stdout
    assert refused.stderr.startswith(f"crmeval: the run {desk.run} was not started:\n")
    assert said in refused.stderr
    assert not (desk.folder / "reports").exists()
    assert [] == json.loads(desk.types("list", "--json").stdout)["runs"]


def test_run_that_cannot_be_resumed_in_the_background_is_unchanged(desk: Desk) -> None:
    """Its agent is broken when it is resumed, and repaired later."""
    desk.submits()
    desk.until(2)
    stopped = desk.types("stop", desk.run)
    (desk.folder / "gated.py").rename(desk.folder / "other.py")
    refused = desk.types("run", desk.run, "--detach")
    job = read_job(desk.place)
    (desk.folder / "other.py").rename(desk.folder / "gated.py")
    desk.gate(1000)
    again = desk.types("run", desk.run)

    assert (0, 2) == (stopped.returncode, refused.returncode)
    assert "there is no module 'gated' on the Python path" in refused.stderr
    assert (State.STOPPED, 2) == (job.state, job.tasks[0].done)
    assert "(7 to play, resumed: 2 done)" in again.stdout


def test_job_on_a_full_disk_is_stopped_and_can_be_resumed(desk: Desk) -> None:
    """The journal has complete lines, and the job shows the command that resumes it."""
    (desk.folder / "conftest.py").write_text(FULL)
    (desk.folder / "full").touch()
    desk.gate(1000)
    desk.submits()
    eventually(lambda: not is_held(desk.place), "it has ended")
    full = desk.types("status", desk.run).stdout
    (desk.folder / "full").unlink()
    again = desk.types("run", desk.run)

    assert "stopped" in full.splitlines()[0]
    assert "File too large; finished trials are saved" in full
    assert f"crmeval run {desk.run}" in full
    assert "(7 to play, resumed: 2 done)" in again.stdout
    assert figures(desk.report()) == desk.undisturbed()


def test_only_one_of_two_simultaneous_submits_wins(desk: Desk) -> None:
    command = [sys.executable, "-m", "pytest_crmeval.cli", "submit", ".", "--agent", "gated:Gated", "--run", desk.run]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": desk.folder}
    both = [subprocess.Popen(command, **pipes) for _ in range(2)]  # type: ignore[call-overload] # mypy can't unpack
    said = [process.communicate(timeout=2 * SECONDS) for process in both]
    desk.until(9)
    eventually(lambda: not is_held(desk.place), "it has ended")

    assert [0, 2] == sorted(process.returncode for process in both)
    (refused,) = [error for (_, error), process in zip(said, both, strict=True) if process.returncode]
    assert 1 == len(refused.splitlines())
    assert desk.run in refused
    assert 9 == (desk.place / "trials.jsonl").read_text().count('{"trial"')


def test_clock_that_jumps_does_no_harm(desk: Desk) -> None:
    """Back by hours, then ahead by days: no duration is negative, and the figures are those of a correct clock."""
    (desk.folder / "conftest.py").write_text(JUMPING)
    desk.submits()
    desk.until(4)
    behind = json.loads(desk.types("status", desk.run, "--json").stdout)
    desk.until(9)
    eventually(lambda: not is_held(desk.place), "it has ended")
    ahead = json.loads(desk.types("status", desk.run, "--json").stdout)
    (desk.folder / "conftest.py").unlink()

    assert [("running", 4), ("finished", 9)] == [
        (message["state"], message["total"]["done"]) for message in (behind, ahead)
    ]
    assert all(message["seconds"] >= 0.0 for message in (behind, ahead))
    assert all(0.0 <= trial["seconds"] < SECONDS for trial in desk.report()["trials"])
    assert figures(desk.report()) == desk.undisturbed()
