"""One program, judged by the tests of its problem."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

from pytest_crmeval.domain.cutting import beginning, cut, cut_bytes
from pytest_crmeval.domain.file_outcome import TestVerdict
from pytest_crmeval.journal.solutions.outcomes import Defect, SolutionOutcome, TestOutcome, Ungradable
from pytest_crmeval.ports.sandbox import Execution, Language, Prepared, Sandbox, SandboxError, Termination
from pytest_crmeval.sandboxes.languages import Factors
from pytest_crmeval.solutions.play.checking import Checkers
from pytest_crmeval.solutions.play.function_call import NOT_PYTHON, HarnessCall, harness_program
from pytest_crmeval.solutions.play.test_run import SHOWN, Failure, SharedLock, failure_of, feed_of, limits_of, run
from pytest_crmeval.solutions.problem import CheckerOpinion, Problem, ProblemTest
from pytest_crmeval.solutions.referee import difference, finding_of
from pytest_crmeval.solutions.solution import Solution

MIB = 2**20
QUOTED = 400
"""Characters of the input and of the expected output of a failed test that are kept."""
_NOT_FAILED = {TestVerdict.ACCEPTED, TestVerdict.SKIPPED, TestVerdict.JUDGE_ERROR}
__all__ = ["ProgramJudge", "Rules", "judge", "ungradable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How the programs of all problems are judged."""

    all_tests: bool = False
    """Whether the tests go on after a failed one."""
    solution_seconds: float | None = None
    """Wall time of all runs of one program; the remaining tests are skipped then. None: no limit."""
    output_bytes: int = 16 * MIB
    """How much a program may print, unless twice the expected output is more."""
    factors: Mapping[Language, Factors] = field(default_factory=dict)
    """What the limits of a problem are multiplied by for programs in a language."""

    def allow(self, problem: Problem, language: Language) -> Problem:
        """Return a problem with the limits for programs in a language."""
        if (factors := self.factors.get(language)) is None:
            return problem
        memory = round(problem.memory_limit * factors.memory)
        return replace(problem, time_limit=problem.time_limit * factors.time, memory_limit=memory)


@dataclass(slots=True)
class ProgramRun:
    """The tests of one program so far, and its verdict."""

    rules: Rules
    outcomes: list[TestOutcome] = field(default_factory=list)
    seconds: float = 0.0
    """Wall time of the runs, without waiting for a free core."""
    broken: bool = False
    """Whether the sandbox has failed, so that it would fail again."""
    late: bool = False
    """Whether a test was skipped because the time was up."""

    def over(self) -> str:
        """Return why the next test is not run; empty if it is."""
        limit = self.rules.solution_seconds
        if self.broken:
            return "the sandbox failed in an earlier test"
        if self.failed() is not None and not self.rules.all_tests:
            return "an earlier test has failed"
        if limit is None or self.seconds < limit:
            return ""
        self.late = True
        return f"the time limit for one solution was reached ({limit:g} s)"

    def verdict(self) -> tuple[TestVerdict, str]:
        """Return the verdict on the program and its reason: the first failed test, else the first judge error."""
        decisive = self.failed()
        if decisive is None:
            decisive = self._first({TestVerdict.JUDGE_ERROR})
        if decisive is not None:
            outcome = self.outcomes[decisive]
            return outcome.verdict, f"test {decisive + 1} ({outcome.kind}): {outcome.reason}"
        left = [outcome.reason for outcome in self.outcomes if outcome.verdict is TestVerdict.SKIPPED]
        count = len(self.outcomes)
        reason = f"{len(left)} of {count} tests skipped: {left[-1]}" if left else ""
        if self.late or len(left) == count:
            return TestVerdict.SKIPPED, reason or "there are no tests"
        return TestVerdict.ACCEPTED, reason

    def failed(self) -> int | None:
        """Return the place of the first failed test; None if none has failed."""
        return self._first(set(TestVerdict) - _NOT_FAILED)

    def _first(self, verdicts: set[TestVerdict]) -> int | None:
        found = (place for place, outcome in enumerate(self.outcomes) if outcome.verdict in verdicts)
        return next(found, None)


