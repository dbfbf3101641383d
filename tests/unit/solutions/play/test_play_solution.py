"""A program is judged by what it did, and the judge's trouble is never its fault."""

from dataclasses import replace

import pytest

from pytest_crmeval.domain.file_outcome import TestVerdict
from pytest_crmeval.journal.solutions.outcomes import Defect, SolutionOutcome
from pytest_crmeval.ports.sandbox import Execution, Language, Program, ProgramInput, SandboxError, Termination
from pytest_crmeval.sandboxes.languages import Factors
from pytest_crmeval.solutions.play.solution import QUOTED, ProgramJudge, Rules, judge, ungradable
from pytest_crmeval.solutions.problem import Checker, CheckerStyle, ProblemTest
from tests.programs import Scripted, exited, problem, solution

TWICE = "the checker fails on the expected output as well"
STDOUT = Checker(style=CheckerStyle.STDOUT, program=Program(language=Language.PYTHON, source="checker"))


def judged(run: Execution | list[Execution], task: object = None, rules: Rules | None = None) -> SolutionOutcome:
    """Judge a program whose runs end so, one after the other."""
    runs = iter(run if isinstance(run, list) else [run] * 9)
    sandbox = Scripted({"main": lambda _: next(runs)})
    given = task if task is not None else problem("1", "1")
    return judge(solution("main"), given, sandbox, rules or Rules())  # type: ignore[arg-type]


def verdicts(outcome: SolutionOutcome) -> list[str]:
    """Return the verdicts of the tests."""
    return [str(test.verdict) for test in outcome.tests]


def test_right_on_every_test() -> None:
    """It is known whose it is, and where it stands."""
    outcome = judged(exited("1\n"))

    assert ("AC", "", ["AC", "AC"]) == (outcome.verdict, outcome.reason, verdicts(outcome))
    assert ("p", 3, 1) == (outcome.problem, outcome.line, outcome.sample)
    assert outcome.solved


@pytest.mark.parametrize(
    ("run", "verdict", "reason"),
    [
        (exited("2"), "WA", "line 1, word 1: expected '1', found '2'"),
        (exited("1", 3, stderr=b"Traceback\nValueError: x\n"), "RE", "exit code 3: ValueError: x"),
        (Execution(ending=Termination.SIGNALLED, signal="SIGSEGV"), "RE", "SIGSEGV"),
        (Execution(ending=Termination.MEMORY, stdout=b"1"), "MLE", "more than 256 MiB of memory"),
        (Execution(ending=Termination.OUTPUT), "OLE", "more than 16 MiB of output"),
        (
            Execution(ending=Termination.CPU_TIME, cpu_seconds=1.2),
            "TLE",
            "more than 1 s of CPU time (ended after 1.20 s)",
        ),
        (Execution(ending=Termination.CPU_TIME, stderr=b"memory error"), "TLE", "more than 1 s of CPU time"),
        (
            Execution(ending=Termination.WALL_TIME, cpu_seconds=0.01),
            "TLE",
            "not finished within 3 s of wall time (0.01 s of CPU time used)",
        ),
        (exited("1", cpu=1.5), "TLE", "more than 1 s of CPU time (ended after 1.50 s)"),
    ],
)
def test_verdict_depends_on_how_the_program_ended(run: Execution, verdict: str, reason: str) -> None:
    """Not words that a program has printed; and the first failure ends it."""
    outcome = judged(run)

    assert (verdict, f"test 1 (official): {reason}") == (outcome.verdict, outcome.reason)
    assert [verdict, "SKIPPED"] == verdicts(outcome)
    assert "an earlier test has failed" == outcome.tests[1].reason


def test_all_tests_are_run_if_they_are_wanted() -> None:
    """The verdict is that of the first failure."""
    outcome = judged([exited("2"), exited("1"), exited("", 1)], problem("1", "1", "1"), Rules(all_tests=True))

    assert ("WA", ["WA", "AC", "RE"]) == (outcome.verdict, verdicts(outcome))


def test_a_failed_program_is_kept_with_the_first_test_that_it_failed() -> None:
    """Not with the others, and a program that is solved is not kept at all."""
    outcome = judged([exited("1"), exited("2"), exited("", 1)], problem("1", "1", "1"), Rules(all_tests=True))
    quoted = [(bool(test.input), test.expected) for test in outcome.tests]

    assert ("main", "") == (outcome.program, judged(exited("1")).program)
    assert [(False, ""), (True, "1"), (False, "")] == quoted


