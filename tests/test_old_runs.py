"""Runs recorded by commit 3db06e3 are still read: a conversation, a question, and a checkpoint of three programs."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_crmeval import cli
from pytest_crmeval.domain.json import Json
from pytest_crmeval.journal.jobs import State
from pytest_crmeval.journal.reader import RunRecord, read
from pytest_crmeval.journal.solutions.results import earlier_results
from pytest_crmeval.journal.status import RunWatcher
from pytest_crmeval.journal.transcripts import dialogue_of
from pytest_crmeval.report import files
from pytest_crmeval.report.report import Report

REPORTS = Path(__file__).parent / "data/run_of_3db06e3"
RUN = REPORTS / "old"
CHANGED = {
    "results/0/figures/pass_rate",
    "results/0/figures/score:pass@1",
    "results/0/metrics/strict_success",
    "results/0/pass_rate",
    "results/0/scores/pass@1",
    "results/1/reasons/0/text",
}
"""Checkpoints no longer have a pass rate of their files, and reasons are grouped without names of rows."""


@pytest.fixture
def report() -> Report:
    """Return the report of the run."""
    return files.load(REPORTS / "old.json")


@pytest.fixture
def record() -> RunRecord:
    """Return the journal of the run."""
    return read(RUN / "trials.jsonl")


def differences(before: Json, after: Json, place: str = "") -> Iterator[str]:
    """Yield the places of values that have changed or gone; new fields of objects are none."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name, value in before.items():
            yield from differences(value, after.get(name, "gone"), f"{place}/{name}" if place else name)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{place}/{number}")
    elif before != after:
        yield place


def test_report_is_computed_from_an_old_journal_as_it_was(report: Report, record: RunRecord) -> None:
    computed = files.build(report.run, record.trials, record.planned.values()).to_dict()

    stored = json.loads((REPORTS / "old.json").read_text(encoding="utf-8"))
    del stored["gates"]  # they are evaluated separately
    assert CHANGED == set(differences(stored, json.loads(json.dumps(computed))))


def test_old_report_is_read_and_written_without_loss(report: Report, record: RunRecord) -> None:
    assert record.trials == {trial.planned.key: trial for trial in report.trials}
    stored = json.loads((REPORTS / "old.json").read_text(encoding="utf-8"))
    assert ["results/0/pass_rate"] == [*differences(stored, json.loads(json.dumps(report.to_dict())))]  # in CHANGED


def test_old_dialogues_and_results_of_programs_are_read(record: RunRecord) -> None:
    played = [trial for trial in record.trials.values() if trial.planned.subject == "oracle"]
    dialogues = {trial.planned.case: dialogue_of(RUN, trial) for trial in played}
    results = earlier_results(RUN / "eval_checkpoint_100/eval_greedy.jsonl")

    speakers = {
        case: [message.speaker for exchange in found.exchanges for message in exchange.messages]
        for case, found in dialogues.items()
        if found
    }
    assert {"quote-medium-0083", "exact-planet-red"} == speakers.keys()
    assert ["user", "agent"] == speakers["exact-planet-red"]
    assert results
    assert ["AC", "AC", "AC"] == [line["verdict"] for line in results.records()]


def test_status_of_an_old_run_is_read_without_the_monotonic_clock(record: RunRecord) -> None:
    """Journals of that time have only the time of day."""
    status = RunWatcher(RUN).look(now=2e9)

    assert (State.FINISHED, len(record.trials), 0) == (status.state, status.whole.done, status.whole.errored)
    assert status.seconds == pytest.approx(1.435)


def test_page_of_an_old_run_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "old.html"

    assert 0 == cli.main(["report", str(REPORTS / "old.json"), "--html", "-o", str(page)])

    assert "quote-medium-0083" in page.read_text(encoding="utf-8")
    assert str(page) in capsys.readouterr().out
