"""How far a run is: its trials, counted by suite and subject."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.runs.ids import JOURNAL
from pytest_crmeval.runs.jobs import Job, State, Task
from pytest_crmeval.runs.journal import JournalError, Past, read
from pytest_crmeval.runs.locks import now

Place = tuple[str, str]
"""Suite and subject."""


def tasks_in(past: Past) -> list[Task]:
    """Return how far each subject is in each suite."""
    found: dict[Place, list[Trial]] = {}
    missing: dict[Place, int] = {}
    for trial in past.trials.values():
        found.setdefault((trial.planned.suite, trial.planned.subject), []).append(trial)
    for case in past.planned.values():
        if case.key not in past.trials:
            missing[case.suite, case.subject] = missing.get((case.suite, case.subject), 0) + 1
    return [_task(place, found.get(place, []), missing.get(place, 0)) for place in sorted(found.keys() | missing)]


def dated(tasks: Iterable[Task], before: Iterable[Task], when: str) -> tuple[Task, ...]:
    """Return tasks with their times: begun when the first trial was seen, ended when the last one was."""
    known = {(task.suite, task.subject): task for task in before}
    return tuple(_dated(task, known.get((task.suite, task.subject), task), when) for task in tasks)


def ended(folder: Path, job: Job, state: State, status: int | None) -> Job:
    """Return a job whose process did not come to write its end, with all that its journal tells."""
    try:
        tasks = dated(tasks_in(read(folder / JOURNAL)), job.tasks, now())
    except JournalError:  # as it was: whoever resumes it is told what is wrong
        tasks = tuple(job.tasks)
    return replace(job, state=state, ended=now(), exit_status=status, tasks=tasks)


def _dated(task: Task, before: Task, when: str) -> Task:
    over = task.status == "finished" and task.done > 0
    return replace(
        task,
        started=before.started or (when if task.done else None),
        ended=(before.ended or when) if over else None,
    )


def _task(place: Place, trials: list[Trial], missing: int) -> Task:
    verdicts = [str(trial.verdict) for trial in trials]
    costs = [trial.bill.cost for trial in trials if trial.bill]
    known = [cost for cost in costs if cost is not None]
    return Task(
        suite=place[0],
        subject=place[1],
        total=len(trials) + missing,
        passed=verdicts.count("passed"),
        failed=verdicts.count("failed"),
        errored=verdicts.count("errored"),
        invalid=verdicts.count("invalid"),
        cost=round(sum(known, start=0.0), 8) if len(known) == len(costs) else None,
    )
