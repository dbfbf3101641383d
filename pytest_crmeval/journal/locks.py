"""Who runs a run: a lock that its process holds as long as it lives, however it ends."""

import fcntl
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

NAME = "lock"
HANDED = "CRMEVAL_JOB"
"""Variable that tells a pytest which was started for a job which of its open files is the lock, and of what folder."""
PATIENCE = 0.5
"""Seconds; who only looks whether a lock is held has it for a moment."""


class LockedError(Exception):
    """Somebody else runs this run; the message says who, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The process that runs a run."""

    pid: int
    birth: str
    """When the process was born, as the machine tells it: a number that was given again is another process."""
    host: str
    since: str

    @classmethod
    def of(cls, pid: int) -> Self:
        """Return a process of this machine, from now on."""
        return cls(pid=pid, birth=birth_of(pid), host=os.uname().nodename, since=now())

    @property
    def is_here(self) -> bool:
        """Whether it is a process of this machine that is alive: one that may be sent a signal."""
        return self.host == os.uname().nodename and bool(self.birth) and birth_of(self.pid) == self.birth

    def __str__(self) -> str:
        """Say who it is."""
        return f"process {self.pid} on {self.host}, since {self.since}"

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return who wrote himself down; KeyError, TypeError or ValueError if nobody did."""
        return cls(
            pid=int(record["pid"]), birth=str(record["birth"]), host=str(record["host"]), since=str(record["since"])
        )


class Lock:
    """The lock on a run's folder, held."""

    def __init__(self, file: int) -> None:
        self._file = file
        self.sign(Holder.of(os.getpid()))

    @classmethod
    def take(cls, folder: Path) -> Self:
        """Take it; LockedError if another process has it."""
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
        """Return folder and lock of the job that this process was started for, once; None if it was not."""
        number, _, folder = os.environ.pop(HANDED, "").partition(" ")
        if not (number.isdecimal() and _is_same(int(number), Path(folder) / NAME)):
            return None
        os.set_inheritable(int(number), False)  # noqa: FBT003 (its signature)
        return Path(folder), cls(int(number))

    def environment(self, folder: Path) -> dict[str, str]:
        """Return what the process has to be told that it is handed over to; it is open there, too."""
        os.set_inheritable(self._file, True)  # noqa: FBT003 (its signature)
        return {HANDED: f"{self._file} {folder}"}

    def fileno(self) -> int:
        """Return the open file, for a process that is to hold it, too."""
        return self._file

    def close(self) -> None:
        """Let it go; whoever it was handed over to still holds it."""
        os.close(self._file)

    def sign(self, holder: Holder) -> None:
        """Write down who has it; a full disk is no reason not to have it."""
        record = json.dumps({name: getattr(holder, name) for name in Holder.__slots__}) + "\n"
        try:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, record.encode(), 0)
        except OSError:
            return


def is_held(folder: Path) -> bool:
    """Whether anybody runs the run of a folder now."""
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
    """Return who runs the run of a folder now; None if nobody does, or does not say."""
    return _reader(folder) if is_held(folder) else None


def birth_of(pid: int) -> str:
    """Return when a process was born, in words that no other process of this machine has; nothing if it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return _told_by_ps(pid) if not Path("/proc/self/stat").exists() else ""
    state, *fields = stat.rpartition(")")[2].split()
    return "" if state in {"Z", "X"} else f"{boot} {fields[18]}"


def now() -> str:
    """Return the time of day, as files keep it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _told_by_ps(pid: int) -> str:
    import subprocess

    told = subprocess.run(  # noqa: S603 (a number)
        ["/bin/ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return told.stdout.strip()


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
