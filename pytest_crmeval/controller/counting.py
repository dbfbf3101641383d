"""Counts the trials of a run as they arrive, for its progress."""

from functools import lru_cache

from pytest_crmeval.domain.trial import PlannedCase, Trial
from pytest_crmeval.domain.usage import total
from pytest_crmeval.journal.progress import CountedTrial, Group, ProgressCounter
from pytest_crmeval.journal.reader import RunRecord


def counted(past: RunRecord) -> ProgressCounter:
    """Return the counts of earlier parts of the run, without their rate."""
    tally = ProgressCounter()
    tally.begin({key: group_of(case) for key, case in past.planned.items()})
    for trial in past.trials.values():
        tally.take(outcome_of(trial))
    return tally


def group_of(case: PlannedCase) -> Group:
    """Return the group of a case; the same object for all cases of a group."""
    return _group(case.suite, case.subject)


@lru_cache(1024)
def _group(suite: str, subject: str) -> Group:
    return suite, subject


def outcome_of(trial: Trial) -> CountedTrial:
    """Return a trial in the form that progress counts."""
    return CountedTrial(
        key=trial.planned.key,
        group=group_of(trial.planned),
        verdict=trial.verdict.value,
        seconds=trial.whole_seconds,
        bill=trial.bill,
        judge=total([trial.judgement.bill if trial.judgement else None, trial.simulator]),
        unit=trial.unit,
        samples=trial.solutions.samples if trial.solutions else None,
    )
