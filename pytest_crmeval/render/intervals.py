"""Figures with their intervals, and reasons of failures, for a terminal."""

from collections.abc import Iterator, Sequence

from pytest_crmeval.journal.figures import Figure
from pytest_crmeval.report.numbers import value_of
from pytest_crmeval.report.report import SubjectSummary
from pytest_crmeval.report.tables import Row

SHOWN = 10
"""How many reasons are shown."""
NOTHING = "-"


def figures(suite: str, summaries: Sequence[SubjectSummary]) -> Iterator[Row]:
    """Yield a row per figure of a suite, a column per subject; nothing if there are none."""
    names = list(dict.fromkeys(name for summary in summaries for name in summary.figures))
    if names:
        yield (f"{suite} with 95 % intervals", *(summary.subject for summary in summaries))
    for name in names:
        yield (name.replace("_", " "), *(_figure(name, summary.figures.get(name)) for summary in summaries))


def reasons(summary: SubjectSummary) -> Iterator[str]:
    """Yield why trials of a subject did not pass, the most frequent first."""
    if summary.reasons:
        yield f"why trials of {summary.subject} in {summary.suite} did not pass:"
    for reason in summary.reasons[:SHOWN]:
        yield f"{reason.count:6} {reason.verdict}: {_line(reason.shown)} (for example {_line(reason.cases[0])})"
    if len(summary.reasons) > SHOWN:
        yield f"       ... and {len(summary.reasons) - SHOWN} more: see the JSON report"


def _figure(name: str, figure: Figure | None) -> str:
    if figure is None:
        return NOTHING
    ends = f" ({' to '.join(value_of(name, end) for end in figure.interval)})" if figure.interval else ""
    return f"{value_of(name, figure.value)}{ends}"


def _line(text: str) -> str:
    return text if text.isprintable() else ascii(text)[1:-1]
