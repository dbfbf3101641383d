"""The table of trials on the page, in a short form: thousands of rows fit into one file."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Labels, Trial
from pytest_crmeval.domain.wire import encoded
from pytest_crmeval.render.page.causes import causes_in, name_of
from pytest_crmeval.report.outliers import reason_of

T = TypeVar("T", bound=Hashable)
CAUSES = 200
"""Causes by which the list can be filtered: the most frequent ones."""
ROOM = 1_100_000
"""Bytes that the table may take."""
EXCERPTS = (200, 100, 50, 20, 0)
"""Characters of a reason that are shown: as many as fit."""
VERDICTS = tuple(map(str, Verdict))
COLUMNS = ("case", "suite", "subject", "verdict", "seconds", "cost", "tokens", "scores", "labels", "why")


def rows_of(trials: Sequence[Trial], room: int = ROOM) -> JsonObject:
    """Return the table: names once, and a list per trial that refers to them by number."""
    suites = _numbered(trial.planned.suite for trial in trials)
    subjects = _numbered(trial.planned.subject for trial in trials)
    scores = _numbered(score.name for trial in trials for score in trial.scores)
    known = {labels: tuple(_labels(labels)) for labels in {trial.labels for trial in trials}}
    labels = _numbered(sorted({label for found in known.values() for label in found}))
    numbers = {those: [labels[label] for label in found] for those, found in known.items()}
    rows: list[list[Json]] = [
        [
            f"{trial.planned.case} #{trial.planned.trial}" if trial.planned.trial > 1 else trial.planned.case,
            suites[trial.planned.suite],
            subjects[trial.planned.subject],
            VERDICTS.index(trial.verdict),
            round(trial.seconds, 3),
            *_bill(trial),
            _scores(trial, scores),
            numbers[trial.labels],
            "" if trial.passed else " ".join(reason_of(trial).split()),
        ]
        for trial in trials
    ]
    table: JsonObject = {
        "columns": COLUMNS,
        "suites": list(suites),
        "subjects": list(subjects),
        "verdicts": VERDICTS,
        "scores": list(scores),
        "labels": [list(label) for label in labels],
        "rows": rows,
    }
    # Shorten the reasons, which are the last column, so that the table fits.
    with_reasons = [row for row in rows if row[-1]]
    reasons = [str(row[-1]) for row in with_reasons]
    for excerpt in EXCERPTS if reasons else ():
        for row, reason in zip(with_reasons, reasons, strict=True):
            row[-1] = cut(reason, excerpt)
        if len(encoded(table)) <= room:
            break
    return table


def causes(trials: Sequence[Trial]) -> JsonObject:
    """Return the causes of failures, and for each trial that did not pass the numbers of its causes."""
    found = {n: [name_of(*cause) for cause in causes_in(trial)] for n, trial in enumerate(trials) if not trial.passed}
    counted = Counter(name for names in found.values() for name in names)
    common = [name for name, _ in counted.most_common(CAUSES)]
    numbers = {name: number for number, name in enumerate(common)}
    of = {str(n): [numbers[name] for name in names if name in numbers] for n, names in found.items()}
    return {"causes": common, "causesOf": of}


def is_measured(trial: Trial) -> bool:
    """Whether nothing was required of a trial, so that passing means only that it was measured."""
    return trial.solutions is not None and trial.passed and all(score.threshold <= 0 for score in trial.scores)


def _numbered(found: Iterable[T]) -> Mapping[T, int]:
    return {name: number for number, name in enumerate(dict.fromkeys(found))}


def _labels(labels: Labels) -> Iterator[tuple[str, str]]:
    """Yield the kind and the name of each label."""
    for kind, name in (("complexity", labels.complexity), ("category", labels.category), ("split", labels.split)):
        if name:
            yield kind, name
    yield from (("tag", tag) for tag in dict.fromkeys(labels.tags))


def _bill(trial: Trial) -> tuple[float | None, int | None]:
    """Return dollars and tokens; None if they are unknown, or no model was called."""
    if trial.bill is None:
        return None, None
    cost = trial.bill.cost
    return None if cost is None else round(cost, 6), trial.bill.usage.input + trial.bill.usage.output


def _scores(trial: Trial, names: Mapping[str, int]) -> Sequence[Json]:
    found = {score.name: round(score.value, 3) for score in trial.scores}
    return [found.get(name) for name in names]
