"""Solution files are cases; their subject is the checkpoint that wrote them."""

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.report import files as reports
from pytest_crmeval.solutions.json_lines import count_lines
from tests.fake_sandbox import (
    CONFTEST,
    EVERY_KIND,
    RAN,
    TEST,
    Made,
    problem,
    solution,
    summaries,
    whole_tree,
    write_lines,
)
from tests.projects import report_of

WAYS = pytest.mark.parametrize("xdist", [["-n", "2"], ["-p", "no:xdist"]], ids=" ".join)
NO_XDIST = ("-p", "no:xdist")
SCHEMA = Path(reports.__file__).with_name("report.schema.json")


def lines_of(pytester: pytest.Pytester, place: str, run: str = "latest") -> list[dict[str, Any]]:
    """Return the lines of a results file."""
    text = Path(pytester.path, "reports", run, place).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@WAYS
def test_each_file_is_an_item_and_the_checkpoint_is_the_subject(judging: Made, xdist: list[str]) -> None:
    pytester = judging({f"checkpoint-{step}/s": [solution("a"), solution("b", "say 4")] for step in (9, 49, 100)})

    result = pytester.runpytest("-v", *xdist, "--crmeval-agent", "oracle", "--crmeval-agent", "mute")

    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines_random(["*test_solutions?checkpoint-49-s?*", "crmeval server: not needed"])
    result.stdout.fnmatch_lines(
        [
            "suite * checkpoint * step  files  solved  graded  ungradable  pass@1 * 95 % interval  of all",
            "checkpoints  checkpoint-9 * 9 * 1 * 1 * 2 * 0   0.500  0.095 to 0.905   0.500",
            "checkpoints  checkpoint-49 * 49 *",
            "checkpoints  checkpoint-100 * 100 *",
            "best checkpoint in checkpoints: checkpoint-9 (pass@1 0.500, 2 problems)",
        ]
    )
    result.stdout.no_fnmatch_line("crmeval agent:*")
    assert ["checkpoint-9", "checkpoint-49", "checkpoint-100"] == list(summaries(pytester))


def test_every_line_is_reported_with_its_verdict_or_with_the_reason_why_it_has_none(
    judging: Made, snapshot: SnapshotAssertion
) -> None:
    """In JSON Lines and as text, and as counts in the report; ungradable lines are neither wrong nor dropped."""
    pytester = judging({"checkpoint-49/s": EVERY_KIND})

    result = pytester.runpytest(*NO_XDIST)

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["UNGRADABLE: 6 of 13 lines of checkpoints are not counted in pass@1: *1 truncated*"])
    report = report_of(pytester.path)
    jsonschema.validate(report, json.loads(SCHEMA.read_text(encoding="utf-8")))
    shown = report["results"][0]["checkpoint"]
    assert {"AC": 1, "CE": 1, "MLE": 1, "OLE": 1, "RE": 1, "TLE": 1, "WA": 1} == shown["verdicts"]
    assert dict.fromkeys(shown["ungradable_because"], 1) == shown["ungradable_because"]
    assert (13, 7, 6, 6) == (shown["lines"], shown["judged"], shown["ungradable"], shown["problems"])
    assert {"value": round(0.5 / 6, 6), "problems": 6} == shown["pass_at"]["1"]
    assert {"value": 1.0, "problems": 1} == shown["pass_at"]["2"]
    assert round(1 / 13, 6) == shown["solved_of_all"]
    assert {"solved": 1, "judged": 2, "pass_rate": 0.5} == shown["by"]["rating"]["800-1199"]
    assert {"solved": 1, "judged": 3, "pass_rate": 0.333333} == shown["by"]["tag"]["math"]
    head, *records, end = lines_of(pytester, "eval_checkpoint_49/eval_s.jsonl")
    assert list(range(1, 14)) == [record["line"] for record in records]
    assert ("checkpoint-49", 49, 13, True) == (head["checkpoint"], head["step"], head["lines"], end["end"]["complete"])
    text = Path(pytester.path, "reports/latest/eval_checkpoint_49/eval_s.txt").read_text(encoding="utf-8")
    assert snapshot == text.replace(str(pytester.path), "HERE")