def test_only_the_beginning_of_a_huge_test_is_kept() -> None:
    outcome = judged(exited("2"), replace(problem("1"), tests=[ProblemTest(input="7" * 10**6, output="1")]))

    assert f"{'7' * QUOTED}… (1,000,000 characters)" == outcome.tests[0].input


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (exited("1", cpu=1.04), exited("1", cpu=0.98), "AC"),
        (exited("1", cpu=1.04), exited("1", cpu=1.01), "TLE"),
        (Execution(ending=Termination.WALL_TIME, cpu_seconds=0.8), exited("1", cpu=0.9), "AC"),
    ],
)
def test_program_near_its_time_limit_is_run_once_more(first: Execution, second: Execution, verdict: str) -> None:
    """So is who was working when the clock stopped him: the machine was busy."""
    assert verdict == judged([first, second], problem("1")).verdict


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (exited("In file:\nmain.cpp:1: error: no x\n1 error\n", 1), "main.cpp:1: error: no x"),
        (exited("", 4), "the compiler ended with exit code 4"),
        (Execution(ending=Termination.CPU_TIME), "the compiler exceeded its CPU time limit"),
        (Execution(ending=Termination.SIGNALLED, signal="SIGSEGV"), "the compiler was killed by SIGSEGV"),
    ],
)
def test_a_program_that_does_not_compile_has_the_reason_of_the_compiler(refused: Execution, reason: str) -> None:
    sandbox = Scripted({}, refused={"main": refused})
    outcome = judge(solution("main", Language.CPP), problem("1"), sandbox, Rules())

    assert ("CE", reason, ()) == (outcome.verdict, outcome.reason, outcome.tests)


def _broken(_: ProgramInput) -> Execution:
    raise SandboxError("HTTP 400 run_timeout cannot exceed the configured limit of 3000")


def test_error_of_the_sandbox_is_a_judge_error() -> None:
    """A server that refuses says nothing about the program, and is not asked again."""
    outcome = judge(solution("main"), problem("1", "1"), Scripted({"main": _broken}), Rules())

    assert (["JE", "SKIPPED"], "JE") == (verdicts(outcome), outcome.verdict)
    assert "cannot exceed" in outcome.reason
    assert not outcome.judged
    assert "JE" == judge(solution("unpreparable"), problem("1"), Scripted({}), Rules()).verdict


def test_time_for_one_solution() -> None:
    """What is left is skipped, and the verdict does not speak of the program."""
    slow = exited("1", cpu=0.9)
    outcome = judged(slow, problem("1", "1", "1"), Rules(solution_seconds=1.5))

    assert (["AC", "AC", "SKIPPED"], "SKIPPED") == (verdicts(outcome), outcome.verdict)
    assert "1 of 3 tests skipped: the time limit for one solution was reached (1.5 s)" == outcome.reason


def test_a_large_input_is_skipped_and_not_wrong() -> None:
    large = ProblemTest(input="", output="", skipped="its input is large")
    task = problem("1")
    some, none = replace(task, tests=(*task.tests, large)), replace(task, tests=(large,))

    assert ("AC", "1 of 2 tests skipped: its input is large") == (
        judged(exited("1"), some).verdict,
        judged(exited("1"), some).reason,
    )
    assert "SKIPPED" == judged(exited("1"), none).verdict
    assert (TestVerdict.SKIPPED, "there are no tests") == (
        judged(exited("1"), problem()).verdict,
        judged(exited("1"), problem()).reason,
    )


def test_files_instead_of_stdin_and_stdout() -> None:
    """Nothing of what is right comes near the program."""
    task = problem("secret", input_file="input.txt", output_file="output.txt")
    sandbox = Scripted({"main": lambda _: exited("noise", files={"output.txt": b"secret"})})

    assert "AC" == judge(solution("main"), task, sandbox, Rules()).verdict
    ((_, feed),) = sandbox.feeds
    assert (b"", {"input.txt": b"1\n"}, ("output.txt",)) == (feed.stdin, feed.files, feed.wanted)
    assert "it did not write output.txt" in judged(exited("secret"), task).reason


def test_limits_of_a_run_leave_room_above_those_of_the_problem() -> None:
    """A little more CPU time than allowed, a clock that only ends who hangs, room for what is expected."""
    sandbox = Scripted({"main": lambda _: exited("x")})
    judge(solution("main"), problem("ä" * 2**24), sandbox, Rules())

    (limits,) = sandbox.limits
    assert (1.05, 3.0, 2**28, 2**26 + 2**20) == (
        limits.cpu_seconds,
        limits.wall_seconds,
        limits.memory_bytes,
        limits.output_bytes,
    )


@pytest.mark.parametrize(
    ("answer", "verdict", "reason"),
    [
        (exited("1"), "AC", ""),
        (exited("0"), "WA", "test 1 (official): the checker: it printed 0"),
        (
            exited("", 1),
            "JE",
            f"test 1 (official): {TWICE}: it printed nothing instead of 1 or 0 (exit code 1)",
        ),
        (
            Execution(ending=Termination.CPU_TIME),
            "JE",
            f"test 1 (official): {TWICE}: it exceeded its CPU time limit",
        ),
    ],
)
def test_a_checker_decides(answer: Execution, verdict: str, reason: str) -> None:
    """It sees the output as it was printed, has limits of its own, and is prepared once for all solutions."""
    sandbox = Scripted({"main": lambda _: exited(" raw \n\n"), "checker": lambda _: answer})
    with ProgramJudge(sandbox, Rules()) as one:
        outcomes = [one.judge(solution("main"), problem("1", checker=STDOUT)) for _ in range(3)]

    assert [(verdict, reason)] * 3 == [(outcome.verdict, outcome.reason) for outcome in outcomes]
    assert 1 == sandbox.prepared_sources.count("checker")
    assert "checker" == sandbox.released[-1]
    feed = next(feed for source, feed in sandbox.feeds if source == "checker")
    assert ("input.txt", "correct_output.txt", "solution_output.txt") == feed.args
    assert b" raw \n\n" == feed.files["solution_output.txt"]
    assert (10.0, 2**30) == (sandbox.limits[1].cpu_seconds, sandbox.limits[1].memory_bytes)


