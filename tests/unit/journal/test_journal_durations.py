"""Durations of cases, by which shards are balanced."""

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.usage import Bill
from pytest_crmeval.journal.durations import DurationsError, read_durations, weights_of
from tests.fakes import planned, trial
from tests.kept_runs import keep


@pytest.mark.parametrize("file", ["mine.json", "mine/trials.jsonl"])
def test_durations_of_all_subjects_of_a_case_are_added(tmp_path: Path, file: str) -> None:
    replayed = replace(trial(planned("three"), seconds=9.0), bill=Bill(replayed=True))
    errored = trial(planned("four"), Verdict.ERRORED, seconds=9.0)
    trials = [
        trial(planned("one"), seconds=1.0),
        trial(planned("one", subject="mute"), Verdict.FAILED, seconds=0.5),
        trial(planned("one", suite="questions"), seconds=4.0),
        replayed,
        errored,
    ]
    keep(tmp_path, "mine", trials)

    assert {("crm", "one"): 1.5, ("questions", "one"): 4.0} == read_durations(tmp_path / file)


def test_last_trial_of_a_case_counts(tmp_path: Path) -> None:
    """It was played again."""
    keep(tmp_path, "mine", [trial("one", seconds=9.0), trial("one", seconds=1.0)])

    assert {("crm", "one"): 1.0} == read_durations(tmp_path / "mine" / "trials.jsonl")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"trials": [1]}', '{"trials": [{"key": "k"}]}'])
def test_invalid_report_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "odd.json"
    path.write_text(content)

    with pytest.raises(DurationsError, match=r"odd\.json: neither a report nor a journal"):
        read_durations(path)


def test_case_without_a_duration_is_estimated_from_its_turns() -> None:
    weights = weights_of("crm", {"one": 2, "new": 3}, {("crm", "one"): 5.0, ("other", "new"): 99.0})

    assert {"one": 5000.0, "new": 7500.0} == weights


def test_turns_are_the_weight_without_any_durations() -> None:
    """A case without turns counts as one."""
    assert {"one": 1000.0, "two": 4000.0} == weights_of("crm", {"one": 0, "two": 4}, {})
