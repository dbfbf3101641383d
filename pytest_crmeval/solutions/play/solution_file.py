"""A solution file from its first line to its last: several programs at a time, each reported when it is judged."""

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from threading import Event

from pytest_crmeval.domain.file_outcome import TestVerdict
from pytest_crmeval.journal.solutions.outcomes import SolutionOutcome, Ungradable
from pytest_crmeval.ports.sandbox import Execution, Limits, Prepared, Program, ProgramInput, Sandbox, SandboxError
from pytest_crmeval.solutions.play.sandbox_proxy import SandboxProxy
from pytest_crmeval.solutions.play.solution import ProgramJudge, Rules, ungradable
from pytest_crmeval.solutions.problem import Problem
from pytest_crmeval.solutions.solution import Solution

AHEAD = 2
"""How many solutions per thread are read before they are judged, so that a big file is never in memory."""
TIME_IS_UP = "the time limit of the file was reached"
Judged = SolutionOutcome | Ungradable
Judging = Callable[[Solution], Judged]
ProblemOf = Callable[[str], Problem | None]


@dataclass(slots=True)
class Deadline:
    """When the judging of a file has to end: after its time, or when it is stopped."""

    seconds: float
    now: Callable[[], float] = time.monotonic
    stopped: Event = field(default_factory=Event)
    _start: float = field(init=False)

    def __post_init__(self) -> None:
        """Start."""
        self._start = self.now()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self.now() - self._start

    @property
    def is_up(self) -> bool:
        """Whether no further run may be started."""
        return self.stopped.is_set() or self.elapsed >= self.seconds


class Timed(SandboxProxy):
    """A sandbox that starts no more runs when the time of a file is up."""

    def __init__(self, sandbox: Sandbox, clock: Deadline) -> None:
        self._sandbox = sandbox
        self._clock = clock

    @property
    def behind(self) -> Sandbox:
        """The sandbox that runs the programs."""
        return self._sandbox

    def prepared(self, program: Program) -> AbstractContextManager[Prepared]:
        """Prepare a program, if there is time."""
        return self._prepared(program)

    def close(self) -> None:
        """Do nothing: the owner closes the sandbox."""

    @contextmanager
    def _prepared(self, program: Program) -> Iterator[Prepared]:
        self._check()
        with self._sandbox.prepared(program) as ready:
            yield _Run(ready, self._check)

    def _check(self) -> None:
        if self._clock.is_up:
            raise SandboxError(TIME_IS_UP)


class _Run:
    def __init__(self, prepared: Prepared, check: Callable[[], None]) -> None:
        self._prepared = prepared
        self._check = check

    @property
    def refused(self) -> Execution | None:
        """Return what the compiler says."""
        return self._prepared.refused

    def run(self, feed: ProgramInput, limits: Limits) -> Execution:
        """Run once, if there is time."""
        self._check()
        return self._prepared.run(feed, limits)

    def confirm(self, feed: ProgramInput, limits: Limits) -> Execution | None:
        """Run again, if there is time and the sandbox may have been wrong; None if it can't."""
        if (confirm := getattr(self._prepared, "confirm", None)) is None:
            return None
        self._check()
        found: Execution = confirm(feed, limits)
        return found

    def contradicted(self) -> None:
        """Pass on that the two runs had different results."""
        self._prepared.contradicted()  # type: ignore[attr-defined] # it has one if it confirms


@contextmanager
def judging_in(sandbox: Sandbox, problem_of: ProblemOf, rules: Rules, clock: Deadline) -> Iterator[Judging]:
    """Yield a function that judges a solution in a sandbox, as long as there is time."""
    timed = Timed(sandbox, clock)
    with ProgramJudge(timed, rules) as judge:
        yield judging_by(problem_of, judge, timed)


def judging_by(problem_of: ProblemOf, judge: ProgramJudge, sandbox: Sandbox) -> Judging:
    """Return a function that judges a solution by its problem, for any thread."""

    def judged(solution: Solution) -> Judged:
        problem = problem_of(solution.problem)
        why = ungradable(solution, problem, sandbox)
        if why is not None:
            return why
        assert problem is not None  # noqa: S101 (otherwise it is ungradable)
        return judge.judge(solution, problem)

    return judged


def judge_file(
    lines: Iterable[Solution | Ungradable],
    judge: Judging,
    record: Callable[[Judged], None],
    *,
    slots: int,
    clock: Deadline,
) -> int:
    """Judge the lines of a file with ``slots`` threads; return how many solutions there was no time for.

    ``record`` is called in this thread with each judged line, in any order. When this is interrupted, the lines that
    are judged by then are still recorded, and no further one is started.
    """
    pool = _JudgePool(judge, record, slots, clock)
    try:
        for line in lines:
            pool.submit(line)
        pool.wait(0)
    except BaseException:
        clock.stopped.set()
        pool.record_finished()
        raise
    finally:
        pool.close()
    return pool.missing


class _JudgePool:
    """The solutions that are being judged; used by the thread that reads the lines and records the outcomes."""

    def __init__(self, judge: Judging, record: Callable[[Judged], None], slots: int, clock: Deadline) -> None:
        self.missing = 0
        self._judge = judge
        self._record = record
        self._clock = clock
        self._most = slots * AHEAD
        self._pool = ThreadPoolExecutor(slots, thread_name_prefix="crmeval-judge")
        self._pending: set[Future[Judged]] = set()

    def submit(self, line: Solution | Ungradable) -> None:
        """Have a line judged, as soon as there is room for it."""
        if isinstance(line, Ungradable):
            self._record(line)
        elif self._clock.is_up:
            self.missing += 1
        else:
            self.wait(self._most - 1)
            self._pending.add(self._pool.submit(self._guarded, line))

    def wait(self, most: int) -> None:
        """Wait until at most ``most`` solutions are being judged, and record the finished ones."""
        while len(self._pending) > most:
            done, _ = wait(self._pending, return_when=FIRST_COMPLETED)
            self._finish(done)

    def record_finished(self) -> None:
        """Record the solutions that are judged by now."""
        self._finish([future for future in self._pending if future.done()])

    def close(self) -> None:
        """Start no further solution, without waiting for those in progress."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _finish(self, done: Iterable[Future[Judged]]) -> None:
        for future in done:
            self._pending.discard(future)
            outcome = future.result()
            # A solution without a verdict for lack of time is missing, which is not a failure of the judge.
            if isinstance(outcome, SolutionOutcome) and not outcome.judged and self._clock.is_up:
                self.missing += 1
            else:
                self._record(outcome)

    def _guarded(self, solution: Solution) -> Judged:
        """Judge in a thread of the pool; an exception is a judge error of this solution only."""
        try:
            return self._judge(solution)
        except Exception as error:  # noqa: BLE001 (recorded as a judge error with its name)
            return SolutionOutcome(
                problem=solution.problem,
                line=solution.line,
                sample=solution.sample,
                verdict=TestVerdict.JUDGE_ERROR,
                reason=f"{type(error).__name__}: {error}",
            )
