"""Every trial of the run arrives here; the journal, the transcripts and the counts are written from here."""

import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pytest

from pytest_crmeval.agents import CONTROLS
from pytest_crmeval.channel import Finished
from pytest_crmeval.controller.counting import counted, group_of, outcome_of
from pytest_crmeval.controller.job_file import JobFile
from pytest_crmeval.controller.job_log import JobLog
from pytest_crmeval.controller.locking import RunLock
from pytest_crmeval.controller.parts import facts_of
from pytest_crmeval.controller.playbooks import RunPlaybooks
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import PlannedCase, Trial, is_of_checkpoint
from pytest_crmeval.domain.wire import decoded, encoded_quickly
from pytest_crmeval.journal import reader as journal
from pytest_crmeval.journal.ids import JOURNAL
from pytest_crmeval.journal.progress import Progress, ProgressCounter
from pytest_crmeval.journal.reader import JournalError, RunRecord
from pytest_crmeval.journal.transcripts import store
from pytest_crmeval.journal.writer import JournalWriter
from pytest_crmeval.models.control import EVERYBODY
from pytest_crmeval.models.shared_control import SharedControl
from pytest_crmeval.options.values import Options
from pytest_crmeval.report.batch_results import write_batch_so_far

BATCH = 0.02
"""Seconds for which trials that no item waits for are collected before they are synced to disk together."""
LEAST = 1e-4
"""Dollars; smaller differences are rounding errors."""


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """Everything that was recorded by the end of the run."""

    record: RunRecord
    played: frozenset[str]
    """Cases that were played in this part of the run."""
    unreported: Sequence[Trial]
    """Trials whose items were not reported before the run ended."""

    @property
    def earlier(self) -> list[Trial]:
        """Trials of earlier parts of the run."""
        return [trial for key, trial in self.record.trials.items() if key not in self.played]


