"""How far a run is: its trials, counted by suite and subject."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pytest_crmeval.journal.following import Follower, UnreadableError
from pytest_crmeval.journal.ids import JOURNAL
from pytest_crmeval.journal.jobs import Job, State, Task
from pytest_crmeval.journal.locks import now
from pytest_crmeval.journal.progress import Progress, Tally


def tasks_in(tally: Tally) -> list[Task]:
    """Return how far each subject is in each suite; what is being repeated is not done."""
    return [_task(row, tally) for row in tally.rows(0.0)]


def dated(tasks: Iterable[Task], before: Iterable[Task], when: str) -> tuple[Task, ...]:
    """Return tasks with their times: begun when the first trial was seen, ended when the last one was."""
    known = {(task.suite, task.subject): task for task in before}
    return tuple(_dated(task, known.get((task.suite, task.subject), task), when) for task in tasks)


def end_of(tasks: Iterable[Task], *, stopped: bool) -> State:
    """Return how a run has ended: nobody need have stopped one that a full disk or ``-x`` has cut short."""
    return State.STOPPED if stopped or not all(task.is_done for task in tasks) else State.FINISHED


def ended(folder: Path, job: Job, status: int | None, *, stopped: bool) -> Job:
    """Return a job whose process did not come to write its end, with all that its journal tells."""
    try:
        tasks = dated(tasks_in(Follower(folder / JOURNAL).read().tally), job.tasks, now())
    except UnreadableError:  # as it was: whoever resumes it is told what is wrong
        tasks = tuple(job.tasks)
    return replace(job, state=end_of(tasks, stopped=stopped), ended=now(), exit_status=status, tasks=tasks)


def _dated(task: Task, before: Task, when: str) -> Task:
    over = task.is_done and task.done > 0
    return replace(
        task,
        started=before.started or (when if task.done else None),
        ended=(before.ended or when) if over else None,
    )


def _task(row: Progress, tally: Tally) -> Task:
    return Task(
        suite=row.suite,
        subject=row.subject,
        total=row.total,
        passed=row.passed,
        failed=row.failed,
        errored=row.errored,
        invalid=row.invalid,
        cost=row.cost,
        samples=tuple((*sample, count) for sample, count in sorted(tally.samples((row.suite, row.subject)).items())),
    )
