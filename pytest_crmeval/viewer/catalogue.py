"""All runs with their figures, kept in an index so that hundreds of them open at once."""

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import Any, Self

import msgspec

from pytest_crmeval.agents import CONTROLS
from pytest_crmeval.journal.ids import JOURNAL
from pytest_crmeval.journal.index import candidates, current_head
from pytest_crmeval.journal.jobs import NAME as JOB
from pytest_crmeval.journal.jobs import JobError, State, is_job, read_job, state_of
from pytest_crmeval.journal.locks import NAME as LOCK
from pytest_crmeval.journal.locks import is_held
from pytest_crmeval.journal.progress import Progress
from pytest_crmeval.journal.reader import JournalError
from pytest_crmeval.journal.status import RunWatcher
from pytest_crmeval.report.compare import commit_label
from pytest_crmeval.report.outcome import outcome_of
from pytest_crmeval.report.report import Report, SubjectSummary
from pytest_crmeval.report.ruling import Ruling
from pytest_crmeval.viewer.index_file import IndexFile

FRESH = 0.3
"""Seconds during which the runs are not looked for again."""


class SubjectFigure(msgspec.Struct, frozen=True, kw_only=True):
    """The main result of one subject in one suite."""

    suite: str
    subject: str
    metric: str
    """``pass_rate``, or ``pass@1`` of a checkpoint."""
    value: float | None
    low: float | None
    high: float | None
    passed: int
    failed: int
    errored: int
    invalid: int
    not_run: int
    cost: float | None

    @property
    def is_control(self) -> bool:
        """Whether the subject only checks the harness."""
        return self.subject in CONTROLS

    @classmethod
    def of_summary(cls, summary: SubjectSummary) -> Self:
        """Return the result of a subject in a finished run."""
        metric, figure = summary.headline
        return cls(
            suite=summary.suite,
            subject=summary.subject,
            metric=metric,
            value=figure.value if figure else summary.pass_rate,
            low=figure.low if figure else None,
            high=figure.high if figure else None,
            not_run=summary.not_run,
            cost=summary.cost,
            **_counts(summary),
        )

    @classmethod
    def of_progress(cls, row: Progress) -> Self:
        """Return the result of a subject so far."""
        figure = row.pass_at_1 or row.pass_rate
        return cls(
            suite=row.suite,
            subject=row.subject,
            metric="pass@1" if row.pass_at_1 else "pass_rate",
            value=figure.value if figure else None,
            low=figure.low if figure else None,
            high=figure.high if figure else None,
            not_run=row.total - row.done,
            cost=row.cost,
            **_counts(row),
        )


class RunEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A run in the list of runs."""

    id: str
    state: str
    when: str = ""
    """When it started, in UTC."""
    seconds: float | None = None
    commit: str = ""
    mood: str = "plain"
    outcome: str = ""
    """How it ended, in a few words; empty while it is running."""
    spent: float = 0.0
    figures: tuple[SubjectFigure, ...] = ()
    trouble: str = ""
    """Why it can't be read; empty if it can."""

    @property
    def is_running(self) -> bool:
        """Whether a process is playing it."""
        return self.state == State.RUNNING


