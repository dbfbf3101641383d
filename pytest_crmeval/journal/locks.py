"""The lock of a run. Its process holds it until it ends, for whatever reason."""

import fcntl
import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from pytest_crmeval.domain.records import Record

NAME = "lock"
HANDED = "CRMEVAL_JOB"
"""Variable with the number of the open lock file and the folder, for a pytest that was started for a job."""
PATIENCE = 0.5
"""Seconds; a process that only checks whether a lock is held takes it for a moment."""


class LockedError(Exception):
    """Another process has the lock of this run; the message names it and says what to do."""


class Holder(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The process that has the lock of a run."""

    pid: int
    birth: str
    """Start time of the process, because process ids are reused."""
    host: str
    since: str

    @classmethod
    def of(cls, pid: int) -> Self:
        """Return a process of this machine as the holder from now on."""
        return cls(pid=pid, birth=birth_of(pid), host=os.uname().nodename, since=now())

    @property
    def is_here(self) -> bool:
        """Whether the process is alive and on this machine, so that it can be sent a signal."""
        return self.host == os.uname().nodename and bool(self.birth) and birth_of(self.pid) == self.birth

    def __str__(self) -> str:
        """Return process, machine and time, for messages."""
        return f"process {self.pid} on {self.host}, since {self.since}"


class FolderLock:
    """The lock on a run's folder, held by this process."""

    def __init__(self, file: int) -> None:
        self._file = file
        self.sign(Holder.of(os.getpid()))

    @classmethod
    def take(cls, folder: Path) -> Self:
        """Acquire the lock; LockedError if another process has it."""
        file = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if not _locked(file):
            os.close(file)
            raise LockedError(
                f"the run {folder.name!r} is being run by {_reader(folder) or 'another process'}; "
                f"wait for it, or: crmeval stop {folder.name}"
            )
        return cls(file)

    @classmethod
    def handed_over(cls) -> tuple[Path, Self] | None:
        """Return folder and lock of the job that this process was started for, only once; None if there is none."""
        number, _, folder = os.environ.pop(HANDED, "").partition(" ")
        if not (number.isdecimal() and _is_same(int(number), Path(folder) / NAME)):
            return None
        os.set_inheritable(int(number), False)  # noqa: FBT003 (its signature)
        return Path(folder), cls(int(number))

    def environment(self, folder: Path) -> dict[str, str]:
        """Return the environment variable for the process that takes the lock over; it inherits the open file."""
        os.set_inheritable(self._file, True)  # noqa: FBT003 (its signature)
        return {HANDED: f"{self._file} {folder}"}

    def fileno(self) -> int:
        """Return the open file, for another process that should also hold the lock."""
        return self._file

    def close(self) -> None:
        """Release the lock; a process that took it over still holds it."""
        os.close(self._file)

    def sign(self, holder: Holder) -> None:
        """Write the holder into the lock file; errors, such as a full disk, are ignored."""
        record = json.dumps(holder.to_dict()) + "\n"
        try:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, record.encode(), 0)
        except OSError:
            return


def is_held(folder: Path) -> bool:
    """Whether a process holds the lock of a run's folder now."""
    try:
        file = os.open(folder / NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def holder_of(folder: Path) -> Holder | None:
    """Return the process that holds the lock of a run's folder now; None if there is none or it is unknown."""
    return _reader(folder) if is_held(folder) else None


def birth_of(pid: int) -> str:
    """Return the start time of a process, unique on this machine; empty if the process has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        if Path("/proc/self/stat").exists():
            return ""
        import subprocess

        done = subprocess.run(  # noqa: S603 (a number)
            ["/bin/ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        return done.stdout.strip()
    state, *fields = stat.rpartition(")")[2].split()
    return "" if state in {"Z", "X"} else f"{boot} {fields[18]}"


def now() -> str:
    """Return the time of day in the format of our files."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _is_same(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except OSError:
        return False


def _locked(file: int) -> bool:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        else:
            return True


def _reader(folder: Path) -> Holder | None:
    try:
        return Holder.from_dict(json.loads((folder / NAME).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return None
