"""Runs as they are found on disk, to be joined."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crmeval.domain.learning import Lesson
from pytest_crmeval.journal.reader import JournalError
from pytest_crmeval.journal.writer import JournalWriter
from pytest_crmeval.report.files import ReportError, build
from pytest_crmeval.report.sources import SourceError, source_of
from tests.fakes import planned, trial
from tests.kept_runs import keep

FACTS = {"id": "x", "started": "", "parts": [{"shard": {}}]}
SHARDLESS = json.dumps({"schema": "crmeval.report/1", "run": FACTS, "results": [], "trials": []})


def test_a_run_that_was_killed_has_no_report(tmp_path: Path) -> None:
    keep(tmp_path, "mine", [trial("one")], not_run=[planned("two")])
    (tmp_path / "mine.json").unlink()
    with (tmp_path / "mine" / "trials.jsonl").open("a") as file:
        file.write('{"trial": {"key"')

    source = source_of("mine", tmp_path)

    assert ({}, 1, 2) == (source.facts, len(source.past.trials), len(source.past.planned))


def test_a_run_that_is_still_written_is_refused(tmp_path: Path) -> None:
    """It would be joined without its end."""
    keep(tmp_path, "mine", [trial("one")])
    book = JournalWriter.open(tmp_path / "mine" / "trials.jsonl")

    with pytest.raises(SourceError, match="mine: another process is writing this run"):
        source_of("mine", tmp_path)
    book.close()


def test_a_report_alone_does_not_know_what_was_not_run(tmp_path: Path) -> None:
    keep(tmp_path, "mine", [trial("one")], not_run=[planned("two")])
    (tmp_path / "mine" / "trials.jsonl").unlink()

    with pytest.raises(SourceError, match="mine: 1 cases were not run, and only the journal lists them"):
        source_of("mine", tmp_path)


def test_a_report_alone_does_not_say_that_a_learner_played_out_of_order(tmp_path: Path) -> None:
    """Trials are sorted by their keys there; what came when only their lessons tell."""
    played = [
        replace(trial(name), learning=Lesson(key="crm/oracle", position=place))
        for place, name in enumerate(["two", "one", "three"], 1)
    ]
    shown = keep(tmp_path, "mine", played)
    (tmp_path / "mine" / "trials.jsonl").unlink()

    past = source_of("mine", tmp_path).past
    again = build({}, past.trials, past.planned.values())

    assert ["two", "one", "three"] == [case.case for case in past.planned.values()]
    assert [0, 0] == [found.late for report in (shown, again) if (found := report.standings[0].learning)]


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("mine/trials.jsonl", "", "this run has no parts, because it was never started"),
        ("mine/trials.jsonl", "{}\n", "trials.jsonl:1: not a line of a journal"),
        (
            "mine/trials.jsonl",
            '{"part": {"started": "", "shard": {"index": "1", "of": 2}}, "planned": []}\n',
            "trials.jsonl:1: not a line of a journal: TypeError(\"expected a number, found '1'\")",
        ),
        ("mine.json", "", "not a report (crmeval.report/1)"),
        (
            "mine.json",
            SHARDLESS,
            "not a report (crmeval.report/1): it has no 'index'",
        ),
        ("mine.json", "[]", "not a report (crmeval.report/1)"),
        ("mine.json", '{"schema": "crmeval.report/2", "run": {"id": "mine"}}', "not a report (crmeval.report/1)"),
    ],
)
def test_invalid_run_is_refused(tmp_path: Path, name: str, content: str, why: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)

    with pytest.raises((SourceError, JournalError, ReportError), match=re.escape(why)):
        source_of(str(path), tmp_path)


def test_a_report_of_a_run_without_parts_is_refused(tmp_path: Path) -> None:
    keep(tmp_path, "mine", [trial("one")])
    (tmp_path / "mine" / "trials.jsonl").unlink()
    document = json.loads((tmp_path / "mine.json").read_text())
    del document["run"]["parts"]
    (tmp_path / "mine.json").write_text(json.dumps(document))

    with pytest.raises(SourceError, match="it has no parts"):
        source_of("mine", tmp_path)
