"""The state of a run: running, finished, stopped, lost, or not started."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.journal.index import run_of
from pytest_crmeval.journal.jobs import BackgroundRun, State, Task, read_job, write_job
from pytest_crmeval.journal.locks import FolderLock, Holder
from pytest_crmeval.journal.status import RunWatcher, Status
from pytest_crmeval.journal.writer import JournalWriter
from pytest_crmeval.render.status import lines
from pytest_crmeval.report.merge import merge
from pytest_crmeval.report.sources import sources
from tests.fakes import planned, trial
from tests.kept_runs import keep, part

STARTED = 1_794_796_727.0
PART = {"started": "2026-11-16T02:38:47+00:00", "command": "pytest evals/ -n 3"}
CASES = ("one", "two", "three")
NOW = STARTED + 60.0
BOOTED = 5_000.0
"""The monotonic clock at the start of the run."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a run."""
    made = tmp_path / "reports" / "nightly"
    made.mkdir(parents=True)
    return made


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a trial end every ten seconds, by the journal's clock."""
    ticks = iter(range(10, 1000, 10))
    monkeypatch.setattr("pytest_crmeval.journal.writer.time.time", lambda: STARTED + next(ticks))
    ends = iter(range(10, 1000, 10))
    monkeypatch.setattr("pytest_crmeval.journal.writer.time.monotonic", lambda: BOOTED + next(ends))


def play(folder: Path, *verdicts: Verdict) -> None:
    """Write the journal of a run that planned three cases, and played some."""
    journal = JournalWriter.open(folder / "trials.jsonl")
    journal.part(PART, [planned(case) for case in CASES])
    for case, verdict in zip(CASES, verdicts, strict=False):
        journal.trial(trial(case, verdict, seconds=10.0))
    journal.close()


def submit(folder: Path, state: State = State.RUNNING, exit_status: int | None = None) -> None:
    """Write a job."""
    tasks = [Task(suite="crm", subject="oracle", total=3)]
    job = BackgroundRun(
        id=folder.name,
        command=["pytest"],
        cwd="/",
        submitted="2026-11-16T02:38:40+00:00",
        state=state,
        exit_status=exit_status,
        tasks=tasks,
    )
    write_job(folder, job)


@contextmanager
def held(folder: Path, since: str = PART["started"]) -> Iterator[None]:
    """Be the process that runs it."""
    lock = FolderLock.take(folder)
    lock.sign(replace(Holder.of(os.getpid()), since=since))
    yield
    lock.close()


def reported(folder: Path, after: float, *, complete: bool = False) -> None:
    """Write a report this long after the start."""
    report = folder.with_name(f"{folder.name}.json")
    report.write_text(json.dumps({"schema": "crmeval.report/1", "complete": complete, "run": {}, "results": []}))
    os.utime(report, (STARTED + after, STARTED + after))


def look(folder: Path) -> Status:
    """Read the status a minute after the start."""
    return RunWatcher(folder).look(NOW, BOOTED + 60.0)


def test_run_whose_lock_is_held_is_running(folder: Path) -> None:
    play(folder, Verdict.PASSED)
    with held(folder):
        status = look(folder)

    assert (State.RUNNING, os.getpid(), 60.0) == (status.state, status.pid, status.seconds)


def test_run_in_another_terminal_has_an_eta(folder: Path) -> None:
    play(folder, Verdict.PASSED, Verdict.FAILED)
    with held(folder):
        (row,) = look(folder).rows

    assert (2, 3, 2.0, 40.0) == (row.done, row.total, row.rate, row.eta)