class Catalogue:
    """The runs of some reports folders; thread-safe. Only runs whose files have changed are read again."""

    def __init__(self, folders: Sequence[Path], index: IndexFile) -> None:
        self._folders = folders
        self._index = index
        self._known = index.entries(RunEntry)
        self._watchers: dict[Path, RunWatcher] = {}
        self._there: dict[str, Path] = {}
        self._looked = -FRESH
        self._lock = RLock()

    def runs(self) -> list[RunEntry]:
        """Return all runs, the newest first."""
        with self._lock:
            if time.monotonic() - self._looked >= FRESH:
                self._look()
                self._looked = time.monotonic()
            entries = [self._known[str(folder)][1] for folder in self._there.values()]
        return sorted(entries, key=lambda entry: (entry.when, entry.id), reverse=True)

    def folder(self, run: str) -> Path | None:
        """Return the folder of a run; None if there is no such run."""
        self.runs()
        return self._there.get(run)

    def stamp(self, run: str) -> str:
        """Return a text that changes when the files of a run do; empty if there is no such run any more."""
        with self._lock:
            folder = self._there.get(run)
            return self._known[str(folder)][0] if folder else ""

    def watcher(self, folder: Path) -> RunWatcher:
        """Return what follows the journal of a run."""
        with self._lock:
            return self._watchers.setdefault(folder, RunWatcher(folder))

    def _look(self) -> None:
        """Read the runs that are new or have changed."""
        with_folder, alone = zip(*map(candidates, self._folders), strict=True) if self._folders else ((), ())
        there: dict[str, Path] = {}
        changed: dict[str, tuple[str, RunEntry]] = {}
        for folder in (*_flat(with_folder), *_flat(alone)):
            stamp, key = stamp_of(folder), str(folder)
            if self._known.get(key, ("",))[0] != stamp:
                entry = self._read(folder)
                if entry is None:
                    continue
                self._known[key] = changed[key] = (stamp, entry)
            there.setdefault(folder.name, folder)
        self._there = there
        kept = {str(folder) for folder in there.values()}
        gone = [key for key in self._known if key not in kept]
        for key in gone:
            del self._known[key]
        if changed or gone:
            self._index.keep(changed, gone)

    def _read(self, folder: Path) -> RunEntry | None:
        """Return the entry of a run; None if the file is not a report."""
        if head := current_head(folder):
            self._watchers.pop(folder, None)
            return _from_report(folder, head)
        if not (is_job(folder) or (folder / JOURNAL).is_file()):
            return None
        try:
            return _from_journal(self.watcher(folder))
        except (JobError, JournalError) as error:
            state = State.RUNNING if is_held(folder) else State.LOST
            return RunEntry(id=folder.name, state=state, trouble=str(error), mood="warn", outcome="can't be read")


def stamp_of(folder: Path) -> str:
    """Return a text that changes when the files of a run change, or its process ends."""
    report = folder.with_name(f"{folder.name}.json")
    files = (folder / JOURNAL, report, folder / JOB, folder / LOCK)
    return " ".join([*map(_version, files), "held" if is_held(folder) else ""])


def _version(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return "-"
    return f"{status.st_mtime_ns}:{status.st_size}"


def _flat(groups: Iterable[Iterable[Path]]) -> Iterable[Path]:
    return (folder for group in groups for folder in group)


def _from_report(folder: Path, head: Mapping[str, Any]) -> RunEntry:
    facts = {"id": folder.name, "started": "", **head["run"]}
    summaries = [SubjectSummary.from_dict(result) for result in head["results"]]
    rulings = tuple(map(Ruling.from_dict, head.get("gates", ())))
    report = Report(run=facts, standings=summaries, trials=(), rulings=rulings)
    outcome = outcome_of(report)
    state = State.FINISHED if head.get("complete") else State.STOPPED
    with suppress(JobError):  # then the report says how it ended
        state = state_of(folder, read_job(folder)) if is_job(folder) else state
    return RunEntry(
        id=folder.name,
        state=state,
        when=str(facts["started"]),
        seconds=_between(facts["started"], facts.get("ended")),
        commit=commit_label(report),
        mood=outcome.mood,
        outcome=outcome.text,
        spent=float(facts.get("spent") or 0.0),
        figures=tuple(map(SubjectFigure.of_summary, summaries)),
    )


def _from_journal(watcher: RunWatcher) -> RunEntry:
    status = watcher.look(time.time(), time.monotonic())
    started = status.started or 0.0
    return RunEntry(
        id=status.run,
        state=status.state,
        when=datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds") if started else "",
        seconds=status.seconds,
        mood="plain" if status.state in {State.RUNNING, State.SUBMITTED} else "warn",
        outcome=""
        if status.state is State.RUNNING
        else f"{status.whole.done:,} of {status.whole.total:,} cases played",
        spent=status.spent,
        figures=tuple(map(SubjectFigure.of_progress, status.rows)),
    )


def _between(started: object, ended: object) -> float | None:
    """Return the seconds between two times as text; None if one of them is unknown."""
    try:
        return (datetime.fromisoformat(str(ended)) - datetime.fromisoformat(str(started))).total_seconds()
    except ValueError:
        return None


def _counts(found: SubjectSummary | Progress) -> dict[str, int]:
    return {name: getattr(found, name) for name in ("passed", "failed", "errored", "invalid")}
