"""The runs of a reports folder, submitted or not: what each is, how it stands, how far it is."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_crmeval.domain.checkpoints import samples_from
from pytest_crmeval.journal.ids import JOURNAL, LATEST, problem_of
from pytest_crmeval.journal.jobs import NAME as JOB
from pytest_crmeval.journal.jobs import Job, JobError, State, Task, is_job, read_job, state_of
from pytest_crmeval.journal.locks import NAME as LOCK
from pytest_crmeval.journal.locks import is_held

_COUNTS = ("passed", "failed", "errored", "invalid", "not_run")
_SCHEMA = "crmeval.report/"
_TRIALS = b' "trials": ['
"""The line of a report at which its trials begin: what is above it is short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOnDisk:
    """A run, as its files tell it."""

    id: str
    folder: Path
    state: State
    when: str
    """When it was begun; when it was submitted, if it was not begun."""
    job: Job | None
    """None for a pytest run that nobody submitted."""
    tasks: Sequence[Task]
    trouble: str = ""
    """What can't be read of it."""


class NoSuchRunError(Exception):
    """A run that is not there; the message says which there are."""


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
    there = f"; did you mean {' or '.join(near)}?" if near else f"; there is {', '.join(newest)}" if newest else ""
    raise NoSuchRunError(f"there is no run {run!r} in {reports}{there}")


def is_only_report(folder: Path) -> bool:
    """Whether nothing but its report is left of a run."""
    return not (_is_run(folder) or is_held(folder))


def run_of(folder: Path) -> RunOnDisk:
    """Return the run of a folder; what can't be read of it is told, not raised."""
    try:
        job = read_job(folder) if is_job(folder) else None
    except JobError as error:
        return _unreadable(folder, str(error))
    if job:
        state = state_of(folder, job)
        tasks = job.tasks if state not in {State.RUNNING, State.LOST} else _journalled(folder) or job.tasks
        return RunOnDisk(id=job.id, folder=folder, state=state, when=job.started or job.submitted, job=job, tasks=tasks)
    return _not_submitted(folder)


def runs_in(*reports: Path) -> list[RunOnDisk]:
    """Return all runs of these folders, the newest first."""
    runs = [run_of(folder) for place in reports for folder in _folders(place)]
    return sorted(runs, key=lambda run: (run.when, run.id), reverse=True)


def end_of(folder: Path) -> State | None:
    """Return how a run ended, as its report tells; None if it has none."""
    head = _head(_report_of(folder))
    return _end(head) if head else None


def tasks_of(folder: Path) -> list[Task]:
    """Return how far each subject is in each suite, as the journal tells it; UnreadableError if it can't be read."""
    from pytest_crmeval.journal.counts import tasks_in
    from pytest_crmeval.journal.following import Follower

    return tasks_in(Follower(folder / JOURNAL).read().tally)


def point(link: Path, target: str) -> None:
    """Let a link point elsewhere, in one step."""
    draft = link.with_name(f".{link.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    draft.symlink_to(target)
    try:
        draft.replace(link)
    finally:
        draft.unlink(missing_ok=True)


def _folders(reports: Path) -> Iterable[Path]:
    """Return where runs are; a report may have lost its folder."""
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
        return ()
    return [*found.values(), *(path for path in alone if path.name not in found and _head(_report_of(path)))]


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
    """Return when it was begun or resumed: who does that signs the lock; before that, when it was submitted."""
    for name in (LOCK, JOB, JOURNAL):
        try:
            return (folder / name).stat().st_mtime
        except OSError:  # it has none
            continue
    return 0.0


def _report_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.json")


def _not_submitted(folder: Path) -> RunOnDisk:
    head = _head(_report_of(folder))
    if is_held(folder) or not head or _is_outdated(folder):
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
        tasks=[_task(standing) for standing in head["results"]],
    )


def _is_outdated(folder: Path) -> bool:
    """Whether a run was resumed after its report was written, and has not come to another."""
    written = _report_of(folder).stat().st_mtime
    if not (folder / LOCK).exists() or _touched(folder) <= written:
        return False
    from pytest_crmeval.journal.following import Follower, UnreadableError

    try:
        resumed = Follower(folder / JOURNAL).read().resumed
    except UnreadableError:  # its report is all that can be told
        return False
    return resumed is not None and resumed > written


def _end(head: Mapping[str, Any]) -> State:
    return State.FINISHED if head.get("complete") else State.STOPPED


def _unreadable(folder: Path, trouble: str) -> RunOnDisk:
    state = State.RUNNING if is_held(folder) else State.LOST
    when = _begun(folder)[0]
    return RunOnDisk(id=folder.name, folder=folder, state=state, when=when, job=None, tasks=(), trouble=trouble)


def _journalled(folder: Path) -> Sequence[Task]:
    """Return the tasks that the journal tells of; nothing if it can't be read."""
    from pytest_crmeval.journal.following import UnreadableError

    try:
        return tasks_of(folder)
    except UnreadableError:
        return ()


def _begun(folder: Path) -> tuple[str, str]:
    """Return when the first part of a run began, and what is wrong with its journal."""
    try:
        with (folder / JOURNAL).open("rb") as file:
            return str(json.loads(file.readline())["part"]["started"]), ""
    except OSError as error:
        return "", f"{folder / JOURNAL}: {error.strerror}"
    except (ValueError, KeyError, TypeError) as error:
        return "", f"{folder / JOURNAL}:1: not a line of a journal: {error!r}"


def _head(path: Path) -> Mapping[str, Any]:
    """Return a report without its trials; nothing if there is none, or if it is none."""
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
        for standing in document["results"]:
            _task(standing)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    return document if is_report else {}


def _task(standing: Mapping[str, Any]) -> Task:
    """Return the task that a standing of a report is the outcome of."""
    bill, solved = standing.get("bill"), (standing.get("checkpoint") or {}).get("samples", ())
    passed, failed, errored, invalid, not_run = (int(standing.get(name, 0)) for name in _COUNTS)
    return Task(
        suite=str(standing["suite"]),
        subject=str(standing["subject"]),
        total=passed + failed + errored + invalid + not_run,
        passed=passed,
        failed=failed,
        errored=errored,
        invalid=invalid,
        cost=bill["cost"] if bill else 0.0,
        samples=tuple((*sample, count) for sample, count in samples_from(solved).items()),
    )
