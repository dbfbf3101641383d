"""The columns of HumanEval, MBPP and evalplus: a function, and tests that are code or inputs of a reference."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from pytest_crmeval.solutions.problem import FunctionCall, Problem, ProblemTest, TestKind
from pytest_crmeval.solutions.problems.draft import MIB, Draft, FieldError

_SECONDS = 3.0
"""What the evaluator of HumanEval allows."""
_PLUS_SECONDS = 60.0
"""For all calls of the reference and of the solution together; each call of the solution has its own limit, too."""
_MEGABYTES, _PLUS_MEGABYTES = 1024, 4096


class HumanEvalRow(msgspec.Struct):
    """The columns of HumanEval, and of HumanEval+ on the Hugging Face hub."""

    task_id: str | int
    entry_point: str
    test: str
    prompt: str = ""

    def draft(self, number: int, *, brief: bool) -> Draft:
        """Return the problem."""
        del number, brief
        function = FunctionCall(entry_point=self.entry_point, prompt=self.prompt)
        return _drafted(self.task_id, function, [code_test(self.test)])


class MbppRow(msgspec.Struct):
    """The columns of MBPP, whole or sanitized, and of MBPP+ on the Hugging Face hub."""

    task_id: str | int
    test_list: list[str]
    test_setup_code: str | None = None
    test_imports: list[str] | None = None
    test: str | None = None

    def draft(self, number: int, *, brief: bool) -> Draft:
        """Return the problem."""
        del number, brief
        code = self.test or "\n".join([*(self.test_imports or ()), self.test_setup_code or "", *self.test_list])
        return _drafted(self.task_id, FunctionCall(entry_point=""), [code_test(code)], is_mbpp=True)


class EvalPlusRow(msgspec.Struct):
    """The columns of evalplus's own files: HumanEvalPlus.jsonl and MbppPlus.jsonl."""

    task_id: str | int
    entry_point: str
    base_input: list[Any]
    prompt: str = ""
    canonical_solution: str = ""
    plus_input: list[Any] | dict[str, Any] | None = None
    """Some rows have an empty object in place of an empty list."""
    atol: float = 0.0

    def draft(self, number: int, *, brief: bool) -> Draft:
        """Return the problem: a test with the base inputs, and one with the others."""
        del number
        is_mbpp = not str(self.task_id).startswith("HumanEval")
        function = FunctionCall(entry_point=self.entry_point, prompt=self.prompt)
        tests = [] if brief else list(self._tests(is_mbpp=is_mbpp))
        return _drafted(self.task_id, function, tests, is_mbpp=is_mbpp, is_plus=True)

    def _tests(self, *, is_mbpp: bool) -> Iterator[ProblemTest]:
        job = {
            "reference": f"{self.prompt}{chr(10) * is_mbpp}{self.canonical_solution}",
            "tolerance": self.atol,
            "is_mbpp": is_mbpp,
        }
        convert = _CONVERSIONS.get(_number(self.task_id), list) if is_mbpp else list
        for kind, column in ((TestKind.OFFICIAL, "base_input"), (TestKind.GENERATED, "plus_input")):
            try:
                inputs = [convert(each) for each in getattr(self, column) or ()]
            except (TypeError, ValueError, LookupError, AttributeError) as error:
                raise FieldError(f"{column}: not what {self.entry_point} takes: {error}") from error
            if inputs:
                yield ProblemTest(input=json.dumps({**job, "inputs": repr(inputs)}), output="", kind=kind)


def code_test(code: str) -> ProblemTest:
    """Return a test that is code."""
    return ProblemTest(input=json.dumps({"code": code}), output="")


def _drafted(
    task: str | int,
    function: FunctionCall,
    tests: Sequence[ProblemTest],
    *,
    is_mbpp: bool = False,
    is_plus: bool = False,
) -> Draft:
    name, number = str(task).strip(), _number(task)
    problem = Problem(
        id=name,
        fingerprint="",
        tests=tuple(tests),
        time_limit=_PLUS_SECONDS if is_plus else _SECONDS,
        memory_limit=(_PLUS_MEGABYTES if is_plus else _MEGABYTES) * MIB,
        function=function,
    )
    aliases = {f"Mbpp/{number}", f"MBPP/{number}", f"mbpp/{number}", str(number)} if is_mbpp else set()
    return Draft(problem=problem, aliases=sorted(aliases - {name}))


def _number(task: str | int) -> int:
    last = str(task).rpartition("/")[2]
    return int(last) if last.isdecimal() else -1


def _tuples(values: Any) -> Any:  # noqa: ANN401 (JSON)
    return tuple(map(_tuples, values)) if isinstance(values, list) else values


_TASKS: dict[Callable[[list[Any]], Any], str] = {
    lambda given: [tuple(each) for each in given]: (
        "2 116 132 143 222 261 273 394 399 421 424 429 470 560 579 596 616 630 726 740 744 809"
    ),
    lambda given: [[tuple(each) for each in inner] for inner in given]: (
        "63 64 70 94 120 237 272 299 400 409 417 438 473 614 780"
    ),
    lambda given: [[tuple(each) for each in given[0]], given[1]]: "75 413 444 753",
    lambda given: [given[0], tuple(given[1])]: "106 750",
    lambda given: [[set(each) if isinstance(each, list) and each else {} for each in given[0]]]: "115",
    lambda given: [float(given[0]), complex(given[1])]: "124",
    lambda given: [tuple(given[0]), *given[1:]]: "250 307 405 446 617 720 763 808",
    lambda given: [tuple(map(tuple, inner)) for inner in given]: "259 401 445",
    lambda given: [tuple(tuple(each) if isinstance(each, list) else each for each in given[0])]: "278",
    lambda given: [{key: tuple(value) for key, value in given[0].items()}, *given[1:]]: "722",
    lambda given: [complex(given[0])]: "252",
    _tuples: "580 615 791",
}
"""Which tasks of MBPP+ take tuples, sets or complex numbers, where their JSON has lists or texts."""
_CONVERSIONS = {int(task): convert for convert, tasks in _TASKS.items() for task in tasks.split()}