class Recorder:
    """Records the trials of one run.

    Until ``open`` it only knows what earlier parts of the run have recorded. From then on all its methods are called in
    the controller's thread.
    """

    def __init__(self, options: Options, control: SharedControl, lock: RunLock, log: JobLog) -> None:
        self._options = options
        self._control = control
        self._lock = lock
        self._log = log
        self._job = JobFile(options.folder)
        self._journal: JournalWriter | None = None
        self._unsynced: float | None = None
        """When the first trial was written that may not be on disk yet; None if all are."""
        self._repeated = False
        """Whether every worker plays every case, and reports it."""
        self._shared: dict[str, bytes] = {}
        """Files that transcripts refer to, and that are not written yet."""
        self._played: set[str] = set()
        self._unreported: dict[str, deque[Trial]] = {}
        """Trials that are recorded, and whose items have not been reported."""
        self._crashes: dict[str, str] = {}
        """Cases whose worker died while it ran their item, with xdist's message."""
        self._tally = ProgressCounter()
        self._concluded = self._closed = False
        self.playbooks = RunPlaybooks(options)
        self.failure = ""
        """Why a trial could not be recorded, or the journal not written; empty if there was no error."""

    @cached_property
    def past(self) -> RunRecord:
        """The records of earlier parts of this run, read once; those of this part are added."""
        if not self._options.resumable:
            return RunRecord()
        self._lock.take()
        try:
            return journal.read(self._path)
        except JournalError as error:
            raise pytest.UsageError(f"crmeval: {error}") from error

    @property
    def done(self) -> set[tuple[str, ...]]:
        """Cases, with their content and agent, that need not be played again; errored ones are repeated.

        An invalid case stays invalid until its content changes, unless invalid cases are played. A case that an agent
        has learnt from is not played again.
        """
        repeated = {Verdict.ERRORED, *([Verdict.INVALID] if self._options.play_invalid else [])}
        return {
            (trial.planned.key, trial.planned.fingerprint, trial.planned.spec)
            for trial in self.past.trials.values()
            if trial.verdict not in repeated
            and (trial.planned.key not in self.past.red or (trial.lesson and trial.lesson.learns))
        }

    @property
    def has_begun(self) -> bool:
        """Whether recording has started."""
        return self._journal is not None

    @property
    def job_trouble(self) -> str:
        """Why ``job.json`` is not up to date; empty if it is, or if there is none."""
        return self._job.trouble

    def open(self, part: JsonObject, planned: Sequence[PlannedCase], *, repeated: bool = False) -> None:
        """Open the journal for a part of the run; UsageError if that is impossible.

        ``repeated`` means that every worker plays every case.
        """
        self._repeated = repeated
        self._control.spend(self.past.spent)
        for trial in self.past.trials.values() if self._options.budget else ():
            self._control.learn(trial.planned.spec, journal.spent_on(trial))
        part = {**part, **self.playbooks.part}
        self._lock.take()
        try:
            opened = JournalWriter.open(self._path, after=self.past.size)
            opened.part(part, planned)
        except (JournalError, OSError) as error:
            raise pytest.UsageError(f"crmeval: {error}") from error
        self._tally = counted(self.past)
        self._tally.begin({case.key: group_of(case) for case in planned})
        self.past.begin(part, planned)
        if any(map(is_of_checkpoint, self.past.planned.values())):
            self._write_batch_so_far()
        self._job.begin(self._tally)
        self._journal = opened

    def keep(self, files: Mapping[str, bytes]) -> None:
        """Write files that several transcripts share together with the next recorded trial."""
        self._shared.update(files)

    def record(self, message: Finished) -> None:
        """Write the files and the trial of a played case; if that fails, the run ends."""
        content = message.outcome[0]
        if not content or self._journal is None or self._closed:
            return
        try:
            trial = Trial.from_dict(decoded(content), self.past.planned)
        except Exception as error:  # noqa: BLE001 (a scorer or an agent of the user may have put anything into it)
            self._fail(f"crmeval: the trial of {message.key} can't be recorded: {error}")
            return
        is_free = trial.planned.spec in CONTROLS and not self._options.judge
        if self._concluded and message.in_item and (is_free or trial.verdict is Verdict.ERRORED):
            return  # the report is already written: a worker had started its next test by itself
        if trouble := self._store(message.files):
            trial = replace(trial, notes=(*trial.notes, trouble))
            content = encoded_quickly(trial.to_dict())
        try:
            self._journal.append_trial(content)
            self._unsynced = self._unsynced or time.monotonic()
            self.playbooks.take(trial)
            self.past.take(trial)
            self._tally.take(outcome_of(trial), time.monotonic())
            self._played.add(trial.planned.key)
            self._job.note(self._tally)
            self._log.recorded(trial)
            if is_of_checkpoint(trial.planned):
                self._write_batch_so_far()
        except (OSError, JournalError) as error:
            self._fail(self._unwritable(error))
        trials = self._unreported.setdefault(trial.planned.key, deque())
        if not self._repeated:
            trials.clear()  # a plugin has repeated the test, and reports only the last attempt
        trials.append(trial)

    def sync(self, *, at_once: bool = True) -> float | None:
        """Sync all recorded trials to disk, in batches unless ``at_once``.

        Return the seconds after which it has to be called again; None if all are on disk.
        """
        if self._unsynced is None or self._journal is None or self._closed:
            return None
        left = self._unsynced + BATCH - time.monotonic()
        if left > 0 and not at_once:
            return left
        self._unsynced = None
        try:
            self._journal.sync()
        except OSError as error:
            self._fail(self._unwritable(error))
        return None

    def progress(self, now: float, playing: Iterable[str]) -> tuple[Sequence[Progress], Progress]:
        """Return the progress of each subject in each suite, and the total."""
        in_flight = self._tally.missing(playing)
        return self._tally.rows(now, in_flight), self._tally.whole(now, in_flight)

    def reported(self, key: str) -> Trial | None:
        """Return the trial of a case whose item is reported, once; it has arrived before the report."""
        trials = self._unreported.get(key)
        if not trials:
            return None
        trial = trials.popleft()
        if not trials:
            del self._unreported[key]
        return trial

    def crashed(self, key: str, reason: str) -> None:
        """Note that a worker died while it ran the item of a case, which is played again or lost."""
        self._crashes[key] = reason

    def mark_test_failed(self, key: str) -> None:
        """Record that the test of a case failed, whatever the verdict of its trial."""
        self.past.red.add(key)
        if self._journal is not None:
            try:
                self._journal.red(key)
            except (OSError, JournalError) as error:
                self._fail(self._unwritable(error))

    def conclude(self, *, interrupted: bool = False) -> Conclusion:
        """Record lost cases and unrecorded costs; return everything that was recorded.

        The journal must still be in place after the last trial. That of an interrupted run, which will be resumed,
        must also be readable.
        """
        for key, reason in self._crashes.items():
            if key not in self._played:
                lost = Trial.errored(self.past.planned[key], reason)
                self.record(Finished(key, (encoded_quickly(lost.to_dict()), b"")))
        self._concluded = True
        self.sync()
        try:
            if self._journal is not None:
                self._journal.check_in_place()
            if interrupted:
                journal.read(self._path)
        except (OSError, JournalError) as error:
            self.failure = self._unwritable(error)
        self._settle()
        left, self._unreported = self._unreported, {}
        past = self.past
        return Conclusion(
            # A copy: more trials may arrive.
            record=replace(past, parts=list(past.parts), trials=dict(past.trials), red=set(past.red)),
            played=frozenset(self._played),
            unreported=[trial for trials in left.values() for trial in trials],
        )

    def close(self) -> None:
        """Record costs since the report was written: a worker may have ended its last call later."""
        if self._journal is not None and not self._closed:
            self.sync()
            self._settle()
            self._journal.close()
            self._closed = True

    def end_job(self, status: int, *, stopped: bool) -> None:
        """Note in ``job.json`` how the run ended."""
        self._job.end(self._tally, stopped=stopped, status=status)

    @property
    def _path(self) -> Path:
        return self._options.folder / JOURNAL

    def _store(self, files: Mapping[str, bytes]) -> str:
        """Write the files of a trial, and those that it shares; return the error, or an empty text."""
        folder = self._options.folder / "transcripts"
        try:
            for name, content in {**self._shared, **files}.items():
                store(folder / name, content)
            self._shared.clear()
        except OSError as error:
            # The folder, not the file: equal notes are merged into one in the report.
            return f"transcript not written: {folder}: {error.strerror}"
        return ""

    def _write_batch_so_far(self) -> None:
        facts = facts_of(self.past, self._options)
        with suppress(OSError):  # the final results are written to the same place, and their error is shown
            write_batch_so_far(facts, self.past.trials, self.past.planned.values(), self._options.folder)

    def _settle(self) -> None:
        """Record costs that belong to no trial, because it was interrupted or its worker died."""
        unexplained = self._control.spent - self.past.spent
        if self._journal is None or unexplained <= LEAST:
            return
        self.past.spent += unexplained
        try:
            self._journal.spent(unexplained)
        except (OSError, JournalError) as error:
            self.failure = self._unwritable(error)

    def _fail(self, reason: str) -> None:
        """Stop the run, because further trials could not be recorded."""
        self.failure = reason
        self._control.stop(EVERYBODY, reason)

    def _unwritable(self, error: OSError | JournalError) -> str:
        """Return the error of the journal, and what it means for the trials so far."""
        if isinstance(error, OSError):
            return f"crmeval: {self._path}: {error.strerror}; finished trials are saved"
        return f"crmeval: {error}; the finished trials are in the report, but this run can't be resumed"
