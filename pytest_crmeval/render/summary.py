"""A report, for a terminal."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.journal.annotations import Annotations
from pytest_crmeval.journal.figures import Figure
from pytest_crmeval.journal.shard import listed
from pytest_crmeval.render import checkpoints
from pytest_crmeval.render import intervals as certainty
from pytest_crmeval.render.fitting import fitted, wrapped
from pytest_crmeval.render.progress_table import cut as cut_name
from pytest_crmeval.report import costs as bills
from pytest_crmeval.report.gate import EACH, Gate
from pytest_crmeval.report.metrics import KINDS, Group, reading_order
from pytest_crmeval.report.numbers import change_of, metric_of, value_of
from pytest_crmeval.report.people import agreements_of
from pytest_crmeval.report.report import Report, SubjectSummary
from pytest_crmeval.report.ruling import Ruling
from pytest_crmeval.report.scope import left_out_of
from pytest_crmeval.report.tables import Row, aligned

_SUCCESSES = ("turn_success", "tool_success", "reply_success")
_FIGURES = ("strict_success", *_SUCCESSES, "steps_per_turn", "errors", "recovered_errors")
_ANSWERS = (
    "correct",
    "incorrect",
    "not_attempted",
    "accuracy_given_attempted",
    "f1",
    "confidences",
    "calibration_error",
)
_SPARE = ("replayed", "cached", "calls", "tokens out", "tokens in", "trials", "95 % interval", "passed")
"""Columns that a narrow table omits, the least important first."""
_PLACE = re.compile(r"(.+?):\d+: ")
"""The start of the reason of an invalid trial: file and line of its case."""
LONGEST = 200
FILES = 3
LABELS = 40
"""How many labels of a kind are shown: enough for every tool."""
WIDEST = 40
"""Characters of a label that are shown."""


def table(report: Report, width: int | None = None) -> Iterator[str]:
    """Yield one line per suite and subject, below a header; checkpoints have a table of their own.

    Errored, invalid and missing cases and bills have columns when there are any. A table that is too wide has fewer
    columns.
    """
    summaries = [summary for summary in report.standings if not summary.checkpoint]
    if summaries or not report.standings:
        rare = [name for name in ("errored", "invalid", "not_run") if any(getattr(each, name) for each in summaries)]
        counts = ["passed", "failed", *rare]
        money = bills.columns(summaries)
        repeated = any(summary.cases not in {None, summary.planned} for summary in summaries)
        sizes = ["cases", "trials"] if repeated else ["cases"]
        head = ["suite", "subject", *sizes, *map(_words, counts), "pass rate", "95 % interval", *money]
        rows = [(*_row(summary, len(sizes), counts), *bills.cells(summary, money)) for summary in summaries]
        yield from fitted([head, *rows], names=2, width=width, spare=_SPARE)
    yield from checkpoints.table(report.standings, width)


def gates(rulings: Sequence[Ruling], width: int | None = None) -> Iterator[str]:
    """Yield each ruling: the value, its interval, its margin, and how many more cases are needed.

    A gate that holds has one line, with as much of this as fits.
    """
    for ruling in rulings:
        subject = ruling.subject if width is None else cut_name(ruling.subject, WIDEST // 2)
        whose = f" ({subject})" if subject and f"[{ruling.subject}]" not in ruling.gate else ""
        head, phrases = f"gate {ruling.gate}{whose}", [ruling.explanation, *_certainty(ruling)]
        if ruling.holds:
            lines = [f"{head}: holds ({'; '.join(phrases[:count])})" for count in range(len(phrases), 0, -1)]
            fitting = (line for line in lines if width is None or len(line) <= width)
            yield next(fitting, None) or cut(lines[-1], (width or 0) - 1)
        else:
            yield from wrapped(f"{head}: BREACHED ({'; '.join(phrases)})", width)


def found(ruling: Ruling) -> str:
    """Return the explanation of a ruling, its interval, margin and missing cases."""
    return "; ".join([ruling.explanation, *_certainty(ruling)])


def _certainty(ruling: Ruling) -> Iterator[str]:
    metric, shown = metric_of(ruling), value_of if ruling.p is None else change_of
    if ruling.low is not None and ruling.high is not None:
        yield f"95 % interval {shown(metric, ruling.low)} to {shown(metric, ruling.high)}"
    if ruling.margin is not None and ruling.p is None:
        yield f"margin {change_of(metric, ruling.margin)}"
    if ruling.needed:
        yield f"inconclusive: about {ruling.needed:,} more case{'s' * (ruling.needed != 1)} needed"


def idle(gates: Sequence[Gate]) -> Iterator[str]:
    """Yield one line per gate that was not evaluated."""
    for gate in gates:
        what = f"{gate.subject!r} in {gate.suite!r}" if gate.subject.removeprefix(EACH) else repr(gate.suite)
        yield f"gate {gate.text}: not evaluated (this run does not evaluate {what})"


def invalid(report: Report) -> Iterator[str]:
    """Yield how many cases are invalid, how to find them, and an example; nothing if all are valid.

    The example helps where only the CRM shows the problem, and the file alone does not.
    """
    broken = {
        (trial.planned.suite, trial.planned.case): trial.reason
        for trial in report.trials
        if trial.verdict is Verdict.INVALID and trial.solutions is None
    }
    if broken:
        places = [match[1] for reason in broken.values() if (match := _PLACE.match(reason))]
        files = [shlex.quote(short(Path(place))) for place in dict.fromkeys(places)] or ["FILE"]
        yield f"{len(broken)} {'case is' if len(broken) == 1 else 'cases are'} invalid: crmeval lint {' '.join(files)}"
        reason = next(iter(broken.values()))
        place = _PLACE.match(reason)
        text = f"{short(Path(place[1]))}{reason[place.end(1) :]}" if place else reason
        line = " ".join(text.split())
        yield f"for example {line if len(line) <= LONGEST else cut(line, LONGEST - 1)}"
    yield from _ungraded(
        [each.planned.case for each in report.trials if each.verdict is Verdict.INVALID and each.solutions is not None]
    )


def _ungraded(files: Sequence[str]) -> Iterator[str]:
    """Yield how many solution files have nothing that can be graded, and some of them."""
    if files:
        what, them = ("solution file is", "it") if len(files) == 1 else ("solution files are", "them")
        names = ", ".join([*files[:FILES], *["..."] * (len(files) > FILES)])
        yield f"{len(files)} {what} invalid, because nothing in {them} can be graded: {names}"


def people(report: Report, annotations: Annotations) -> Iterator[str]:
    """Yield how far people agree with the scorers, for each suite that they have annotated."""
    yield from (f"{each.suite}: {each}" for each in agreements_of(report.trials, annotations))


def missing(report: Report) -> Iterator[str]:
    """Yield the missing shards; nothing if none is missing."""
    if report.missing:
        yield f"partial evaluation: shard {listed(report.missing)} is missing"


def omissions(report: Report) -> Iterator[str]:
    """Yield how many cases were skipped, and why; nothing if none was."""
    for suite, reasons in left_out_of(report.run).items():
        for why, count in reasons.items():
            yield f"{count} case{'s' * (count != 1)} of {suite} skipped: {why}"


def details(report: Report) -> Iterator[str]:
    """Yield what the table omits, suite by suite: the metrics of its subjects side by side, then breakdowns."""
    for suite in dict.fromkeys(summary.suite for summary in report.standings):
        summaries = [summary for summary in report.standings if summary.suite == suite]
        if any(summary.metrics.turn_success is not None for summary in summaries):
            yield from ["", *aligned(list(_metrics(suite, summaries)), names=1)]
        if any(map(_is_of_questions, summaries)):
            yield from ["", *aligned(list(_figures(suite, summaries, _ANSWERS)), names=1)]
        if sure := list(certainty.figures(suite, summaries)):
            yield from ["", *aligned(sure, names=1)]
        if paid := list(bills.details(suite, summaries)):
            yield from ["", *aligned(paid, names=1)]
        for kind in (kind for kind in KINDS if any(kind in summary.by for summary in summaries)):
            yield from ["", *aligned(list(_breakdown(suite, kind, summaries)), names=2)]
            more = len(_sizes(kind, summaries)) - LABELS
            if more > 0:
                yield f"... and {more} smaller ones: see the JSON report"
        yield from checkpoints.details(summaries)
        for summary in summaries:
            if reasons := list(certainty.reasons(summary)):
                yield from ["", *reasons]


def answers(report: Report) -> Iterator[str]:
    """Yield a line per subject that answered questions: accuracy and calibration; then the notes on checkpoints."""
    for summary in report.standings:
        if _is_of_questions(summary):
            found = summary.metrics
            phrases = [", ".join(f"{_words(name)} {_number(getattr(found, name))}" for name in _ANSWERS[:3])]
            phrases.append(
                f"accuracy given attempted {_number(found.accuracy_given_attempted)}, F1 {_number(found.f1)}"
            )
            if found.confidences:
                phrases.append(
                    f"calibration error {_number(found.calibration_error)} ({found.confidences} confidences)"
                )
            yield f"answers of {summary.subject} ({summary.suite}): {'; '.join(phrases)}"
    yield from checkpoints.notes(report)


def _is_of_questions(summary: SubjectSummary) -> bool:
    return summary.metrics.correct is not None


def short(path: Path) -> str:
    """Return a path relative to the current folder, if it is inside."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _row(summary: SubjectSummary, sizes: int, counts: Sequence[str]) -> Row:
    cases = summary.planned if summary.cases is None else summary.cases
    numbers = [*(cases, summary.planned)[:sizes], *(getattr(summary, name) for name in counts), summary.pass_rate]
    return (summary.suite, marked(summary), *map(_number, numbers), interval(summary.figures.get("pass_rate")))


