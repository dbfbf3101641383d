"""What is known of a program while its tests are run, and the verdict in the end."""

from dataclasses import dataclass, field

from pytest_crmeval.domain.solution import TestOutcome, TestVerdict

MIB = 2**20
_NOT_FAILED = {TestVerdict.ACCEPTED, TestVerdict.SKIPPED, TestVerdict.JUDGE_ERROR}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How programs are judged, whatever the problem."""

    all_tests: bool = False
    """Whether the tests go on after one was failed."""
    solution_seconds: float | None = None
    """How long the runs of one program may take together, on the clock; the tests that are left then are skipped.
    None: as long as it takes."""
    output_bytes: int = 16 * MIB
    """How much a program may print; twice as much as is expected if that is more."""


@dataclass(slots=True)
class ProgramRun:
    """The tests of one program, as they are run one after the other."""

    rules: Rules
    outcomes: list[TestOutcome] = field(default_factory=list)
    seconds: float = 0.0
    """On the clock, for runs; waiting for a free core does not count."""
    broken: bool = False
    """Whether the sandbox has failed: it would fail again."""

    late: bool = False
    """Whether a test was skipped because the time was up."""

    def over(self) -> str:
        """Return why the next test is not run; nothing if it is."""
        limit = self.rules.solution_seconds
        if self.broken:
            return "the judge has failed before"
        if self._failed() is not None and not self.rules.all_tests:
            return "an earlier test has decided"
        if limit is None or self.seconds < limit:
            return ""
        self.late = True
        return f"the time for one solution was up ({limit:g} s)"

    def verdict(self) -> tuple[TestVerdict, str]:
        """Return the verdict on the whole, and its reason: what fails it, else what the judge could not do."""
        decisive = self._failed()
        if decisive is None:
            decisive = self._first({TestVerdict.JUDGE_ERROR})
        if decisive is None:
            return self._unbroken()
        outcome = self.outcomes[decisive]
        return outcome.verdict, f"test {decisive + 1} ({outcome.kind}): {outcome.reason}"

    def _unbroken(self) -> tuple[TestVerdict, str]:
        """Return the verdict where no test was failed: some may have been skipped, or all of them."""
        left = [outcome.reason for outcome in self.outcomes if outcome.verdict is TestVerdict.SKIPPED]
        count = len(self.outcomes)
        reason = f"{len(left)} of {count} tests skipped: {left[-1]}" if left else ""
        if self.late or len(left) == count:
            return TestVerdict.SKIPPED, reason or "there are no tests"
        return TestVerdict.ACCEPTED, reason

    def _failed(self) -> int | None:
        return self._first(set(TestVerdict) - _NOT_FAILED)

    def _first(self, verdicts: set[TestVerdict]) -> int | None:
        found = (place for place, outcome in enumerate(self.outcomes) if outcome.verdict in verdicts)
        return next(found, None)