def test_a_checker_that_crashes_on_an_output_only_rejects_it() -> None:
    """The checker works on the expected output, so the program caused the crash; that is found out once per test."""

    def answer(feed: ProgramInput) -> Execution:
        return exited("1") if feed.files["solution_output.txt"] == b"1" else exited("", 1)

    sandbox = Scripted({"main": lambda _: exited("x"), "checker": answer})
    with ProgramJudge(sandbox, Rules()) as one:
        outcomes = [one.judge(solution("main"), problem("1", checker=STDOUT)) for _ in range(3)]

    reason = "the checker fails on this output: it printed nothing instead of 1 or 0 (exit code 1)"
    assert [("WA", f"test 1 (official): {reason}")] * 3 == [(each.verdict, each.reason) for each in outcomes]
    assert 4 == [source for source, _ in sandbox.feeds].count("checker")


def test_after_a_checkers_trouble_a_later_test_may_decide() -> None:
    """Who is wrong elsewhere is wrong."""
    answers = iter([exited("?"), exited("?"), exited("0")])
    sandbox = Scripted({"main": lambda _: exited("x"), "checker": lambda _: next(answers)})
    outcome = judge(solution("main"), problem("1", "1", checker=STDOUT), sandbox, Rules())

    assert (["JE", "WA"], "WA") == (verdicts(outcome), outcome.verdict)


@pytest.mark.parametrize(
    ("style", "code", "args"),
    [
        (CheckerStyle.TESTLIB, 0, ("input.txt", "output.txt", "answer.txt")),
        (CheckerStyle.KATTIS, 42, ("input.txt", "answer.txt", "./")),
    ],
)
def test_checkers_that_answer_by_exit_code(style: CheckerStyle, code: int, args: tuple[str, ...]) -> None:
    checker = replace(STDOUT, style=style)
    sandbox = Scripted({"main": lambda _: exited("out"), "checker": lambda _: exited("", code)})

    assert "AC" == judge(solution("main"), problem("1", checker=checker), sandbox, Rules()).verdict
    feed = sandbox.feeds[1][1]
    assert args == feed.args
    assert b"out" == (feed.stdin if style is CheckerStyle.KATTIS else feed.files["output.txt"])


def test_checker_without_testlib_is_a_judge_error_that_names_the_setting() -> None:
    """It is not ours to ship."""
    source = '#include "testlib.h"\nint main() {}'
    checker = Checker(style=CheckerStyle.TESTLIB, program=Program(language=Language.CPP, source=source))
    outcome = judged(exited("1"), problem("1", checker=checker))

    assert "JE" == outcome.verdict
    assert "crmeval_testlib" in outcome.reason


def test_limits_are_multiplied_by_the_factors_of_the_language() -> None:
    """The problem's limits are for programs in any other language."""
    rules = Rules(factors={Language.JAVA: Factors(time=2.0, memory=1.5)})
    sandbox = Scripted({"main": lambda _: exited("1", cpu=1.5)})
    one = problem("1")

    java = judge(solution("main", Language.JAVA), one, sandbox, rules)
    python = judge(solution("main"), one, sandbox, rules)

    assert [TestVerdict.ACCEPTED, TestVerdict.TIME_LIMIT] == [java.verdict, python.verdict]
    assert [int(1.5 * one.memory_limit), one.memory_limit] == [limits.memory_bytes for limits in sandbox.limits]


@pytest.mark.parametrize(
    ("fields", "language", "detail"),
    [
        ({"unsupported": "it is interactive"}, Language.PYTHON, "it is interactive"),
        ({}, Language.CPP, "no g++"),
        (
            {"checker": replace(STDOUT, program=Program(language=Language.CPP, source="x"))},
            Language.PYTHON,
            "its checker can't be run: no g++",
        ),
    ],
)
def test_ungradable_program_is_recognised_before_it_is_run(
    fields: dict[str, object], language: Language, detail: str
) -> None:
    """It is counted apart."""
    sandbox = Scripted({}, lacking={Language.CPP: "no g++"})
    found = ungradable(solution("main", language), problem("1", **fields), sandbox)

    assert found is not None
    assert (Defect.UNSUPPORTED, detail, 3, 1) == (found.defect, found.detail, found.line, found.sample)
    assert ungradable(solution("main"), problem("1"), sandbox) is None
    unknown = ungradable(solution("main"), None, sandbox)
    assert unknown is not None
    assert Defect.UNKNOWN_PROBLEM is unknown.defect
