"""Start the process of a job: pytest, which inherits the lock of its run."""

import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from pytest_crmeval.cli.terminal import UsageError
from pytest_crmeval.journal.ids import JOURNAL
from pytest_crmeval.journal.jobs import LOG, BackgroundRun, State, write_job
from pytest_crmeval.journal.locks import FolderLock, Holder, LockedError, now
from pytest_crmeval.journal.status import tail

STEP = 0.05
"""Seconds between two checks of a starting run."""
START = 60.0
"""Seconds after which we stop waiting for a run to start: collecting many cases may take longer."""


def lock_run(folder: Path) -> FolderLock:
    """Take the lock of a run; UsageError if another process runs it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return FolderLock.take(folder)
    except LockedError as error:
        raise UsageError(error) from error
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}; choose a folder that can be written with --reports") from error


def written(folder: Path, job: BackgroundRun) -> None:
    """Write the job; UsageError if that can't be done."""
    try:
        write_job(folder, job)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}; nothing was started") from error


def detached(folder: Path, job: BackgroundRun, lock: FolderLock) -> int:
    """Start a job in its own session, detached from the terminal, and return its process id when the run has started.

    A run has started when pytest has collected the cases and opened the journal. After a minute we stop waiting.
    UsageError with pytest's error if pytest ends before that: nothing was played, and the job is unchanged.
    """
    before = _stamp(folder / JOURNAL)
    written(folder, _begun(job))
    try:
        with (folder / LOG).open("ab") as log:
            process = subprocess.Popen(  # noqa: S603 (what the user has asked for)
                job.command,
                cwd=job.cwd,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_environment(folder, lock),
                pass_fds=[lock.fileno()],
                start_new_session=True,
            )
    except OSError as error:
        raise _not_started(folder, job, error) from error
    lock.sign(Holder.of(process.pid))
    try:
        deadline = time.monotonic() + START
        while process.poll() is None and _stamp(folder / JOURNAL) == before and time.monotonic() < deadline:
            time.sleep(STEP)
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        written(folder, job)
        raise
    if process.returncode and _stamp(folder / JOURNAL) == before:
        written(folder, job)
        # The log from the first error on, or its last lines.
        lines = list(tail(folder / LOG, 0.0))
        errors = [number for number, line in enumerate(lines) if line.startswith(("ERROR", "E  "))]
        raise UsageError("\n".join([f"the run {job.id} was not started:", *lines[errors[0] if errors else 0 :]]))
    process.returncode = 0  # no warning when we exit before it
    return process.pid


def become_job(folder: Path, job: BackgroundRun, lock: FolderLock) -> NoReturn:
    """Become the process of a job."""
    folder = folder.absolute()
    written(folder, _begun(job))
    try:
        os.chdir(job.cwd)
        os.execve(job.command[0], list(job.command), _environment(folder, lock))  # noqa: S606 (as above)
    except OSError as error:
        raise _not_started(folder, job, error) from error


def _stamp(journal: Path) -> tuple[int, int]:
    """Return size and time of a journal, which change when a line is written."""
    try:
        found = journal.stat()
    except OSError:  # nothing was played yet
        return 0, 0
    return found.st_size, found.st_mtime_ns


def _begun(job: BackgroundRun) -> BackgroundRun:
    return replace(job, state=State.RUNNING, started=now(), ended=None, exit_status=None)


def _environment(folder: Path, lock: FolderLock) -> dict[str, str]:
    return {**os.environ, "PYTHONUNBUFFERED": "1", **lock.environment(folder.absolute())}


def _not_started(folder: Path, job: BackgroundRun, error: OSError) -> UsageError:
    written(folder, job)
    return UsageError(f"{error.filename or job.command[0]}: {error.strerror}; the run {job.id} was not started")
