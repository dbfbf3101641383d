"""A report as a person wants to read it in a terminal."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.figures import Figure
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.shard import listed
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.render import checkpoints
from pytest_crmeval.render import intervals as certainty
from pytest_crmeval.report import costs as bills
from pytest_crmeval.report.gate import EACH, Gate
from pytest_crmeval.report.metrics import KINDS, Group, reading_order
from pytest_crmeval.report.report import Report, Standing
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
_PLACE = re.compile(r"(.+?):\d+: ")
"""How the reason of an invalid trial begins: file and line of its case."""
LONGEST = 200
LABELS = 40
"""How many labels of a kind are shown: every tool is, and as many tags as can be read."""
WIDEST = 40
"""How much of a label is shown."""


def table(report: Report) -> Iterator[str]:
    """Yield one line per suite and subject, under a head; checkpoints have a table of their own.

    Invalid cases and bills have columns when there are any.
    """
    standings = [standing for standing in report.standings if not standing.checkpoint]
    if standings or not report.standings:
        yield from _table(standings)
    yield from checkpoints.table(report.standings)


def _table(standings: Sequence[Standing]) -> Iterator[str]:
    some_invalid = any(standing.invalid for standing in standings)
    counts = ["passed", "failed", "errored", *(["invalid"] if some_invalid else []), "not_run"]
    money = bills.columns(standings)
    repeated = any(standing.cases not in {None, standing.planned} for standing in standings)
    sizes = ["cases", "trials"] if repeated else ["cases"]
    head = ["suite", "subject", *sizes, *map(_words, counts), "pass rate", "95 % interval", *money]
    rows = [(*_row(standing, len(sizes), counts), *bills.cells(standing, money)) for standing in standings]
    yield from aligned([head, *rows], names=2)


def gates(rulings: Sequence[Ruling]) -> Iterator[str]:
    """Yield a line per ruling: the value, its interval, its margin, and how many more cases would settle it."""
    for ruling in rulings:
        whose = f" ({ruling.subject})" if ruling.subject and f"[{ruling.subject}]" not in ruling.gate else ""
        yield f"gate {ruling.gate}{whose}: {'holds' if ruling.holds else 'BREACHED'} ({found(ruling)})"


def found(ruling: Ruling) -> str:
    """Return what a gate found, and how far that can be believed."""
    return "; ".join([ruling.explanation, *_certainty(ruling)])


def _certainty(ruling: Ruling) -> Iterator[str]:
    if ruling.low is not None and ruling.high is not None:
        yield f"95 % interval {ruling.low:.3g} to {ruling.high:.3g}"
    if ruling.margin is not None and ruling.p is None:
        yield f"margin {ruling.margin:+.3g}"
    if ruling.needed:
        yield f"open: {ruling.needed} more case{'s' * (ruling.needed != 1)} like these would settle it"


def idle(gates: Sequence[Gate]) -> Iterator[str]:
    """Yield one line per gate that says nothing about the run."""
    for gate in gates:
        what = f"{gate.subject} in {gate.suite}" if gate.subject.removeprefix(EACH) else gate.suite
        yield f"gate {gate.text}: not judged (there is no {what} in this run)"


def invalid(report: Report) -> Iterator[str]:
    """Yield how many cases are broken, who knows more, and an example; nothing when all are sound.

    An example, because what only the CRM can tell is not to be found by looking at the file.
    """
    broken = {(trial.planned.suite, trial.planned.case): trial.reason for trial in report.trials if _is_broken(trial)}
    if broken:
        places = [match[1] for reason in broken.values() if (match := _PLACE.match(reason))]
        files = [shlex.quote(short(Path(place))) for place in dict.fromkeys(places)] or ["FILE"]
        yield f"{len(broken)} {'case is' if len(broken) == 1 else 'cases are'} invalid: crmeval lint {' '.join(files)}"
        yield f"for example {_cut(next(iter(broken.values())))}"


def missing(report: Report) -> Iterator[str]:
    """Yield which shards are not in it; nothing if it is whole."""
    if report.missing:
        yield f"a part of an evaluation: without shard {listed(report.missing)}"


def omissions(report: Report) -> Iterator[str]:
    """Yield which cases were not played at all, and why; nothing if none was left out."""
    for suite, reasons in left_out_of(report.run).items():
        for why, count in reasons.items():
            yield f"{count} case{'s' * (count != 1)} of {suite} {'were' if count != 1 else 'was'} left out: {why}"


def details(report: Report) -> Iterator[str]:
    """Yield what the table leaves out, suite by suite: the metrics of its subjects side by side, then breakdowns."""
    for suite in dict.fromkeys(standing.suite for standing in report.standings):
        standings = [standing for standing in report.standings if standing.suite == suite]
        if any(standing.metrics.turn_success is not None for standing in standings):
            yield from ["", *aligned(list(_metrics(suite, standings)), names=1)]
        if any(map(_is_of_questions, standings)):
            yield from ["", *aligned(list(_figures(suite, standings, _ANSWERS)), names=1)]
        if sure := list(certainty.figures(suite, standings)):
            yield from ["", *aligned(sure, names=1)]
        if paid := list(bills.details(suite, standings)):
            yield from ["", *aligned(paid, names=1)]
        for kind in (kind for kind in KINDS if any(kind in standing.by for standing in standings)):
            yield from ["", *aligned(list(_breakdown(suite, kind, standings)), names=2)]
            yield from _left_out(kind, standings)
        yield from checkpoints.details(standings)
        for standing in standings:
            if told := list(certainty.reasons(standing)):
                yield from ["", *told]


def answers(report: Report) -> Iterator[str]:
    """Yield a line per subject that was asked questions: how it answered, and whether it knows what it knows.

    And what there is to know of checkpoints.
    """
    for standing in report.standings:
        if _is_of_questions(standing):
            found = standing.metrics
            told = [", ".join(f"{_words(name)} {_told(getattr(found, name))}" for name in _ANSWERS[:3])]
            told.append(f"{_told(found.accuracy_given_attempted)} of the attempted, F1 {_told(found.f1)}")
            if found.confidences:
                told.append(f"calibration error {_told(found.calibration_error)} ({found.confidences} confidences)")
            yield f"answers of {standing.subject} ({standing.suite}): {'; '.join(told)}"
    yield from checkpoints.notes(report)


def _is_of_questions(standing: Standing) -> bool:
    return standing.metrics.correct is not None


def short(path: Path) -> str:
    """Return a path as it is called from here."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _is_broken(trial: Trial) -> bool:
    return trial.verdict is Verdict.INVALID and trial.solutions is None


