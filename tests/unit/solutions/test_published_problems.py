"""Benchmarks are read in the columns in which they are published."""

import gzip
import json
import pickle
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.solutions.problem import Problem, TestChoice, TestKind
from pytest_crmeval.solutions.problems import opened
from tests.benchmark_rows import (
    APPS,
    BENCHMARKS,
    CODE_CONTESTS,
    HUMAN_EVAL,
    HUMAN_EVAL_PLUS,
    LIVE_CODE_BENCH,
    LIVE_CODE_BENCH_CALL,
    MBPP,
    TACO,
    Record,
    packed,
)

EVERYTHING = TestChoice(max_generated=None)


def read(path: Path, *rows: Record) -> Path:
    """Write JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def got(path: Path, id_: str, choice: TestChoice = EVERYTHING) -> Problem:
    """Return a problem that is there."""
    problem = opened([path], choice).get(id_)
    assert problem is not None
    return problem


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_row_of_each_benchmark_has_its_id_and_tests(tmp_path: Path, name: str) -> None:
    """Nothing of it is unsupported."""
    row, id_, _, _ = BENCHMARKS[name]
    problems = opened([read(tmp_path / "p.jsonl", row)], EVERYTHING)

    problem = problems.get(id_)

    assert [id_] == list(problems)
    assert problem is not None
    assert problem.tests
    assert "" == problem.unsupported


@pytest.mark.parametrize("name", ["HumanEval", "MBPP sanitized", "LiveCodeBench", "APPS", "CodeContests"])
def test_a_table_of_a_benchmark_is_read_as_its_lines_are(tmp_path: Path, name: str) -> None:
    row, id_, _, _ = BENCHMARKS[name]
    parquet.write_table(pa.Table.from_pylist([row]), tmp_path / "p.parquet")

    assert got(read(tmp_path / "p.jsonl", row), id_) == got(tmp_path / "p.parquet", id_)


@pytest.mark.parametrize("name", ["HumanEval.jsonl.gz", "sanitized-mbpp.json", "both.json.gz"])
def test_packed_files_are_read_as_they_are(tmp_path: Path, name: str) -> None:
    """Compressed lines, and a JSON list."""
    text = json.dumps([HUMAN_EVAL, MBPP], indent=1) if "json" in name.split(".")[1:2] else json.dumps(HUMAN_EVAL)
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())

    assert "HumanEval/900" in opened([path])


def test_a_broken_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl.gz").write_bytes(b"not an archive")

    with pytest.raises(DatasetError, match=r"p\.jsonl\.gz: this can't be decompressed"):
        opened([tmp_path / "p.jsonl.gz"])


def test_taco_counts_its_rows_from_0_and_has_limits_in_words(tmp_path: Path) -> None:
    """It has no ids."""
    problem = got(read(tmp_path / "p.jsonl", APPS, TACO), "1")

    assert (1.5, 512 * 2**20) == (problem.time_limit, problem.memory_limit)


def test_the_generated_tests_of_code_contests_are_a_choice(tmp_path: Path) -> None:
    """All of them unless the user limits them; public tests are those of the statement."""
    path = read(tmp_path / "p.jsonl", CODE_CONTESTS)
    limited = got(path, "911/A", TestChoice(max_generated=1))

    assert [TestKind.OFFICIAL, TestKind.GENERATED, TestKind.GENERATED] == [
        test.kind for test in got(path, "911/A").tests
    ]
    assert [TestKind.OFFICIAL, TestKind.GENERATED] == [test.kind for test in limited.tests]
    assert (1.5, 64_000_000, 800) == (limited.time_limit, limited.memory_limit, limited.rating)


def test_the_plus_inputs_of_evalplus_are_a_choice(tmp_path: Path) -> None:
    path = read(tmp_path / "p.jsonl", HUMAN_EVAL_PLUS)

    assert 2 == len(got(path, "HumanEval/902").tests)
    assert 1 == len(got(path, "HumanEval/902", TestChoice(max_generated=0)).tests)


def test_the_inputs_of_mbpp_plus_get_their_types_back(tmp_path: Path) -> None:
    """JSON has no tuples, and no infinity either, which evalplus writes nevertheless."""
    task = {**HUMAN_EVAL_PLUS, "plus_input": {}}
    rows = [
        {**task, "task_id": "Mbpp/2", "base_input": [[[1, 2], [2, 3]]]},
        {**task, "task_id": "Mbpp/115", "base_input": [[[[1], []]]]},
        {**task, "task_id": "Mbpp/252", "base_input": [["1j"]]},
        {**task, "task_id": "Mbpp/3", "base_input": [[float("inf")]]},
    ]
    path = read(tmp_path / "p.jsonl", *rows)

    inputs = [json.loads(got(path, row["task_id"]).tests[0].input)["inputs"] for row in rows]

    assert ["[[(1, 2), (2, 3)]]", "[[[{1}, {}]]]", "[[1j]]", "[[inf]]"] == inputs


class Evil:
    """A pickle of it runs code when it is read."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        """Say what is run."""
        return exec, ("raise SystemExit('it was run')",)


def test_a_pickle_that_would_run_code_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The private tests of LiveCodeBench are pickled."""
    monkeypatch.setattr(json, "dumps", lambda *_, **__: Evil())
    evil = packed([])
    monkeypatch.undo()
    problems = opened([read(tmp_path / "p.jsonl", {**LIVE_CODE_BENCH, "private_test_cases": evil})])

    with pytest.raises(DatasetError, match=r"private_test_cases: .*builtins\.exec"):
        problems.get("abc907_a")
    assert pickle.dumps(Evil())


def test_a_function_without_a_name_is_refused(tmp_path: Path) -> None:
    """It can't be called."""
    problems = opened([read(tmp_path / "p.jsonl", {**LIVE_CODE_BENCH_CALL, "metadata": "{}"})])

    with pytest.raises(DatasetError, match="metadata: there is no func_name"):
        problems.get("3908")
