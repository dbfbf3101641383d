"""A comparison, for a terminal."""

import shlex
from collections.abc import Iterator, Sequence

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.journal.figures import Figure
from pytest_crmeval.render.fitting import fitted, wrapped
from pytest_crmeval.report.comparison import LISTS, CaseChange, Comparison, Contrast
from pytest_crmeval.report.tables import Row, p_value

LONGEST = 160
_HEAD = (
    "suite",
    "subject",
    "paired",
    "before",
    "after",
    "difference",
    "95 % interval",
    "better",
    "worse",
    "p",
    "detectable",
)
_SPARE = ("detectable", "paired", "95 % interval", "better", "worse")
"""Columns that a narrow table omits, the least important first."""


def lines(comparison: Comparison, most: int | None = None, width: int | None = None) -> Iterator[str]:
    """Yield a comparison in lines of at most ``width``: the table, and the changed cases, ``most`` per list."""
    yield from _table(comparison, width)
    for contrast in comparison.contrasts:
        if scores := [f"{name} {each.value:+.3f} ({_interval(each)})" for name, each in contrast.scores.items()]:
            yield from wrapped(f"{contrast.suite}, {subjects(contrast)}: {', '.join(scores)}", width)
        for name in LISTS:
            for line in _changes(contrast, name, most):
                yield from wrapped(line, width, "    ")


def _table(comparison: Comparison, width: int | None) -> Iterator[str]:
    """Yield a row per contrast, the correction of p-values, and what could not be compared."""
    yield from wrapped(f"compared with {_named(comparison)}", width)
    if comparison.contrasts:
        yield from fitted([_HEAD, *map(_row, comparison.contrasts)], names=2, width=width, spare=_SPARE)
    for line in (
        *([f"p-values corrected: {comparison.correction}"] if comparison.correction else ()),
        *comparison.cautions,
        *comparison.missing,
    ):
        yield from wrapped(line, width)


def brief(comparison: Comparison, width: int) -> Iterator[str]:
    """Yield the same in a few lines of at most ``width``: the table, and for each list its length and an example."""
    yield from _table(comparison, width)
    for contrast in comparison.contrasts:
        for name in LISTS:
            if changes := getattr(contrast, name):
                head = f"{name.replace('_', ' ')} in {contrast.suite}, {subjects(contrast)}: {len(changes)}"
                shown = _printable(f"{head} (for example {changes[0].case})")
                yield shown if len(shown) <= width else cut(shown, width - 1)
    if any(len(getattr(contrast, name)) > 1 for contrast in comparison.contrasts for name in LISTS):
        source = shlex.quote(str(comparison.baseline.get("source", comparison.baseline["id"])))
        yield f"all changes: crmeval compare {source} {comparison.run['id']}"


def _named(comparison: Comparison) -> str:
    other = comparison.baseline
    commit = f" at {str(other['commit'])[:12]}" if "commit" in other else ""
    return f"{other['id']} ({other['started']}{commit})"


def _row(contrast: Contrast) -> Row:
    difference = contrast.difference
    star = " *" if contrast.significant else ""
    return (
        contrast.suite,
        subjects(contrast),
        str(contrast.paired),
        _rate(contrast.before),
        _rate(contrast.after),
        f"{difference.value:+.3f}" if difference else "-",
        _interval(difference),
        str(contrast.better),
        str(contrast.worse),
        f"{p_value(contrast.p_holm)}{star}",
        _rate(contrast.detectable),
    )


def subjects(contrast: Contrast) -> str:
    """Return the subjects that are compared."""
    same = contrast.subject == contrast.baseline_subject
    return contrast.subject if same else f"{contrast.subject} vs {contrast.baseline_subject}"


def _changes(contrast: Contrast, name: str, most: int | None) -> Iterator[str]:
    changes: Sequence[CaseChange] = getattr(contrast, name)
    if not changes:
        return
    yield f"{name.replace('_', ' ')} in {contrast.suite}, {subjects(contrast)}: {len(changes)}"
    for change in changes[:most]:
        shares = f" ({change.shares})" if change.shares else ""
        shown = _printable(f"  {change.case}{shares}{f': {change.reason}' if change.reason else ''}")
        yield shown if len(shown) <= LONGEST else cut(shown, LONGEST - 1)
    if most is not None and len(changes) > most:
        yield f"  ... and {len(changes) - most} more; full list: crmeval compare"


def _interval(figure: Figure | None) -> str:
    return f"{figure.low:+.3f} to {figure.high:+.3f}" if figure and figure.interval else "-"


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.3f}"


def _printable(line: str) -> str:
    return line if line.isprintable() else ascii(line)[1:-1]
