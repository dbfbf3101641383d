"""The estimate of a run as text."""

from collections.abc import Iterator

from pytest_crmeval.render.fitting import fitted, wrapped
from pytest_crmeval.report.estimate import Estimate, remarks, table

SPARE = ("cached", "tokens out", "tokens in", "calls")
"""Columns that a narrow table omits, the least important first."""


def lines(found: Estimate, width: int | None = None) -> Iterator[str]:
    """Yield a table and the sources of its figures, in lines of at most ``width``."""
    yield from fitted(table(found), names=2, width=width, spare=SPARE)
    for remark in remarks(found):
        yield from wrapped(remark, width)
