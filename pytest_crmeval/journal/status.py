"""How it stands with a run, wherever it runs: what its lock, its job, its journal and its log tell."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.journal.following import Followed, Follower
from pytest_crmeval.journal.ids import JOURNAL
from pytest_crmeval.journal.index import end_of
from pytest_crmeval.journal.jobs import LOG, Job, State, Task, is_job, read_job, state_of
from pytest_crmeval.journal.locks import Holder, holder_of, is_held
from pytest_crmeval.journal.progress import Progress

SCHEMA = "crmeval.status/1"
TAIL = 12
"""Lines of a log that are shown,"""
_LOOKED_AT = 16_384
"""and bytes in which they are looked for."""
_INTERRUPTED = 2
"""pytest's exit status, if somebody has stopped it."""
_SECOND = 1.0
"""The time of day is kept in whole seconds."""
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How it stands with a run."""

    run: str
    state: State
    rows: Sequence[Progress] = ()
    whole: Progress
    parts: int = 0
    """How often it was begun."""
    started: float | None = None
    """When its first part began, seconds since 1970; None if it did not."""
    seconds: float | None = None
    """For how long its latest part has been on, or was; None if nobody knows, as of a run that was merged."""
    pid: int | None = None
    """The process that runs it."""
    exit_status: int | None = None
    """Of pytest; None if it has not ended, or nobody has seen it end."""
    spent: float = 0.0
    unpriced: int = 0
    resume: str = ""
    """The command that goes on with it; nothing if there is nothing to go on with."""
    where: str = ""
    """What a command about it has to be told besides its id, with a space before it."""
    files: Sequence[str] = ()
    """How far solution files are that somebody is at."""
    log: Sequence[str] = ()
    """The last that was said, if it has ended in trouble."""

    @property
    def is_over(self) -> bool:
        """Whether nobody runs it any more."""
        return self.state in {State.FINISHED, State.STOPPED, State.LOST}

    @property
    def is_well(self) -> bool:
        """Whether it has come to a good end; of a run that nobody submitted only how its cases went is known."""
        red = self.whole.failed or self.whole.errored if self.exit_status is None else self.exit_status
        return self.state is State.FINISHED and not red

    @property
    def news(self) -> tuple[object, ...]:
        """What is different if there is something new; that time goes by is nothing new."""
        rows = [(row.total, row.passed, row.done) for row in self.rows]
        return self.state, self.parts, self.spent, rows, tuple(self.files)

    def to_dict(self) -> JsonObject:
        """Return JSON primitives; what is not known is null."""
        started = datetime.fromtimestamp(self.started, UTC).isoformat(timespec="seconds") if self.started else None
        return {
            "schema": SCHEMA,
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


class Watch:
    """Looks at one run, as often as you like; what it has read it does not read again."""

    def __init__(self, folder: Path, where: str = "") -> None:
        self._folder = folder
        self._where = where
        self._follower = Follower(folder / JOURNAL)

    def look(self, now: float, tick: float | None = None) -> Status:
        """Return how a run stands at the time of day ``now``; JobError or UnreadableError if it can't be read.

        ``tick`` is the monotonic clock of this machine. It measures the pace of a run on this machine, so changes of
        the system clock have no effect.
        """
        job = read_job(self._folder) if is_job(self._folder) else None
        # Before the journal: who ends between the two looks has written all that he had to write.
        state = state_of(self._folder, job) if job else State.RUNNING if is_held(self._folder) else None
        told = self._follower.read()
        state = state or self._ended(told)
        running = state is State.RUNNING
        then = now if running else told.latest
        holder = holder_of(self._folder) if running else None
        here = tick if holder and holder.is_here else None
        rows, whole = _rows(told, job, told.clock(now if then is None else then, here))
        untold = _untold(holder, told)
        begun = told.resumed if untold is None else untold
        if untold is not None:
            rows, whole = [replace(row, rate=None, eta=None) for row in rows], replace(whole, rate=None, eta=None)
        return Status(
            run=self._folder.name,
            state=state,
            rows=rows if running else [replace(row, eta=None) for row in rows],
            whole=whole if running else replace(whole, eta=None),
            parts=len(told.parts),
            started=told.started,
            seconds=None if then is None or begun is None else max(0.0, then - begun),
            pid=holder.pid if holder else None,
            exit_status=job.exit_status if job and not running else None,
            spent=told.tally.spent,
            unpriced=told.tally.unpriced,
            resume="" if state is State.FINISHED and not whole.errored else self._resumed_by(state, job, told),
            where=self._where,
            files=_files(self._folder) if running else (),
            log=list(tail(self._folder / LOG, _begun(job))) if _is_trouble(state, job, whole) else (),
        )

    def _resumed_by(self, state: State, job: Job | None, told: Followed) -> str:
        command = told.command
        if state is State.RUNNING or told.lacks_shards:
            return ""
        if job is not None or not command:
            return f"crmeval run {self._folder.name}{self._where}"
        return command if "--crmeval-run" in command else f"{command} --crmeval-run {self._folder.name}"

    def _ended(self, told: Followed) -> State:
        """Return how a run ended that nobody submitted: a report that is not of an earlier part tells of its end."""
        if self._is_reported(told) and (end := end_of(self._folder)):
            return end
        whole = told.tally.whole(0.0)
        return State.FINISHED if whole.done == whole.total > 0 else State.LOST

    def _is_reported(self, told: Followed) -> bool:
        try:
            written = self._folder.with_name(f"{self._folder.name}.json").stat().st_mtime
        except OSError:
            return False
        return written >= (told.resumed or 0.0)


def _files(folder: Path) -> Sequence[str]:
    from pytest_crmeval.journal.solutions.places import results_in

    return [told for found in results_in(folder) if (told := found.progress)]


def _untold(holder: Holder | None, told: Followed) -> float | None:
    """Return when the part began that somebody is about to play, and that the journal does not tell of yet, if any."""
    try:
        since = datetime.fromisoformat(holder.since).timestamp() if holder else None
    except ValueError:  # nobody knows
        return None
    if since is None or (told.resumed is not None and since <= told.resumed + _SECOND):
        return None
    return since if told.latest is None or told.latest < since else None


def _rows(told: Followed, job: Job | None, now: float) -> tuple[list[Progress], Progress]:
    """Return how far it is; what the journal does not tell yet the job may know."""
    rows = told.tally.rows(now)
    if rows or job is None:
        return rows, told.tally.whole(now)
    rows = [_planned(task) for task in job.tasks]
    return rows, Progress(total=sum(row.total for row in rows))


def _planned(task: Task) -> Progress:
    return Progress(suite=task.suite, subject=task.subject, total=task.total)


def _is_trouble(state: State, job: Job | None, whole: Progress) -> bool:
    """Whether something went wrong that the figures don't tell: that cases have failed, they do."""
    only_failed = job is not None and job.exit_status == 1 and whole.failed and not whole.errored
    complete = whole.done == whole.total
    stopped = state is State.STOPPED and job is not None and job.exit_status == _INTERRUPTED
    ended = state in {State.FINISHED, State.STOPPED} and not stopped
    return state is State.LOST or bool(ended and job and job.exit_status and not (only_failed and complete))


def _begun(job: Job | None) -> float:
    """Return when the latest part of a job began; long ago if nobody knows."""
    return datetime.fromisoformat(job.started).timestamp() if job and job.started else 0.0


def tail(log: Path, since: float) -> Iterator[str]:
    """Yield the last lines of a log as they may be shown: no colours, nothing that moves a cursor.

    Nothing of a log that was last written before ``since``: a run in a terminal has none.
    """
    try:
        with log.open("rb") as file:
            if os.fstat(file.fileno()).st_mtime < since:
                return
            file.seek(max(0, log.stat().st_size - _LOOKED_AT))
            text = file.read().decode("utf-8", "replace")
    except OSError:  # nobody has written one
        return
    lines = (_ESCAPE.sub("", line.rpartition("\r")[2] or line).rstrip() for line in text.splitlines())
    for line in [line for line in lines if line][-TAIL:]:
        yield line if line.isprintable() else "".join(letter if letter.isprintable() else " " for letter in line)