def _cut(reason: str) -> str:
    """Return what fits on a line or two, the place as it is called from here."""
    place = _PLACE.match(reason)
    text = f"{short(Path(place[1]))}{reason[place.end(1) :]}" if place else reason
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else cut(line, LONGEST - 1)


def _row(standing: Standing, sizes: int, counts: Sequence[str]) -> Row:
    cases = standing.planned if standing.cases is None else standing.cases
    numbers = [*(cases, standing.planned)[:sizes], *(getattr(standing, name) for name in counts), standing.pass_rate]
    return (standing.suite, standing.subject, *map(_told, numbers), interval(standing.figures.get("pass_rate")))


def interval(figure: Figure | None) -> str:
    """Return the interval of a figure; a dash if nobody knows it."""
    return f"{figure.low:.3f} to {figure.high:.3f}" if figure and figure.interval else "-"


def _metrics(suite: str, standings: Sequence[Standing]) -> Iterator[Row]:
    """Yield a row per metric, and one per turn in which anybody went wrong first; a column per subject."""
    yield from _figures(suite, standings, _FIGURES)
    wrong = [standing.metrics.first_failed_turn for standing in standings]
    for turn in sorted({turn for turns in wrong for turn in turns or ()}):
        counts = (None if turns is None else turns.get(turn, 0) for turns in wrong)
        yield (f"first failed in turn {turn}", *map(_told, counts))


def _figures(suite: str, standings: Sequence[Standing], names: Sequence[str]) -> Iterator[Row]:
    yield (suite, *(standing.subject for standing in standings))
    for name in names:
        yield (_words(name), *(_told(getattr(standing.metrics, name)) for standing in standings))


def _breakdown(suite: str, kind: str, standings: Sequence[Standing]) -> Iterator[Row]:
    """Yield a row per label and subject, the subjects of a label one below the other."""
    some_turns = not all(map(_is_of_questions, standings))  # a question has none
    columns = (*(["turns"] if kind == "tool" else ["cases", "pass_rate"]), *(_SUCCESSES if some_turns else ()))
    yield (f"{suite} by {kind}", "subject", *(_words(column).replace("success", "ok") for column in columns))
    groups = {standing.subject: standing.by.get(kind, {}) for standing in standings}
    for label in sorted(_most(_sizes(kind, standings)), key=reading_order):
        for subject, found in groups.items():
            group = found.get(label, Group())
            yield (_label(label), subject, *(_told(getattr(group, column)) for column in columns))


def _sizes(kind: str, standings: Sequence[Standing]) -> Counter[str]:
    """Count what each label of a kind was scored in: cases, or turns of a tool."""
    sizes: Counter[str] = Counter()
    for standing in standings:
        for label, group in standing.by.get(kind, {}).items():
            sizes[label] += group.cases or group.turns or 0
    return sizes


def _most(sizes: Counter[str]) -> Sequence[str]:
    """Return the labels that are shown, of many those that say most."""
    return sorted(sizes, key=lambda label: (-sizes[label], label))[:LABELS]


def _left_out(kind: str, standings: Sequence[Standing]) -> Iterator[str]:
    """Yield how many labels are not shown, if any."""
    more = len(_sizes(kind, standings)) - LABELS
    if more > 0:
        yield f"... and {more} more with no more of them: see the JSON report"


def _label(label: str) -> str:
    """Return a label as a column takes it: on one line, and no book."""
    shown = label if label.isprintable() else ascii(label)[1:-1]
    return shown if len(shown) <= WIDEST else cut(shown, WIDEST - 1)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _told(number: float | None) -> str:
    """Return a number as it is read: a count whole, a rate with three digits, what was not scored as a dash."""
    if number is None:
        return "-"
    return str(number) if isinstance(number, int) else f"{number:.3f}"
