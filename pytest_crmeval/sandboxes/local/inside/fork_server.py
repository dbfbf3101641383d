"""The fork server: it is isolated once, then forks for every run, watches over it, and clears away what is left."""

import os
import select
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from stat import S_ISREG

from pytest_crmeval.sandboxes.local.inside import cleaning
from pytest_crmeval.sandboxes.local.inside.child import become_program, prepare
from pytest_crmeval.sandboxes.local.inside.levels import Isolation
from pytest_crmeval.sandboxes.local.inside.messages import (
    CPU,
    FILES,
    MEMORY,
    RUNTIME,
    WALL,
    RunRequest,
    RunResult,
    receive,
    send,
)
from pytest_crmeval.sandboxes.local.inside.python_program import NAME, stand_in

_CORES = os.cpu_count() or 1
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SHORTEST_LOOK = 0.005
_COUNTING = 0.05
"""Seconds between two looks at what has been written, where that must be counted."""
_MOST_FILES, _MOST_BYTES = 8_192, 256 * 1024 * 1024
_TROUBLE_BYTES = 4_096
_PATIENCE = 10.0
_MOST_QUEUED = 60.0
"""Seconds: less than the judge is ready to wait for an answer."""


class ClientGone(Exception):  # noqa: N818 (the normal end of a fork server)
    """Whoever gives the requests is no more."""


