"""Figures: a value, its confidence interval, and the observations that it is based on."""

from collections.abc import Mapping

from pytest_crmeval.domain.records import Record

LEVEL = 0.95
"""The default confidence level of an interval."""


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
