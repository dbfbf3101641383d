"""From a job to the process that runs it: pytest, with the lock of its run in its hands."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from pytest_crmeval.cli.terminal import UsageError
from pytest_crmeval.runs.jobs import LOG, Job, State, write_job
from pytest_crmeval.runs.locks import Holder, Lock, LockedError, now


def locked(folder: Path) -> Lock:
    """Take the lock of a run; UsageError if another process runs it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return Lock.take(folder)
    except LockedError as error:
        raise UsageError(error) from error
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}; choose a folder that can be written with --reports") from error


def written(folder: Path, job: Job) -> None:
    """Write the job; UsageError if that can't be done."""
    try:
        write_job(folder, job)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}; nothing was started") from error


def detached(folder: Path, job: Job, lock: Lock) -> int:
    """Start a job in a session of its own, where no terminal reaches it, and return its process."""
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
    process.returncode = 0  # it is nobody's child any more when we are gone: nobody waits for it
    return process.pid


def here(folder: Path, job: Job, lock: Lock) -> NoReturn:
    """Become the process of a job."""
    folder = folder.absolute()
    written(folder, _begun(job))
    try:
        os.chdir(job.cwd)
        os.execve(job.command[0], list(job.command), _environment(folder, lock))  # noqa: S606 (as above)
    except OSError as error:
        raise _not_started(folder, job, error) from error


def _begun(job: Job) -> Job:
    return replace(job, state=State.RUNNING, started=now(), ended=None, exit_status=None)


def _environment(folder: Path, lock: Lock) -> dict[str, str]:
    return {**os.environ, "PYTHONUNBUFFERED": "1", **lock.environment(folder.absolute())}


def _not_started(folder: Path, job: Job, error: OSError) -> UsageError:
    written(folder, job)
    return UsageError(f"{error.filename or job.command[0]}: {error.strerror}; the run {job.id} was not started")
