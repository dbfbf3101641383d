"""The columns of LiveCodeBench's code generation."""

import base64
import binascii
import io
import json
import pickle
import zlib
from typing import Any, NoReturn

import msgspec

from pytest_crmeval.solutions.problem import FunctionCall, OutputComparison, Problem, ProblemTest, TestKind
from pytest_crmeval.solutions.problems.draft import MIB, Draft, FieldError
from pytest_crmeval.solutions.problems.published.input_output import call_test

_SECONDS = 6.0
"""What its evaluator allows for a test."""
_MEGABYTES = 1024
_TOLERANCE = 1e-5
"""What LeetCode accepts where a function returns a fraction."""


class LiveCodeBenchRow(msgspec.Struct):
    """The columns that a verdict depends on."""

    question_id: str | int
    public_test_cases: str | list[dict[str, Any]] | None = None
    private_test_cases: str | list[dict[str, Any]] | None = None
    metadata: str | dict[str, Any] | None = None
    platform: str | None = None
    difficulty: str | None = None

    def draft(self, number: int, *, brief: bool) -> Draft:
        """Return the problem; FieldError if its tests can't be read."""
        del number
        function, tests = (None, ()) if brief else self._tests()
        comparison = OutputComparison(tolerance=_TOLERANCE) if function else OutputComparison(any_case=False)
        problem = Problem(
            id=str(self.question_id).strip(),
            fingerprint="",
            tests=tests,
            time_limit=_SECONDS,
            memory_limit=_MEGABYTES * MIB,
            comparison=comparison,
            function=function,
            tags=tuple(filter(None, (self.difficulty, self.platform))),
        )
        return Draft(problem=problem)

    def _tests(self) -> tuple[FunctionCall | None, tuple[ProblemTest, ...]]:
        found = [
            *((case, TestKind.EXAMPLE) for case in _cases("public_test_cases", self.public_test_cases)),
            *((case, TestKind.OFFICIAL) for case in _cases("private_test_cases", self.private_test_cases)),
        ]
        if not any(case.get("testtype") == "functional" for case, _ in found):
            texts = ((str(case.get("input", "")), str(case.get("output", "")), kind) for case, kind in found)
            return None, tuple(ProblemTest(input=given, output=right, kind=kind) for given, right, kind in texts)
        metadata = json.loads(self.metadata) if isinstance(self.metadata, str) and self.metadata else self.metadata
        name = metadata.get("func_name") if isinstance(metadata, dict) else None
        if not name:
            raise FieldError("metadata: there is no func_name, but its tests call a function")
        function = FunctionCall(entry_point=str(name), usual_imports=True)
        return function, tuple(_called(case, kind) for case, kind in found)


def _called(case: dict[str, Any], kind: TestKind) -> ProblemTest:
    """Return a test that calls a function: each line of the input is an argument."""
    try:
        arguments = [json.loads(line) for line in str(case.get("input", "")).split("\n") if line.strip()]
        return call_test(arguments, [json.loads(case.get("output", ""))], kind)
    except ValueError as error:
        raise FieldError(f"test cases: not JSON: {error}") from error


def _cases(column: str, value: str | list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """Return test cases: JSON, or JSON that is pickled, compressed and encoded."""
    if not isinstance(value, str):
        return value or []
    try:
        text = value
        if value.strip() and not value.lstrip().startswith("["):
            text = str(_TextUnpickler(io.BytesIO(zlib.decompress(base64.b64decode(value)))).load())
        found = json.loads(text) if text.strip() else []
    except (ValueError, binascii.Error, zlib.error, pickle.UnpicklingError, EOFError) as error:
        raise FieldError(f"{column}: neither JSON, nor packed JSON: {error}") from error
    if not isinstance(found, list):
        raise FieldError(f"{column}: not a list of test cases")
    return found


class _TextUnpickler(pickle.Unpickler):
    """Reads a pickled text, and nothing that could run code."""

    def find_class(self, module_name: str, global_name: str) -> NoReturn:
        """Refuse every class and function."""
        raise pickle.UnpicklingError(f"it contains {module_name}.{global_name}, but must be a string")
