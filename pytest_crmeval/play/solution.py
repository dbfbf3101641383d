"""One program, judged by the tests of its problem."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from pytest_crmeval.domain.problem import Problem
from pytest_crmeval.domain.solution import Solution, SolutionOutcome, Ungradable
from pytest_crmeval.ports.sandbox import Sandbox

MIB = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How programs are judged, whatever the problem."""

    all_tests: bool = False
    """Whether the tests go on after one was failed."""
    solution_seconds: float | None = None
    """How long one program may take with all its tests; those that are left then are skipped. None: as long as it
    takes."""
    output_bytes: int = 16 * MIB
    """How much a program may print; twice as much as is expected if that is more."""


def ungradable(solution: Solution, problem: Problem | None, sandbox: Sandbox) -> Ungradable | None:
    """Return why a program can't be judged here at all; None if it can. To be asked before it is judged."""
    raise NotImplementedError


class Judge:
    """Judges the programs of a file; used by several threads at once. Checkers are prepared once per problem."""

    def __init__(self, sandbox: Sandbox, rules: Rules, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._sandbox = sandbox
        self._rules = rules
        self._clock = clock

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of the checkers."""

    def judge(self, solution: Solution, problem: Problem) -> SolutionOutcome:
        """Return how a program did; whatever breaks is told as a verdict (JE), and raises nothing."""
        raise NotImplementedError


def judge(solution: Solution, problem: Problem, sandbox: Sandbox, rules: Rules) -> SolutionOutcome:
    """Judge one program alone."""
    with Judge(sandbox, rules) as one:
        return one.judge(solution, problem)
