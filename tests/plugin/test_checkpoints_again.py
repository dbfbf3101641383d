"""Solutions are not run again, unless something changed that their verdicts depend on."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.fake_sandbox import CONFTEST, PROBLEMS, RAN, Made, problem, solution, summaries, write_lines

NO_XDIST = ("-p", "no:xdist")
FILES = {"checkpoint-49/s": [solution("a"), solution("b", "say 4")], "checkpoint-98/s": [solution("a")]}


@pytest.fixture
def judged(judging: Made) -> pytest.Pytester:
    """Return a project whose files were graded in the run ``first``."""
    pytester = judging(FILES)
    pytester.runpytest(*NO_XDIST, "--crmeval-run", "first").assert_outcomes(passed=2)
    assert 5 == len(RAN)
    RAN.clear()
    return pytester


def shown(pytester: pytest.Pytester, subject: str = "checkpoint-49") -> dict[str, Any]:
    """Return the figures of a checkpoint in the latest run, without their origin."""
    figures = summaries(pytester)[subject]["checkpoint"]
    return {name: figure for name, figure in figures.items() if not name.startswith("reused")}


def test_same_files_are_not_run_again(judged: pytest.Pytester) -> None:
    """The figures are the same, the run has its own copy of the results, and says where they are from."""
    before = shown(judged)

    result = judged.runpytest(*NO_XDIST, "--crmeval-run", "second")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["3 verdicts of checkpoints reused from first*", "*--crmeval-fresh runs them again*"])
    assert [] == RAN
    assert before == shown(judged)
    assert "first" == summaries(judged)["checkpoint-49"]["checkpoint"]["reused_from"]
    first, second = (
        Path(judged.path, "reports", run, "eval_checkpoint_49/eval_s.jsonl") for run in ("first", "second")
    )
    assert first.read_text().splitlines()[1:-1] == second.read_text().splitlines()[1:-1]


def test_fresh_runs_all_solutions_again(judged: pytest.Pytester) -> None:
    result = judged.runpytest(*NO_XDIST, "--crmeval-fresh")

    assert 5 == len(RAN)
    result.stdout.no_fnmatch_line("*verdicts of checkpoints reused from*")


@pytest.mark.parametrize("change", ["solutions", "problems", "sandbox", "judge", "terms"])
def test_changed_solutions_are_run_again(judged: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    """Only one file, or all of them if they all depend on what changed."""
    here, arguments, expected = Path(judged.path), list[str](), 5
    if change == "solutions":
        write_lines(here / "runs/checkpoint-98/s.jsonl", solution("a", "say 5\nsay"))
        expected = 2
    elif change == "problems":
        write_lines(here / "problems.jsonl", *PROBLEMS, problem("more"))
    elif change == "sandbox":
        judged.makepyfile(conftest=CONFTEST.replace("FakeSandbox()", "FakeSandbox(identity='paper 2')"))
    elif change == "judge":
        # Without this, the module of an earlier run would be reused by name.
        monkeypatch.setattr(import_module("pytest_crmeval.player.solutions"), "JUDGING", 0)
    else:
        arguments, expected = ["--crmeval-set=all_tests=yes"], 6

    judged.runpytest(*NO_XDIST, *arguments).assert_outcomes(passed=2)

    assert expected == len(RAN)


def test_only_the_rest_of_an_unfinished_file_is_run(judging: Made) -> None:
    """Also in another run. Solutions with a sandbox failure belong to the rest."""
    pytester = judging({"checkpoint-49/s": [solution("a"), solution("b", "break"), solution("c")]})
    pytester.runpytest(*NO_XDIST, "--crmeval-run", "first").assert_outcomes(failed=1)
    pytester.makepyfile(conftest=CONFTEST.replace("FakeSandbox", "RepairedSandbox"))
    RAN.clear()

    result = pytester.runpytest(*NO_XDIST, "--crmeval-run", "second")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["2 verdicts of checkpoints reused from first: *"])
    assert ["break", "break"] == RAN
    assert 3 == shown(pytester)["solved"]


def test_torn_results_are_used_as_far_as_they_are_complete(judged: pytest.Pytester) -> None:
    """A full disk or a power failure leaves half a line."""
    for place in Path(judged.path, "reports/first").glob("eval_*/*.jsonl"):
        lines = place.read_bytes().splitlines(keepends=True)
        place.write_bytes(b"".join(lines[:2]) + lines[2][:10])

    judged.runpytest(*NO_XDIST).assert_outcomes(passed=2)

    assert ["say 4"] == RAN
    assert {"AC": 1, "WA": 1} == shown(judged)["verdicts"]


def test_two_tests_of_the_same_file_have_their_own_results(judging: Made) -> None:
    test = """
import pytest

@pytest.mark.solutions("runs", problems="problems.jsonl", suite="one")
def test_one(solutions, evaluate):
    evaluate(solutions)

@pytest.mark.solutions("runs", problems="problems.jsonl", suite="two")
def test_two(solutions, evaluate):
    evaluate(solutions)
"""
    pytester = judging(test=test)

    pytester.runpytest(*NO_XDIST).assert_outcomes(passed=2)

    assert 2 == len(list(Path(pytester.path, "reports/latest/eval_checkpoint_49").glob("eval_s*.jsonl")))
