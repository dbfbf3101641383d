"""The columns of APPS and TACO: inputs and outputs in one JSON text, of programs or of a function."""

import json
import re
from typing import Any

import msgspec

from pytest_crmeval.solutions.problem import FunctionCall, OutputComparison, Problem, ProblemTest, TestKind
from pytest_crmeval.solutions.problems.draft import MIB, Draft, FieldError
from pytest_crmeval.solutions.problems.published.code_contests import TOLERANCE

_SECONDS = 4.0
"""What the evaluators of both allow, unless a row says otherwise."""
_MEGABYTES = 1024.0
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class InputOutputRow(msgspec.Struct):
    """The columns that a verdict depends on. TACO has no ids: its samples count the rows from 0."""

    input_output: str | dict[str, Any] | None = None
    problem_id: str | int | None = None
    id: str | int | None = None
    difficulty: str | None = None
    url: str | None = None
    time_limit: str | float | None = None
    memory_limit: str | float | None = None

    def draft(self, number: int, *, brief: bool) -> Draft:
        """Return the problem; FieldError if its tests can't be read."""
        names = (self.problem_id, self.id, number - 1)
        name = next(str(each).strip() for each in names if each is not None and str(each).strip())
        function, tests = (None, ()) if brief else self._tests()
        problem = Problem(
            id=name,
            fingerprint="",
            tests=tests,
            time_limit=_number(self.time_limit) or _SECONDS,
            memory_limit=round((_number(self.memory_limit) or _MEGABYTES) * MIB),
            comparison=OutputComparison(tolerance=TOLERANCE, integers=False),
            function=function,
            tags=(self.difficulty,) if self.difficulty else (),
        )
        return Draft(problem=problem, aliases=[self.url] if self.url else ())

    def _tests(self) -> tuple[FunctionCall | None, tuple[ProblemTest, ...]]:
        found = self.input_output
        if isinstance(found, str):
            try:
                found = json.loads(found) if found.strip() else None
            except ValueError as error:
                raise FieldError(f"input_output: not JSON: {error}") from error
        if not isinstance(found, dict):
            return None, ()
        inputs, outputs = found.get("inputs") or [], found.get("outputs") or []
        if len(inputs) != len(outputs):
            raise FieldError(f"input_output: {len(inputs)} inputs, but {len(outputs)} outputs")
        pairs = list(zip(inputs, outputs, strict=True))
        if name := found.get("fn_name"):
            function = FunctionCall(entry_point=str(name), usual_imports=True)
            return function, tuple(call_test(arguments, accepted(right)) for arguments, right in pairs)
        return None, tuple(ProblemTest(input=_text(given), output=_text(right)) for given, right in pairs)


def call_test(arguments: object, accepted_values: list[Any], kind: TestKind = TestKind.OFFICIAL) -> ProblemTest:
    """Return a test that calls a function with JSON values."""
    given = arguments if isinstance(arguments, list) else [arguments]
    return ProblemTest(input=json.dumps({"arguments": given}), output=json.dumps(accepted_values), kind=kind)


def accepted(right: object) -> list[Any]:
    """Return the values that are right: in APPS, a result may be wrapped in a list."""
    return [right, right[0]] if isinstance(right, list) and right else [right]


def _text(value: object) -> str:
    """Return an input or an output; some are lists of lines."""
    if isinstance(value, list):
        return "\n".join(map(_text, value))
    return value if isinstance(value, str) else json.dumps(value)


def _number(limit: str | float | None) -> float:
    """Return a limit; ``2.0 seconds`` is 2."""
    found = _NUMBER.search(str(limit or ""))
    return float(found[0]) if found else 0.0
