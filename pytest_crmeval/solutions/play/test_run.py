"""One run of a program on one test: its limits, a second try where the first is doubtful, and its result."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.file_outcome import TestVerdict
from pytest_crmeval.ports.sandbox import Execution, Limits, Prepared, ProgramInput, Termination
from pytest_crmeval.solutions.problem import Problem, ProblemTest

NEAR = 0.05
"""A program that exceeds its time limit by no more than this share is run again, alone."""
SHOWN = 300
"""Characters of a program's output that a reason shows."""
_SLACK = 2**20
_LIMITED = {
    Termination.CPU_TIME: TestVerdict.TIME_LIMIT,
    Termination.WALL_TIME: TestVerdict.TIME_LIMIT,
    Termination.MEMORY: TestVerdict.MEMORY_LIMIT,
    Termination.OUTPUT: TestVerdict.OUTPUT_LIMIT,
    Termination.SIGNALLED: TestVerdict.RUNTIME_ERROR,
}


class SharedLock:
    """Lets the threads of a process run together, until one of them needs to run alone."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._running = 0
        self._waiting = 0
        self._alone = False

    @contextmanager
    def together(self) -> Iterator[None]:
        """Run together with others, after threads that wait to run alone."""
        with self._changed:
            self._changed.wait_for(lambda: not self._alone and not self._waiting)
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until the others are done, and run while they wait."""
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: not self._alone and not self._running)
                self._alone = True
            finally:
                self._waiting -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a run fails its test."""

    verdict: TestVerdict
    reason: str


def limits_of(problem: Problem, test: ProblemTest, output_bytes: int) -> Limits:
    """Return the limits of a run: the time is a little over the limit, to recognise programs that are near to it."""
    return Limits(
        cpu_seconds=problem.time_limit * (1 + NEAR),
        wall_seconds=2 * problem.time_limit + 1,
        memory_bytes=problem.memory_limit,
        output_bytes=max(output_bytes, 2 * len(test.output.encode()) + _SLACK),
    )


def feed_of(problem: Problem, test: ProblemTest) -> ProgramInput:
    """Return the input of a program, without the expected output."""
    wanted = (problem.output_file,) if problem.output_file else ()
    if problem.input_file:
        return ProgramInput(files={problem.input_file: test.input.encode()}, wanted=wanted)
    return ProgramInput(stdin=test.input.encode(), wanted=wanted)


def run(program: Prepared, feed: ProgramInput, limits: Limits, time_limit: float, quiet: SharedLock) -> Execution:
    """Run a program; again and alone if the machine may have been too busy."""
    with quiet.together():
        execution = program.run(feed, limits)
    if not _doubtful(execution, time_limit):
        return execution
    with quiet.alone():
        return program.run(feed, limits)


def _doubtful(execution: Execution, time_limit: float) -> bool:
    """Whether a run was nearly in time, or was computing, not waiting, when its wall time ended."""
    spent = execution.cpu_seconds
    if spent is None:
        return False
    if execution.ending is Termination.WALL_TIME:
        return time_limit / 2 <= spent
    return time_limit < spent <= time_limit * (1 + NEAR)


def failure_of(execution: Execution, problem: Problem, limits: Limits) -> Failure | None:
    """Return why a run failed by how it ended; None if its output decides."""
    spent = execution.cpu_seconds
    if execution.ending in {Termination.CPU_TIME, Termination.WALL_TIME}:
        return Failure(verdict=TestVerdict.TIME_LIMIT, reason=_overtime(execution, problem, limits))
    if spent is not None and spent > problem.time_limit:
        return Failure(verdict=TestVerdict.TIME_LIMIT, reason=_overtime(execution, problem, limits))
    if execution.ending is not Termination.EXITED:
        return Failure(verdict=_LIMITED[execution.ending], reason=_ended(execution, limits))
    if execution.exit_code != 0:
        return Failure(verdict=TestVerdict.RUNTIME_ERROR, reason=f"exit code {execution.exit_code}{_last(execution)}")
    return None


def _overtime(execution: Execution, problem: Problem, limits: Limits) -> str:
    if execution.ending is Termination.WALL_TIME:
        used = "" if execution.cpu_seconds is None else f" ({execution.cpu_seconds:.2f} s of CPU time used)"
        return f"not finished within {limits.wall_seconds:g} s of wall time{used}"
    ended = "" if execution.cpu_seconds is None else f" (ended after {execution.cpu_seconds:.2f} s)"
    return f"more than {problem.time_limit:g} s of CPU time{ended}"


def _ended(execution: Execution, limits: Limits) -> str:
    if execution.ending is Termination.MEMORY:
        return f"more than {limits.memory_bytes / 2**20:g} MiB of memory"
    if execution.ending is Termination.OUTPUT:
        return f"more than {limits.output_bytes / 2**20:.3g} MiB of output"
    return f"{execution.signal or 'a signal'}{_last(execution)}"


def _last(execution: Execution) -> str:
    """Return the last line of stderr."""
    said = execution.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return f": {cut(said, SHOWN)}" if said else ""