def test_results_are_where_scripts_look_for_them_in_order_of_steps(judging: Made) -> None:
    """A folder per step; a checkpoint whose name has no step has a folder with its name."""
    pytester = judging({"checkpoint-100/s": [solution("a")], "checkpoint-9/s": [solution("b", "break")], "odd/t": []})

    result = pytester.runpytest(*NO_XDIST)

    folder = Path(pytester.path, "reports/latest").resolve()
    result.assert_outcomes(passed=1, failed=2)
    names = [f"eval_{name}" for name in ("checkpoint_100/eval_s", "checkpoint_9/eval_s", "odd/eval_t")]
    expected = [f"{name}.{ending}" for name in names for ending in ("jsonl", "txt")]
    assert ["batch_eval_results.json", *expected] == [name for name in whole_tree(folder) if "eval" in name]
    batch = json.loads((folder / "batch_eval_results.json").read_text(encoding="utf-8"))
    shown = [(each["checkpoint"], each["success"], each["solved"], each["judged"]) for each in batch["results"]]
    assert [("checkpoint-9", False, 0, 0), ("checkpoint-100", True, 1, 1), ("odd", False, 0, 0)] == shown
    assert "no solution can be graded: the file is empty" in batch["results"][2]["error"]
    assert (3, 1, 2) == tuple(batch["summary"][name] for name in ("total_tasks", "completed", "failed"))
    first = batch["results"][0]
    assert "the paper is torn" in first["error"]
    assert [str(pytester.path / "runs/checkpoint-9/s.jsonl")] == first["solution_files"]
    assert [str(folder / f"eval_checkpoint_9/eval_s.{ending}") for ending in ("jsonl", "txt")] == [
        str(Path(name).resolve()) for name in first["evaluation_files"]
    ]


@pytest.mark.parametrize(("content", "expected"), [(b"", 0), (b"{}\n", 1), (b"{}\n{}", 2), (b"\n\n", 2)])
def test_last_line_without_a_line_break_is_a_line(tmp_path: Path, content: bytes, expected: int) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)

    assert expected == count_lines(path)


VANISHING = """
def pytest_runtest_setup(item):
    if "checkpoint-10-t" in item.name:
        (item.path.parent / "runs/checkpoint-10/t.jsonl").unlink()
"""


def test_checkpoint_with_an_unknown_file_is_reported_and_is_not_a_success(judging: Made) -> None:
    good = [solution("a")]
    files = {"checkpoint-9/s": [*good, solution("b", "say 4")], "checkpoint-10/s": good, "checkpoint-10/t": good}
    pytester = judging({**files, "checkpoint-20/s": good}, conftest=CONFTEST + VANISHING)

    result = pytester.runpytest(*NO_XDIST, "-x")

    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["best checkpoint in checkpoints: checkpoint-9 *"])
    batch = json.loads(Path(pytester.path, "reports/latest/batch_eval_results.json").read_text(encoding="utf-8"))
    assert [(9, True), (10, False), (20, False)] == [(each["step"], each["success"]) for each in batch["results"]]
    assert "t.jsonl: No such file" in batch["results"][1]["error"]
    assert "1 file has not been graded yet" == batch["results"][2]["error"]
    assert str(pytester.path / "runs/checkpoint-20") == batch["results"][2]["solution_dir"]


def test_unreadable_file_fails_alone_with_its_reason(judging: Made) -> None:
    """Garbage, dangling links, a pipe, an empty folder: none of them passes, and the good file is graded."""
    pytester = judging({"checkpoint-1/sub/good": [solution("a")], "checkpoint-2/rubbish": ["\0\1", "no JSON"]})
    runs = Path(pytester.path, "runs")
    (runs / "checkpoint_3").mkdir()
    for name in ("step_20", "step_21"):
        (runs / name).mkdir()
        (runs / name / "gone.jsonl").symlink_to("/nowhere")
    (runs / "global_step4").mkdir()
    os.mkfifo(runs / "global_step4/pipe.jsonl")

    result = pytester.runpytest(*NO_XDIST)

    result.assert_outcomes(passed=1, failed=5)
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(
        [
            "*errored: there is no .jsonl file in this folder*",
            "1 solution file is invalid, because nothing in it can be graded: checkpoint-2-rubbish",
        ]
    )
    result.stdout.no_fnmatch_line("FAILED*")
    batch = json.loads(Path(pytester.path, "reports/latest/batch_eval_results.json").read_text(encoding="utf-8"))
    shown = [(each["checkpoint"], each["step"], each["success"]) for each in batch["results"]]
    assert [
        ("checkpoint-1", 1, True),
        ("checkpoint-2", 2, False),
        ("checkpoint_3", 3, False),
        ("global_step4", 4, False),
        ("step_20", 20, False),
        ("step_21", 21, False),
    ] == shown
    assert [str(runs / name) for name, *_ in shown] == [each["solution_dir"] for each in batch["results"]]
    errors = [each["error"] for each in batch["results"][1:]]
    for word, error in zip(
        ("2 bad line", "no .jsonl file in this folder", "a pipe", "No such file", "No such file"), errors, strict=True
    ):
        assert word in error


