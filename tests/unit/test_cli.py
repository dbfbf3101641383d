"""``crmeval``: what is not a test run."""

from importlib.metadata import version
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval import cli
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.runs import reports
from tests.fakes import planned, trial


def write(folder: Path, run: str) -> None:
    """Leave the report of a run behind."""
    trials = [trial("one"), trial("two", Verdict.FAILED)]
    played = {each.planned.key: each for each in trials}
    facts = {"id": run, "started": "2026-11-16T02:18:47+00:00"}
    folder.mkdir(exist_ok=True)
    reports.write(reports.build(facts, played, [*(each.planned for each in trials), planned("three")]), folder)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a project with two runs, and return the folder of their reports."""
    monkeypatch.chdir(tmp_path)
    for run in ("first", "second"):
        write(tmp_path / "reports", run)
    return tmp_path / "reports"


@pytest.mark.usefixtures("folder")
def test_report_shows_the_latest_run(capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    """When nothing else is asked for."""
    assert 0 == cli.main(["report"])
    assert snapshot == capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_report_shows_a_run_by_its_id(capsys: pytest.CaptureFixture[str]) -> None:
    """An older one."""
    cli.main(["report", "first"])

    assert "run first, 2026-11-16T02:18:47+00:00" == capsys.readouterr().out.splitlines()[0]


def test_report_looks_in_another_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a project with its own ``crmeval_reports``."""
    write(tmp_path / "elsewhere", "mine")

    cli.main(["report", "--reports", str(tmp_path / "elsewhere")])

    assert capsys.readouterr().out.startswith("run mine,")


def test_a_run_that_is_not_there_is_status_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Told on standard error, in one line, without a traceback."""
    assert 2 == cli.main(["report", "third"])
    assert ("", "crmeval: reports/third.json: No such file or directory\n") == capsys.readouterr()
    assert folder.exists()


@pytest.mark.parametrize("junk", ["", "{", "[]", '{"schema": "crmeval.report/1", "results": [7]}'])
def test_junk_is_status_2(folder: Path, capsys: pytest.CaptureFixture[str], junk: str) -> None:
    """Somebody else's file has the name of a run."""
    (folder / "junk.json").write_text(junk, encoding="utf-8")

    assert 2 == cli.main(["report", "junk"])
    assert capsys.readouterr().err.startswith("crmeval: reports/junk.json: not a report")


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    """As pip knows it."""
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--version"])

    assert f"crmeval {version('pytest-crmeval')}\n" == capsys.readouterr().out


def test_help_says_how_a_run_is_started(capsys: pytest.CaptureFixture[str]) -> None:
    """Which is not with this command."""
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--help"])

    assert "pytest evals/ -n 3" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["reprot"], ["report", "a", "b"], ["--nope"]])
def test_what_is_not_understood_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """With the usage on standard error."""
    with pytest.raises(SystemExit, match="2"):
        cli.main(arguments)

    assert capsys.readouterr().err.startswith("usage: crmeval")
