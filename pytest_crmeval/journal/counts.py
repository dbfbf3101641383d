"""The tasks of a job: trials counted by suite and subject."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pytest_crmeval.journal.ids import JOURNAL
from pytest_crmeval.journal.jobs import BackgroundRun, State, Task
from pytest_crmeval.journal.locks import now
from pytest_crmeval.journal.progress import ProgressCounter
from pytest_crmeval.journal.reader import Follower, JournalError


def tasks_in(tally: ProgressCounter) -> list[Task]:
    """Return the progress of each subject in each suite; a trial that is being repeated does not count as done."""
    return [
        Task(
            suite=row.suite,
            subject=row.subject,
            total=row.total,
            passed=row.passed,
            failed=row.failed,
            errored=row.errored,
            invalid=row.invalid,
            cost=row.cost,
            samples=tally.samples((row.suite, row.subject)),
        )
        for row in tally.rows(0.0)
    ]


def with_times(tasks: Iterable[Task], before: Iterable[Task], when: str) -> tuple[Task, ...]:
    """Return tasks with their times: a task starts with its first trial and ends with its last one."""
    known = {(task.suite, task.subject): task for task in before}
    found = []
    for task in tasks:
        earlier = known.get((task.suite, task.subject), task)
        started = earlier.started or (when if task.done else None)
        ended = (earlier.ended or when) if task.is_done and task.done > 0 else None
        found.append(replace(task, started=started, ended=ended))
    return tuple(found)


def end_of(tasks: Iterable[Task], *, stopped: bool) -> State:
    """Return how a run ended; it is also STOPPED if a full disk or ``-x`` cut it short."""
    return State.STOPPED if stopped or not all(task.is_done for task in tasks) else State.FINISHED


def ended(folder: Path, job: BackgroundRun, status: int | None, *, stopped: bool) -> BackgroundRun:
    """Return the end state of a job whose process did not record its end, with the counts of its journal."""
    try:
        tasks = with_times(tasks_in(Follower(folder / JOURNAL).read().tally), job.tasks, now())
    except JournalError:  # unchanged: resuming it will report the error
        tasks = tuple(job.tasks)
    return replace(job, state=end_of(tasks, stopped=stopped), ended=now(), exit_status=status, tasks=tasks)
