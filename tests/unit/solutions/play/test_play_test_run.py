"""A run alone, while the others wait; unused checkers are released."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from pytest_crmeval.ports.sandbox import Language, Program
from pytest_crmeval.solutions.play.checking import KEPT, Checkers
from pytest_crmeval.solutions.play.test_run import SharedLock
from pytest_crmeval.solutions.problem import Checker, CheckerStyle, ProblemTest
from tests.programs import Scripted, exited


def test_run_that_needs_to_be_alone_is_alone() -> None:
    """Of many threads, each of which is alone at times; none waits for ever."""
    quiet, running, seen = SharedLock(), [0], []

    def work(number: int) -> None:
        with quiet.alone() if number % 3 == 0 else quiet.together():
            running[0] += 1
            if number % 3 == 0:
                seen.append(running[0])
            running[0] -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(300)))

    assert [1] * 100 == seen


def test_as_many_checkers_as_are_kept() -> None:
    sandbox = Scripted({str(number): lambda _: exited("1") for number in range(KEPT + 5)})
    first = Checker(style=CheckerStyle.STDOUT, program=Program(language=Language.PYTHON, source=""))
    checkers = Checkers(sandbox)
    for number in range(KEPT + 5):
        checker = replace(first, program=replace(first.program, source=str(number)))
        checkers.run(checker, ProblemTest(input="", output=""), b"")

    assert list("01234") == sandbox.released
    checkers.close()
    assert KEPT + 5 == len(sandbox.released)
