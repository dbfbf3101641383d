"""A place on the machine for every core: programs of all processes of a user together never outnumber the cores."""

import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_crmeval.ports.sandbox import SandboxError

_NAP = 0.001


def cores() -> list[int]:
    """Return the cores that this process may use."""
    return sorted(os.sched_getaffinity(0))


def place() -> Path:
    """Return the folder with a file for each core, which all processes of this user share."""
    folder = Path(tempfile.gettempdir(), f"crmeval-slots-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise SandboxError(f"{folder} belongs to another user: remove it, or set TMPDIR to a folder of your own")
    return folder


@contextmanager
def slot(folder: Path) -> Iterator[None]:
    """Hold a core that is free; wait for one as long as it takes. The kernel releases those of processes that die."""
    descriptor = _taken(folder)
    if descriptor is None:
        descriptor = _next_in_line(folder)
    try:
        yield
    finally:
        os.close(descriptor)


def _next_in_line(folder: Path) -> int:
    """Wait in line: only the first in line polls; the others sleep until they are first."""
    line = _opened(f"{folder}/line")
    try:
        fcntl.flock(line, fcntl.LOCK_EX)
        while (descriptor := _taken(folder)) is None:
            time.sleep(_NAP)
    finally:
        os.close(line)
    return descriptor


def _taken(folder: Path) -> int | None:
    for core in cores():
        descriptor = _opened(f"{folder}/core-{core}")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
        else:
            return descriptor
    return None


def _opened(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
