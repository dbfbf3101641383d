"""The runs of a reports folder, submitted or not: their states and their progress."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_crmeval.journal.ids import JOURNAL, LATEST, problem_of
from pytest_crmeval.journal.jobs import NAME as JOB
from pytest_crmeval.journal.jobs import BackgroundRun, JobError, State, Task, is_job, read_job, state_of
from pytest_crmeval.journal.locks import NAME as LOCK
from pytest_crmeval.journal.locks import is_held
from pytest_crmeval.journal.reader import Follower, JournalError, first_start

_COUNTS = ("passed", "failed", "errored", "invalid", "not_run")
_SCHEMA = "crmeval.report/"
_TRIALS = b' "trials": ['
"""The line of a report at which its trials begin; everything above it is short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOnDisk:
    """A run as described by its files."""

    id: str
    folder: Path
    state: State
    when: str
    """When it was started; if it was not, when it was submitted."""
    job: BackgroundRun | None
    """None for a run that was not submitted."""
    tasks: Sequence[Task]
    trouble: str = ""
    """Why a file of the run can't be read; empty if all can."""


class NoSuchRunError(Exception):
    """There is no such run; the message lists similar or recent ones."""


def folder_of(reports: Path, run: str | None = None, others: Sequence[Path] = ()) -> Path:
    """Return the folder of a run by its id or a path, or of the latest run.

    NoSuchRunError if there is none. A run that is not in ``reports`` is looked for in ``others``.
    """
    places = [reports, *others]
    folders = {folder.name: folder for place in reversed(places) for folder in _folders(place)}
    if run is None or run == LATEST:
        if not folders:
            raise NoSuchRunError(f"there is no run in {reports}; start one: crmeval submit evals/")
        return max(folders.values(), key=_touched)
    if run in folders:
        return folders[run]
    started = (place / run for place in places if not problem_of(run))  # just started: nothing is written yet
    if found := next(filter(is_held, started), None) or _at(Path(run).expanduser()):
        return found
    from difflib import get_close_matches

    near = get_close_matches(run, folders, n=3, cutoff=0.4)
    newest = [folder.name for folder in sorted(folders.values(), key=_touched, reverse=True)[:3]]
    there = f"; did you mean {' or '.join(near)}?" if near else f"; latest runs: {', '.join(newest)}" if newest else ""
    raise NoSuchRunError(f"there is no run {run!r} in {reports}{there}")


def is_only_report(folder: Path) -> bool:
    """Whether only the report of a run is left."""
    return not (_is_run(folder) or is_held(folder))


def run_of(folder: Path) -> RunOnDisk:
    """Return the run of a folder; read errors are reported in ``trouble`` and not raised."""
    try:
        job = read_job(folder) if is_job(folder) else None
    except JobError as error:
        state, when = State.RUNNING if is_held(folder) else State.LOST, _begun(folder)[0]
        return RunOnDisk(id=folder.name, folder=folder, state=state, when=when, job=None, tasks=(), trouble=str(error))
    if job:
        state = state_of(folder, job)
        tasks = job.tasks if state not in {State.RUNNING, State.LOST} else _journalled(folder) or job.tasks
        return RunOnDisk(id=job.id, folder=folder, state=state, when=job.started or job.submitted, job=job, tasks=tasks)
    head = current_head(folder)
    if not head:
        state = State.RUNNING if is_held(folder) else State.LOST
        when, trouble = _begun(folder)
        tasks = _journalled(folder)
        return RunOnDisk(id=folder.name, folder=folder, state=state, when=when, job=None, tasks=tasks, trouble=trouble)
    return RunOnDisk(
        id=folder.name,
        folder=folder,
        state=_end(head),
        when=str(head["run"].get("started", "")),
        job=None,
        tasks=[_task(summary) for summary in head["results"]],
    )


def current_head(folder: Path) -> Mapping[str, Any]:
    """Return the report of a run without its trials; empty if there is none, or if the run goes on after it."""
    head = _head(_report_of(folder))
    return {} if not head or is_held(folder) or _is_outdated(folder) else head


def runs_in(*reports: Path) -> list[RunOnDisk]:
    """Return all runs of these folders, the newest first."""
    runs = [run_of(folder) for place in reports for folder in _folders(place)]
    return sorted(runs, key=lambda run: (run.when, run.id), reverse=True)


def end_of(folder: Path) -> State | None:
    """Return how a run ended, according to its report; None if it has no report."""
    head = _head(_report_of(folder))
    return _end(head) if head else None


