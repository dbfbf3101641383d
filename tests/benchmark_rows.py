"""Small problems of our own in the columns of published benchmarks, each with right and wrong solutions."""

import base64
import json
import pickle
import zlib
from typing import Any

Record = dict[str, Any]
ADD = "def add(a, b):\n    return a + b\n"
METHOD = "class Solution:\n    def add(self, a: int, b: int) -> int:\n        return a + b\n"
SUM = "print(sum(map(int, input().split())))\n"
NUMPY_TESTS = """
import numpy as np

def same(found, right):
    assert found == right or np.allclose(found, right, rtol=1e-07, atol=1e-6)

def check(candidate):
    for given, right in zip([[1, 2], [0.1, 0.2]], [3, 0.3]):
        same(candidate(*given), right)
"""
PROMPT = 'def add(a, b):\n    """ Return the sum. """\n'


def packed(cases: list[Record]) -> str:
    """Return test cases as LiveCodeBench packs the private ones."""
    return base64.b64encode(zlib.compress(pickle.dumps(json.dumps(cases)))).decode()


def _cases(kind: str, *pairs: tuple[str, str]) -> list[Record]:
    return [{"input": given, "output": right, "testtype": kind} for given, right in pairs]


HUMAN_EVAL: Record = {
    "task_id": "HumanEval/900",
    "prompt": PROMPT,
    "entry_point": "add",
    "canonical_solution": "    return a + b\n",
    "test": "\ndef check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(-1, 1) == 0\n",
}
HUMAN_EVAL_PLUS_HUB: Record = {**HUMAN_EVAL, "task_id": "HumanEval/901", "test": NUMPY_TESTS}
HUMAN_EVAL_PLUS: Record = {
    "task_id": "HumanEval/902",
    "prompt": PROMPT,
    "entry_point": "add",
    "canonical_solution": "    return a + b\n",
    "base_input": [[1, 2], [0.1, 0.2]],
    "plus_input": [[10**30, 1], [-5, 5]],
    "atol": 0,
    "contract": "",
}
MBPP: Record = {
    "task_id": 903,
    "text": "Write a function to add two numbers.",
    "code": ADD,
    "test_setup_code": "",
    "test_list": ["assert add(1, 2) == 3", "assert add(-1, 1) == 0"],
    "challenge_test_list": [],
}
MBPP_SANITIZED: Record = {
    "source_file": "x.ipynb",
    "task_id": 904,
    "prompt": "Write a function to add two numbers.",
    "code": ADD,
    "test_imports": ["import math"],
    "test_list": ["assert math.isclose(add(0.1, 0.2), 0.3)"],
}
MBPP_PLUS_HUB: Record = {**MBPP_SANITIZED, "task_id": 905, "test": NUMPY_TESTS + "\ncheck(add)\n"}
MBPP_PLUS: Record = {**HUMAN_EVAL_PLUS, "task_id": "Mbpp/906", "prompt": '"""Add."""\n', "canonical_solution": ADD}
LIVE_CODE_BENCH: Record = {
    "question_title": "Sum",
    "question_content": "Print the sum.",
    "platform": "atcoder",
    "question_id": "abc907_a",
    "contest_id": "abc907",
    "contest_date": "2026-01-01T00:00:00",
    "starter_code": "",
    "difficulty": "easy",
    "public_test_cases": json.dumps(_cases("stdin", ("1 2\n", "3\n"))),
    "private_test_cases": packed(_cases("stdin", ("-1 1\n", "0\n"))),
    "metadata": "{}",
}
LIVE_CODE_BENCH_CALL: Record = {
    **LIVE_CODE_BENCH,
    "platform": "leetcode",
    "question_id": "3908",
    "starter_code": "class Solution:\n    def add(self, a: int, b: int) -> int:\n        ",
    "public_test_cases": json.dumps(_cases("functional", ("1\n2", "3"))),
    "private_test_cases": packed(_cases("functional", ("-1\n1", "0"))),
    "metadata": json.dumps({"func_name": "add"}),
}
APPS: Record = {
    "problem_id": 909,
    "question": "Print the sum.",
    "solutions": json.dumps([SUM]),
    "input_output": json.dumps({"inputs": ["1 2\n", ["-1 1"]], "outputs": ["3\n", ["0"]]}),
    "difficulty": "introductory",
    "url": "https://example.org/909",
    "starter_code": "",
}
APPS_CALL: Record = {
    **APPS,
    "problem_id": 910,
    "input_output": json.dumps({"fn_name": "add", "inputs": [[1, 2], [-1, 1]], "outputs": [[3], 0]}),
}
TACO: Record = {
    "question": "Print the sum.",
    "solutions": json.dumps([SUM]),
    "starter_code": "",
    "input_output": json.dumps({"inputs": ["1 2\n", "-1 1\n"], "outputs": ["3\n", "0\n"]}),
    "difficulty": "EASY",
    "time_limit": "1.5 seconds",
    "memory_limit": "512.0 megabytes",
    "name": None,
    "tags": "['Math']",
}
CODE_CONTESTS: Record = {
    "name": "911_A. Sum",
    "description": "Print the sum.",
    "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
    "private_tests": {"input": ["-1 1\n"], "output": ["0\n"]},
    "generated_tests": {"input": ["4 4\n", "5 5\n"], "output": ["8\n", "10\n"]},
    "source": 2,
    "difficulty": 7,
    "cf_contest_id": 911,
    "cf_index": "A",
    "cf_rating": 800,
    "cf_tags": ["math"],
    "time_limit": {"seconds": 1, "nanos": 500000000},
    "memory_limit_bytes": 64000000,
    "input_file": "",
    "output_file": "",
}
OPEN_R1: Record = {
    "id": "912/A",
    "time_limit": 1.0,
    "memory_limit": 256.0,
    "input_mode": "stdio",
    "official_tests": [{"input": "1 2\r\n", "output": "3\r\n"}],
    "official_tests_complete": True,
    "generated_tests": 0,
    "generated_checker": None,
}
OURS: Record = {"id": "our-function", "entry_point": "add", "tests": [{"input": "[1, 2]", "output": "3"}]}
OURS_CODE: Record = {"id": "our-asserts", "tests": [], "test_code": "assert add(1, 2) == 3"}

