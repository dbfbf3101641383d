"""Reports on disk: one JSON document per run."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import PlannedCase, Trial, flat, in_order, is_of_checkpoint
from pytest_crmeval.domain.wire import encoded_quickly, parsed
from pytest_crmeval.journal.checkpoints import by_step, with_lost
from pytest_crmeval.journal.gc_pause import gc_paused
from pytest_crmeval.journal.ids import LATEST
from pytest_crmeval.journal.index import point
from pytest_crmeval.journal.shard import missing_shards
from pytest_crmeval.report.comparison import Comparison
from pytest_crmeval.report.figures import figures_of
from pytest_crmeval.report.learning import met_in, with_learning
from pytest_crmeval.report.report import SCHEMA, Report, SubjectSummary, summary_of
from pytest_crmeval.report.ruling import Ruling


class ReportError(Exception):
    """A report that can't be read; the message says which and why."""


@gc_paused()
def build(run: JsonObject, trials: Mapping[str, Trial], planned: Iterable[PlannedCase]) -> Report:
    """Summarise a run: every planned case counts, played or not."""
    groups: dict[tuple[str, str], list[Trial]] = {}
    missing: dict[tuple[str, str], list[PlannedCase]] = {}
    # In a fixed order, because the sum of fractions depends on the order.
    ordered = in_order(trials.values())
    for trial in ordered:
        groups.setdefault((trial.planned.suite, trial.planned.subject), []).append(trial)
    cases = list(planned)
    for case in cases:
        if case.key not in trials:
            missing.setdefault((case.suite, case.subject), []).append(case)
    summaries = [
        _summary(*group, groups.get(group, []), missing.get(group, []))
        for group in sorted(groups.keys() | missing.keys())
    ]
    order = {case.key: number for number, case in enumerate(cases)}
    learned = with_learning(sorted(summaries, key=_by_step), groups, order, met_in(run.get("parts")))
    return Report(run=run, standings=learned, trials=ordered)


def _by_step(summary: SubjectSummary) -> tuple[str, float, str]:
    """Return the sort key of summaries: checkpoints by step, others by name."""
    step = summary.checkpoint.whole.step if summary.checkpoint else None
    return (summary.suite, *by_step(summary.subject, step))


def _summary(suite: str, subject: str, trials: Sequence[Trial], missing: Sequence[PlannedCase]) -> SubjectSummary:
    """Summarise a subject in a suite, with figures and their intervals."""
    cases = {case.case for case in (*(trial.planned for trial in trials), *missing)}
    summary = summary_of(suite, subject, trials, len(missing))
    unknown = (*(trial.planned for trial in trials if trial.solutions is None), *missing)
    found = with_lost(summary.checkpoint, subject, sum(map(is_of_checkpoint, unknown)))
    return replace(summary, cases=len(cases), figures=figures_of(trials), checkpoint=found)


def write(report: Report, folder: Path) -> Path:
    """Write ``<run>.json`` completely or not at all, and point ``latest`` at the run."""
    run = str(report.run["id"])
    path = folder / f"{run}.json"
    save(report, path)
    point_latest(folder, run)
    return path


def save(report: Report, path: Path) -> None:
    """Write a report, completely or not at all."""
    draft = path.with_suffix(".json.part")
    try:
        with draft.open("w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(_text(report))
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _text(report: Report) -> Iterator[str]:
    """Yield a report as JSON, each trial on a line of its own: a large run is never in memory as one document."""
    separator = "{"
    for name, value in replace(report, trials=()).to_dict().items():
        yield f'{separator}\n "{name}": '
        separator = ","
        if name == "trials":
            yield from _listed(report.trials)
        else:
            yield json.dumps(value, ensure_ascii=False, indent=1)
    yield "\n}\n"


def _listed(trials: Iterable[Trial]) -> Iterator[str]:
    separator = "["
    for trial in trials:
        yield f"{separator}\n  {encoded_quickly(flat(trial)).decode()}"
        separator = ","
    yield "[]" if separator == "[" else "\n ]"


def point_latest(folder: Path, run: str) -> None:
    """Point ``latest`` and ``latest.json`` at a run."""
    point(folder / LATEST, run)
    point(folder / f"{LATEST}.json", f"{run}.json")


@gc_paused()
def load(path: Path) -> Report:
    """Return a stored report."""
    try:
        document = parsed(path.read_bytes())
        return read(document)
    except OSError as error:
        raise ReportError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ReportError(f"{path}: not a report ({SCHEMA}): {why_not(error)}") from error


def why_not(error: Exception) -> str:
    """Return what is wrong with a document, from an error of ``read``."""
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)


def read(document: Mapping[str, Any]) -> Report:
    """Return the report in a document; KeyError, TypeError or ValueError if it is not a report."""
    if not isinstance(document, Mapping):
        raise TypeError("it is not a JSON object")
    if document["schema"] != SCHEMA:
        raise ValueError(f"its schema is {document['schema']!r}")
    run = document["run"]
    summaries = [SubjectSummary.from_dict(result) for result in document["results"]]
    trials = [Trial.from_dict(trial) for trial in document["trials"]]
    counted = Counter((trial.planned.suite, trial.planned.subject, trial.verdict) for trial in trials)
    stated = {
        (each.suite, each.subject, verdict): getattr(each, str(verdict)) for each in summaries for verdict in Verdict
    }
    for suite, subject, verdict in sorted(stated.keys() | counted.keys()):
        says, has = stated.get((suite, subject, verdict), 0), counted[suite, subject, verdict]
        if says != has:
            raise ValueError(f"{suite} × {subject}: the results say {says} {verdict}, the trials {has}")
    facts = {**run, "id": run["id"], "started": run["started"]}
    missing_shards(facts.get("parts"))  # raises if the facts about shards are invalid
    return Report(
        run=facts,
        standings=summaries,
        trials=trials,
        rulings=tuple(map(Ruling.from_dict, document.get("gates", ()))),
        comparison=Comparison.from_dict(document["comparison"]) if "comparison" in document else None,
    )
