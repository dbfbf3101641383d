"""Usage of models in earlier runs."""

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crmeval.domain.file_outcome import FileOutcome
from pytest_crmeval.domain.judgement import Grade, Judgement
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial, TurnOutcome
from pytest_crmeval.domain.usage import Bill, Usage
from pytest_crmeval.journal import history as reading
from pytest_crmeval.journal.history import PastTrial, history
from pytest_crmeval.journal.writer import JournalWriter
from tests.fakes import planned, trial

USAGE = Usage(input=900, cached=400, output=100, calls=3)
TURN = TurnOutcome(tool="create_quote", called=True, replied=True, steps=2, errors=0)
PLAYED = PastTrial(case=("crm", "one", "f00d"), spec="oracle", turns=2, usage=USAGE, seconds=0.5)


def asked(case: str = "one", verdict: Verdict = Verdict.PASSED, calls: int = 3) -> Trial:
    """Return a trial in which a model was called."""
    return replace(trial(case, verdict), turns=(TURN, TURN), bill=Bill(usage=replace(USAGE, calls=calls), cost=0.5))


def run(folder: Path, name: str, *trials: Trial, age: int = 0) -> Path:
    """Write the journal of a run."""
    path = folder / name / "trials.jsonl"
    book = JournalWriter.open(path)
    book.part({"started": "2026-11-16T02:18:47+00:00"}, [each.planned for each in trials])
    for each in trials:
        book.trial(each)
    book.close()
    os.utime(path, (1_800_000_000 - age, 1_800_000_000 - age))
    return path


def cases(found: Sequence[PastTrial]) -> list[str]:
    """Return the names of the cases."""
    return [played.case[1] for played in found]


def test_trial_is_remembered_with_its_usage(tmp_path: Path) -> None:
    """Calls, tokens, time, and number of turns."""
    run(tmp_path, "mine", asked())

    assert [PLAYED] == history(tmp_path)


def test_replayed_trial_has_no_time(tmp_path: Path) -> None:
    """Its tokens are those of the recording."""
    bill = Bill(usage=USAGE, cost=0.5, replayed=True)
    run(tmp_path, "mine", replace(asked(), bill=bill))

    assert [replace(PLAYED, seconds=None)] == history(tmp_path)


def test_usage_of_a_judge_is_remembered_separately(tmp_path: Path) -> None:
    judgement = Judgement(grades=(Grade(reason="fine"),), bill=Bill(usage=USAGE, cost=1.0))
    cached = replace(judgement, bill=None, cached=True)
    run(tmp_path, "mine", replace(asked("one"), judgement=judgement), replace(asked("two"), judgement=cached))

    assert [None, USAGE] == [played.judged for played in history(tmp_path)]


def test_judge_of_an_agent_without_a_model_is_remembered(tmp_path: Path) -> None:
    """The oracle has no bill of its own."""
    judgement = Judgement(grades=(Grade(reason="fine"),), bill=Bill(usage=USAGE, cost=1.0))
    cached = replace(judgement, bill=None, cached=True)
    run(tmp_path, "mine", replace(trial("one"), judgement=judgement), replace(trial("two"), judgement=cached))

    assert [("one", Usage(), USAGE)] == [(each.case[1], each.usage, each.judged) for each in history(tmp_path)]


def test_unfinished_trial_is_not_remembered(tmp_path: Path) -> None:
    run(tmp_path, "mine", asked("one", Verdict.ERRORED), trial("two"), asked("three", Verdict.FAILED))

    assert ["three"] == cases(history(tmp_path))


def test_model_at_another_address_is_another_model(tmp_path: Path) -> None:
    """The environment sets the address: a custom server needs other tokens and another time."""
    path = tmp_path / "mine" / "trials.jsonl"
    book = JournalWriter.open(path)
    gpt = replace(asked(), planned=replace(planned("one"), spec="openai:gpt-4.1"))
    for part in ({"addresses": {"openai": "http://127.0.0.1:8000/v1"}}, {}):
        book.part({"started": "2026-11-16T02:18:47+00:00", **part}, [gpt.planned])
        book.trial(gpt)
    book.close()

    assert ["openai:gpt-4.1", "openai:gpt-4.1?base_url=http://127.0.0.1:8000/v1"] == [
        played.spec for played in history(tmp_path)
    ]


def test_solution_file_is_remembered_with_its_time(tmp_path: Path) -> None:
    """Not if some of its verdicts were reused, because those took no time."""
    judged = FileOutcome(verdicts={"AC": 3, "WA": 1}, ungradable={"no code": 1})
    again = replace(judged, reused=4, reused_from="new")
    run(tmp_path, "new", replace(trial("file"), solutions=judged, seconds=10.0))
    run(tmp_path, "again", replace(trial("file"), solutions=again, seconds=0.1), age=9)

    assert [(5, 10.0)] == [(played.solutions, played.seconds) for played in history(tmp_path)]


def test_newest_come_first(tmp_path: Path) -> None:
    """Of runs, and within a run; ``latest`` is not a run of its own."""
    run(tmp_path, "old", asked("one"), age=200)
    run(tmp_path, "new", asked("two"), asked("three"), age=100)
    (tmp_path / "latest").symlink_to("new")

    assert ["three", "two", "one"] == cases(history(tmp_path))


def test_no_more_journals_are_read_than_needed(tmp_path: Path) -> None:
    """Reading stops when every wanted case is known, with its content and its agent."""
    run(tmp_path, "old", asked("one"), age=200)
    run(tmp_path, "new", asked("one"), asked("two"), age=100)
    other = replace(planned("one"), fingerprint="new")

    assert ["two", "one"] == cases(history(tmp_path, [planned("one"), planned("two")]))
    assert ["two", "one", "one"] == cases(history(tmp_path, [other]))


def test_time_of_a_replayed_case_comes_from_an_earlier_run(tmp_path: Path) -> None:
    run(tmp_path, "older", asked("one"), age=300)
    run(tmp_path, "live", asked("one"), age=200)
    run(tmp_path, "replayed", replace(asked("one"), bill=Bill(usage=USAGE, cost=0.5, replayed=True)), age=100)

    assert [None, 0.5] == [played.seconds for played in history(tmp_path, [planned("one")])]


def test_only_as_much_is_read_as_can_be_read_quickly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for age in range(10):
        run(tmp_path, f"run-{age}", asked(f"case-{age}"), age=age)
    size = (tmp_path / "run-0" / "trials.jsonl").stat().st_size

    with monkeypatch.context() as few:
        few.setattr(reading, "JOURNALS", 3)
        assert ["case-0", "case-1", "case-2"] == cases(history(tmp_path))
    monkeypatch.setattr(reading, "BYTES", 2 * size)
    assert ["case-0", "case-1"] == cases(history(tmp_path))


def test_unreadable_files_are_skipped(tmp_path: Path) -> None:
    """A torn line, garbage, a folder without a journal, a folder in place of a journal."""
    path = run(tmp_path, "mine", asked("one"), asked("two"))
    whole = path.read_bytes()
    path.write_bytes(b'{"trial": {"bill": 7}}\n"bill"\n\xff"bill"\n' + whole[:-20])
    (tmp_path / "empty").mkdir()
    (tmp_path / "odd" / "trials.jsonl").mkdir(parents=True)
    (tmp_path / "report.json").write_text(json.dumps({}), encoding="utf-8")

    assert ["one"] == cases(history(tmp_path))


def test_empty_reports_folder_has_no_history(tmp_path: Path) -> None:
    """The first run of a project."""
    assert [] == history(tmp_path / "reports")
