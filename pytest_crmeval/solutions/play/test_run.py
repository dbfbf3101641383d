"""One run of a program on one test: its limits, a second try where the first is doubtful, and what came of it."""

from dataclasses import dataclass

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.problem import Problem, ProblemTest
from pytest_crmeval.domain.program import Ending, Execution, Feed, Limits
from pytest_crmeval.domain.solution import TestVerdict
from pytest_crmeval.ports.sandbox import Prepared
from pytest_crmeval.solutions.play.shared_lock import SharedLock

NEAR = 0.05
"""A program that is over its time by no more than this share is run once more, alone."""
SHOWN = 300
"""Characters of what a program says that a reason shows."""
_SLACK = 2**20
_LIMITED = {
    Ending.CPU_TIME: TestVerdict.TIME_LIMIT,
    Ending.WALL_TIME: TestVerdict.TIME_LIMIT,
    Ending.MEMORY: TestVerdict.MEMORY_LIMIT,
    Ending.OUTPUT: TestVerdict.OUTPUT_LIMIT,
    Ending.SIGNALLED: TestVerdict.RUNTIME_ERROR,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a run says that the program is wrong, whatever it has printed."""

    verdict: TestVerdict
    reason: str


def limits_of(problem: Problem, test: ProblemTest, output_bytes: int) -> Limits:
    """Return how far a run may go: a little over the time, so that who is near to it is seen to be."""
    return Limits(
        cpu_seconds=problem.time_limit * (1 + NEAR),
        wall_seconds=2 * problem.time_limit + 1,
        memory_bytes=problem.memory_limit,
        output_bytes=max(output_bytes, 2 * len(test.output.encode()) + _SLACK),
    )


def feed_of(problem: Problem, test: ProblemTest) -> Feed:
    """Return what a program gets: the input, and nothing of what is right."""
    wanted = (problem.output_file,) if problem.output_file else ()
    if problem.input_file:
        return Feed(files={problem.input_file: test.input.encode()}, wanted=wanted)
    return Feed(stdin=test.input.encode(), wanted=wanted)


def run(program: Prepared, feed: Feed, limits: Limits, time_limit: float, quiet: SharedLock) -> Execution:
    """Run a program; once more, alone, if a busy machine may have been too slow for it."""
    with quiet.together():
        execution = program.run(feed, limits)
    if not _doubtful(execution, time_limit):
        return execution
    with quiet.alone():
        return program.run(feed, limits)


def _doubtful(execution: Execution, time_limit: float) -> bool:
    """Tell whether a run was nearly in time, or was working, and not waiting, when the clock ended it."""
    spent = execution.cpu_seconds
    if spent is None:
        return False
    if execution.ending is Ending.WALL_TIME:
        return time_limit / 2 <= spent
    return time_limit < spent <= time_limit * (1 + NEAR)


def failure_of(execution: Execution, problem: Problem, limits: Limits) -> Failure | None:
    """Return what is wrong with how a run ended; None if it ended well, and its output decides."""
    spent = execution.cpu_seconds
    if execution.ending in {Ending.CPU_TIME, Ending.WALL_TIME}:
        return Failure(verdict=TestVerdict.TIME_LIMIT, reason=_overtime(execution, problem, limits))
    if spent is not None and spent > problem.time_limit:
        return Failure(verdict=TestVerdict.TIME_LIMIT, reason=_overtime(execution, problem, limits))
    if execution.ending is not Ending.EXITED:
        return Failure(verdict=_LIMITED[execution.ending], reason=_ended(execution, limits))
    if execution.exit_code != 0:
        return Failure(verdict=TestVerdict.RUNTIME_ERROR, reason=f"exit code {execution.exit_code}{_last(execution)}")
    return None


def _overtime(execution: Execution, problem: Problem, limits: Limits) -> str:
    spent = "" if execution.cpu_seconds is None else f" after {execution.cpu_seconds:.2f} s of CPU time"
    if execution.ending is Ending.WALL_TIME:
        return f"not ended in {limits.wall_seconds:g} s on the clock{spent} of {problem.time_limit:g} s"
    return f"more than {problem.time_limit:g} s of CPU time{spent and f': stopped or ended{spent}'}"


def _ended(execution: Execution, limits: Limits) -> str:
    if execution.ending is Ending.MEMORY:
        return f"more than {limits.memory_bytes / 2**20:g} MiB of memory"
    if execution.ending is Ending.OUTPUT:
        return f"more than {limits.output_bytes / 2**20:.3g} MiB of output"
    return f"{execution.signal or 'a signal'}{_last(execution)}"


def _last(execution: Execution) -> str:
    """Return the last line that a program has complained in."""
    said = execution.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return f": {cut(said, SHOWN)}" if said else ""