def marked(summary: SubjectSummary) -> str:
    """Return the name of a subject; a control is marked as such."""
    return f"{summary.subject} (control)" if summary.is_control else summary.subject


def interval(figure: Figure | None) -> str:
    """Return the interval of a figure; a dash if it has none."""
    return f"{figure.low:.3f} to {figure.high:.3f}" if figure and figure.interval else "-"


def _metrics(suite: str, summaries: Sequence[SubjectSummary]) -> Iterator[Row]:
    """Yield a row per metric, and one per turn in which a trial failed first; a column per subject."""
    yield from _figures(suite, summaries, _FIGURES)
    wrong = [summary.metrics.first_failed_turn for summary in summaries]
    for turn in sorted({turn for turns in wrong for turn in turns or ()}):
        counts = (None if turns is None else turns.get(turn, 0) for turns in wrong)
        yield (f"first failed in turn {turn}", *map(_number, counts))


def _figures(suite: str, summaries: Sequence[SubjectSummary], names: Sequence[str]) -> Iterator[Row]:
    yield (suite, *(summary.subject for summary in summaries))
    for name in names:
        yield (_words(name), *(_number(getattr(summary.metrics, name)) for summary in summaries))


def _breakdown(suite: str, kind: str, summaries: Sequence[SubjectSummary]) -> Iterator[Row]:
    """Yield a row per label and subject, the subjects of a label one below the other."""
    some_turns = not all(map(_is_of_questions, summaries))  # a question has no turns
    columns = (*(["turns"] if kind == "tool" else ["cases", "pass_rate"]), *(_SUCCESSES if some_turns else ()))
    yield (f"{suite} by {kind}", "subject", *(_words(column).replace("success", "ok") for column in columns))
    groups = {summary.subject: summary.by.get(kind, {}) for summary in summaries}
    sizes = _sizes(kind, summaries)
    largest = sorted(sizes, key=lambda label: (-sizes[label], label))[:LABELS]
    for label in sorted(largest, key=reading_order):
        for subject, found in groups.items():
            group = found.get(label, Group())
            shown = label if label.isprintable() else ascii(label)[1:-1]
            name = shown if len(shown) <= WIDEST else cut(shown, WIDEST - 1)
            yield (
                name,
                subject,
                *(_number(getattr(group, column)) for column in columns),
            )


def _sizes(kind: str, summaries: Sequence[SubjectSummary]) -> Counter[str]:
    """Return how many cases, or turns of a tool, each label of a kind was scored in."""
    sizes: Counter[str] = Counter()
    for summary in summaries:
        for label, group in summary.by.get(kind, {}).items():
            sizes[label] += group.cases or group.turns or 0
    return sizes


def _words(name: str) -> str:
    return name.replace("_", " ")


def _number(number: float | None) -> str:
    """Return a count as it is, a rate with three digits, and a dash for what was not scored."""
    if number is None:
        return "-"
    return str(number) if isinstance(number, int) else f"{number:.3f}"
