"""``crmeval describe``."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval import cli
from tests.projects import case

Cases = Callable[..., str]


@pytest.fixture
def cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cases:
    """Change to an empty folder, and return a function that writes cases to a file there and returns its name."""
    monkeypatch.chdir(tmp_path)

    def write(*records: dict[str, Any], name: str = "cases.jsonl") -> str:
        Path(name).write_text("".join(json.dumps(record) + "\n\n" for record in records), encoding="utf-8")
        return name

    return write


def test_describe_prints_a_summary(cases: Cases, capsys: pytest.CaptureFixture[str]) -> None:
    """Of all files together."""
    files = cases(case("one"), case("two")), cases(case("three"), name="more.jsonl")

    assert 0 == cli.main(["describe", *files])
    assert "3 conversations, 3 turns" == capsys.readouterr().out.splitlines()[0]


def test_describe_as_json(cases: Cases, capsys: pytest.CaptureFixture[str]) -> None:
    """One document, with its schema."""
    cli.main(["describe", cases(case("one")), "--format", "json", "--examples", "0"])

    document = json.loads(capsys.readouterr().out)
    assert ("crmeval.describe/1", ["cases.jsonl"]) == (document["schema"], document["files"])
    assert {"main": 1, "further": 0} == document["tools"]["create_new_client"]
    assert [] == document["wordings"]["most_frequent"]


@pytest.mark.parametrize(("allowed", "status"), [([], 0), (["--max-alike", "3"], 0), (["--max-alike", "2"], 1)])
def test_similar_conversations_are_limited_on_request(cases: Cases, allowed: list[str], status: int) -> None:
    """Only with the option."""
    assert status == cli.main(["describe", cases(case("one"), case("two"), case("three")), *allowed])


def test_too_many_similar_conversations_are_reported(cases: Cases, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["describe", cases(case("one"), case("two")), "--max-alike", "1", "--format", "json"])

    out, err = capsys.readouterr()
    assert 2 == json.loads(out)["alike"]["most"]
    assert "crmeval: 2 conversations are alike, but --max-alike allows 1\n" == err


def test_missing_file_is_status_2(cases: Cases, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == cli.main(["describe", cases(case("one")), "no.jsonl"])
    expected = "crmeval: no.jsonl: No such file or directory; give the path of a JSON Lines file\n"
    assert ("", expected) == capsys.readouterr()


def test_file_without_a_conversation_is_status_2(cases: Cases, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == cli.main(["describe", cases(case("one")), cases(name="empty.jsonl")])
    assert capsys.readouterr().err.startswith("crmeval: empty.jsonl: the file has no conversation;")


def test_unreadable_line_is_status_2(cases: Cases, capsys: pytest.CaptureFixture[str]) -> None:
    """With its line; a summary of the rest would not describe the file."""
    assert 2 == cli.main(["describe", cases(case("one"), {"conversation_id": "two"})])
    assert capsys.readouterr().err.startswith("crmeval: cases.jsonl:3: ")


@pytest.mark.parametrize(
    "arguments", [[], ["a", "--max-alike", "0"], ["a", "--examples", "-1"], ["a", "--format", "xml"]]
)
def test_invalid_arguments_of_describe_are_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["describe", *arguments])

    assert capsys.readouterr().err.startswith("usage: crmeval describe")


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        """Return that it is a terminal."""
        return True


def test_describe_shows_progress_on_a_terminal(cases: Cases, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)

    cli.main(["describe", cases(*(case(f"case-{n}") for n in range(100)))])

    assert "\r100 conversations\r\x1b[K" == terminal.getvalue()


def test_describe_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(["describe", "--help"])

    shown = capsys.readouterr().out
    assert "crmeval describe data/crm.jsonl --max-alike 3" in shown
    assert "Exit status: 0; 1 if more conversations are alike" in shown