def ungradable(solution: Solution, problem: Problem | None, sandbox: Sandbox) -> Ungradable | None:
    """Return why a program can't be judged at all; None if it can. Check this before judging it."""
    if problem is None:
        return _left_out(solution, Defect.UNKNOWN_PROBLEM, "no problem has this id")
    if problem.unsupported:
        return _left_out(solution, Defect.UNSUPPORTED, problem.unsupported)
    if missing := sandbox.missing(solution.program.language, solution.program.version):
        return _left_out(solution, Defect.UNSUPPORTED, missing)
    if problem.function and solution.program.language not in {Language.PYTHON, Language.PYPY}:
        return _left_out(solution, Defect.UNSUPPORTED, NOT_PYTHON)
    checker = problem.checker.program if problem.checker else None
    if checker and (missing := sandbox.missing(checker.language, checker.version)):
        return _left_out(solution, Defect.UNSUPPORTED, f"its checker can't be run: {missing}")
    return None


def _left_out(solution: Solution, defect: Defect, detail: str) -> Ungradable:
    return Ungradable(
        defect=defect, line=solution.line, problem=solution.problem, sample=solution.sample, detail=detail
    )


class ProgramJudge:
    """Judges the programs of a file; used by several threads at once. Checkers are prepared once per problem."""

    def __init__(self, sandbox: Sandbox, rules: Rules) -> None:
        self._sandbox = sandbox
        self._rules = rules
        self._checkers = Checkers(sandbox)
        self._quiet = SharedLock()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release the checkers."""
        self._checkers.close()

    def judge(self, solution: Solution, problem: Problem) -> SolutionOutcome:
        """Return the outcome of a program; a failure of the judge itself is the verdict JE."""
        problem = self._rules.allow(problem, solution.program.language)
        try:
            runnable = solution.program
            if problem.function:  # it is called by the harness
                runnable = replace(harness_program(), language=runnable.language)
            with self._sandbox.prepared(runnable) as program:
                if program.refused is not None:
                    return _outcome(solution, problem, TestVerdict.COMPILE_ERROR, _refusal(program.refused))
                program_run = ProgramRun(self._rules)
                for test in problem.tests:
                    call = HarnessCall(solution, problem, test) if problem.function else None
                    program_run.outcomes.append(self._tested(program, problem, test, program_run, call))
        except SandboxError as error:
            return _outcome(solution, problem, TestVerdict.JUDGE_ERROR, str(error))
        return _outcome(solution, problem, *program_run.verdict(), program_run.outcomes)

    def _tested(
        self, program: Prepared, problem: Problem, test: ProblemTest, program_run: ProgramRun, call: HarnessCall | None
    ) -> TestOutcome:
        if reason := test.skipped or program_run.over():
            return TestOutcome(verdict=TestVerdict.SKIPPED, kind=test.kind, reason=reason)
        limits = limits_of(problem, test, self._rules.output_bytes)
        try:
            given = call.input() if call else feed_of(problem, test)
            execution = run(program, given, limits, problem.time_limit, self._quiet)
            program_run.seconds += execution.wall_seconds or 0.0
            failure = self._failure(execution, problem, test, program_run, call)
            if failure is not None and failure.verdict is not TestVerdict.JUDGE_ERROR:
                self._confirm(failure, program, problem, test, program_run, call)
        except SandboxError as error:
            program_run.broken = True
            return TestOutcome(verdict=TestVerdict.JUDGE_ERROR, kind=test.kind, reason=str(error))
        output = _printed(execution, problem)
        is_first = failure is not None and program_run.failed() is None
        return TestOutcome(
            verdict=failure.verdict if failure else TestVerdict.ACCEPTED,
            kind=test.kind,
            reason=failure.reason if failure else "",
            input=beginning(call.shown if call else test.input, QUOTED) if is_first else "",
            expected=beginning(test.output, QUOTED) if is_first else "",
            cpu_seconds=execution.cpu_seconds,
            wall_seconds=execution.wall_seconds,
            memory_bytes=execution.memory_bytes,
            output=cut_bytes(output or b"", SHOWN, "") if failure else "",
        )

    def _failure(
        self,
        execution: Execution,
        problem: Problem,
        test: ProblemTest,
        program_run: ProgramRun,
        call: HarnessCall | None,
    ) -> Failure | None:
        """Return why a run fails its test; None if it passes."""
        if failure := failure_of(execution, problem, limits_of(problem, test, self._rules.output_bytes)):
            return failure
        if call:
            return call.wrong(execution.stdout)
        return self._wrong(execution, problem, test, program_run)

    def _confirm(  # noqa: PLR0913, PLR0917 (all that a run has)
        self,
        failure: Failure,
        program: Prepared,
        problem: Problem,
        test: ProblemTest,
        program_run: ProgramRun,
        call: HarnessCall | None,
    ) -> None:
        """Run a failed test again, where the sandbox may have been wrong; SandboxError if the verdicts differ."""
        if (confirm := getattr(program, "confirm", None)) is None:
            return
        limits = limits_of(problem, test, self._rules.output_bytes)
        with self._quiet.together():
            again: Execution | None = confirm(call.input() if call else feed_of(problem, test), limits)
        if again is None:
            return
        second = self._failure(again, problem, test, program_run, call)
        verdict = second.verdict if second else TestVerdict.ACCEPTED
        if verdict is not failure.verdict:
            program.contradicted()  # type: ignore[attr-defined] # it has one if it confirms
            raise SandboxError(
                f"two runs of the program disagree: {failure.verdict} ({failure.reason}), then {verdict}"
            )

    def _wrong(
        self, execution: Execution, problem: Problem, test: ProblemTest, program_run: ProgramRun
    ) -> Failure | None:
        """Return why an output is wrong; None if it is right."""
        output = _printed(execution, problem)
        if output is None:
            return Failure(verdict=TestVerdict.WRONG_ANSWER, reason=f"it did not write {problem.output_file}")
        if problem.checker is None:
            found = difference(test.output.encode(), output, problem.comparison)
            return Failure(verdict=TestVerdict.WRONG_ANSWER, reason=found) if found else None
        checker = problem.checker
        with self._quiet.together():
            checked = self._checkers.run(checker, test, output)
            finding = finding_of(checker.style, checked)
            crashed = finding.opinion is CheckerOpinion.TROUBLE
            broken = crashed and self._checkers.crashes_on_reference(checker, test)
        program_run.seconds += checked.wall_seconds or 0.0
        if broken:
            reason = f"the checker fails on the expected output as well: {finding.reason}"
            return Failure(verdict=TestVerdict.JUDGE_ERROR, reason=reason)
        if finding.opinion is CheckerOpinion.ACCEPTED:
            return None
        said = f"the checker fails on this output: {finding.reason}" if crashed else f"the checker: {finding.reason}"
        return Failure(verdict=TestVerdict.WRONG_ANSWER, reason=said)


def _printed(execution: Execution, problem: Problem) -> bytes | None:
    """Return the output; None for a file that was not written."""
    return execution.files.get(problem.output_file) if problem.output_file else execution.stdout


def _refusal(refused: Execution) -> str:
    """Return the first error of a compiler."""
    if refused.ending is Termination.SIGNALLED:
        return f"the compiler was killed by {refused.signal}"
    if refused.ending is not Termination.EXITED:
        return f"the compiler exceeded its {refused.ending} limit"
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
        note=problem.note,
        program="" if verdict in _NOT_FAILED else solution.program.source,
    )


def judge(solution: Solution, problem: Problem, sandbox: Sandbox, rules: Rules) -> SolutionOutcome:
    """Judge one program alone."""
    with ProgramJudge(sandbox, rules) as one:
        return one.judge(solution, problem)
