"""A job that is kept up to date."""

import json
from pathlib import Path

import pytest

from pytest_crmeval.controller.counting import group_of, outcome_of
from pytest_crmeval.controller.job_file import JobFile
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.journal.jobs import BackgroundRun, State, Task, read_job, write_job
from pytest_crmeval.journal.progress import ProgressCounter
from tests.fakes import planned, trial

JOB = BackgroundRun(id="nightly", command=["pytest"], cwd="/", submitted="2026-11-17T06:00:00+00:00")
NAMES = ("one", "two", "three")


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        """Return the time."""
        return self.seconds


@pytest.fixture
def tally() -> ProgressCounter:
    """Return a run of three cases before its first trial."""
    tally = ProgressCounter()
    begin(tally, *NAMES)
    return tally


def begin(tally: ProgressCounter, *names: str) -> None:
    """Begin a part that plans these cases."""
    tally.begin({planned(name).key: group_of(planned(name)) for name in names})


def task_of(folder: Path) -> Task:
    """Return the only task."""
    (task,) = read_job(folder).tasks
    return task


def test_job_file_says_that_the_run_is_running(tmp_path: Path, tally: ProgressCounter) -> None:
    write_job(tmp_path, JOB)

    JobFile(tmp_path).begin(tally)

    job = read_job(tmp_path)
    assert (State.RUNNING, 3, 0) == (job.state, job.tasks[0].total, job.tasks[0].done)
    assert job.started


def test_job_file_is_written_at_most_once_a_second(tmp_path: Path, tally: ProgressCounter) -> None:
    """However fast cases are; the system clock does not matter."""
    write_job(tmp_path, JOB)
    clock = Clock()
    file = JobFile(tmp_path, clock)
    file.begin(tally)
    tally.take(outcome_of(trial("one")))
    file.note(tally)
    before = task_of(tmp_path).done
    clock.seconds += 1
    file.note(tally)

    assert (0, 1) == (before, task_of(tmp_path).done)
    assert task_of(tmp_path).started
    assert task_of(tmp_path).ended is None


@pytest.mark.parametrize(("stopped", "state"), [(True, State.STOPPED), (False, State.FINISHED)])
def test_job_file_says_how_the_run_ended(
    tmp_path: Path, tally: ProgressCounter, *, stopped: bool, state: State
) -> None:
    write_job(tmp_path, JOB)
    file = JobFile(tmp_path, Clock())
    file.begin(tally)
    for name, verdict in zip(NAMES, (Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED), strict=True):
        tally.take(outcome_of(trial(name, verdict)))
    file.end(tally, stopped=stopped, status=1)

    job, task = read_job(tmp_path), task_of(tmp_path)
    assert (state, 1) == (job.state, job.exit_status)
    assert (3, 1, 1, 1, "finished") == (task.done, task.passed, task.failed, task.errored, task.status(state))
    assert job.ended
    assert task.ended


def test_incomplete_run_was_stopped(tmp_path: Path, tally: ProgressCounter) -> None:
    write_job(tmp_path, JOB)
    file = JobFile(tmp_path)
    file.begin(tally)
    tally.take(outcome_of(trial("one", Verdict.FAILED)))
    file.end(tally, stopped=False, status=1)

    assert (State.STOPPED, 1) == (read_job(tmp_path).state, read_job(tmp_path).exit_status)
    written = json.loads((tmp_path / "job.json").read_text(encoding="utf-8"))
    assert ["stopped"] == [task["status"] for task in written["tasks"]]


def test_case_that_is_being_repeated_is_not_counted_as_done(tmp_path: Path, tally: ProgressCounter) -> None:
    write_job(tmp_path, JOB)
    for name in NAMES:
        tally.take(outcome_of(trial(name, Verdict.ERRORED)))
    begin(tally, *NAMES)

    JobFile(tmp_path).begin(tally)

    assert (0, 3, "waiting") == (
        task_of(tmp_path).done,
        task_of(tmp_path).total,
        task_of(tmp_path).status(State.RUNNING),
    )


def test_plain_run_has_no_job_file(tmp_path: Path, tally: ProgressCounter) -> None:
    file = JobFile(tmp_path)
    file.begin(tally)
    file.end(tally, stopped=False, status=0)

    assert [] == list(tmp_path.iterdir())


def test_unwritable_file_is_reported(tmp_path: Path, tally: ProgressCounter) -> None:
    """The run continues without it: the journal has everything."""
    folder = tmp_path / "run"
    folder.mkdir()
    write_job(folder, JOB)
    file = JobFile(folder)
    file.begin(tally)
    (folder / "job.json").unlink()
    folder.rmdir()
    file.end(tally, stopped=False, status=0)

    assert f"{folder / 'job.json'}: No such file or directory" == file.trouble


def test_unreadable_job_is_not_changed(tmp_path: Path, tally: ProgressCounter) -> None:
    """It may be from a newer version."""
    (tmp_path / "job.json").write_text('{"schema": "crmeval.job/9"}', encoding="utf-8")
    file = JobFile(tmp_path)
    file.begin(tally)
    file.end(tally, stopped=False, status=0)

    assert '{"schema": "crmeval.job/9"}' == (tmp_path / "job.json").read_text(encoding="utf-8")
    assert "not a job" in file.trouble
