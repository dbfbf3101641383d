"""The fork server: it is isolated once, has its template forked for every run, watches the run, and cleans up."""

import json
import marshal
import os
import resource
import select
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from stat import S_ISREG

from pytest_crmeval.sandboxes.local.inside import cleaning
from pytest_crmeval.sandboxes.local.inside.levels import Isolation
from pytest_crmeval.sandboxes.local.inside.messages import (
    BINARY,
    COMPILER,
    CPU,
    FILES,
    MEMORY,
    PYTHON,
    RUNTIME,
    WALL,
    RunRequest,
    RunResult,
    receive,
    send,
)
from pytest_crmeval.sandboxes.local.inside.python_program import NAME
from pytest_crmeval.sandboxes.local.inside.template import KEPT
from pytest_crmeval.sandboxes.local.inside.template_process import TemplateLost, TemplateProcess

_CORES = os.cpu_count() or 1
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SHORTEST_LOOK = 0.005
_COUNTING = 0.05
"""Seconds between two looks at what has been written, where that must be counted."""
_MOST_FILES, _MOST_BYTES = 8_192, 256 * 1024 * 1024
_TROUBLE_BYTES = 4_096
_PATIENCE = 10.0
_NAP = 0.001
_LOOKS = 2
"""A list of processes may be incomplete if one of them ends while it is read."""
_MOST_QUEUED = 60.0
"""Seconds: less than the judge is ready to wait for an answer."""