BENCHMARKS: dict[str, tuple[Record, str, Record, Record]] = {
    "HumanEval": (
        HUMAN_EVAL,
        "HumanEval/900",
        {"task_id": "HumanEval/900", "completion": "    return a + b\n"},
        {"task_id": "HumanEval/900", "completion": "    return a - b\n"},
    ),
    "HumanEval+ of the hub": (
        HUMAN_EVAL_PLUS_HUB,
        "HumanEval/901",
        {"task_id": "HumanEval/901", "solution": ADD},
        {"task_id": "HumanEval/901", "solution": "def add(a, b):\n    return round(a + b)\n"},
    ),
    "HumanEval+": (
        HUMAN_EVAL_PLUS,
        "HumanEval/902",
        {"task_id": "HumanEval/902", "solution": ADD},
        {"task_id": "HumanEval/902", "solution": "def add(a, b):\n    return a if b == 1 else a + b\n"},
    ),
    "MBPP": (MBPP, "903", {"task_id": "Mbpp/903", "solution": ADD}, {"task_id": 903, "completion": "add = max\n"}),
    "MBPP sanitized": (MBPP_SANITIZED, "904", {"task_id": 904, "code": ADD}, {"task_id": 904, "code": "add = max\n"}),
    "MBPP+ of the hub": (MBPP_PLUS_HUB, "905", {"task_id": 905, "code": ADD}, {"task_id": 905, "code": "add = max"}),
    "MBPP+": (
        MBPP_PLUS,
        "Mbpp/906",
        {"task_id": "Mbpp/906", "solution": ADD},
        {"task_id": "Mbpp/906", "solution": "add = max\n"},
    ),
    "LiveCodeBench": (
        LIVE_CODE_BENCH,
        "abc907_a",
        {"question_id": "abc907_a", "code": SUM},
        {"question_id": "abc907_a", "code": "print(3)\n"},
    ),
    "LiveCodeBench with a function": (
        LIVE_CODE_BENCH_CALL,
        "3908",
        {"question_id": "3908", "code": METHOD},
        {"question_id": "3908", "code": METHOD.replace("a + b", "3")},
    ),
    "APPS": (APPS, "909", {"problem_id": 909, "code": SUM}, {"problem_id": 909, "code": "print(3)"}),
    "APPS with a function": (
        APPS_CALL,
        "910",
        {"problem_id": 910, "code": METHOD},
        {"problem_id": 910, "code": METHOD.replace("a + b", "3")},
    ),
    "TACO": (TACO, "0", {"task_id": 0, "code": SUM}, {"task_id": 0, "code": "print(3)"}),
    "CodeContests": (
        CODE_CONTESTS,
        "911_A. Sum",
        {"id": "911/A", "code": SUM},
        {"id": "911_A. Sum", "code": "a, b = input().split()\nprint(0 if a[0] == '-' else 3)\n"},
    ),
    "open-r1": (OPEN_R1, "912/A", {"id": "912/A", "code": SUM}, {"id": "912/A", "code": "print(3.0)"}),
    "our own, with values": (
        OURS,
        "our-function",
        {"id": "our-function", "code": ADD},
        {"id": "our-function", "code": "add = max"},
    ),
    "our own, with code": (
        OURS_CODE,
        "our-asserts",
        {"id": "our-asserts", "code": ADD},
        {"id": "our-asserts", "code": "add = max"},
    ),
}
"""Name -> row, id of the problem, a right sample, a wrong sample."""
