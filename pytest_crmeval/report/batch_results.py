"""``batch_eval_results.json``: the results of each checkpoint of a run, by step, for scripts that read such files."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import PlannedCase, Trial, is_of_checkpoint
from pytest_crmeval.journal.solutions.places import results_in
from pytest_crmeval.journal.solutions.results import EarlierResults
from pytest_crmeval.report.files import build
from pytest_crmeval.report.report import Report, SubjectSummary, checkpoints_in_order

NAME = "batch_eval_results.json"
_DONE = frozenset({Verdict.PASSED, Verdict.FAILED})


def write_batch(report: Report, planned: Iterable[PlannedCase], folder: Path, home: Path | None = None) -> None:
    """Write the results of the checkpoints of a run so far into its folder; nothing if it has none.

    ``home`` is the final path of that folder, if it will be moved.
    """
    found = checkpoints_in_order(report.standings)
    if not found:
        return
    results = {each.path.relative_to(folder).as_posix(): each for each in results_in(folder)}
    folders = {(case.suite, case.subject): case.folder for case in planned}
    trials = [trial for trial in report.trials if is_of_checkpoint(trial.planned)]
    rows = [
        _result(
            summary,
            [each for each in trials if (each.planned.suite, each.planned.subject) == (summary.suite, summary.subject)],
            results,
            folders.get((summary.suite, summary.subject), ""),
            home or folder,
        )
        for summary, _ in found
    ]
    draft = folder / f"{NAME}.part"
    parts = report.run.get("parts")
    commands = [part.get("command") for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
    seconds = [float(str(row["duration"])) for row in rows]
    completed = sum(bool(row["success"]) for row in rows)
    document = {
        "args": {"run": report.run["id"], "commands": commands},
        "summary": {
            "total_tasks": len(rows),
            "completed": completed,
            "failed": len(rows) - completed,
            "total_time": round(sum(seconds), 3),
            "average_time": round(sum(seconds) / len(seconds), 3),
        },
        "results": rows,
    }
    draft.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    draft.replace(folder / NAME)


def write_batch_so_far(
    run: JsonObject, trials: Mapping[str, Trial], planned: Iterable[PlannedCase], folder: Path
) -> None:
    """Write the results of the checkpoints of a run in progress; nothing if it has none."""
    cases = [case for case in planned if is_of_checkpoint(case)]
    if cases:
        found = {key: trial for key, trial in trials.items() if is_of_checkpoint(trial.planned)}
        write_batch(build(run, found, cases), cases, folder)


def _result(
    summary: SubjectSummary, trials: Sequence[Trial], results: Mapping[str, EarlierResults], solutions: str, home: Path
) -> JsonObject:
    """Return the results of one checkpoint: the usual fields, then ours."""
    places = [trial.solutions.results for trial in trials if trial.solutions and trial.solutions.results in results]
    files = [results[place] for place in places]
    errors = [trial.reason for trial in trials if trial.verdict not in _DONE]
    if summary.not_run:
        errors.append(f"{summary.not_run} file{'s have' if summary.not_run > 1 else ' has'} not been graded yet")
    assert summary.checkpoint is not None  # noqa: S101 (it is one)
    return {
        "solution_dir": solutions,
        "output_dir": str(home / Path(places[0]).parent) if places else str(home),
        "success": not errors,
        "error": "; ".join(errors) or None,
        "start_time": min((_time(each.head.get("started")) for each in files), default=None),
        "end_time": max((_time((each.end() or {}).get("ended")) for each in files), default=None),
        "duration": round(sum(trial.seconds for trial in trials), 3),
        "solution_files": [str(each.head["file"]) for each in files],
        "evaluation_files": [str(home / path) for place in places for path in _evaluations(place, results[place])],
        "suite": summary.suite,
        "checkpoint": summary.subject,
        **summary.checkpoint.to_dict(),
    }


def _evaluations(place: str, found: EarlierResults) -> Iterator[Path]:
    yield Path(place)
    if found.path.with_suffix(".txt").exists():
        yield Path(place).with_suffix(".txt")


def _time(stamp: object) -> float:
    """Return a time as seconds since 1970; 0 if it is unknown."""
    return datetime.fromisoformat(stamp).timestamp() if isinstance(stamp, str) else 0.0
