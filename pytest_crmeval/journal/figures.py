"""Figures with their confidence intervals, and counts of trials: for progress, jobs and reports."""

from collections.abc import Mapping

from pytest_crmeval.domain.records import Record, always


class Figure(Record, frozen=True, kw_only=True):
    """One metric of a subject; without any observation there is no figure, instead of a figure of 0."""

    value: float
    interval: tuple[float, float] | None = None
    """The 95 % interval; None if unknown."""
    n: int | None = None
    """Observations: trials, turns, programs."""
    units: int | None = None
    """Number of independent units, cases or chains; None if it is the same as ``n``."""
    method: str = ""
    """Method of the interval: wilson, wilson (clustered), order statistics, normal."""

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return self.interval[0] if self.interval else None

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return self.interval[1] if self.interval else None


Figures = Mapping[str, Figure]
"""Name of a metric -> its figure."""


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
