"""The status of a run, from its lock, its job, its journal and its log."""

import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from pytest_crmeval.domain.formats import headed
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.journal.ids import JOURNAL
from pytest_crmeval.journal.index import end_of
from pytest_crmeval.journal.jobs import LOG, BackgroundRun, State, is_job, read_job, state_of
from pytest_crmeval.journal.locks import Holder, holder_of, is_held
from pytest_crmeval.journal.progress import Progress
from pytest_crmeval.journal.reader import Follower, JournalCounts

SCHEMA = "crmeval.status/1"
TAIL = 12
"""Lines of a log that are shown."""
_LOOKED_AT = 16_384
"""Bytes at the end of a log in which these lines are searched."""
_INTERRUPTED = 2
"""pytest's exit status after an interrupt."""
_SECOND = 1.0
"""The time of day is kept in whole seconds."""
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The status of a run."""

    run: str
    state: State
    rows: Sequence[Progress] = ()
    whole: Progress
    parts: int = 0
    """How often it was started or resumed."""
    started: float | None = None
    """When its first part began, seconds since 1970; None if it did not."""
    seconds: float | None = None
    """Duration of its latest part so far; None if unknown, as for a merged run."""
    pid: int | None = None
    """The process that runs it."""
    exit_status: int | None = None
    """The exit status of pytest; None if it has not ended, or is unknown."""
    spent: float = 0.0
    unpriced: int = 0
    resume: str = ""
    """The command that resumes it; empty if there is nothing to resume."""
    where: str = ""
    """Further arguments that a command needs after the id, with a leading space."""
    files: Sequence[str] = ()
    """Progress of solution files that are being judged."""
    log: Sequence[str] = ()
    """The last lines of the log, if the run ended with an error."""

    @property
    def is_over(self) -> bool:
        """Whether no process runs it any more."""
        return self.state in {State.FINISHED, State.STOPPED, State.LOST}

    @property
    def is_well(self) -> bool:
        """Whether it succeeded; for a run that was not submitted, only its cases decide."""
        red = self.whole.failed or self.whole.errored if self.exit_status is None else self.exit_status
        return self.state is State.FINISHED and not red

    @property
    def news(self) -> tuple[object, ...]:
        """A value that changes when the status changes, but not with time alone."""
        rows = [(row.total, row.passed, row.done) for row in self.rows]
        return self.state, self.parts, self.spent, rows, tuple(self.files)

    def to_dict(self) -> JsonObject:
        """Return JSON primitives; unknown values are null."""
        started = datetime.fromtimestamp(self.started, UTC).isoformat(timespec="seconds") if self.started else None
        return {
            **headed(SCHEMA),
            "run": self.run,
            "state": str(self.state),
            "pid": self.pid,
            "exit_status": self.exit_status,
            "parts": self.parts,
            "started": started,
            "seconds": None if self.seconds is None else round(self.seconds, 1),
            "spent": round(self.spent, 8),
            "spent_is_complete": not self.unpriced,
            "resume": self.resume or None,
            "tasks": [row.to_dict() for row in self.rows],
            "total": {name: value for name, value in self.whole.to_dict().items() if name not in {"suite", "subject"}},
            **({"files": list(self.files)} if self.files else {}),
            "log": list(self.log),
        }


class RunWatcher:
    """Returns the status of one run, as often as needed; the journal is read incrementally."""

    def __init__(self, folder: Path, where: str = "") -> None:
        self._folder = folder
        self._where = where
        self._follower = Follower(folder / JOURNAL)

    def look(self, now: float, tick: float | None = None) -> Status:
        """Return the status of a run at the time of day ``now``; JobError or JournalError if it can't be read.

        ``tick`` is the monotonic clock of this machine. It measures the pace of a run on this machine, so changes of
        the system clock have no effect.
        """
        job = read_job(self._folder) if is_job(self._folder) else None
        # Before the journal is read: a run that ends in between has written its whole journal by then.
        state = state_of(self._folder, job) if job else State.RUNNING if is_held(self._folder) else None
        journal = self._follower.read()
        state = state or self._ended(journal)
        running = state is State.RUNNING
        then = now if running else journal.latest
        holder = holder_of(self._folder) if running else None
        here = tick if holder and holder.is_here else None
        rows, whole = _rows(journal, job, journal.clock(now if then is None else then, here))
        unrecorded = _unrecorded_start(holder, journal)
        begun = journal.resumed if unrecorded is None else unrecorded
        if unrecorded is not None:
            rows, whole = [replace(row, rate=None, eta=None) for row in rows], replace(whole, rate=None, eta=None)
        since = datetime.fromisoformat(job.started).timestamp() if job and job.started else 0.0
        return Status(
            run=self._folder.name,
            state=state,
            rows=rows if running else [replace(row, eta=None) for row in rows],
            whole=whole if running else replace(whole, eta=None),
            parts=len(journal.parts),
            started=journal.started,
            seconds=None if then is None or begun is None else max(0.0, then - begun),
            pid=holder.pid if holder else None,
            exit_status=job.exit_status if job and not running else None,
            spent=journal.tally.spent,
            unpriced=journal.tally.unpriced,
            resume="" if state is State.FINISHED and not whole.errored else self._resumed_by(state, job, journal),
            where=self._where,
            files=_file_progress(self._folder) if running else (),
            log=list(tail(self._folder / LOG, since)) if _is_trouble(state, job, whole) else (),
        )

    def _resumed_by(self, state: State, job: BackgroundRun | None, journal: JournalCounts) -> str:
        command = journal.command
        if state is State.RUNNING or journal.lacks_shards:
            return ""
        if job is not None or not command:
            return f"crmeval run {self._folder.name}{self._where}"
        return command if "--crmeval-run" in command else f"{command} --crmeval-run {self._folder.name}"

    def _ended(self, journal: JournalCounts) -> State:
        """Return how a run that was not submitted ended, from its report unless an earlier part wrote it."""
        try:
            written = self._folder.with_name(f"{self._folder.name}.json").stat().st_mtime
        except OSError:
            written = -math.inf
        if written >= (journal.resumed or 0.0) and (end := end_of(self._folder)):
            return end
        whole = journal.tally.whole(0.0)
        return State.FINISHED if whole.done == whole.total > 0 else State.LOST


def _file_progress(folder: Path) -> Sequence[str]:
    from pytest_crmeval.journal.solutions.places import results_in

    return [progress for found in results_in(folder) if (progress := found.progress)]


def _unrecorded_start(holder: Holder | None, journal: JournalCounts) -> float | None:
    """Return when a part began that is not in the journal yet; None if there is no such part."""
    try:
        since = datetime.fromisoformat(holder.since).timestamp() if holder else None
    except ValueError:  # unknown
        return None
    if since is None or (journal.resumed is not None and since <= journal.resumed + _SECOND):
        return None
    return since if journal.latest is None or journal.latest < since else None


def _rows(journal: JournalCounts, job: BackgroundRun | None, now: float) -> tuple[list[Progress], Progress]:
    """Return the progress from the journal, or from the job while the journal is empty."""
    rows = journal.tally.rows(now)
    if rows or job is None:
        return rows, journal.tally.whole(now)
    rows = [Progress(suite=task.suite, subject=task.subject, total=task.total) for task in job.tasks]
    return rows, Progress(total=sum(row.total for row in rows))


def _is_trouble(state: State, job: BackgroundRun | None, whole: Progress) -> bool:
    """Whether the run ended with an error other than failed cases, which the counts show."""
    only_failed = job is not None and job.exit_status == 1 and whole.failed and not whole.errored
    complete = whole.done == whole.total
    stopped = state is State.STOPPED and job is not None and job.exit_status == _INTERRUPTED
    ended = state in {State.FINISHED, State.STOPPED} and not stopped
    return state is State.LOST or bool(ended and job and job.exit_status and not (only_failed and complete))


def tail(log: Path, since: float) -> Iterator[str]:
    """Yield the last lines of a log without colours and control characters.

    A log that was last written before ``since`` is ignored: it belongs to an earlier part.
    """
    try:
        with log.open("rb") as file:
            if os.fstat(file.fileno()).st_mtime < since:
                return
            file.seek(max(0, log.stat().st_size - _LOOKED_AT))
            text = file.read().decode("utf-8", "replace")
    except OSError:  # no log
        return
    lines = (_ESCAPE.sub("", line.rpartition("\r")[2] or line).rstrip() for line in text.splitlines())
    for line in [line for line in lines if line][-TAIL:]:
        yield line if line.isprintable() else "".join(letter if letter.isprintable() else " " for letter in line)
