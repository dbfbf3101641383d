"""A solution file from its first line to its last: several programs at a time, each told as soon as it is judged."""

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from threading import Event

from pytest_crmeval.domain.problem import Problem
from pytest_crmeval.domain.program import Execution, Feed, Limits, Program
from pytest_crmeval.domain.solution import Solution, SolutionOutcome, TestVerdict, Ungradable
from pytest_crmeval.ports.sandbox import Prepared, Sandbox, SandboxError
from pytest_crmeval.solutions.play.sandbox_proxy import SandboxProxy
from pytest_crmeval.solutions.play.solution import Judge, ungradable

AHEAD = 2
"""How many solutions per thread are read before they are judged: a big file is never in memory."""
TIME_IS_UP = "the time of the file was up"
Judged = SolutionOutcome | Ungradable
Judging = Callable[[Solution], Judged]


@dataclass(slots=True)
class Clock:
    """When a file has to end: at its time, or as soon as somebody says so."""

    seconds: float
    now: Callable[[], float] = time.monotonic
    stopped: Event = field(default_factory=Event)
    _start: float = field(init=False)

    def __post_init__(self) -> None:
        """Begin."""
        self._start = self.now()

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return self.now() - self._start

    @property
    def is_up(self) -> bool:
        """Whether nothing may be begun any more."""
        return self.stopped.is_set() or self.elapsed >= self.seconds


class Timed(SandboxProxy):
    """A sandbox that begins no more runs when the time of a file is up."""

    def __init__(self, sandbox: Sandbox, clock: Clock) -> None:
        self._sandbox = sandbox
        self._clock = clock

    @property
    def behind(self) -> Sandbox:
        """The sandbox itself."""
        return self._sandbox

    def prepared(self, program: Program) -> AbstractContextManager[Prepared]:
        """Make a program ready, if there is time."""
        return self._prepared(program)

    def close(self) -> None:
        """Do nothing: the sandbox is its owner's."""

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

    def run(self, feed: Feed, limits: Limits) -> Execution:
        """Run once, if there is time."""
        self._check()
        return self._prepared.run(feed, limits)


def bench(problem_of: Callable[[str], Problem | None], judge: Judge, sandbox: Sandbox) -> Judging:
    """Return what judges a solution by its problem; any thread may ask."""

    def judged(solution: Solution) -> Judged:
        problem = problem_of(solution.problem)
        why = ungradable(solution, problem, sandbox)
        if why is not None:
            return why
        assert problem is not None  # noqa: S101 (or nobody could judge by it)
        return judge.judge(solution, problem)

    return judged


def judge_file(
    lines: Iterable[Solution | Ungradable], judge: Judging, tell: Callable[[Judged], None], *, slots: int, clock: Clock
) -> int:
    """Judge the lines of a file with so many threads; return how many solutions there was no time for.

    ``tell`` is called in this thread, as soon as something is judged, in whatever order. When this is interrupted,
    what is judged by then is told on the way out, and nothing more is begun.
    """
    desk = _Desk(judge, tell, slots, clock)
    try:
        for line in lines:
            desk.take(line)
        desk.settle(0)
    except BaseException:
        clock.stopped.set()
        desk.tell_rest()
        raise
    finally:
        desk.close()
    return desk.missing


class _Desk:
    """What is being judged; for one thread, which reads and tells."""

    def __init__(self, judge: Judging, tell: Callable[[Judged], None], slots: int, clock: Clock) -> None:
        self.missing = 0
        self._judge = judge
        self._tell = tell
        self._clock = clock
        self._most = slots * AHEAD
        self._pool = ThreadPoolExecutor(slots, thread_name_prefix="crmeval-judge")
        self._pending: set[Future[Judged]] = set()

    def take(self, line: Solution | Ungradable) -> None:
        """Have a line judged, as soon as there is room for it."""
        if isinstance(line, Ungradable):
            self._tell(line)
        elif self._clock.is_up:
            self.missing += 1
        else:
            self.settle(self._most - 1)
            self._pending.add(self._pool.submit(self._guarded, line))

    def settle(self, most: int) -> None:
        """Wait until no more than so many are being judged, and tell what is."""
        while len(self._pending) > most:
            done, _ = wait(self._pending, return_when=FIRST_COMPLETED)
            self._tell_all(done)

    def tell_rest(self) -> None:
        """Tell what happens to be judged by now."""
        self._tell_all([future for future in self._pending if future.done()])

    def close(self) -> None:
        """Begin nothing more, and wait for nobody."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _tell_all(self, done: Iterable[Future[Judged]]) -> None:
        for future in done:
            self._pending.discard(future)
            outcome = future.result()
            if self._was_too_late(outcome):
                self.missing += 1
            else:
                self._tell(outcome)

    def _was_too_late(self, outcome: Judged) -> bool:
        """Whether nothing is known of a program because there was no time, which is not the judge's trouble."""
        return isinstance(outcome, SolutionOutcome) and not outcome.judged and self._clock.is_up

    def _guarded(self, solution: Solution) -> Judged:
        """Judge in a thread of the pool; whatever breaks there is told, and stops nobody else."""
        try:
            return self._judge(solution)
        except Exception as error:  # noqa: BLE001 (told as the judge's own trouble, with its name)
            return SolutionOutcome(
                problem=solution.problem,
                line=solution.line,
                sample=solution.sample,
                verdict=TestVerdict.JUDGE_ERROR,
                reason=f"{type(error).__name__}: {error}",
            )
