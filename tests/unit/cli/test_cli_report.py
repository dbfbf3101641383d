"""``crmeval report``: figures, a page, Markdown, JSON."""

from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval import cli
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.usage import Bill, Usage
from pytest_crmeval.report import files as reports
from tests.fakes import planned, trial
from tests.kept_runs import keep


def test_report_shows_the_cost_of_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    """Below the table: the total, notes, and the cost of each pass."""
    bill = Bill(usage=Usage(input=12_000, cached=8_000, output=900, reasoning=100, calls=5), cost=0.0123)
    played = replace(trial(planned("one", subject="gpt-4.1")), bill=bill, notes=("temperature is left out",))
    facts: JsonObject = {"id": "mine", "started": "2026-11-16T02:18:47+00:00", "spent": 0.0123}
    reports.write(reports.build(facts, {played.planned.key: played}, []), tmp_path)

    cli.main(["report", "--reports", str(tmp_path)])

    assert snapshot == capsys.readouterr().out


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Store a run, and change to the folder of its reports."""
    monkeypatch.chdir(tmp_path)
    keep(tmp_path / "reports", "mine", [trial("one"), trial("two")])
    return tmp_path / "reports"


def test_html_writes_the_page_next_to_the_report(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == cli.main(["report", "mine", "--html"])
    assert "reports/mine.html\n" == capsys.readouterr().out
    assert (kept / "mine.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_html_of_the_latest_run_has_the_name_of_the_run(kept: Path) -> None:
    """``latest`` moves on to another run."""
    assert 0 == cli.main(["report", "--html"])
    assert (kept / "mine.html").is_file()
    assert not (kept / "latest.html").exists()


@pytest.mark.parametrize("named", ["mine", "reports/mine", "reports/mine.json", "reports/mine/trials.jsonl"])
def test_run_is_named_by_its_id_or_by_a_path(kept: Path, named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == cli.main(["report", named])
    assert "run mine, " in capsys.readouterr().out
    assert kept.is_dir()


@pytest.mark.parametrize(
    ("form", "begins"), [("--md", "## crmeval mine"), ("--json", '{\n "$schema"'), ("--html", "<!doctype html>")]
)
def test_each_format_can_be_written_to_a_file(kept: Path, form: str, begins: str) -> None:
    target = kept.parent / "out.txt"

    assert 0 == cli.main(["report", "mine", form, "-o", str(target)])
    assert target.read_text(encoding="utf-8").startswith(begins)


def test_json_is_the_report_as_stored(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Byte for byte."""
    cli.main(["report", "mine", "--json"])

    assert (kept / "mine.json").read_text(encoding="utf-8") == capsys.readouterr().out


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["--html", "-o", "-"], "a page can't be written to standard output; name a file with -o"),
        (["--md", "-o", "nowhere/out.md"], "nowhere/out.md: No such file or directory"),
        (["--html", "-o", "nowhere/out.html"], "nowhere/out.html.part: No such file or directory"),
    ],
)
def test_unwritable_file_is_reported(arguments: list[str], shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == cli.main(["report", "mine", *arguments])
    assert f"crmeval: {shown}\n" == capsys.readouterr().err


def test_run_without_a_report_is_distinguished_from_no_run(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is still running, or was killed."""
    (kept / "mine.json").unlink()

    assert 2 == cli.main(["report", "mine", "--html"])
    assert "crmeval: 'mine' has no report yet; to see its progress: crmeval status mine\n" == capsys.readouterr().err
