"""How far a run is: its trials, counted by suite and subject."""

from collections.abc import Iterable
from dataclasses import replace

from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.runs.jobs import Task
from pytest_crmeval.runs.journal import Past

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


def dated(tasks: Iterable[Task], before: Iterable[Task], now: str) -> tuple[Task, ...]:
    """Return tasks with their times: begun when the first trial was seen, ended when the last one was."""
    known = {(task.suite, task.subject): task for task in before}
    return tuple(_dated(task, known.get((task.suite, task.subject), task), now) for task in tasks)


def _dated(task: Task, before: Task, now: str) -> Task:
    started = before.started or (now if task.done else None)
    ended = (before.ended or now) if task.status == "finished" and task.done else None
    return replace(task, started=started, ended=ended)


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
