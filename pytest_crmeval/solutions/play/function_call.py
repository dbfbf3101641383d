"""Problems whose tests call a function of the program: what the harness in the sandbox gets, and what it answers."""

import json
import secrets
from functools import cache
from pathlib import Path

from pytest_crmeval.domain.file_outcome import TestVerdict
from pytest_crmeval.ports.sandbox import Language, Program, ProgramInput, SandboxError
from pytest_crmeval.solutions.play import harness
from pytest_crmeval.solutions.play.test_run import Failure
from pytest_crmeval.solutions.problem import FunctionCall, Problem, ProblemTest
from pytest_crmeval.solutions.referee import value_difference
from pytest_crmeval.solutions.solution import Solution

ENDED = "the program ended before its tests did"
NOT_PYTHON = "its tests call a Python function"


@cache
def harness_program() -> Program:
    """Return the program that calls the function of a solution."""
    return Program(language=Language.PYTHON, source=Path(harness.__file__).read_text(encoding="utf-8"))


class HarnessCall:
    """One run of the harness."""

    def __init__(self, solution: Solution, problem: Problem, test: ProblemTest) -> None:
        assert problem.function is not None  # noqa: S101 (otherwise there is nothing to call)
        self._function: FunctionCall = problem.function
        self._test = test
        self._tolerance = problem.comparison.tolerance
        self._token = secrets.token_hex(16)
        source = solution.program.source
        self._source = f"{self._function.prompt}{source}\n" if solution.continues_prompt else source

    def input(self) -> ProgramInput:
        """Return the job for the harness; an expected value is not in it."""
        job = {
            "token": self._token,
            "solution": self._source,
            "entry_point": self._function.entry_point,
            "usual_imports": self._function.usual_imports,
            "prompt": self._function.prompt,
            **json.loads(self._test.input),
        }
        return ProgramInput(stdin=json.dumps(job).encode())

    @property
    def shown(self) -> str:
        """The call for people, as Python; of tests that are code, the code."""
        job = json.loads(self._test.input)
        if "arguments" in job:
            return f"{self._function.entry_point}({', '.join(map(repr, job['arguments']))})"
        return str(job.get("code", job.get("inputs", "")))

    def wrong(self, written: bytes) -> Failure | None:
        """Return why the function is wrong; None if it is right. SandboxError if the tests themselves can't be run."""
        result = _decoded(written)
        if result.get("token") != self._token:
            return Failure(verdict=TestVerdict.WRONG_ANSWER, reason=ENDED)
        if "broken" in result:
            raise SandboxError(str(result["broken"]))
        if "late" in result:
            return Failure(verdict=TestVerdict.TIME_LIMIT, reason=str(result["late"]))
        if "value" in result:
            reason = value_difference(self._test.output, result["value"], self._tolerance)
        else:
            reason = "" if result.get("passed") is True else str(result.get("failed", ENDED))
        return Failure(verdict=TestVerdict.WRONG_ANSWER, reason=reason) if reason else None


def _decoded(written: bytes) -> dict[str, object]:
    try:
        found = json.loads(written or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
