"""A report as a person wants to read it in a terminal."""

from collections.abc import Iterator, Sequence

from pytest_crmeval.domain.gate import Ruling
from pytest_crmeval.domain.report import Report, Standing

_HEAD = ("suite", "subject", "cases", "passed", "failed", "errored", "not run", "pass rate")


def table(report: Report) -> Iterator[str]:
    """Yield one line per suite and subject, under a head."""
    rows = [_HEAD, *map(_row, report.standings)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        names = [cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True)]
        numbers = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        yield "  ".join([*names, *numbers]).rstrip()


def gates(rulings: Sequence[Ruling]) -> Iterator[str]:
    """Yield one line per gate."""
    for ruling in rulings:
        yield f"gate {ruling.gate}: {'holds' if ruling.holds else 'BREACHED'} ({ruling.explanation})"


def _row(standing: Standing) -> tuple[str, ...]:
    rate = "-" if standing.pass_rate is None else f"{standing.pass_rate:.3f}"
    counts = (standing.planned, standing.passed, standing.failed, standing.errored, standing.not_run)
    return (standing.suite, standing.subject, *map(str, counts), rate)
