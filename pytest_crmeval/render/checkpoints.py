"""Checkpoints by their steps, and what their figures leave out, for a terminal."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pytest_crmeval.journal.checkpoints import CheckpointFigures, best_of
from pytest_crmeval.journal.shard import objects
from pytest_crmeval.render.fitting import fitted
from pytest_crmeval.render.solution_results import listed
from pytest_crmeval.report.report import Report, SubjectSummary, checkpoints_in_order
from pytest_crmeval.report.tables import Row, aligned

_HEAD = ("suite", "checkpoint", "step", "files", "solved", "graded", "ungradable", "pass@1", "95 % interval", "of all")
_SPARE = ("step", "files", "of all", "95 % interval", "ungradable")
"""Columns that a narrow table omits, the least important first; pass@K are omitted before them."""
_FROM_STRONG_TO_WEAK = ("namespaces", "Landlock", "seccomp", "rlimits")
_COUNTS = {"failed": "failed", "errored": "errored", "invalid": "invalid", "not_run": "not run"}
"""Files that were not run completely: shown when there are any."""
_WIDTH = 40
"""Characters of a bar of 1.0."""


def table(summaries: Sequence[SubjectSummary], width: int | None = None) -> Iterator[str]:
    """Yield one line per checkpoint, by step, below a header; nothing if there are none."""
    found = checkpoints_in_order(summaries)
    if not found:
        return
    shown = [name for name in _COUNTS if any(getattr(summary, name) for summary, _ in found)]
    tries = sorted({k for _, figures in found for k in figures.pass_at} - {1})
    head = [*_HEAD, *(f"pass@{k}" for k in tries), *(_COUNTS[name] for name in shown)]
    rows = [_row(summary, figures, tries, shown) for summary, figures in found]
    yield from fitted([head, *rows], names=2, width=width, spare=(*(f"pass@{k}" for k in reversed(tries)), *_SPARE))


def curve(summaries: Sequence[SubjectSummary]) -> Iterator[str]:
    """Yield pass@1 over the steps as a bar chart, with the best checkpoint marked; nothing if there are none."""
    found = checkpoints_in_order(summaries)
    if not found:
        return
    best = best_of({summary.subject: figures for summary, figures in found}) if len(found) > 1 else ""
    steps = ["-" if figures.whole.step is None else str(figures.whole.step) for _, figures in found]
    rates = [figures.whole.pass_at_1 for _, figures in found]
    names = [summary.subject for summary, _ in found]
    head, *lines = aligned(
        [("checkpoint", "step", "pass@1"), *zip(names, steps, map(_rate, rates), strict=True)], names=1
    )
    yield head
    for name, rate, line in zip(names, rates, lines, strict=True):
        yield f"{line}  {'#' * round((rate or 0.0) * _WIDTH)}{' (best)' if name == best else ''}".rstrip()


def notes(report: Report) -> Iterator[str]:
    """Yield the weakest sandbox, and for each suite the best checkpoint, ungradable lines and reused verdicts."""
    sandboxes = list(
        dict.fromkeys(str(part["sandbox"]) for part in objects(report.run.get("parts")) if "sandbox" in part)
    )
    if len(sandboxes) > 1:
        yield f"programs ran in {len(sandboxes)} sandboxes; the weakest: {max(sandboxes, key=_weakness)}"
    for suite in dict.fromkeys(summary.suite for summary, _ in checkpoints_in_order(report.standings)):
        figures = {each.subject: found for each, found in checkpoints_in_order(report.standings) if each.suite == suite}
        if len(figures) > 1 and (best := best_of(figures)):
            found = figures[best].pass_at[1]
            problems = f"{found.problems} problem{'s' * (found.problems != 1)}"
            yield f"best checkpoint in {suite}: {best} (pass@1 {found.value:.3f}, {problems})"
        # A checkpoint whose answers are truncated must not look perfect.
        if reasons := sum((Counter(each.whole.ungradable) for each in figures.values()), Counter[str]()):
            lines = sum(each.whole.lines for each in figures.values())
            counted = f"{reasons.total()} of {lines} lines of {suite}"
            yield f"UNGRADABLE: {counted} are not counted in pass@1: {listed(reasons)}"
            yield "  (details per line: eval_*/eval_*.txt; solved_of_all counts them as not solved)"
        if reused := sum(each.whole.reused for each in figures.values()):
            runs = ", ".join(sorted({each.whole.reused_from for each in figures.values()} - {""}))
            yield f"{reused} verdicts of {suite} reused from {runs}: same files, problems, settings and sandbox"
            yield "  (--crmeval-fresh runs them again)"


def _weakness(sandbox: str) -> int:
    """Return how weak a sandbox is, by its name in the report; Piston and sandboxes of plugins count as strong."""
    return next((rank for rank, label in enumerate(_FROM_STRONG_TO_WEAK) if sandbox.startswith(f"local ({label}")), -1)


def details(summaries: Sequence[SubjectSummary]) -> Iterator[str]:
    """Yield what the table omits: verdicts, and results by rating and by tag, a column per checkpoint."""
    found = checkpoints_in_order(summaries)
    if not found:
        return
    suite, names = found[0][0].suite, [summary.subject for summary, _ in found]
    yield from _counted(f"{suite} by verdict", names, [figures.whole.verdicts for _, figures in found])
    yield from _counted(f"{suite}, ungradable", names, [figures.whole.ungradable for _, figures in found])
    for kind in ("rating", "tag"):
        shares = [figures.whole.by.get(kind, {}) for _, figures in found]
        if labels := list(dict.fromkeys(label for each in shares for label in each)):
            counts = {label: [each.get(label, (0, 0)) for each in shares] for label in labels}
            rows = [(label, *(f"{s}/{j}" if j else "-" for s, j in row)) for label, row in counts.items()]
            yield from ["", *aligned([(f"{suite} by {kind}", *names), *rows], names=1)]


def _row(summary: SubjectSummary, figures: CheckpointFigures, tries: Sequence[int], shown: Sequence[str]) -> Row:
    whole, interval = figures.whole, figures.interval
    rates = [figures.pass_at[k].value if k in figures.pass_at else None for k in tries]
    return (
        summary.suite,
        summary.subject,
        "-" if whole.step is None else str(whole.step),
        str(figures.files),
        str(whole.solved),
        str(whole.judged),
        str(sum(whole.ungradable.values())),
        _rate(whole.pass_at_1),
        f"{interval[0]:.3f} to {interval[1]:.3f}" if interval else "-",
        _rate(figures.solved_of_all),
        *map(_rate, rates),
        *(str(getattr(summary, name)) for name in shown),
    )


def _counted(title: str, names: Sequence[str], counts: Sequence[Mapping[str, int]]) -> Iterator[str]:
    labels = sorted({label for each in counts for label in each})
    if labels:
        rows = [(label, *(str(each.get(label, 0)) for each in counts)) for label in labels]
        yield from ["", *aligned([(title, *names), *rows], names=1)]


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.3f}"
