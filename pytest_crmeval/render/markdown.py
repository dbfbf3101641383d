"""A report and a comparison in Markdown: for step summaries and comments on pull requests."""

import html
from collections.abc import Iterator, Mapping, Sequence

from pytest_crmeval.domain.json import TURNING
from pytest_crmeval.journal.shard import objects
from pytest_crmeval.render.comparison import subjects
from pytest_crmeval.render.summary import found, marked
from pytest_crmeval.report.compare import commit_label
from pytest_crmeval.report.comparison import LISTS, CaseChange, Comparison, Contrast
from pytest_crmeval.report.costs import dollars
from pytest_crmeval.report.numbers import seconds
from pytest_crmeval.report.outcome import outcome_of
from pytest_crmeval.report.report import Report, SubjectSummary
from pytest_crmeval.report.tables import p_value

_COUNTS = ("passed", "failed", "errored", "invalid", "not run")
_TRIES = ("pass@1", "solved_of_all")
_RATE, *_TRIED = (f"{name} (95 %)" for name in ("pass rate", *_TRIES))
_COLUMNS = ("suite", "subject", "cases", *_COUNTS, _RATE, *_TRIED, "cost", "per pass", "p95")
_ALWAYS = frozenset(_COLUMNS) - {"errored", "invalid", "not run", _RATE, *_TRIED, "cost", "per pass", "p95"}
SHOWN = 10
"""How many cases of a list, and reasons, are shown."""
_MARKS = TURNING | str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|#~"})


def report_page(report: Report) -> str:
    """Return a whole run: gates, a table of subjects, why trials did not pass, and what changed since the baseline."""
    changes = _comparison(report.comparison) if report.comparison else ()
    return "\n".join([*_head(report), *_table(report), *changes, *_reasons(report), *_origin(report)]) + "\n"


def comparison_page(comparison: Comparison) -> str:
    """Return a comparison: a row per suite and subject, then which cases changed."""
    return "\n".join(_comparison(comparison)) + "\n"


def escaped(text: str) -> str:
    """Return text on one line, with markup and mentions escaped."""
    return " ".join(text.split()).translate(_MARKS).replace("@", "@\u200b")


def _in_html(text: str) -> str:
    """Return text on one line for use inside HTML, where Markdown's escapes don't work."""
    return html.escape(" ".join(text.split()).translate(TURNING)).replace("@", "@\u200b")


def figure(value: float | None, interval: tuple[float, float] | None = None) -> str:
    """Return a figure with its interval; a dash if it is unknown."""
    if value is None:
        return "-"
    return f"{value:.3f} ({interval[0]:.3f} to {interval[1]:.3f})" if interval else f"{value:.3f}"


def change(value: float, interval: tuple[float, float] | None = None) -> str:
    """Return a difference with its interval."""
    return f"{value:+.3f} ({interval[0]:+.3f} to {interval[1]:+.3f})" if interval else f"{value:+.3f}"


def _head(report: Report) -> Iterator[str]:
    """Yield the outcome and the gates."""
    outcome = outcome_of(report)
    mark = {"good": "✅ ", "bad": "❌ ", "warn": "⚠️ "}.get(outcome.mood, "")
    text = f"{outcome.text[:1].lower()}{outcome.text[1:]}"
    yield f"## {mark}crmeval {escaped(str(report.run['id']))}: {escaped(text)}"
    yield ""
    if not report.complete:
        yield "**The run is incomplete: no gate can pass.**"
        yield ""
    for ruling in report.rulings:
        mark = "✅" if ruling.holds else "❌"
        whose = f" ({escaped(ruling.subject)})" if ruling.subject and f"[{ruling.subject}]" not in ruling.gate else ""
        yield f"- {mark} `{ruling.gate.replace('`', '')}`{whose}: {escaped(found(ruling))}"
    if report.rulings:
        yield ""


def _table(report: Report) -> Iterator[str]:
    """Yield a row per suite and subject; columns without values are omitted (checkpoints have no pass rate)."""
    rows = [_row(summary) for summary in report.standings]
    always = _ALWAYS if any(summary.checkpoint for summary in report.standings) else {*_ALWAYS, _RATE}
    names = [name for name in _COLUMNS if name in always or any(row.get(name, "0") not in {"0", "-"} for row in rows)]
    yield f"| {' | '.join(names)} |"
    yield f"|---|---|{'--:|' * (len(names) - 2)}"
    for row in rows:
        yield f"| {' | '.join(row.get(name, '-') for name in names)} |"
    yield ""