WATCHING = """
import json

def pytest_crmeval_trial_finished(config, trial):
    folder = config.rootpath / "reports" / "r"
    batch = json.loads((folder / "batch_eval_results.json").read_text())
    with (config.rootpath / "seen.jsonl").open("a") as file:
        print(json.dumps([each["success"] for each in batch["results"]]), file=file)

def pytest_runtest_setup(item):
    batch = item.config.rootpath / "reports/r/batch_eval_results.json"
    assert len(json.loads(batch.read_text())["results"]) == 2, "it is not there from the start"
"""


def test_results_of_all_checkpoints_exist_from_the_start_and_grow(judging: Made) -> None:
    """A script that reads them during the run sees what is graded and what is not graded yet."""
    files = {"checkpoint-1/s": [solution("a")], "checkpoint-2/s": [solution("a")]}
    pytester = judging(files, conftest=CONFTEST + WATCHING)

    pytester.runpytest(*NO_XDIST, "--crmeval-run", "r").assert_outcomes(passed=2)

    seen = Path(pytester.path, "seen.jsonl").read_text(encoding="utf-8").split("\n")
    assert ["[true, false]", "[true, true]", ""] == seen


def test_solutions_graded_without_generated_tests_are_noted(judging: Made) -> None:
    """Unless this is chosen, they are unsupported, and the file does not pass."""
    record = {"id": "g", "official_tests": [{"input": "1", "output": "5"}], "generated_tests": 7}
    pytester = judging({"checkpoint-1/s": [solution("g")]})
    write_lines(Path(pytester.path, "problems.jsonl"), record)

    refused = pytester.runpytest(*NO_XDIST)
    unsupported = summaries(pytester)["checkpoint-1"]["checkpoint"]["ungradable_because"]
    chosen = pytester.runpytest(*NO_XDIST, "--crmeval-set=tests_max=0")

    refused.assert_outcomes(failed=1)
    assert {"unsupported problem": 1} == unsupported
    chosen.assert_outcomes(passed=1)
    assert any("tested by their official tests only" in line for line in chosen.outlines)


def test_unsupported_solutions_are_counted_and_named_once(judging: Made) -> None:
    java = {**solution("a"), "language": "Java 21"}
    pytester = judging(
        {f"checkpoint-{step}/s": [solution("a"), *[java] * 3] for step in (1, 2)},
        conftest=CONFTEST.replace("FakeSandbox()", "FakeSandbox(lacking='java')"),
    )

    result = pytester.runpytest(*NO_XDIST)

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["UNGRADABLE: 6 of 8 lines of checkpoints are not counted in pass@1: 6 unsupported problem"]
    )
    assert 1 == sum("there is no java here" in line for line in result.outlines)


def test_sandbox_failure_is_never_wrong_and_never_forgiven(judging: Made) -> None:
    """Graded solutions are kept, and the resumed run grades the rest; a gate does not forgive the failure."""
    pytester = judging(
        {"checkpoint-49/s": [solution("a"), solution("b", "break"), solution("c", "say 4")]},
        ini="crmeval_gates = checkpoints.passed >= 0",
    )

    first = pytester.runpytest(*NO_XDIST, "--crmeval-run", "r")

    first.assert_outcomes(failed=1)
    first.stdout.fnmatch_lines(["*errored: 1 of 3 solutions were not graded: line 2: *the paper is torn*"])
    summary = summaries(pytester)["checkpoint-49"]
    assert (1, 0) == (summary["errored"], summary["passed"])
    assert (1, 2, 1) == tuple(summary["checkpoint"][name] for name in ("solved", "judged", "unjudged"))
    assert {} == summary["scores"]
    assert pytest.ExitCode.TESTS_FAILED == first.ret
    RAN.clear()
    pytester.makepyfile(
        conftest=CONFTEST.replace("FakeSandbox()", "RepairedSandbox()").replace(
            "import FakeSandbox", "import RepairedSandbox"
        )
    )

    second = pytester.runpytest(*NO_XDIST, "--crmeval-run", "r")

    second.assert_outcomes(passed=1)
    assert ["break", "break"] == RAN
    assert (2, 3, 0) == tuple(
        summaries(pytester)["checkpoint-49"]["checkpoint"][name] for name in ("solved", "judged", "unjudged")
    )
    assert [1, 2, 3] == [line["line"] for line in lines_of(pytester, "eval_checkpoint_49/eval_s.jsonl")[1:-1]]


