"""Checkpoints as a person wants to read them in a terminal: by their steps, and what is not in their figures."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pytest_crmeval.journal.checkpoints import CheckpointFigures, best_of
from pytest_crmeval.journal.shard import objects
from pytest_crmeval.render.fitting import fitted
from pytest_crmeval.render.solution_results import listed
from pytest_crmeval.report.report import Report, SubjectSummary, checkpoints_in_order
from pytest_crmeval.report.tables import Row, aligned

_HEAD = ("suite", "checkpoint", "step", "files", "solved", "judged", "ungradable", "pass@1", "95 %", "of all")
_SPARE = ("step", "files", "of all", "95 %", "ungradable")
"""Columns that a narrow table does without, the least important first; pass@K go before them."""
_FROM_STRONG_TO_WEAK = ("namespaces", "Landlock", "seccomp", "rlimits")
_COUNTS = {"failed": "failed", "errored": "errored", "invalid": "invalid", "not_run": "not run"}
"""Files that have no good end: shown when there are any."""
_WIDTH = 40
"""Characters of a bar of 1.0."""


def table(summaries: Sequence[SubjectSummary], width: int | None = None) -> Iterator[str]:
    """Yield one line per checkpoint, by step, under a head; nothing if there are none."""
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
        [("checkpoint", "step", "pass@1"), *zip(names, steps, map(_told, rates), strict=True)], names=1
    )
    yield head
    for name, rate, line in zip(names, rates, lines, strict=True):
        yield f"{line}  {'#' * round((rate or 0.0) * _WIDTH)}{' (best)' if name == best else ''}".rstrip()


def notes(report: Report) -> Iterator[str]:
    """Yield the weakest sandbox, the best checkpoint of each suite, what is in no figure, and what was reused."""
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
            yield f"best checkpoint of {suite}: {best} (pass@1 {found.value:.3f}, {problems})"
        yield from _ungradable(suite, figures)
        yield from _reused(suite, figures)


def _weakness(sandbox: str) -> int:
    """Return how weak a sandbox is by its name in the report; Piston and sandboxes of plugins count as strong."""
    return next((rank for rank, label in enumerate(_FROM_STRONG_TO_WEAK) if sandbox.startswith(f"local ({label}")), -1)


def details(summaries: Sequence[SubjectSummary]) -> Iterator[str]:
    """Yield what the table leaves out: verdicts, and how it went by rating and by tag, a column per checkpoint."""
    found = checkpoints_in_order(summaries)
    if not found:
        return
    suite, names = found[0][0].suite, [summary.subject for summary, _ in found]
    yield from _counted(f"{suite} by verdict", names, [figures.whole.verdicts for _, figures in found])
    yield from _counted(f"{suite}, ungradable", names, [figures.whole.ungradable for _, figures in found])
    for kind in ("rating", "tag"):
        shares = [figures.whole.by.get(kind, {}) for _, figures in found]
        if labels := list(dict.fromkeys(label for each in shares for label in each)):
            rows = [(label, *(_rate(each.get(label)) for each in shares)) for label in labels]
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
        _told(whole.pass_at_1),
        f"{interval[0]:.3f}-{interval[1]:.3f}" if interval else "-",
        _told(figures.solved_of_all),
        *map(_told, rates),
        *(str(getattr(summary, name)) for name in shown),
    )


def _ungradable(suite: str, figures: Mapping[str, CheckpointFigures]) -> Iterator[str]:
    """Yield what could not be judged: a checkpoint whose answers are truncated must not look perfect."""
    reasons: Counter[str] = Counter()
    for found in figures.values():
        reasons.update(found.whole.ungradable)
    if reasons:
        lines = sum(found.whole.lines for found in figures.values())
        yield f"UNGRADABLE: {reasons.total()} of {lines} lines of {suite} are not in pass@1: {listed(reasons)}"
        yield "  (details per line: eval_*/eval_*.txt; the column 'of all' counts them as not solved)"


def _reused(suite: str, figures: Mapping[str, CheckpointFigures]) -> Iterator[str]:
    reused = sum(found.whole.reused for found in figures.values())
    if reused:
        runs = sorted({found.whole.reused_from for found in figures.values()} - {""})
        yield f"{reused} verdicts of {suite} are from {', '.join(runs)}: the same files, problems, terms and sandbox"
        yield "  (--crmeval-fresh judges them again)"


def _counted(title: str, names: Sequence[str], counts: Sequence[Mapping[str, int]]) -> Iterator[str]:
    labels = sorted({label for each in counts for label in each})
    if labels:
        rows = [(label, *(str(each.get(label, 0)) for each in counts)) for label in labels]
        yield from ["", *aligned([(title, *names), *rows], names=1)]


def _rate(share: tuple[int, int] | None) -> str:
    return f"{share[0]}/{share[1]}" if share and share[1] else "-"


def _told(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.3f}"