def tasks_of(folder: Path) -> list[Task]:
    """Return the progress of each subject in each suite from the journal; JournalError if it can't be read."""
    from pytest_crmeval.journal.counts import tasks_in

    return tasks_in(Follower(folder / JOURNAL).read().tally)


def point(link: Path, target: str) -> None:
    """Set the target of a symbolic link atomically."""
    draft = link.with_name(f".{link.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    draft.symlink_to(target)
    try:
        draft.replace(link)
    finally:
        draft.unlink(missing_ok=True)


def _folders(reports: Path) -> Iterable[Path]:
    """Return the folders of runs, also of runs of which only the report is left."""
    found, alone = candidates(reports)
    return [*found, *(path for path in alone if _head(_report_of(path)))]


def candidates(reports: Path) -> tuple[Sequence[Path], Sequence[Path]]:
    """Return the folders of runs, and those of runs without a folder if the JSON file of that name is a report."""
    found: dict[str, Path] = {}
    alone: list[Path] = []
    try:
        with os.scandir(reports) as entries:
            for entry in entries:
                path = Path(entry.path)
                if entry.is_dir(follow_symlinks=False) and _is_run(path):
                    found[path.name] = path
                elif entry.is_file(follow_symlinks=False) and entry.name.endswith(".json"):
                    alone.append(path.with_suffix(""))
    except OSError:
        return (), ()
    return list(found.values()), [path for path in alone if path.name not in found]


def _at(path: Path) -> Path | None:
    """Return the run folder for a path, which may be the folder, a file in it or the report; None if there is none."""
    found = path.resolve()  # latest is a link
    if found.exists() and (_is_run(found.parent) or is_held(found.parent)):
        return found.parent
    folder = found.with_suffix("") if found.suffix == ".json" else found
    return folder if _is_run(folder) or is_held(folder) or _head(_report_of(folder)) else None


def _is_run(folder: Path) -> bool:
    return is_job(folder) or (folder / JOURNAL).is_file()


def _touched(folder: Path) -> float:
    """Return when a run was started or resumed, which updates its lock; before that, when it was submitted."""
    for name in (LOCK, JOB, JOURNAL):
        try:
            return (folder / name).stat().st_mtime
        except OSError:  # no such file
            continue
    return 0.0


def _report_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.json")


def _is_outdated(folder: Path) -> bool:
    """Whether a run was resumed after its report was written, and has no new report yet."""
    written = _report_of(folder).stat().st_mtime
    if not (folder / LOCK).exists() or _touched(folder) <= written:
        return False
    try:
        resumed = Follower(folder / JOURNAL).read().resumed
    except JournalError:  # only the report can be read
        return False
    return resumed is not None and resumed > written


def _end(head: Mapping[str, Any]) -> State:
    return State.FINISHED if head.get("complete") else State.STOPPED


def _journalled(folder: Path) -> Sequence[Task]:
    """Return the tasks in the journal; empty if it can't be read."""
    try:
        return tasks_of(folder)
    except JournalError:
        return ()


def _begun(folder: Path) -> tuple[str, str]:
    """Return when the first part of a run began, and the error if its journal can't be read."""
    try:
        return first_start(folder / JOURNAL), ""
    except JournalError as error:
        return "", str(error)


def _head(path: Path) -> Mapping[str, Any]:
    """Return a report without its trials; empty if there is no valid report."""
    lines = []
    try:
        with path.open("rb") as file:
            for line in file:
                if line.startswith(_TRIALS):
                    lines.append(b' "trials": []}')
                    break
                lines.append(line)
        document = json.loads(b"".join(lines))
        is_report = str(document["schema"]).startswith(_SCHEMA) and isinstance(document["run"], dict)
        for summary in document["results"]:
            _task(summary)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    return document if is_report else {}


def _task(summary: Mapping[str, Any]) -> Task:
    """Return a summary of a report as a task."""
    bill, solved = summary.get("bill"), (summary.get("checkpoint") or {}).get("samples", ())
    passed, failed, errored, invalid, not_run = (int(summary.get(name, 0)) for name in _COUNTS)
    return Task(
        suite=str(summary["suite"]),
        subject=str(summary["subject"]),
        total=passed + failed + errored + invalid + not_run,
        passed=passed,
        failed=failed,
        errored=errored,
        invalid=invalid,
        cost=bill["cost"] if bill else 0.0,
        samples=tuple((int(judged), int(right), int(count)) for judged, right, count in solved),
    )
