"""A report and a comparison in Markdown: for step summaries and comments on pull requests."""

from collections.abc import Iterator, Sequence

from pytest_crmeval.domain.comparison import LISTS, CaseChange, Comparison, Contrast
from pytest_crmeval.domain.figures import Figure
from pytest_crmeval.domain.report import Report, Standing
from pytest_crmeval.domain.ruling import Ruling

SHOWN = 10
"""How many cases of a list, and reasons, are shown."""
_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|#~"})


def report_page(report: Report) -> str:
    """Return a whole run: gates, a table of subjects, why trials did not pass, and what changed since the baseline."""
    return (
        "\n".join([*_head(report), *_gates(report.rulings), *_table(report), *_reasons(report), *_since(report)]) + "\n"
    )


def comparison_page(comparison: Comparison) -> str:
    """Return a comparison: a row per suite and subject, then which cases changed."""
    return "\n".join(_comparison(comparison)) + "\n"


def escaped(text: str) -> str:
    """Return text as it is read, on one line: nothing in it is markup, and nobody is mentioned."""
    return " ".join(text.split()).translate(_MARKS).replace("@", "@\u200b")


def told(value: float | None, interval: tuple[float, float] | None = None) -> str:
    """Return a figure with its interval; what is not known is a dash."""
    if value is None:
        return "-"
    return f"{value:.3f} ({interval[0]:.3f} to {interval[1]:.3f})" if interval else f"{value:.3f}"


def _head(report: Report) -> Iterator[str]:
    yield f"## crmeval {escaped(str(report.run['id']))}"
    yield ""
    if not report.complete:
        yield "**The run is not complete: no gate can pass.**"
        yield ""


def _gates(rulings: Sequence[Ruling]) -> Iterator[str]:
    for ruling in rulings:
        mark = "✅" if ruling.holds else "❌"
        whose = f" ({escaped(ruling.subject)})" if ruling.subject else ""
        yield f"- {mark} `{ruling.gate.replace('`', '')}`{whose}: {escaped(ruling.explanation)}"
    if rulings:
        yield ""


def _table(report: Report) -> Iterator[str]:
    yield "| suite | subject | cases | passed | failed | errored | invalid | not run | pass rate (95 %) |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|"
    for standing in report.standings:
        yield f"| {' | '.join(_row(standing))} |"
    yield ""


def _row(standing: Standing) -> Sequence[str]:
    counts = (standing.passed, standing.failed, standing.errored, standing.invalid, standing.not_run)
    figure = standing.figures.get("pass_rate") or Figure(value=0.0)
    cases = standing.planned if standing.cases is None else standing.cases
    rate = told(standing.pass_rate, figure.interval)
    return (escaped(standing.suite), escaped(standing.subject), *map(str, (cases, *counts)), rate)


def _reasons(report: Report) -> Iterator[str]:
    for standing in report.standings:
        if standing.reasons:
            yield f"Why trials of {escaped(standing.subject)} in {escaped(standing.suite)} did not pass:"
            yield ""
            for reason in standing.reasons[:SHOWN]:
                yield f"- {reason.count} × {reason.verdict}: {escaped(reason.text)}"
            yield from _more(len(standing.reasons))
            yield ""


def _since(report: Report) -> Iterator[str]:
    if report.comparison:
        yield from _comparison(report.comparison)


def _comparison(comparison: Comparison) -> Iterator[str]:
    yield f"### {escaped(str(comparison.run['id']))} against {escaped(str(comparison.baseline['id']))}"
    yield ""
    yield "| suite | subject | paired | before | after | difference (95 %) | better | worse | p | detectable |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    for contrast in comparison.contrasts:
        yield f"| {' | '.join(_contrast(contrast))} |"
    yield ""
    if comparison.correction:
        yield f"p-values are corrected: {comparison.correction}."
        yield ""
    for line in comparison.missing:
        yield f"- {escaped(line)}"
    for contrast in comparison.contrasts:
        yield from _changes(contrast)


def _contrast(contrast: Contrast) -> Sequence[str]:
    difference = contrast.difference
    return (
        escaped(contrast.suite),
        escaped(_subjects(contrast)),
        str(contrast.paired),
        told(contrast.before),
        told(contrast.after),
        told(difference.value, difference.interval) if difference else "-",
        str(contrast.better),
        str(contrast.worse),
        told(contrast.p_holm) + (" **significant**" if contrast.significant else ""),
        told(contrast.detectable),
    )


def _subjects(contrast: Contrast) -> str:
    same = contrast.subject == contrast.baseline_subject
    return contrast.subject if same else f"{contrast.subject} against {contrast.baseline_subject}"


def _changes(contrast: Contrast) -> Iterator[str]:
    for name in LISTS:
        changes: Sequence[CaseChange] = getattr(contrast, name)
        if changes:
            what = name.replace("_", " ")
            yield f"<details><summary>{what} in {escaped(contrast.suite)}: {len(changes)}</summary>"
            yield ""
            for change in changes[:SHOWN]:
                reason = f": {escaped(change.reason)}" if change.reason else ""
                yield f"- {escaped(change.case)}{reason}"
            yield from _more(len(changes))
            yield ""
            yield "</details>"
            yield ""


def _more(count: int) -> Iterator[str]:
    if count > SHOWN:
        yield f"- … and {count - SHOWN} more"
