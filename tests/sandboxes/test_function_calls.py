"""Problems whose tests call a function are judged in the real sandbox, in the columns of each benchmark."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.journal.solutions.outcomes import SolutionOutcome, Ungradable
from pytest_crmeval.ports.sandbox import Sandbox
from pytest_crmeval.sandboxes.local import LocalSandbox
from pytest_crmeval.solutions.files import read
from pytest_crmeval.solutions.play.solution import ProgramJudge, Rules
from pytest_crmeval.solutions.play.solution_file import judging_by
from pytest_crmeval.solutions.problem import TestChoice
from pytest_crmeval.solutions.problems import opened
from pytest_crmeval.solutions.solution import Solution
from tests.benchmark_rows import ADD, BENCHMARKS, HUMAN_EVAL, HUMAN_EVAL_PLUS, LIVE_CODE_BENCH_CALL, MBPP, Record

HUMANEVAL = Path(__file__).parents[3] / "shared" / "data" / "humaneval"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")


@pytest.fixture(scope="module")
def auto() -> Iterator[LocalSandbox]:
    """Yield the strongest sandbox that this machine allows."""
    sandbox = LocalSandbox()
    yield sandbox
    sandbox.close()


def judged(
    sandbox: Sandbox, folder: Path, rows: list[Record], samples: list[Record]
) -> list[SolutionOutcome | Ungradable]:
    """Judge samples by the rows of a benchmark, from the lines of both files to the verdicts."""
    for name, records in (("problems.jsonl", rows), ("samples.jsonl", samples)):
        text = "".join(json.dumps(record) + "\n" for record in records)
        (folder / name).write_text(text, encoding="utf-8")
    problems = opened([folder / "problems.jsonl"], TestChoice(max_generated=None))
    with ProgramJudge(sandbox, Rules()) as judge:
        judging = judging_by(problems.get, judge, sandbox)
        return [judging(line) if isinstance(line, Solution) else line for line in read(folder / "samples.jsonl")]


def verdict(sandbox: Sandbox, folder: Path, row: Record, sample: Record) -> tuple[str, str]:
    """Return the verdict on one sample, and the reason."""
    (outcome,) = judged(sandbox, folder, [row], [sample])
    assert isinstance(outcome, SolutionOutcome), outcome
    return str(outcome.verdict), outcome.reason


def test_right_and_wrong_samples_of_every_benchmark(auto: LocalSandbox, tmp_path: Path) -> None:
    found: dict[str, list[str]] = {}
    for name, (row, _, right, wrong) in BENCHMARKS.items():
        outcomes = judged(auto, tmp_path, [row], [right, wrong])
        found[name] = [str(each.verdict) if isinstance(each, SolutionOutcome) else str(each) for each in outcomes]

    assert {name: ["AC", "WA"] for name in BENCHMARKS} == found


def test_functions_are_called_at_every_level(sandbox: LocalSandbox, tmp_path: Path) -> None:
    outcomes = judged(sandbox, tmp_path, [HUMAN_EVAL], list(BENCHMARKS["HumanEval"][2:]))

    assert ["AC", "WA"] == [getattr(each, "verdict", each) for each in outcomes]


def test_functions_are_called_through_piston(piston: Any, tmp_path: Path) -> None:  # noqa: ANN401 (of the conftest)
    rows = [HUMAN_EVAL, LIVE_CODE_BENCH_CALL]
    samples = [sample for name in ("HumanEval", "LiveCodeBench with a function") for sample in BENCHMARKS[name][2:]]

    outcomes = judged(piston, tmp_path, rows, samples)

    assert ["AC", "WA", "AC", "WA"] == [getattr(each, "verdict", each) for each in outcomes]


@pytest.mark.parametrize(
    ("completion", "expected", "reason"),
    [
        pytest.param("    return None\n", "WA", "assert candidate(1, 2) == 3", id="an assertion"),
        pytest.param("", "WA", "assert candidate(1, 2) == 3", id="nothing"),
        pytest.param("    raise ValueError('no')\n", "RE", "exit code 1: ValueError: no", id="an exception"),
        pytest.param("    return (\n", "RE", "SyntaxError", id="no Python"),
        pytest.param("    import sys; sys.exit(0)\n", "WA", "ended before its tests did", id="it exits"),
        pytest.param("    import os; os._exit(0)\n", "WA", "ended before its tests did", id="it vanishes"),
        pytest.param(
            "    import os\n    for n in range(1, 9):\n        try: os.write(n, b'{\"passed\": true}')\n"
            "        except OSError: pass\n    os._exit(0)\n",
            "WA",
            "ended before its tests did",
            id="it writes a result of its own",
        ),
        pytest.param("    while True: pass\n", "TLE", "more than 3 s", id="a loop"),
        pytest.param("    return a + b\n\ninput()\n", "RE", "EOFError", id="it reads what is for the harness"),
        pytest.param("    return a + b\n\nif __name__ == '__main__':\n    1 / 0\n", "AC", "", id="a main part"),
        pytest.param("    print('debugging')\n    return a + b\n", "AC", "", id="output"),
    ],
)
def test_verdict_depends_on_the_tests_of_the_function(
    auto: LocalSandbox, tmp_path: Path, completion: str, expected: str, reason: str
) -> None:
    """A program that does not come to the end of its tests passes nothing."""
    found, said = verdict(auto, tmp_path, HUMAN_EVAL, {"task_id": "HumanEval/900", "completion": completion})

    assert expected == found
    assert reason in said


def test_a_function_that_is_not_there_is_wrong(auto: LocalSandbox, tmp_path: Path) -> None:
    """It is said which."""
    sample = {"task_id": "HumanEval/900", "solution": "def other(): pass"}

    assert ("WA", "test 1 (official): there is no function add") == verdict(auto, tmp_path, HUMAN_EVAL, sample)


def test_an_empty_solution_is_wrong(auto: LocalSandbox, tmp_path: Path) -> None:
    """As in evalplus: a model that answers nothing has no higher pass@1 for it."""
    sample = {"task_id": "HumanEval/900", "solution": ""}

    assert ("WA", "test 1 (official): there is no function add") == verdict(auto, tmp_path, HUMAN_EVAL, sample)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({**MBPP, "test_list": ["import nowhere"]}, "ModuleNotFoundError in the tests"),
        ({**MBPP, "test_list": ["assert ("]}, "SyntaxError in the tests"),
        (
            {**HUMAN_EVAL_PLUS, "task_id": 903, "canonical_solution": "    return 1 / 0\n"},
            "the reference solution fails",
        ),
    ],
)
def test_tests_that_can_not_be_run_are_a_judge_error(
    auto: LocalSandbox, tmp_path: Path, row: Record, reason: str
) -> None:
    """They say nothing about the program."""
    found, said = verdict(auto, tmp_path, row, {"task_id": 903, "solution": ADD})

    assert "JE" == found
    assert reason in said


def test_a_call_that_takes_much_longer_than_the_reference_is_too_slow(auto: LocalSandbox, tmp_path: Path) -> None:
    """Each call has a limit, although it catches every exception."""
    source = (
        "def add(a, b):\n    try:\n        while True:\n            pass\n    except Exception:\n        return 3\n"
    )

    found, said = verdict(auto, tmp_path, HUMAN_EVAL_PLUS, {"task_id": "HumanEval/902", "solution": source})

    assert ("TLE", "test 1 (official): input 1: more than 1 s of CPU time") == (found, said)


def test_function_tests_support_python_only(auto: LocalSandbox, tmp_path: Path) -> None:
    """It is counted apart."""
    sample = {"task_id": "HumanEval/900", "code": "int main() {}", "language": "GNU C++17"}

    (found,) = judged(auto, tmp_path, [HUMAN_EVAL], [sample])

    assert isinstance(found, Ungradable)
    assert "its tests call a Python function" == found.detail


@pytest.mark.skipif(not HUMANEVAL.is_dir(), reason="the programs of HumanEval are not here")
@pytest.mark.parametrize(("name", "solved"), [("canonical", 164), ("half_wrong", 82)])
def test_humaneval_in_its_own_columns(auto: LocalSandbox, tmp_path: Path, name: str, solved: int) -> None:
    """Made of the programs that print a word after their tests: 164 of 164 canonical solutions pass."""
    lines = (HUMANEVAL / f"solutions_stdio_{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows, samples = [], []
    for record in map(json.loads, lines):
        solution, _, rest = record["code"].partition("def check(candidate):")
        test, _, call = rest.rpartition("\ncheck(")
        task = {"task_id": record["id"], "prompt": "", "entry_point": call.partition(")")[0]}
        rows.append({**task, "test": f"def check(candidate):{test}\n"})
        samples.append({"task_id": record["id"], "solution": solution})

    outcomes = judged(auto, tmp_path, rows, samples)

    assert solved == sum(isinstance(each, SolutionOutcome) and each.solved for each in outcomes)
