"""`crmeval judge` evaluates checkpoints in a folder without a test file."""

import json
import sys
from pathlib import Path

import pytest

from pytest_crmeval.cli import main
from tests.benchmark_rows import HUMAN_EVAL
from tests.fake_sandbox import problem, solution, whole_tree, write_lines

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")
RIGHT = {"task_id": "HumanEval/900", "completion": "    return a + b\n"}
WRONG = {"task_id": "HumanEval/900", "completion": "    return a - b\n"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make two checkpoints with solutions of a benchmark, in the current folder."""
    write_lines(tmp_path / "runs/checkpoint_10/samples.jsonl", WRONG, RIGHT)
    write_lines(tmp_path / "runs/global_step9/samples.jsonl", WRONG)
    write_lines(tmp_path / "HumanEval.jsonl", HUMAN_EVAL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_checkpoints_are_found_graded_and_shown_as_a_curve(folder: Path, pytester: pytest.Pytester) -> None:
    """With results where scripts look for them, and with pytest's exit status."""
    command = (
        "judge",
        "runs",
        "--problems",
        "HumanEval.jsonl",
        "--output-dir",
        "out",
        "--run",
        "first",
        "--workers",
        "1",
    )
    pytester.chdir()
    pytester.path.joinpath("runs").symlink_to(folder / "runs")
    pytester.path.joinpath("HumanEval.jsonl").symlink_to(folder / "HumanEval.jsonl")

    result = pytester.run(sys.executable, "-m", "pytest_crmeval.cli", *command)

    assert 0 == result.ret
    result.stdout.fnmatch_lines(
        [
            "checkpoint     step  files  solutions",
            "global_step9      9      1          1",
            "checkpoint_10    10      1          2",
            "estimate:  about 3 s for 3 solutions, 1 worker (a guess of 1 s per solution)",
            "*2 passed*",
            "checkpoint     step  pass@1",
            "global_step9      9   0.000",
            "checkpoint_10    10   0.500  #################### (best)",
        ]
    )
    batch = json.loads((pytester.path / "out/first/batch_eval_results.json").read_text(encoding="utf-8"))
    assert [(9, True, 0), (10, True, 1)] == [
        (each["step"], each["success"], each["solved"]) for each in batch["results"]
    ]


def test_dry_run_shows_the_command_and_writes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = whole_tree(folder)
    options = [
        "--max-generated-tests",
        "0",
        "--workers",
        "7",
        "--piston",
        "http://a:2000",
        "http://b:2000",
        "--dry-run",
    ]

    status = main(["judge", "runs", "--problems", "HumanEval.jsonl", "--output-dir", "out", *options, "--", "-x"])

    command = capsys.readouterr().out.splitlines()[-1]
    assert (0, before) == (status, whole_tree(folder))
    assert command.startswith("command:   pytest out/judge_checkpoints.py ")
    expected = (
        "--crmeval-solutions=runs --crmeval-problems=HumanEval.jsonl --numprocesses=7 "
        "--crmeval-sandbox=http://a:2000,http://b:2000 --crmeval-set=tests_max=0 -x"
    )
    assert command.endswith(expected)


@pytest.mark.parametrize(("answer", "started"), [("n", False), ("", True), ("YES", True)])
def test_confirmation_is_requested_on_a_terminal(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, answer: str, started: bool
) -> None:
    """Nothing is run without consent; --yes skips the question."""
    asked: list[str] = []
    ran: list[object] = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)

    def reply(question: str) -> str:
        asked.append(question)
        return answer

    def start(*given: object) -> int:
        ran.append(given)
        return 0

    monkeypatch.setattr("builtins.input", reply)
    monkeypatch.setattr("pytest_crmeval.cli.judge._judge", start)

    main(["judge", "runs", "--problems", "HumanEval.jsonl"])
    assert (["start? [Y/n] "], started) == (asked, bool(ran))
    main(["judge", "runs", "--problems", "HumanEval.jsonl", "--yes"])
    assert (1, 1 + started) == (len(asked), len(ran))
    assert folder.is_dir()


def test_problems_next_to_the_checkpoints_are_used(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(folder / "elsewhere/checkpoint-1/s.jsonl", solution("a"))
    write_lines(folder / "elsewhere/problems.jsonl", problem("a"))

    assert 0 == main(["judge", "elsewhere", "--dry-run"])
    assert "--crmeval-problems=elsewhere/problems.jsonl" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["runs"], "name the problems with --problems FILE"),
        (["runs", "--problems", "no.jsonl"], "no.jsonl: this file of problems does not exist"),
        (["nowhere", "--problems", "HumanEval.jsonl"], "nowhere: not found"),
        (["runs", "--problems", "runs/checkpoint_10/samples.jsonl"], "samples.jsonl:1: "),
        (["runs", "--problems", "HumanEval.jsonl", "--run", "a/b"], "--run 'a/b': "),
    ],
)
def test_error_before_the_start_is_explained(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert 2 == main(["judge", *arguments])
    assert message in capsys.readouterr().err
    assert not (folder / "reports").exists()
