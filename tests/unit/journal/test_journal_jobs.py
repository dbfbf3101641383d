"""Jobs on disk."""

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crmeval.journal.jobs import BackgroundRun, JobError, State, Task, is_job, read_job, state_of, write_job
from pytest_crmeval.journal.locks import FolderLock

NOT_BEGUN = Task(suite="crm", subject="oracle", total=10)
TASK = Task(suite="crm", subject="oracle", total=10, passed=3, failed=1, errored=1, invalid=1, cost=0.25)
JOB = BackgroundRun(
    id="nightly",
    command=["python", "-m", "pytest", "evals"],
    cwd="/work",
    submitted="2026-11-17T06:00:00+00:00",
    state=State.RUNNING,
    started="2026-11-17T06:00:01+00:00",
    tasks=(TASK, replace(TASK, subject="mute", cost=None)),
)

NO_ROOM = """
import resource, signal, sys
from dataclasses import replace
from pathlib import Path
from pytest_crmeval.journal.jobs import read_job, write_job

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = Path(sys.argv[1])
job = read_job(folder)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    write_job(folder, replace(job, exit_status=1))
except OSError as error:
    print(error.strerror)
"""
WRITING = """
import sys
import time
from dataclasses import replace
from pathlib import Path
from pytest_crmeval.journal.jobs import read_job, write_job

folder = Path(sys.argv[1])
job = read_job(folder)
print("begun", flush=True)
for number in range(1_000_000):
    write_job(folder, replace(job, exit_status=number, cwd="x" * (number % 7) * 1000))
"""


def test_job_is_read_as_written(tmp_path: Path) -> None:
    """No temporary file remains."""
    write_job(tmp_path, JOB)

    assert replace(JOB, command=tuple(JOB.command)) == read_job(tmp_path)
    assert ["job.json"] == [path.name for path in tmp_path.iterdir()]
    assert is_job(tmp_path)


def test_counts_and_status_can_be_read_by_programs(tmp_path: Path) -> None:
    write_job(tmp_path, JOB)

    task = json.loads((tmp_path / "job.json").read_text(encoding="utf-8"))["tasks"][0]
    assert (6, 10, 3, "running") == (task["done"], task["total"], task["passed"], task["status"])


@pytest.mark.parametrize(
    ("task", "state", "status"),
    [
        (NOT_BEGUN, State.SUBMITTED, "waiting"),
        (NOT_BEGUN, State.RUNNING, "waiting"),
        (NOT_BEGUN, State.STOPPED, "not run"),
        (TASK, State.RUNNING, "running"),
        (TASK, State.STOPPED, "stopped"),
        (TASK, State.LOST, "lost"),
        (replace(TASK, passed=7), State.STOPPED, "finished"),
        (Task(suite="crm", subject="oracle"), State.RUNNING, "finished"),
    ],
)
def test_task_of_an_ended_run_is_not_running(task: Task, state: State, status: str) -> None:
    assert status == task.status(state)
    assert status == task.in_run(state)["status"]


def test_task_without_samples_from_an_older_version_is_read() -> None:
    """The job.json of an older version has none."""
    assert TASK == Task.from_dict(TASK.in_run(State.RUNNING))


def test_errored_and_invalid_cases_are_not_in_the_pass_rate() -> None:
    assert 0.75 == TASK.pass_rate
    assert Task(suite="crm", subject="oracle", total=1, errored=1).pass_rate is None


@pytest.mark.parametrize(
    ("written", "held", "state"),
    [
        (State.SUBMITTED, False, State.SUBMITTED),
        (State.SUBMITTED, True, State.RUNNING),
        (State.RUNNING, True, State.RUNNING),
        (State.RUNNING, False, State.LOST),
        (State.FINISHED, False, State.FINISHED),
        (State.STOPPED, False, State.STOPPED),
        (State.STOPPED, True, State.RUNNING),
    ],
)
def test_lock_decides_if_a_job_is_running(tmp_path: Path, written: State, *, held: bool, state: State) -> None:
    """Whatever the job says: a killed process can't write."""
    lock = FolderLock.take(tmp_path)
    if not held:
        lock.close()

    assert state is state_of(tmp_path, replace(JOB, state=written))
    if held:
        lock.close()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"schema": "crmeval.job/2"}', '{"schema": "crmeval.job/1", "id": "x"}']
)
def test_invalid_job_is_refused_with_its_path(tmp_path: Path, text: str) -> None:
    (tmp_path / "job.json").write_text(text, encoding="utf-8")

    with pytest.raises(JobError, match=r"job\.json: not a job \(crmeval\.job/1\): .*; move it away"):
        read_job(tmp_path)


def test_missing_job_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"job\.json: No such file"):
        read_job(tmp_path)
    assert not is_job(tmp_path)


def test_full_disk_leaves_the_job_unchanged(tmp_path: Path) -> None:
    """Complete, and without half of another one next to it."""
    write_job(tmp_path, JOB)

    shown = subprocess.run(
        [sys.executable, "-c", NO_ROOM, str(tmp_path)], capture_output=True, text=True, check=True
    ).stdout

    assert "File too large\n" == shown
    assert JOB.id == read_job(tmp_path).id
    assert read_job(tmp_path).exit_status is None
    assert ["job.json"] == [path.name for path in tmp_path.iterdir()]


def test_reader_gets_a_complete_job_while_another_process_writes(tmp_path: Path) -> None:
    """The old one or the new one, never half of one; even if the writer is killed."""
    write_job(tmp_path, JOB)
    with subprocess.Popen([sys.executable, "-c", WRITING, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        deadline, seen = time.monotonic() + 300, set[int | None]()
        while len(seen) < 5:
            assert time.monotonic() < deadline
            seen.add(read_job(tmp_path).exit_status)
        process.kill()

    assert JOB.id == read_job(tmp_path).id
