"""Solution files are cases as conversations are; the checkpoint that wrote them is who is evaluated."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.boxes import answered, problem, solution, whole_tree, write_lines
from tests.projects import report_of

Made = Callable[..., pytest.Pytester]
WAYS = pytest.mark.parametrize("xdist", [["-n", "2"], ["-p", "no:xdist"]], ids=" ".join)
NO_XDIST = ("-p", "no:xdist")
TEST = """
import pytest

@pytest.mark.solutions("runs", problems="problems.jsonl", suite="checkpoints")
def test_solutions(solutions, evaluate):
    trial = evaluate(solutions)
    assert trial.passed, trial.explain()
"""
CONFTEST = """
import pytest
from tests.boxes import Box

@pytest.fixture(scope="session")
def sandbox():
    return Box()
"""
EVERY_KIND = [
    solution("a"),
    solution("b", "say 4"),
    solution("a", "cpu"),
    solution("c", "memory"),
    solution("d", "exit 1"),
    solution("e", "output"),
    solution("f", "refuse"),
    "{no json",
    {"code": "say 5"},
    solution("nobody"),
    answered("a", "I can't."),
    answered("a", "```python\nsay 5\n"),
    solution("interactive"),
]
PROBLEMS = [
    problem("a", rating=900, tags=["math"]),
    problem("b", rating=1300, tags=["math", "greedy"]),
    *(problem(name) for name in "cdef"),
    problem("interactive", interactive=True),
]


@pytest.fixture
def judging(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Return a function that makes a project of checkpoints, on a machine where no server can be had."""
    monkeypatch.setenv("CRMEVAL_DSN", "host=127.0.0.1 port=1 connect_timeout=1")
    monkeypatch.delenv("CRMEVAL_PISTON_URL", raising=False)

    def make(
        files: dict[str, list[Any]] | None = None, *, ini: str = "", test: str = TEST, conftest: str = CONFTEST
    ) -> pytest.Pytester:
        for name, lines in (files or {"checkpoint-49/s": [solution("a")]}).items():
            write_lines(Path(pytester.path, "runs", f"{name}.jsonl"), *lines)
        write_lines(Path(pytester.path, "problems.jsonl"), *PROBLEMS)
        pytester.makepyfile(test_it=test, conftest=conftest)
        pytester.makeini(f"[pytest]\n{ini}")
        return pytester

    return make


def standings(pytester: pytest.Pytester) -> dict[str, dict[str, Any]]:
    """Return how each subject of the latest run stands."""
    return {each["subject"]: each for each in report_of(pytester.path)["results"]}


@WAYS
def test_one_item_per_file_and_the_checkpoint_is_who_is_evaluated(judging: Made, xdist: list[str]) -> None:
    """By step and not by name; no server, no agent, and whoever else is evaluated has nothing to do with it."""
    pytester = judging({f"checkpoint-{step}/s": [solution("a"), solution("b", "say 4")] for step in (9, 49, 100)})

    result = pytester.runpytest("-v", *xdist, "--crmeval-agent", "oracle", "--crmeval-agent", "mute")

    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*test_solutions?checkpoint-49-s?*", "crmeval*"])
    result.stdout.fnmatch_lines(["crmeval server: none was needed"])
    result.stdout.no_fnmatch_line("crmeval agent:*")
    assert ["checkpoint-9", "checkpoint-49", "checkpoint-100"] == list(standings(pytester))
