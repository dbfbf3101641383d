"""A solution file: all of it, as many programs at a time as there are slots, until its time is up."""

from collections.abc import Callable, Iterator
from threading import Barrier, Event, Lock
from typing import Any

import pytest

from pytest_crmeval.domain.file_outcome import TestVerdict
from pytest_crmeval.journal.solutions.outcomes import Defect, SolutionOutcome, Ungradable
from pytest_crmeval.ports.sandbox import Language, Limits, Program, ProgramInput, Sandbox, SandboxError
from pytest_crmeval.solutions.play.solution_file import AHEAD, TIME_IS_UP, Deadline, Judged, Timed, judge_file
from pytest_crmeval.solutions.solution import Solution
from tests.fake_sandbox import FakeSandbox

SOON = 300.0
LIMITS = Limits(cpu_seconds=1.0, wall_seconds=3.0, memory_bytes=2**28, output_bytes=2**20)


def line(number: int, source: str = "say 5") -> Solution:
    """Return a line with a program."""
    return Solution(problem=f"p{number}", line=number, program=Program(language=Language.PYTHON, source=source))


def verdict(solution: Solution, found: TestVerdict = TestVerdict.ACCEPTED) -> SolutionOutcome:
    """Return how a program was judged."""
    return SolutionOutcome(problem=solution.problem, line=solution.line, sample=0, verdict=found)


def judged_with(judge: Callable[[Solution], Judged], *lines: Any, slots: int = 2, clock: Deadline | None = None) -> Any:  # noqa: ANN401 (lines, outcomes and the number of missing ones)
    """Judge some lines; return the outcomes by line, and how many lines there was no time for."""
    shown: list[Judged] = []
    missing = judge_file(lines, judge, shown.append, slots=slots, clock=clock or Deadline(SOON))
    return sorted(shown, key=lambda each: each.line), missing


class Ticking:
    """A clock that is put forward by hand."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.time


def test_every_line_is_recorded_once() -> None:
    """Also those that can't be judged, whatever order they end in."""
    bad = Ungradable(defect=Defect.BAD_LINE, line=2)

    shown, missing = judged_with(verdict, line(1), bad, *map(line, range(3, 50)))

    assert [*range(1, 50)] == [each.line for each in shown]
    assert (bad, 0) == (shown[1], missing)


def test_as_many_are_judged_at_the_same_time_as_there_are_slots() -> None:
    """Each waits for the others; were there fewer threads, none would ever end."""
    together = Barrier(3, timeout=SOON)

    def judge(solution: Solution) -> Judged:
        together.wait()
        return verdict(solution)

    shown, _ = judged_with(judge, *map(line, range(6)), slots=3)

    assert 6 == len(shown)


def test_no_more_lines_are_read_than_are_soon_judged() -> None:
    """A file of any size is never in memory."""
    ended, most = 0, 0
    guard = Lock()

    def judge(solution: Solution) -> Judged:
        nonlocal ended
        with guard:
            ended += 1
        return verdict(solution)

    def lines() -> Iterator[Solution]:
        nonlocal most
        for number in range(200):
            with guard:
                most = max(most, number - ended)
            yield line(number)

    assert 0 == judge_file(lines(), judge, lambda _: None, slots=2, clock=Deadline(SOON))
    assert most <= 2 * AHEAD


def test_error_at_one_solution_does_not_stop_the_others() -> None:
    def judge(solution: Solution) -> Judged:
        if solution.line == 1:
            raise ZeroDivisionError("no idea")
        return verdict(solution)

    (first, second), missing = judged_with(judge, line(1), line(2))

    assert (TestVerdict.JUDGE_ERROR, "ZeroDivisionError: no idea") == (first.verdict, first.reason)
    assert (True, 0) == (second.solved, missing)


def test_verdicts_before_the_time_limit_are_kept_and_the_rest_is_counted() -> None:
    """A program that failed before has its verdict; one of which nothing is known has none, which is no trouble."""
    now = Ticking()
    clock = Deadline(10.0, now)

    def judge(solution: Solution) -> Judged:
        now.time += 4.0
        found = {1: TestVerdict.WRONG_ANSWER, 2: TestVerdict.ACCEPTED}.get(solution.line, TestVerdict.JUDGE_ERROR)
        return verdict(solution, found)

    shown, missing = judged_with(judge, *map(line, range(1, 9)), slots=1, clock=clock)

    assert [TestVerdict.WRONG_ANSWER, TestVerdict.ACCEPTED] == [each.verdict for each in shown]
    assert 6 == missing


def test_interruption_reports_finished_verdicts_first() -> None:
    clock, at_second, over = Deadline(SOON), Event(), Event()
    shown: list[Judged] = []

    def judge(solution: Solution) -> Judged:
        if solution.line == 2:  # there is one thread: the first has come to its end
            at_second.set()
            over.wait(SOON)
        return verdict(solution)

    def lines() -> Iterator[Solution]:
        yield line(1)
        yield line(2)
        at_second.wait(SOON)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judge_file(lines(), judge, shown.append, slots=1, clock=clock)
    over.set()

    assert [1] == [each.line for each in shown]
    assert clock.is_up


def test_a_sandbox_begins_nothing_when_the_time_is_up() -> None:
    now = Ticking()
    timed = Timed(FakeSandbox(), Deadline(1.0, now))
    program = Program(language=Language.PYTHON, source="say 5")
    assert isinstance(timed, Sandbox)

    with timed.prepared(program) as ready:
        assert b"5\n" == ready.run(ProgramInput(), LIMITS).stdout
        now.time = 2.0
        with pytest.raises(SandboxError, match=TIME_IS_UP):
            ready.run(ProgramInput(), LIMITS)
    with pytest.raises(SandboxError, match=TIME_IS_UP), timed.prepared(program):
        pass


def test_a_timed_sandbox_is_the_sandbox_in_all_other_respects() -> None:
    """Its name, what verdicts depend on, and what it lacks; but it is closed by its owner."""
    box = FakeSandbox(slots=3, lacking="cpp")
    timed = Timed(box, Deadline(1.0))

    timed.close()

    assert (box.name, box.identity, 3) == (timed.name, timed.identity, timed.slots)
    assert ("", "there is no cpp here") == (timed.missing(Language.PYTHON), timed.missing(Language.CPP))
    assert not box.closed
