"""The job of a run, kept up to date during the run, so that other processes can read its progress."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pytest_crmeval.journal.counts import end_of, tasks_in, with_times
from pytest_crmeval.journal.jobs import BackgroundRun, JobError, State, is_job, read_job, write_job
from pytest_crmeval.journal.locks import now
from pytest_crmeval.journal.progress import ProgressCounter

EVERY = 1.0
"""Minimum seconds between two writes."""


class JobFile:
    """``job.json`` in the folder of a run; a run that was not submitted has none, and nothing is written.

    A disk error is reported at the end, and nothing is lost: the journal has all trials.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self._job: BackgroundRun | None = None
        self._noted = 0.0
        self.trouble = ""
        """Why the job is not up to date; empty if it is."""

    def begin(self, tally: ProgressCounter) -> None:
        """Write that the run is running, and its tasks."""
        if is_job(self._folder):
            try:
                job = read_job(self._folder)
            except JobError as error:
                self.trouble = str(error)
                return
            self._job = replace(job, state=State.RUNNING, started=now(), ended=None, exit_status=None)
            self._write(tally)

    def note(self, tally: ProgressCounter) -> None:
        """Write the progress, but not too often."""
        if self._job is not None and self._clock() - self._noted >= EVERY:
            self._write(tally)

    def end(self, tally: ProgressCounter, *, stopped: bool, status: int) -> None:
        """Write how it ended."""
        if self._job is not None:
            state = end_of(tasks_in(tally), stopped=stopped)
            self._job = replace(self._job, state=state, ended=now(), exit_status=status)
            self._write(tally)

    def _write(self, tally: ProgressCounter) -> None:
        if self._job is not None:
            self._job = replace(self._job, tasks=with_times(tasks_in(tally), self._job.tasks, now()))
            try:
                write_job(self._folder, self._job)
            except OSError as error:
                self.trouble = f"{self._folder / 'job.json'}: {error.strerror}"
            self._noted = self._clock()