@dataclass(frozen=True, slots=True)
class ForkServer:
    """One run after the other, each in a process of its own."""

    control: socket.socket
    isolation: Isolation
    report: int
    """Where a run reports what keeps it from its program; reading does not wait."""
    spare: Sequence[int]
    """What is at 0, 1 and 2 between runs."""
    poller: select.poll = field(default_factory=select.poll)

    def serve(self) -> None:
        """Run what is requested, until nobody requests any more."""
        os.chdir(self.isolation.box)
        self.poller.register(self.control, select.POLLIN)
        with suppress(ClientGone, ConnectionError):
            while True:
                message, descriptors = receive(self.control)
                if message is None:
                    return
                self._run(RunRequest(*message), descriptors)

    def _run(self, request: RunRequest, descriptors: Sequence[int]) -> None:
        """Run something once, and answer.

        All that can be done before the fork is done before it: a child pays for every page that it writes to.
        """
        start = time.monotonic()
        try:
            begin = prepare(self.isolation, request, descriptors)
        except OSError as error:
            result = RunResult(trouble=f"{type(error).__name__}: {error}")
        else:
            child = os.fork()
            if child == 0:
                become_program(self.isolation, request, begin)
            result = self._watched(child, start, request)
        stand_in(self.spare)
        for descriptor in descriptors:
            os.close(descriptor)
        self._tell(result, request.wanted)
        self._clear()

    def _clear(self) -> None:
        """Remove what the program has left; mostly that is its own text, and nobody has to look for more."""
        with suppress(OSError):  # it is what the program has made of it
            os.unlink(f"{self.isolation.box}/{NAME}")  # noqa: PTH108 (for each of thousands of runs)
        if self.isolation.inodes_left is None or self.isolation.inodes_left != cleaning.inodes_left(self.isolation.box):
            for room in self.isolation.folders:
                cleaning.empty(room)

    def _tell(self, result: RunResult, wanted: Sequence[str]) -> None:
        found = dict(self._found(wanted))
        send(self.control, result._replace(found=list(found)) if found else result, list(found.values()))
        for descriptor in found.values():
            os.close(descriptor)

    def _watched(self, child: int, start: float, request: RunRequest) -> RunResult:
        cut = self._watch(child, start, request)
        _, status, usage = os.wait4(child, 0)
        wall = time.monotonic() - start
        self._end_the_rest(child)
        return RunResult(
            trouble=self._reported(),
            status=status,
            cut=cut,
            cpu_seconds=usage.ru_utime + usage.ru_stime,
            wall_seconds=wall,
            memory_bytes=usage.ru_maxrss * 1024,
        )

    def _reported(self) -> str:
        """Return what has kept a run from its program; mostly nothing."""
        try:
            return os.read(self.report, _TROUBLE_BYTES).decode(errors="replace")
        except BlockingIOError:
            return ""

    def _watch(self, child: int, start: float, request: RunRequest) -> str:
        """Wait until the program ends, or end it; return why."""
        handle = os.pidfd_open(child)
        self.poller.register(handle, select.POLLIN)
        try:
            return self._until_over(child, handle, start, request)
        finally:
            self.poller.unregister(handle)
            os.close(handle)

    def _until_over(self, child: int, handle: int, start: float, request: RunRequest) -> str:
        wait = min(request.cpu_seconds / _CORES, request.wall_seconds)
        while True:
            looks = self.isolation.counted or request.kind == RUNTIME
            heard = self.poller.poll(ceil(1000 * (min(wait, _COUNTING) if looks else wait)))
            if any(descriptor != handle for descriptor, _ in heard):
                self._kill(child)
                raise ClientGone
            if heard:
                return ""
            spare = request.cpu_seconds - _cpu_seconds(child)
            left = request.wall_seconds - (time.monotonic() - start)
            if left <= 0:
                left += _queued_seconds(child)
            if reason := self._reason(spare, left) or _too_large(child, request):
                self._kill(child)
                return reason
            wait = min(max(spare / _CORES, _SHORTEST_LOOK), left)

    def _reason(self, spare: float, left: float) -> str:
        if spare < 0:
            return CPU
        if left <= 0:
            return WALL
        return FILES if self.isolation.counted and self._too_much_written() else ""

    def _too_much_written(self) -> bool:
        files, size = cleaning.weigh(self.isolation.folders)
        return files > _MOST_FILES or size > _MOST_BYTES

    def _kill(self, child: int) -> None:
        os.kill(child, signal.SIGKILL)

    def _end_the_rest(self, child: int) -> None:
        """End whatever the program has started: all that is in sight, or its group and its orphans."""
        deadline = time.monotonic() + _PATIENCE
        with suppress(ProcessLookupError, PermissionError):
            os.kill(-1 if self.isolation.alone else -child, signal.SIGKILL)
        while _reap() and time.monotonic() < deadline:
            for orphan in _children():
                os.kill(orphan, signal.SIGKILL)

    def _found(self, wanted: Sequence[str]) -> Iterator[tuple[str, int]]:
        """Open what is wanted, if it is a file: no link is followed, and nobody's writing is waited for."""
        for name in wanted:
            try:
                descriptor = os.open(Path(self.isolation.box, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            except OSError:
                continue
            if S_ISREG(os.fstat(descriptor).st_mode):
                yield name, descriptor
            else:
                os.close(descriptor)


def _too_large(child: int, request: RunRequest) -> str:
    """Return the limit that a runtime has broken; addresses do not limit it, what it uses must be looked at."""
    if request.kind != RUNTIME:
        return ""
    try:
        resident = int(Path(f"/proc/{child}/statm").read_bytes().split()[1]) * _PAGE
    except OSError:  # it has ended, or /proc is not mounted
        return ""
    return MEMORY if resident > request.memory_bytes else ""


def _cpu_seconds(child: int) -> float:
    """Return what a process has used so far, with all its threads."""
    return time.clock_gettime((~child << 3) | 2)


def _queued_seconds(child: int) -> float:
    """Return how long a program has waited for a core that others had, where that can be seen: it is not to blame."""
    threads = f"/proc/{child}/task"
    try:
        # Of all threads the one that has waited longest: a program can't gain time by having many.
        waited = [int(Path(threads, one, "schedstat").read_bytes().split()[1]) for one in os.listdir(threads)]  # noqa: PTH208 (names)
    except OSError:
        return 0.0
    return min(max(waited, default=0) / 1e9, _MOST_QUEUED)


def _reap() -> bool:
    """Take leave of the dead; return whether somebody is still there."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _children() -> list[int]:
    """Return who is a child of this process, where that can be seen."""
    time.sleep(0.001)
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_bytes().split()]
    except OSError:
        return []
