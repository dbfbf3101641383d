"""Reports of large runs."""

import json
import tracemalloc
from pathlib import Path

from pytest_crmeval.report import files as reports
from tests.fakes import trial


def test_report_is_written_without_building_the_whole_document_in_memory(tmp_path: Path) -> None:
    """Its trials are written one by one; it is the same document."""
    trials = {each.planned.key: each for each in (trial(f"case-{number}") for number in range(3000))}
    facts = {"id": "large", "started": "2026-11-16T02:18:47+00:00"}
    report = reports.build(facts, trials, [each.planned for each in trials.values()])
    path = tmp_path / "large.json"

    tracemalloc.start()
    reports.save(report, path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert json.loads(path.read_text(encoding="utf-8")) == json.loads(json.dumps(report.to_dict()))
    assert report == reports.load(path)
    assert peak < path.stat().st_size / 2


def test_report_without_trials_is_valid_json(tmp_path: Path) -> None:
    """A run that was stopped before its first trial has a report."""
    report = reports.build({"id": "empty", "started": "2026-11-16T02:18:47+00:00"}, {}, [])
    reports.save(report, tmp_path / "empty.json")

    assert report == reports.load(tmp_path / "empty.json")
