"""The command ``crmeval`` itself, ``crmeval report`` and ``crmeval lint``."""

import io
import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval import cli
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.report import files as reports
from tests.fakes import planned, trial
from tests.projects import case


def write(folder: Path, run: str) -> None:
    """Write the report of a run."""
    trials = [trial("one"), trial("two", Verdict.FAILED)]
    played = {each.planned.key: each for each in trials}
    facts = {"id": run, "started": "2026-11-16T02:18:47+00:00"}
    folder.mkdir(exist_ok=True)
    reports.write(reports.build(facts, played, [*(each.planned for each in trials), planned("three")]), folder)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a project with two runs, and return the folder of their reports."""
    monkeypatch.chdir(tmp_path)
    for run in ("first", "second"):
        write(tmp_path / "reports", run)
    return tmp_path / "reports"


@pytest.mark.usefixtures("folder")
def test_report_shows_the_latest_run(capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    assert 0 == cli.main(["report"])
    assert snapshot == capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_report_shows_a_run_by_its_id(capsys: pytest.CaptureFixture[str]) -> None:
    """An older one."""
    cli.main(["report", "first"])

    assert "run first, 2026-11-16T02:18:47+00:00" == capsys.readouterr().out.splitlines()[0]


def test_report_looks_in_another_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "elsewhere", "mine")

    cli.main(["report", "--reports", str(tmp_path / "elsewhere")])

    assert capsys.readouterr().out.startswith("run mine,")


def test_missing_run_is_status_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = "'third': no run in reports has this id, and there is no such file or folder"

    assert 2 == cli.main(["report", "third"])
    assert ("", f"crmeval: {shown}\n") == capsys.readouterr()
    assert folder.exists()


@pytest.mark.parametrize("junk", ["", "{", "[]", '{"schema": "crmeval.report/1", "results": [7]}'])
def test_invalid_report_is_status_2(folder: Path, capsys: pytest.CaptureFixture[str], junk: str) -> None:
    (folder / "junk.json").write_text(junk, encoding="utf-8")

    assert 2 == cli.main(["report", "junk"])
    assert capsys.readouterr().err.startswith("crmeval: reports/junk.json: not a report")


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--version"])

    assert f"crmeval {version('pytest-crmeval')}\n" == capsys.readouterr().out


def test_help_shows_how_to_start_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--help"])

    assert "pytest evals/ -n 3" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["reprot"],
        ["report", "a", "b"],
        ["--nope"],
        ["lint"],
        ["lint", "a", "--format", "xml"],
        ["lint", "a", "--examples", "-1"],
        ["lint", "a", "--examples", "many"],
    ],
)
def test_invalid_arguments_are_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(arguments)

    assert capsys.readouterr().err.startswith("usage: crmeval")


Cases = Callable[..., str]


@pytest.fixture
def cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cases:
    """Change to an empty folder, and return a function that writes cases to a file there and returns its name."""
    monkeypatch.chdir(tmp_path)

    def write(*records: dict[str, Any], name: str = "cases.jsonl") -> str:
        Path(name).write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return name

    return write


def broken(case_id: str) -> dict[str, Any]:
    """Return a case that no agent can pass: an unfilled placeholder, a missing value, a refused argument."""
    record = case(case_id, workflow_category="Quote Management")
    record["turns"][0] |= {
        "user_utterance": "Add {company}, ada@ada.example, active.",
        "expected_args": {"name": "Ada Ltd", "email": "ada@ada.example", "status": "Active", "colour": "active"},
    }
    return record


def test_lint_finds_nothing(cases: Cases, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    """It still shows the size of the file."""
    assert 0 == cli.main(["lint", cases(case("one"), case("two"))])
    assert snapshot == capsys.readouterr().out


def test_lint_shows_what_it_finds(
    cases: Cases, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    """The kinds that make a case invalid come first; arguments are checked by the tools themselves."""
    assert 1 == cli.main(["lint", cases(broken("one"), broken("two"), case("three")), "--examples", "1"])
    assert snapshot == capsys.readouterr().out


def test_irregular_cases_are_status_0(cases: Cases, capsys: pytest.CaptureFixture[str]) -> None:
    """They can be played."""
    assert 0 == cli.main(["lint", cases(case("one", complexity_level="complex"))])
    assert "level-not-turns: 1 conversation\n" in capsys.readouterr().out


def test_lint_prints_json(cases: Cases, capsys: pytest.CaptureFixture[str]) -> None:
    """One document, with the same status."""
    files = [cases(case("größe"), name="a.jsonl"), cases(broken("two"), name="b.jsonl")]

    assert 1 == cli.main(["lint", *files, "--format", "json"])

    found = json.loads(capsys.readouterr().out)
    assert ("crmeval.lint/1", files, 2, 2, 1) == (
        found["schema"],
        found["files"],
        found["conversations"],
        found["turns"],
        found["invalid"],
    )
    assert [{"file": "b.jsonl", "line": 1, "case": "two", "turn": 1, "text": "{company}"}] == found["kinds"][
        "placeholder-in-utterance"
    ]["examples"]


@pytest.mark.parametrize("arguments", [["nope.jsonl"], ["good.jsonl", "nope.jsonl"]])
def test_unreadable_file_is_status_2(cases: Cases, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    cases(case("one"), name="good.jsonl")

    assert 2 == cli.main(["lint", *arguments])
    assert (
        "",
        "crmeval: nope.jsonl: No such file or directory; give the path of a JSON Lines file\n",
    ) == capsys.readouterr()


def test_lint_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(["lint", "--help"])

    shown = capsys.readouterr().out
    assert "crmeval lint evals/data/crm.jsonl" in shown
    assert "Exit status: 0 if no case is invalid, 1 if one is" in shown


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        """Return that it is a terminal."""
        return True


def test_progress_is_shown_on_a_terminal(cases: Cases, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every hundred conversations; at the end the line is cleared."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)

    cli.main(["lint", cases(*(case(str(number)) for number in range(250)))])

    assert "\r100 conversations\r200 conversations\r\x1b[K" == terminal.getvalue()


def test_no_progress_is_shown_in_a_log(cases: Cases, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["lint", cases(*(case(str(number)) for number in range(250)))])

    assert "" == capsys.readouterr().err


def test_crmeval_without_a_command_shows_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == cli.main([])
    assert "    init                write a first evaluation project\n" in capsys.readouterr().err
