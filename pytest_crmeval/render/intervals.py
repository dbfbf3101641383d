"""Figures with their intervals, and reasons of failures, as a person wants to read them in a terminal."""

from collections.abc import Iterator, Sequence

from pytest_crmeval.domain.figures import Figure
from pytest_crmeval.report.report import Standing
from pytest_crmeval.report.tables import Row

SHOWN = 10
"""How many reasons are shown."""
NOTHING = "-"


def figures(suite: str, standings: Sequence[Standing]) -> Iterator[Row]:
    """Yield a row per figure of a suite, a column per subject; nothing if there are none."""
    names = list(dict.fromkeys(name for standing in standings for name in standing.figures))
    if names:
        yield (f"{suite} with 95 % intervals", *(standing.subject for standing in standings))
    for name in names:
        yield (name.replace("_", " "), *(_told(standing.figures.get(name)) for standing in standings))


def reasons(standing: Standing) -> Iterator[str]:
    """Yield why trials of a subject did not pass, the most frequent first."""
    if standing.reasons:
        yield f"why trials of {standing.subject} in {standing.suite} did not pass:"
    for reason in standing.reasons[:SHOWN]:
        yield f"{reason.count:6} {reason.verdict}: {_line(reason.text)} (for example {_line(reason.cases[0])})"
    if len(standing.reasons) > SHOWN:
        yield f"       ... and {len(standing.reasons) - SHOWN} more: see the JSON report"


def _told(figure: Figure | None) -> str:
    if figure is None:
        return NOTHING
    ends = f" ({figure.low:.3f} to {figure.high:.3f})" if figure.interval else ""
    return f"{figure.value:.3f}{ends}"


def _line(text: str) -> str:
    return text if text.isprintable() else ascii(text)[1:-1]
