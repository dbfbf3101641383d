"""Checkpoints as a person wants to read them in a terminal: by their steps, and what is not in their figures."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pytest_crmeval.domain.checkpoints import CheckpointFigures, best_of
from pytest_crmeval.render.solution_results import listed
from pytest_crmeval.report.report import Report, Standing, checkpoints_in_order
from pytest_crmeval.report.tables import Row, aligned

_HEAD = ("suite", "checkpoint", "step", "files", "solved", "judged", "ungradable", "pass@1", "95 %", "of all")
_COUNTS = {"failed": "failed", "errored": "errored", "invalid": "invalid", "not_run": "not run"}
"""Files that have no good end: told when there are any."""


def table(standings: Sequence[Standing]) -> Iterator[str]:
    """Yield one line per checkpoint, by step, under a head; nothing if there are none."""
    found = checkpoints_in_order(standings)
    if not found:
        return
    shown = [name for name in _COUNTS if any(getattr(standing, name) for standing, _ in found)]
    tries = sorted({k for _, figures in found for k in figures.pass_at} - {1})
    head = [*_HEAD, *(f"pass@{k}" for k in tries), *(_COUNTS[name] for name in shown)]
    rows = [_row(standing, figures, tries, shown) for standing, figures in found]
    yield from aligned([head, *rows], names=2)


def notes(report: Report) -> Iterator[str]:
    """Yield the best checkpoint of each suite, what is in no figure, and what was not judged now."""
    for suite in dict.fromkeys(standing.suite for standing, _ in checkpoints_in_order(report.standings)):
        figures = {each.subject: found for each, found in checkpoints_in_order(report.standings) if each.suite == suite}
        if len(figures) > 1 and (best := best_of(figures)):
            rate, problems = figures[best].pass_at[1]
            yield f"best checkpoint of {suite}: {best} (pass@1 {rate:.3f}, {problems} problem{'s' * (problems != 1)})"
        yield from _ungradable(suite, figures)
        yield from _reused(suite, figures)


def details(standings: Sequence[Standing]) -> Iterator[str]:
    """Yield what the table leaves out: verdicts, and how it went by rating and by tag, a column per checkpoint."""
    found = checkpoints_in_order(standings)
    if not found:
        return
    suite, names = found[0][0].suite, [standing.subject for standing, _ in found]
    yield from _counted(f"{suite} by verdict", names, [figures.whole.verdicts for _, figures in found])
    yield from _counted(f"{suite}, ungradable", names, [figures.whole.ungradable for _, figures in found])
    for kind in ("rating", "tag"):
        shares = [figures.whole.by.get(kind, {}) for _, figures in found]
        if labels := list(dict.fromkeys(label for each in shares for label in each)):
            rows = [(label, *(_rate(each.get(label)) for each in shares)) for label in labels]
            yield from ["", *aligned([(f"{suite} by {kind}", *names), *rows], names=1)]


def _row(standing: Standing, figures: CheckpointFigures, tries: Sequence[int], shown: Sequence[str]) -> Row:
    whole, interval = figures.whole, figures.interval
    rates = [figures.pass_at.get(k, (None, 0))[0] for k in tries]
    return (
        standing.suite,
        standing.subject,
        "-" if whole.step is None else str(whole.step),
        str(figures.files),
        str(whole.solved),
        str(whole.judged),
        str(sum(whole.ungradable.values())),
        _told(whole.pass_at_1),
        f"{interval[0]:.3f}-{interval[1]:.3f}" if interval else "-",
        _told(figures.solved_of_all),
        *map(_told, rates),
        *(str(getattr(standing, name)) for name in shown),
    )


def _ungradable(suite: str, figures: Mapping[str, CheckpointFigures]) -> Iterator[str]:
    """Yield, loudly, what nobody could judge: who cuts half of his answers is not to look perfect."""
    reasons: Counter[str] = Counter()
    for found in figures.values():
        reasons.update(found.whole.ungradable)
    if reasons:
        lines = sum(found.whole.lines for found in figures.values())
        yield f"UNGRADABLE: {reasons.total()} of {lines} lines of {suite} are not in pass@1: {listed(reasons)}"
        yield "  (each is told with its line in eval_*/eval_*.txt; the column 'of all' counts them as not solved)"


def _reused(suite: str, figures: Mapping[str, CheckpointFigures]) -> Iterator[str]:
    reused = sum(found.whole.reused for found in figures.values())
    if reused:
        runs = sorted({found.whole.reused_from for found in figures.values()} - {""})
        yield f"{reused} verdicts of {suite} are from {', '.join(runs)}: the same files, problems, terms and sandbox"
        yield "  (--crmeval-fresh judges anew)"


def _counted(title: str, names: Sequence[str], counts: Sequence[Mapping[str, int]]) -> Iterator[str]:
    labels = sorted({label for each in counts for label in each})
    if labels:
        rows = [(label, *(str(each.get(label, 0)) for each in counts)) for label in labels]
        yield from ["", *aligned([(title, *names), *rows], names=1)]


def _rate(share: tuple[int, int] | None) -> str:
    return f"{share[0]}/{share[1]}" if share and share[1] else "-"


def _told(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.3f}"
