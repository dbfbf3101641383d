"""One program, judged by the tests of its problem."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from pytest_crmeval.domain.cutting import cut, cut_bytes
from pytest_crmeval.domain.problem import Opinion, Problem, ProblemTest
from pytest_crmeval.domain.program import Ending, Execution
from pytest_crmeval.domain.solution import Defect, Solution, SolutionOutcome, TestOutcome, TestVerdict, Ungradable
from pytest_crmeval.ports.referee import Referee
from pytest_crmeval.ports.sandbox import Prepared, Sandbox, SandboxError
from pytest_crmeval.solutions.play.checking import Checkers
from pytest_crmeval.solutions.play.program_run import ProgramRun, Rules
from pytest_crmeval.solutions.play.shared_lock import SharedLock
from pytest_crmeval.solutions.play.test_run import SHOWN, Failure, failure_of, feed_of, limits_of, run

__all__ = ["Judge", "Rules", "judge", "ungradable"]


def ungradable(solution: Solution, problem: Problem | None, sandbox: Sandbox) -> Ungradable | None:
    """Return why a program can't be judged here at all; None if it can. To be asked before it is judged."""
    if problem is None:
        return _left_out(solution, Defect.UNKNOWN_PROBLEM, "no problem has this id")
    if problem.unsupported:
        return _left_out(solution, Defect.UNSUPPORTED, problem.unsupported)
    if missing := sandbox.missing(solution.program.language):
        return _left_out(solution, Defect.UNSUPPORTED, missing)
    if problem.checker and (missing := sandbox.missing(problem.checker.program.language)):
        return _left_out(solution, Defect.UNSUPPORTED, f"its checker can't be run: {missing}")
    return None


def _left_out(solution: Solution, defect: Defect, detail: str) -> Ungradable:
    return Ungradable(
        defect=defect, line=solution.line, problem=solution.problem, sample=solution.sample, detail=detail
    )


class Judge:
    """Judges the programs of a file; used by several threads at once. Checkers are prepared once per problem."""

    def __init__(self, sandbox: Sandbox, referee: Referee, rules: Rules) -> None:
        self._sandbox = sandbox
        self._referee = referee
        self._rules = rules
        self._checkers = Checkers(sandbox)
        self._quiet = SharedLock()

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of the checkers."""
        self._checkers.close()

    def judge(self, solution: Solution, problem: Problem) -> SolutionOutcome:
        """Return how a program did; the judge's own trouble is a verdict, too (JE)."""
        try:
            with self._sandbox.prepared(solution.program) as program:
                if program.refused is not None:
                    return _outcome(solution, problem, TestVerdict.COMPILE_ERROR, _refusal(program.refused))
                program_run = ProgramRun(self._rules)
                for test in problem.tests:
                    program_run.outcomes.append(self._tested(program, problem, test, program_run))
        except SandboxError as error:
            return _outcome(solution, problem, TestVerdict.JUDGE_ERROR, str(error))
        return _outcome(solution, problem, *program_run.verdict(), program_run.outcomes)

    def _tested(self, program: Prepared, problem: Problem, test: ProblemTest, program_run: ProgramRun) -> TestOutcome:
        if reason := test.skipped or program_run.over():
            return TestOutcome(verdict=TestVerdict.SKIPPED, kind=test.kind, reason=reason)
        limits = limits_of(problem, test, self._rules.output_bytes)
        try:
            execution = run(program, feed_of(problem, test), limits, problem.time_limit, self._quiet)
            program_run.seconds += execution.wall_seconds or 0.0
            failure = failure_of(execution, problem, limits) or self._wrong(execution, problem, test, program_run)
        except SandboxError as error:
            program_run.broken = True
            return TestOutcome(verdict=TestVerdict.JUDGE_ERROR, kind=test.kind, reason=str(error))
        return _test_outcome(test, execution, failure, _printed(execution, problem))

    def _wrong(
        self, execution: Execution, problem: Problem, test: ProblemTest, program_run: ProgramRun
    ) -> Failure | None:
        """Return what is wrong with an output; None if it is right."""
        output = _printed(execution, problem)
        if output is None:
            return Failure(verdict=TestVerdict.WRONG_ANSWER, reason=f"it has written no {problem.output_file}")
        if problem.checker is None:
            found = self._referee.difference(test.output.encode(), output, problem.comparison)
            return Failure(verdict=TestVerdict.WRONG_ANSWER, reason=found) if found else None
        with self._quiet.together():
            checked = self._checkers.run(problem.checker, test, output)
        program_run.seconds += checked.wall_seconds or 0.0
        finding = self._referee.finding_of(problem.checker.style, checked)
        if finding.opinion is Opinion.TROUBLE:
            return Failure(verdict=TestVerdict.JUDGE_ERROR, reason=f"the checker: {finding.reason}")
        if finding.opinion is Opinion.REJECTED:
            return Failure(verdict=TestVerdict.WRONG_ANSWER, reason=f"the checker: {finding.reason}")
        return None


def _printed(execution: Execution, problem: Problem) -> bytes | None:
    """Return the output as it is; None for a file that was not written."""
    return execution.files.get(problem.output_file) if problem.output_file else execution.stdout


def _test_outcome(
    test: ProblemTest, execution: Execution, failure: Failure | None, output: bytes | None
) -> TestOutcome:
    return TestOutcome(
        verdict=failure.verdict if failure else TestVerdict.ACCEPTED,
        kind=test.kind,
        reason=failure.reason if failure else "",
        cpu_seconds=execution.cpu_seconds,
        wall_seconds=execution.wall_seconds,
        memory_bytes=execution.memory_bytes,
        output=cut_bytes(output or b"", SHOWN, "") if failure else "",
    )


def _refusal(refused: Execution) -> str:
    """Return what a compiler has to say first."""
    if refused.ending is not Ending.EXITED:
        return f"the compiler was stopped: {refused.ending}"
    said = (refused.stderr or refused.stdout).decode("utf-8", "replace").strip()
    first = next((line for line in said.splitlines() if "error" in line.lower()), said.partition("\n")[0])
    return cut(first, SHOWN, "") or f"the compiler ended with exit code {refused.exit_code}"


def _outcome(
    solution: Solution, problem: Problem, verdict: TestVerdict, reason: str, tests: Sequence[TestOutcome] = ()
) -> SolutionOutcome:
    return SolutionOutcome(
        problem=problem.id,
        line=solution.line,
        sample=solution.sample,
        verdict=verdict,
        reason=reason,
        tests=tuple(tests),
        rating=problem.rating,
        tags=tuple(problem.tags),
    )


def judge(solution: Solution, problem: Problem, sandbox: Sandbox, referee: Referee, rules: Rules) -> SolutionOutcome:
    """Judge one program alone."""
    with Judge(sandbox, referee, rules) as one:
        return one.judge(solution, problem)
