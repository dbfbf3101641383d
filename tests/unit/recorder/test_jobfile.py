"""A job that is kept up to date."""

from pathlib import Path

import pytest

from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.recorder.jobfile import JobFile
from pytest_crmeval.runs.jobs import Job, State, Task, read_job, write_job
from pytest_crmeval.runs.journal import Past
from tests.fakes import planned, trial

JOB = Job(id="nightly", command=["pytest"], cwd="/", submitted="2026-11-17T06:00:00+00:00")
NAMES = ("one", "two", "three")


class Clock:
    """A clock that stands until it is turned."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        """Return the time."""
        return self.seconds


@pytest.fixture
def past() -> Past:
    """Return a run of three cases of which nothing was played."""
    past = Past()
    past.begin({"started": "2026-11-17T06:00:00+00:00"}, [planned(name) for name in NAMES])
    return past


def task_of(folder: Path) -> Task:
    """Return the only task."""
    (task,) = read_job(folder).tasks
    return task


def test_it_says_that_the_run_goes_on(tmp_path: Path, past: Past) -> None:
    """And what there is to do."""
    write_job(tmp_path, JOB)

    JobFile(tmp_path).begin(past)

    job = read_job(tmp_path)
    assert (State.RUNNING, 3, 0) == (job.state, job.tasks[0].total, job.tasks[0].done)
    assert job.started


def test_it_is_written_once_a_second_at_most(tmp_path: Path, past: Past) -> None:
    """However fast cases are; the clock on the wall does not matter."""
    write_job(tmp_path, JOB)
    clock = Clock()
    file = JobFile(tmp_path, clock)
    file.begin(past)
    past.take(trial("one"))
    file.note(past)
    before = task_of(tmp_path).done
    clock.seconds += 1
    file.note(past)

    assert (0, 1) == (before, task_of(tmp_path).done)
    assert task_of(tmp_path).started
    assert task_of(tmp_path).ended is None


@pytest.mark.parametrize(("stopped", "state"), [(True, State.STOPPED), (False, State.FINISHED)])
def test_it_says_how_the_run_ended(tmp_path: Path, past: Past, *, stopped: bool, state: State) -> None:
    """With all that was played."""
    write_job(tmp_path, JOB)
    file = JobFile(tmp_path, Clock())
    file.begin(past)
    for name, verdict in zip(NAMES, (Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED), strict=True):
        past.take(trial(name, verdict))
    file.end(past, stopped=stopped, status=1)

    job, task = read_job(tmp_path), task_of(tmp_path)
    assert (state, 1) == (job.state, job.exit_status)
    assert (3, 1, 1, 1, "finished") == (task.done, task.passed, task.failed, task.errored, task.status)
    assert job.ended
    assert task.ended


def test_a_run_that_nobody_submitted_has_none(tmp_path: Path, past: Past) -> None:
    """And gets none."""
    file = JobFile(tmp_path)
    file.begin(past)
    file.end(past, stopped=False, status=0)

    assert [] == list(tmp_path.iterdir())


def test_what_can_not_be_written_is_told(tmp_path: Path, past: Past) -> None:
    """The run goes on without: the journal has everything."""
    folder = tmp_path / "run"
    folder.mkdir()
    write_job(folder, JOB)
    file = JobFile(folder)
    file.begin(past)
    (folder / "job.json").unlink()
    folder.rmdir()
    file.end(past, stopped=False, status=0)

    assert f"{folder / 'job.json'}: No such file or directory" == file.trouble


def test_a_job_that_can_not_be_read_is_left_alone(tmp_path: Path, past: Past) -> None:
    """It may be of a newer version."""
    (tmp_path / "job.json").write_text('{"schema": "crmeval.job/9"}', encoding="utf-8")
    file = JobFile(tmp_path)
    file.begin(past)
    file.end(past, stopped=False, status=0)

    assert '{"schema": "crmeval.job/9"}' == (tmp_path / "job.json").read_text(encoding="utf-8")
    assert "not a job" in file.trouble