def test_file_that_runs_out_of_time_is_resumed_where_it_stopped(judging: Made) -> None:
    """Here before its first solution: the trial errored, and says what is missing and what to do."""
    pytester = judging({"checkpoint-49/s": [solution("a"), {"code": "say 5"}, solution("b")]})

    first = pytester.runpytest(*NO_XDIST, "--crmeval-run", "r", "--crmeval-set=file_timeout=0.000001")

    first.assert_outcomes(failed=1)
    first.stdout.fnmatch_lines(["*2 of 3 solutions were not graded: 2 not reached in time (*--crmeval-run*"])
    assert [] == RAN
    assert 2 == summaries(pytester)["checkpoint-49"]["checkpoint"]["unjudged"]
    pytester.runpytest(*NO_XDIST, "--crmeval-run", "r").assert_outcomes(passed=1)
    assert 4 == len(RAN)
    pytester.runpytest(*NO_XDIST, "--crmeval-run", "r").assert_outcomes(deselected=1)


def test_threshold_of_the_marker_fails_a_checkpoint_and_a_gate_forgives_it(judging: Made) -> None:
    pytester = judging(
        {"checkpoint-49/s": [solution("a"), solution("b", "say 4")]},
        test=TEST.replace('suite="checkpoints"', "threshold=0.6"),
        ini="crmeval_gates =\n  runs.failed <= 1\n  runs[checkpoint-49].pass@1 >= 0.5\n  runs[*].solved_of_all >= 0.5",
    )

    result = pytester.runpytest(*NO_XDIST)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*checkpoint-49 failed checkpoint-49-s (runs, *pass@1 0.500*", "*1 of 2 solved*"])
    assert pytest.ExitCode.OK == result.ret


def test_checkpoints_are_selected_by_pattern_and_by_keyword(judging: Made) -> None:
    """Braces work, and --collect-only is a dry run: nothing is run or written."""
    files = {f"checkpoint-{step}/{name}": [solution("a")] for step in (49, 98, 147) for name in ("s", "t")}
    pytester = judging(files)

    chosen = "--crmeval-set=checkpoints=checkpoint-{98,147}"
    result = pytester.runpytest(*NO_XDIST, "--collect-only", "-q", "-k", "not t]", chosen)

    items = [line for line in result.outlines if "::" in line]
    assert ["test_it.py::test_solutions[checkpoint-98-s]", "test_it.py::test_solutions[checkpoint-147-s]"] == items
    assert [] == RAN
    assert not Path(pytester.path, "reports").exists()


def test_file_is_not_distributed_to_every_worker(judging: Made) -> None:
    pytester = judging()
    result = pytester.runpytest("-n", "2", "--dist", "each")

    assert "each solution file is run only once; choose another --dist" in result.stderr.str()
    assert not Path(pytester.path, "reports").exists()


def test_files_and_problems_of_the_command_line_replace_those_of_the_marker(judging: Made) -> None:
    pytester = judging()
    write_lines(Path(pytester.path, "elsewhere/step-7/x.jsonl"), solution("other"))
    write_lines(Path(pytester.path, "more.jsonl"), problem("other", "5"))

    result = pytester.runpytest(*NO_XDIST, "--crmeval-solutions", "elsewhere", "--crmeval-problems", "more.jsonl", "-v")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*::test_solutions?step-7-x? PASSED*"])


@pytest.mark.parametrize(
    ("marker", "shown"),
    [
        pytest.param("'runs'", "*name the problems: *--crmeval-problems FILE*", id="no problems"),
        pytest.param("'runs', problems='no.jsonl'", "*no.jsonl: this file of problems does not exist*", id="gone"),
        pytest.param("'runs', problems='test_it.py'", "*test_it.py:1: *", id="no problem in it"),
        pytest.param("'nowhere', problems='problems.jsonl'", "*nowhere*", id="no solutions"),
        pytest.param(
            "'runs', problems='problems.jsonl', threshold=2", "*threshold=2: must be a share*", id="threshold"
        ),
        pytest.param("'runs', limit=3", "*@pytest.mark.solutions('checkpoints/'), one path, *problems=*", id="unknown"),
    ],
)
def test_malformed_marker_shows_how_to_write_it(judging: Made, marker: str, shown: str) -> None:
    test = TEST.replace('"runs", problems="problems.jsonl", suite="checkpoints"', marker)

    result = judging(test=test).runpytest(*NO_XDIST)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([shown])
