"""`crmeval stop`: stop a run without losing finished cases."""

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_crmeval.cli.places import NAMED, add_reports, named_run, next_command, resumed_by
from pytest_crmeval.cli.terminal import UsageError
from pytest_crmeval.journal.index import RunOnDisk, run_of
from pytest_crmeval.journal.jobs import JobError, State, is_job, read_job, write_job
from pytest_crmeval.journal.locks import FolderLock, Holder, LockedError, holder_of, is_held

HELP = """\
Stop a run gracefully: no further case is started, and all finished cases stay in the journal and the report. Cases in
progress have at most a minute to finish; a solution file keeps what was graded so far, and continues from there when
the run is resumed. Waits until the run has stopped. A second stop, or --now, abandons the cases in progress.

    crmeval stop latest
    crmeval stop 20261117-061501-ab12 --now

Exit status: 0 if the run has ended; 2 if it can't be stopped from here or is suspended (SIGSTOP, Ctrl-Z).
"""
GRACE = "cases in progress have at most a minute; --now abandons them"
BREATH = 0.5
"""Seconds between two signals: two at once would be delivered as one."""
PATIENCE = 5.0
"""Seconds until a run that must stop now is killed; finished cases are not lost."""
SLOW = 90.0
"""Seconds after which we report that a run has not ended; cases in progress have less time than that."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("run", metavar="RUN", help=NAMED)
    parser.add_argument("--now", action="store_true", help="abandon the cases in progress")
    add_reports(parser)


def run(options: argparse.Namespace) -> int:
    """Stop a run and wait for its end."""
    folder = named_run(options)
    if not is_held(folder):
        sys.stdout.write(f"run {folder.name} is not running: it is {run_of(folder).state}\n")
        return 0
    with _controller(folder) as send:
        send(signal.SIGTERM)
        if options.now:
            if not _is_over(folder, BREATH):
                send(signal.SIGTERM)
            if not _is_over(folder, PATIENCE):
                send(signal.SIGKILL)
        else:
            _say(f"stopping run {folder.name}: {GRACE}\n")
        _wait(folder, send, next_command("stop", folder.name, options))
    _mark_stopped(folder)
    _say(f"run {folder.name} has stopped: {_done(run_of(folder))}; resume it: {resumed_by(folder, options)}\n")
    return 0


class _Send:
    """Sends signals to one process, and never to a later process with the same id."""

    def __init__(self, holder: Holder, file: int | None) -> None:
        self._holder = holder
        self._file = file

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._holder.pid

    @property
    def is_frozen(self) -> bool:
        """Whether the process is suspended (SIGSTOP, Ctrl-Z): it handles no signal until it is continued."""
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:  # it has ended, or this system has no /proc
            return False
        return stat.rpartition(")")[2].split()[0] in {"T", "t"}

    def __call__(self, number: signal.Signals) -> None:
        try:
            if self._file is not None:
                signal.pidfd_send_signal(self._file, number)
            elif self._holder.is_here:
                os.kill(self._holder.pid, number)
        except ProcessLookupError:
            return  # it has just ended
        except PermissionError as error:
            raise UsageError(f"{self._holder} belongs to another user; stop it as that user") from error


@contextmanager
def _controller(folder: Path) -> Iterator[_Send]:
    """Yield how to signal the process that verifiably runs the run."""
    holder = holder_of(folder)
    if holder is None or not holder.is_here:
        raise UsageError(
            f"run {folder.name!r} can't be stopped from here: it is running as {holder or 'an unknown process'}"
        )
    try:
        file = os.pidfd_open(holder.pid) if hasattr(os, "pidfd_open") else None
    except OSError:  # it has just ended, or the kernel is too old
        file = None
    try:
        # Check again: from here on the id can't be given to another process.
        yield _Send(holder, file if holder.is_here else None)
    finally:
        if file is not None:
            os.close(file)


def _wait(folder: Path, send: _Send, stop: str) -> None:
    """Wait for the end of a run, and say what to do if it takes too long; UsageError if the run is suspended."""
    asked, warned = time.monotonic(), False
    while not _is_over(folder, BREATH):
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{_done(run_of(folder))}\x1b[K")
            sys.stderr.flush()
        waited = time.monotonic() - asked
        if waited > PATIENCE and send.is_frozen:
            raise UsageError(
                f"run {folder.name!r} can't stop: process {send.pid} is suspended; "
                f"continue it: kill -CONT {send.pid}, or kill it: {stop} --now"
            )
        if waited > SLOW and not warned:
            warned = True
            _say(f"run {folder.name} has not stopped after {SLOW:.0f} s; to kill it: {stop} --now\n")


def _is_over(folder: Path, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while is_held(folder):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _mark_stopped(folder: Path) -> None:
    """Write that the job was stopped, if its process did not write it."""
    if not is_job(folder):
        return
    from pytest_crmeval.journal.counts import ended

    try:
        if read_job(folder).state is not State.RUNNING:
            return  # other commands would see the lock and report a running run
        lock = FolderLock.take(folder)
        job = read_job(folder)
        if job.state is State.RUNNING:
            write_job(folder, ended(folder, job, None, stopped=True))
        lock.close()
    except (LockedError, JobError) as error:  # another process has resumed it
        raise UsageError(error) from error
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}") from error


def _done(run: RunOnDisk) -> str:
    return f"{sum(task.done for task in run.tasks)} of {sum(task.total for task in run.tasks)} cases are done"


def _say(line: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    sys.stdout.write(line)
    sys.stdout.flush()