def _row(summary: SubjectSummary) -> Mapping[str, str]:
    figures = summary.figures
    rate, slow = figures.get("pass_rate"), figures.get("latency_p95")
    cost, per_pass = summary.cost, summary.cost_per_pass
    return {
        "suite": escaped(summary.suite),
        "subject": escaped(marked(summary)),
        "cases": str(summary.planned if summary.cases is None else summary.cases),
        **{name: str(getattr(summary, name.replace(" ", "_"))) for name in _COUNTS},
        _RATE: figure(summary.pass_rate, rate.interval if rate else None),
        **{f"{name} (95 %)": figure(each.value, each.interval) for name in _TRIES if (each := figures.get(name))},
        **({"cost": dollars(cost)} if summary.bill else {}),
        **({"per pass": dollars(per_pass)} if summary.bill and per_pass is not None else {}),
        **({"p95": seconds(slow.value)} if slow else {}),
    }


def _reasons(report: Report) -> Iterator[str]:
    """Yield why trials did not pass, folded."""
    for summary in report.standings:
        if summary.reasons:
            count = sum(reason.count for reason in summary.reasons)
            whose = f"{_in_html(summary.subject)} in {_in_html(summary.suite)}"
            yield f"<details><summary>Why {count} trial{'s' * (count != 1)} of {whose} did not pass</summary>"
            yield ""
            for reason in summary.reasons[:SHOWN]:
                yield f"- {reason.count} × {reason.verdict}: {escaped(reason.shown)}"
            yield from _more(len(summary.reasons))
            yield from ["", "</details>", ""]


def _origin(report: Report) -> Iterator[str]:
    """Yield the origin of the figures: time, commit, money spent and command."""
    parts, commit = objects(report.run.get("parts")), commit_label(report)
    spent = report.run.get("spent")
    command = (
        " ".join(str(parts[-1].get("command") or "").replace("`", "'").split()).translate(TURNING) if parts else ""
    )
    facts = [
        f"started {escaped(str(report.run['started']))}",
        *([f"commit {escaped(commit)}"] if commit else []),
        *([f"spent {dollars(spent)}"] if isinstance(spent, int | float) and spent else []),
        *([f"`{command}`"] if command else []),
    ]
    yield f"<sub>{' · '.join(facts)}</sub>"


def _comparison(comparison: Comparison) -> Iterator[str]:
    yield f"### {escaped(str(comparison.run['id']))} vs {escaped(str(comparison.baseline['id']))}"
    yield ""
    yield "| suite | subject | paired | before | after | difference (95 %) | better | worse | p | detectable |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    for contrast in comparison.contrasts:
        yield f"| {' | '.join(_contrast(contrast))} |"
    yield ""
    if comparison.correction:
        yield f"p-values corrected: {comparison.correction}."
        yield ""
    for line in (*comparison.cautions, *comparison.missing):
        yield f"- {escaped(line)}"
    for contrast in comparison.contrasts:
        for name in LISTS:
            changes: Sequence[CaseChange] = getattr(contrast, name)
            if changes:
                what = name.replace("_", " ")
                opened = " open" if name == "newly_failing" else ""
                yield f"<details{opened}><summary>{what} in {_in_html(contrast.suite)}: {len(changes)}</summary>"
                yield ""
                for change in changes[:SHOWN]:
                    reason = f": {escaped(change.reason)}" if change.reason else ""
                    shares = f" ({change.shares})" if change.shares else ""
                    yield f"- {escaped(change.case)}{shares}{reason}"
                yield from _more(len(changes))
                yield ""
                yield "</details>"
                yield ""


def _contrast(contrast: Contrast) -> Sequence[str]:
    difference = contrast.difference
    return (
        escaped(contrast.suite),
        escaped(subjects(contrast)),
        str(contrast.paired),
        figure(contrast.before),
        figure(contrast.after),
        change(difference.value, difference.interval) if difference else "-",
        str(contrast.better),
        str(contrast.worse),
        p_value(contrast.p_holm) + (" **significant**" if contrast.significant else ""),
        figure(contrast.detectable),
    )


def _more(count: int) -> Iterator[str]:
    if count > SHOWN:
        yield f"- … and {count - SHOWN} more"
