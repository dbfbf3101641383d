"""``crmeval report`` of a run that asked models."""

from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval import cli
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.usage import Bill, Usage
from pytest_crmeval.runs import reports
from tests.fakes import planned, trial


def test_report_shows_what_a_run_took(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    """Below the table: the total, notes, and what each pass took."""
    bill = Bill(usage=Usage(input=12_000, cached=8_000, output=900, reasoning=100, calls=5), cost=0.0123)
    played = replace(trial(planned("one", subject="gpt-4.1")), bill=bill, notes=["temperature is left out"])
    facts: JsonObject = {"id": "mine", "started": "2026-11-16T02:18:47+00:00", "spent": 0.0123}
    reports.write(reports.build(facts, {played.planned.key: played}, []), tmp_path)

    cli.main(["report", "--reports", str(tmp_path)])

    assert snapshot == capsys.readouterr().out