@pytest.mark.parametrize("jump", [-5 * 3600.0, 300 * 86_400.0])
def test_change_of_the_system_clock_affects_neither_pace_nor_eta(
    folder: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    """The clock changes by hours or days between two recorded trials."""
    times = iter([STARTED + 10.0, STARTED + 20.0 + jump])
    monkeypatch.setattr("pytest_crmeval.journal.writer.time.time", lambda: next(times))
    play(folder, Verdict.PASSED, Verdict.FAILED)
    with held(folder):
        (here,) = RunWatcher(folder).look(NOW + jump, BOOTED + 60.0).rows
        (elsewhere,) = RunWatcher(folder).look(NOW + jump).rows

    assert [(2.0, 40.0)] * 2 == [(row.rate, row.eta) for row in (here, elsewhere)]


@pytest.mark.parametrize("jump", [-5 * 3600.0, 300 * 86_400.0])
def test_change_of_the_system_clock_after_the_last_trial_does_not_affect_the_eta(folder: Path, jump: float) -> None:
    """The run is on this machine, so its pace is measured with the monotonic clock."""
    play(folder, Verdict.PASSED, Verdict.FAILED)
    with held(folder):
        (row,) = RunWatcher(folder).look(NOW + jump, BOOTED + 60.0).rows

    assert (2.0, 40.0) == (row.rate, row.eta)


def test_plain_run_is_finished_when_all_cases_are_done(folder: Path) -> None:
    """Its pace does not depend on how long ago it was."""
    play(folder, *[Verdict.PASSED] * 3)
    status = look(folder)

    assert (State.FINISHED, 6.0, 30.0) == (status.state, status.whole.rate, status.seconds)


@pytest.mark.parametrize(("last", "well"), [(Verdict.PASSED, True), (Verdict.FAILED, False), (Verdict.ERRORED, False)])
def test_plain_run_succeeds_if_nothing_failed(folder: Path, last: Verdict, *, well: bool) -> None:
    play(folder, Verdict.PASSED, Verdict.PASSED, last)

    assert well is look(folder).is_well


def test_incomplete_plain_run_with_a_report_was_stopped(folder: Path) -> None:
    play(folder, Verdict.PASSED)
    reported(folder, 30.0)
    status = look(folder)

    assert (State.STOPPED, "pytest evals/ -n 3 --crmeval-run nightly") == (status.state, status.resume)


@pytest.mark.parametrize("report", [None, -30.0], ids=["none", "of an earlier part"])
def test_incomplete_plain_run_without_a_report_is_lost(folder: Path, report: float | None) -> None:
    play(folder, Verdict.PASSED)
    if report:
        reported(folder, report)

    assert State.LOST == look(folder).state


def test_empty_shard_is_finished_if_it_has_a_report(folder: Path) -> None:
    journal = JournalWriter.open(folder / "trials.jsonl")
    journal.part({**PART, "shard": {"index": 2, "of": 2}, "agents": {"oracle": "oracle"}}, [])
    journal.close()
    reported(folder, 1.0, complete=True)
    status = look(folder)

    assert (State.FINISHED, None) == (status.state, status.seconds)


@pytest.mark.parametrize(
    ("shards", "last", "expected"),
    [
        (["1/2", "2/2"], Verdict.PASSED, (State.FINISHED, "")),
        (["1/2", "2/2"], None, (State.STOPPED, "pytest ... --crmeval-run whole")),
        (["1/2"], Verdict.PASSED, (State.STOPPED, "")),
    ],
    ids=["whole", "not all was run", "a shard is missing"],
)
def test_merged_run_is_resumed_by_pytest_if_it_has_all_shards(
    tmp_path: Path, shards: list[str], last: Verdict | None, expected: tuple[State, str]
) -> None:
    cases = {shard: planned(f"case-{shard[0]}") for shard in shards}
    for shard, case in cases.items():
        played = [trial(case, last)] if last else []
        keep(tmp_path, shard[0], played, parts=[part(shard)], not_run=[] if last else [case])
    merge(sources([shard[0] for shard in shards], tmp_path), tmp_path, "whole")
    status = RunWatcher(tmp_path / "whole").look(time.time() + 60.0)

    assert (*expected, None) == (status.state, status.resume, status.seconds)
    assert status.state is run_of(tmp_path / "whole").state


def test_ended_run_has_no_eta(folder: Path) -> None:
    play(folder, Verdict.PASSED)
    (row,) = look(folder).rows

    assert row.eta is None


def test_job_that_was_not_started(folder: Path) -> None:
    """The job has the number of cases."""
    submit(folder, State.SUBMITTED)
    status = look(folder)

    assert (State.SUBMITTED, "crmeval run nightly") == (status.state, status.resume)
    assert [(0, 3)] == [(row.done, row.total) for row in status.rows]


def test_job_without_a_process_is_lost(folder: Path) -> None:
    """Whatever it says; the end of its log may say why."""
    submit(folder)
    play(folder, Verdict.PASSED)
    (folder / "run.log").write_text("collected 3 items\n\x1b[31mKilled\x1b[0m\n")
    status = look(folder)

    assert (State.LOST, "crmeval run nightly") == (status.state, status.resume)
    assert ["collected 3 items", "Killed"] == status.log


def test_job_that_ended_with_a_problem_shows_its_log(folder: Path) -> None:
    """The last lines only."""
    submit(folder, State.FINISHED, 3)
    play(folder, Verdict.PASSED)
    (folder / "run.log").write_text("".join(f"line {number}\n" for number in range(20_000)))
    status = look(folder)

    assert [f"line {number}" for number in range(19_988, 20_000)] == status.log
    assert not status.is_well


@pytest.mark.parametrize(("written", "shown"), [(-1.0, []), (1.0, ["MemoryError"])], ids=["before", "since"])
def test_job_that_ended_in_a_terminal_shows_no_older_log(folder: Path, written: float, shown: list[str]) -> None:
    """The log of an earlier part does not explain this failure."""
    submit(folder, State.FINISHED, 3)
    write_job(folder, replace(read_job(folder), started=PART["started"]))
    (folder / "run.log").write_text("MemoryError\n")
    os.utime(folder / "run.log", (STARTED + written, STARTED + written))

    assert shown == list(look(folder).log)


@pytest.mark.parametrize(("exit_status", "log"), [(1, ["No space left on device"]), (2, ())])
def test_incomplete_job_shows_its_log(folder: Path, exit_status: int, log: list[str]) -> None:
    submit(folder, State.STOPPED, exit_status)
    play(folder, Verdict.PASSED)
    (folder / "run.log").write_text("No space left on device\n")

    assert log == look(folder).log


@pytest.mark.parametrize(
    ("verdict", "resume"), [(Verdict.FAILED, ""), (Verdict.INVALID, ""), (Verdict.ERRORED, "crmeval run nightly")]
)
def test_errored_cases_can_be_retried(folder: Path, verdict: Verdict, resume: str) -> None:
    """Although all are done; failed ones are not retried."""
    submit(folder, State.FINISHED, 1)
    play(folder, Verdict.PASSED, Verdict.PASSED, verdict)

    assert resume == look(folder).resume


def test_job_whose_failed_cases_are_forgiven_succeeds(folder: Path) -> None:
    """By its exit status."""
    submit(folder, State.FINISHED, 0)
    play(folder, Verdict.PASSED, Verdict.FAILED, Verdict.PASSED)

    assert look(folder).is_well


def test_failed_cases_do_not_show_the_log(folder: Path) -> None:
    """The figures show them."""
    submit(folder, State.FINISHED, 1)
    play(folder, Verdict.PASSED, Verdict.FAILED, Verdict.PASSED)
    (folder / "run.log").write_text("1 failed, 2 passed\n")

    assert () == look(folder).log


def test_resumed_job_that_starts_again_is_running(folder: Path) -> None:
    """Its exit status was that of an earlier part."""
    submit(folder, State.STOPPED, 2)
    play(folder, Verdict.PASSED)
    with held(folder):
        status = look(folder)

    assert (State.RUNNING, None, "") == (status.state, status.exit_status, status.resume)


def test_run_that_was_just_resumed_has_its_own_clock(folder: Path) -> None:
    play(folder, Verdict.PASSED)
    with held(folder, since="2026-11-16T02:39:44+00:00"):
        status = look(folder)

    assert (3.0, 1) == (status.seconds, status.whole.done)
    assert [(None, None)] * 2 == [(row.rate, row.eta) for row in (*status.rows, status.whole)]


@pytest.mark.parametrize("since", ["1970", "2026-11-16T02:38:48+00:00"])
def test_lock_without_a_start_time_uses_that_of_the_journal(folder: Path, since: str) -> None:
    """And so does a lock that was taken a moment after the process looked at the clock."""
    play(folder, Verdict.PASSED)
    with held(folder, since=since):
        status = look(folder)

    assert (60.0, 1.0) == (status.seconds, status.whole.rate)


@pytest.mark.parametrize(
    ("exit_status", "output"),
    [(4, "no case was played; correct the command and submit it again"), (0, "no case was played; see the log")],
)
def test_job_that_has_played_nothing_has_no_figures(folder: Path, exit_status: int, output: str) -> None:
    """A mistake in its command, or a command that only estimates."""
    submit(folder, State.FINISHED, exit_status)

    assert output == list(lines(look(folder), 80))[-1]


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("state", ["running", "finished", "stopped", "lost", "submitted"])
def test_status_lines_in_every_state(folder: Path, snapshot: SnapshotAssertion, state: str, width: int) -> None:
    verdicts = [Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED][: {"finished": 3, "submitted": 0}.get(state, 2)]
    if verdicts:
        play(folder, *verdicts)
    (folder / "run.log").write_text("MemoryError\n")
    if state == "running":
        with held(folder):
            output = list(lines(look(folder), width))
    else:
        submit(folder, State.RUNNING if state == "lost" else State(state), 1 if state == "finished" else None)
        output = list(lines(look(folder), width))

    assert snapshot == "\n".join(output).replace(f"process {os.getpid()}", "process 4711")


def test_json_of_a_status(folder: Path, snapshot: SnapshotAssertion) -> None:
    """Its keys are for scripts, and don't change."""
    play(folder, Verdict.PASSED)

    assert snapshot == look(folder).to_dict()


def test_passing_time_is_not_a_change(folder: Path) -> None:
    """A trial is."""
    play(folder, Verdict.PASSED)
    watch = RunWatcher(folder)
    with held(folder):
        first, second = watch.look(NOW), watch.look(NOW + 5)
        journal = JournalWriter.open(folder / "trials.jsonl")
        journal.trial(trial("two"))
        journal.close()
        third = watch.look(NOW + 10)

    assert first.news == second.news
    assert second.news != third.news