class ClientGone(Exception):  # noqa: N818 (the normal end of a fork server)
    """The process that sends the requests has gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkServer:
    """One run after the other, each in a process of its own."""

    control: socket.socket
    isolation: Isolation
    template: TemplateProcess
    report: int
    """Where a run reports why its program can't be started; reading does not block."""

    def serve(self) -> None:
        """Run what is requested, until the client is gone."""
        with suppress(ClientGone, TemplateLost, ConnectionError):
            while True:
                packet, descriptors = receive(self.control)
                if not packet:
                    return
                self._run(RunRequest(*marshal.loads(packet)), descriptors)  # noqa: S302 (from our own client)

    def _run(self, request: RunRequest, descriptors: Sequence[int]) -> None:
        """Run something once, and answer."""
        start = time.monotonic()
        try:
            self._begin(request, descriptors)
        except OSError as error:
            child, result = 0, RunResult(trouble=f"{type(error).__name__}: {error}")
        else:
            child, result = self._watched(start, request)
        for descriptor in descriptors:
            os.close(descriptor)
        # All other programs are refused to start a process.
        has_processes = child and (request.kind == COMPILER or request.kind not in self.isolation.filters)
        needs_template = has_processes and not self._end_others()
        if needs_template:
            self._end_all(child)
        self._answer(result, request.wanted)
        self._clear()
        if needs_template:
            self.template.restart()

    def _begin(self, request: RunRequest, descriptors: Sequence[int]) -> None:
        """Write the files of a run, and begin it."""
        program, stdin, stdout, stderr, *files = descriptors
        for name, descriptor in zip(request.files, files, strict=True):
            _write(name, descriptor)
        executable: str | int | None = KEPT
        size, words = 0, list(request.args)
        if request.kind == PYTHON:
            executable, size = None, _write(NAME, program)
        elif request.kind == BINARY:
            words.insert(0, "main")
        else:
            _write(request.name, program)
            executable = request.args[0] if request.kind == COMPILER else KEPT
        opened = os.open(request.args[0], os.O_RDONLY | os.O_CLOEXEC) if request.kind == RUNTIME else program
        try:
            asked = (request.kind, executable, words, list(_limits(request)), size)
            self.template.begin(asked, [stdin, stdout, stderr, opened])
        finally:
            if opened != program:
                os.close(opened)

    def _clear(self) -> None:
        """Remove what the program has left; mostly that is its own text, and there is no need to look for more."""
        with suppress(OSError):  # it is what the program has made of it
            os.unlink(f"{self.isolation.box}/{NAME}")  # noqa: PTH108 (for each of thousands of runs)
        left = self.isolation.inodes_left
        if left is None or left != cleaning.inodes_left(self.isolation.box):
            for room in self.isolation.folders:
                cleaning.empty(room)

    def _answer(self, result: RunResult, wanted: Sequence[str]) -> None:
        found = dict(self._found(wanted))
        answer = result._replace(found=list(found)) if found else result
        send(self.control, json.dumps(answer).encode(), list(found.values()))
        for descriptor in found.values():
            os.close(descriptor)

    def _watched(self, start: float, request: RunRequest) -> tuple[int, RunResult]:
        """Wait until the program has ended; return its pid and how it ended."""
        child, cut = self._watch(start, request)
        status, cpu_seconds, memory_bytes = self.template.ended()
        trouble = b""
        if status:
            with suppress(BlockingIOError):  # the program itself has failed
                trouble = os.read(self.report, _TROUBLE_BYTES)
        return child, RunResult(
            trouble=trouble.decode(errors="replace"),
            status=status,
            cut=cut,
            cpu_seconds=cpu_seconds,
            wall_seconds=time.monotonic() - start,
            memory_bytes=memory_bytes,
        )

    def _watch(self, start: float, request: RunRequest) -> tuple[int, str]:
        """Wait until the program has ended, and end it where it must be; return its pid, and why it was ended."""
        poller = select.poll()
        poller.register(self.control, select.POLLIN)
        poller.register(self.template.control, select.POLLIN)
        wait = min(request.cpu_seconds / _CORES, request.wall_seconds)
        looks = self.isolation.counted or request.kind == RUNTIME
        child, reason = 0, ""
        # A program that was killed is waited for, however long the template takes, until the client is gone.
        while not (heard := poller.poll(None if reason else ceil(1000 * (min(wait, _COUNTING) if looks else wait)))):
            child = child or self.template.begun()
            spare = request.cpu_seconds - _cpu_seconds(child)
            left = request.wall_seconds - (time.monotonic() - start)
            if left <= 0:
                left += _queued_seconds(child)
            if reason := self._reason(spare, left) or _too_large(child, request):
                if not child:
                    raise TemplateLost
                _kill(child)
            wait = min(max(spare / _CORES, _SHORTEST_LOOK), left)
        child = child or self.template.begun()
        if any(descriptor == self.control.fileno() for descriptor, _ in heard):
            if child:
                _kill(child)
            raise ClientGone
        return child, reason

    def _reason(self, spare: float, left: float) -> str:
        if spare < 0:
            return CPU
        if left <= 0:
            return WALL
        files, size = cleaning.count_and_bytes(self.isolation.folders) if self.isolation.counted else (0, 0)
        return FILES if files > _MOST_FILES or size > _MOST_BYTES else ""

    def _end_others(self) -> bool:
        """End all that a run has left, but not the template; False if that can't be done, or can't be seen."""
        deadline, seen_none = time.monotonic() + _PATIENCE, 0
        while time.monotonic() < deadline:
            others = self.isolation.processes() - {os.getpid()}
            if self.template.pid not in others:
                return False
            others.remove(self.template.pid)
            seen_none = 0 if others else seen_none + 1
            if seen_none == _LOOKS:
                return True
            for pid in others:
                _kill(pid)
            _reap()
            if others:
                time.sleep(_NAP)
        return False

    def _end_all(self, child: int) -> None:
        """End all that a run may have started, and the template, without seeing it: all in sight, or the group."""
        deadline = time.monotonic() + _PATIENCE
        self.template.kill()
        with suppress(ProcessLookupError, PermissionError):
            os.kill(-1 if self.isolation.alone else -child, signal.SIGKILL)
        while _reap() and time.monotonic() < deadline:
            time.sleep(_NAP)

    def _found(self, wanted: Sequence[str]) -> Iterator[tuple[str, int]]:
        """Open what is wanted, if it is a file: no link is followed, and no writer is waited for."""
        for name in wanted:
            try:
                descriptor = os.open(Path(self.isolation.box, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            except OSError:
                continue
            if S_ISREG(os.fstat(descriptor).st_mode):
                yield name, descriptor
            else:
                os.close(descriptor)


def _write(name: str, descriptor: int) -> int:
    """Copy an open file into the box, and return its size. The kernel does it, without a copy in our memory."""
    target = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    offset, size = 0, os.fstat(descriptor).st_size
    while offset < size:
        offset += os.sendfile(target, descriptor, offset, size - offset)
    os.close(target)
    return size


def _limits(request: RunRequest) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield each limit of a process with its soft and its hard value."""
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    stack = request.stack_bytes if hard == resource.RLIM_INFINITY else min(request.stack_bytes, hard)
    yield resource.RLIMIT_STACK, (stack, hard)
    cpu = ceil(request.cpu_seconds) + 1
    yield resource.RLIMIT_CPU, (cpu, cpu)
    # A runtime reserves far more addresses than it uses.
    memory = resource.RLIMIT_DATA if request.kind == RUNTIME else resource.RLIMIT_AS
    yield memory, (request.memory_bytes, request.memory_bytes)
    yield resource.RLIMIT_FSIZE, (request.file_bytes, request.file_bytes)


def _kill(child: int) -> None:
    with suppress(ProcessLookupError):  # it has ended meanwhile
        os.kill(child, signal.SIGKILL)


def _too_large(child: int, request: RunRequest) -> str:
    """Return the limit that a runtime has exceeded; its address space is not limited, so its use is checked."""
    if request.kind != RUNTIME:
        return ""
    try:
        resident = int(Path(f"/proc/{child}/statm").read_bytes().split()[1]) * _PAGE
    except OSError:  # it has ended, or /proc is not mounted
        return ""
    return MEMORY if resident > request.memory_bytes else ""


def _cpu_seconds(child: int) -> float:
    """Return what a process has used so far, with all its threads; 0 if it has ended, or has not begun."""
    if not child:
        return 0.0
    try:
        return time.clock_gettime((~child << 3) | 2)
    except OSError:
        return 0.0


def _queued_seconds(child: int) -> float:
    """Return how long a program has waited for a core that others used, if that is known; this time does not count."""
    threads = f"/proc/{child}/task"
    try:
        # Of all threads the one that has waited longest: a program can't gain time by having many.
        waited = [int(Path(threads, one, "schedstat").read_bytes().split()[1]) for one in os.listdir(threads)]  # noqa: PTH208 (names)
    except OSError:
        return 0.0
    return min(max(waited, default=0) / 1e9, _MOST_QUEUED)


def _reap() -> bool:
    """Wait for ended children; return whether others are still there."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True
