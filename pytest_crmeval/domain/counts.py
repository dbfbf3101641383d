"""Counts of trials by verdict, for progress, jobs and reports."""

from pytest_crmeval.domain.records import Record, always


class Counts(Record, frozen=True, kw_only=True):
    """Trials by verdict."""

    passed: int = always(0)
    failed: int = always(0)
    errored: int = always(0)
    invalid: int = always(0)
    """Cases that are impossible to pass; they count neither for nor against the subject."""

    @property
    def done(self) -> int:
        """Cases that have a trial, whatever its verdict."""
        return self.passed + self.failed + self.errored + self.invalid

    @property
    def scored(self) -> int:
        """Trials that count for the pass rate."""
        return self.passed + self.failed

    @property
    def passed_share(self) -> float | None:
        """Share of scored trials that passed; None (not 0) if none was scored."""
        return self.passed / self.scored if self.scored else None
