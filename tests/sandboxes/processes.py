"""The tree of processes, according to /proc."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

_PATIENCE = 300.0


def until(true: Callable[[], bool]) -> bool:
    """Wait until something is true, for five minutes at most."""
    deadline = time.monotonic() + _PATIENCE
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return true()


def parents() -> Mapping[int, int]:
    """Return the parent of every process that is no zombie."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:  # it has just ended
                continue
            if state != "Z":
                found[int(folder.name)] = int(parent)
    return found


def children(pid: int) -> set[int]:
    """Return the children of a process."""
    return {child for child, parent in parents().items() if parent == pid}


def descendants(pid: int) -> set[int]:
    """Return all that runs below a process."""
    return _below(pid, parents())


def _below(pid: int, known: Mapping[int, int]) -> set[int]:
    found = {child for child, parent in known.items() if parent == pid}
    return found.union(*(_below(child, known) for child in found))


def supervisors(pid: int | None = None) -> set[int]:
    """Return the supervisors of the fork servers that a process, this one if none is named, has started."""
    return {child for child in children(pid or os.getpid()) if b"inside/start.py" in _command(child)}


def alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    return pid in parents()


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has just ended
        return b""
