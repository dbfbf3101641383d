"""One run: inputs are written to files in memory, and outputs are read from files in memory."""

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pytest_crmeval.ports.sandbox import Execution, Limits, ProgramInput, SandboxError
from pytest_crmeval.sandboxes.local.fork_servers import ForkServerProcess
from pytest_crmeval.sandboxes.local.inside.messages import BINARY, MAX_FILES, RUNTIME, RunRequest, RunResult
from pytest_crmeval.sandboxes.local.listening import Listener
from pytest_crmeval.sandboxes.local.outcomes import execution, never_loaded

_MIB = 1024 * 1024
_SPARE_MEMORY = 1024 * _MIB
"""Addresses that a program may have beyond its memory: stacks of threads, libraries. What it really uses decides."""
_PYTHON_STACK = 120 * _MIB
"""All that the kernel leaves free below the stack of a process that was started with a small one."""
_BINARY_STACK = 256 * _MIB
_RUNTIME_STACK = 64 * _MIB
_STANDARD = 4
_MFD_EXEC = 0x10
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


@dataclass(frozen=True, slots=True, kw_only=True)
class Runnable:
    """A program that a fork server can begin."""

    kind: str
    descriptor: int
    """Its text, or its binary: an open file."""
    name: str = ""
    """The file that a compiler or a runtime reads the program from."""
    command: Sequence[str] = ()
    """Of a compiler or a runtime; ``{memory}`` in it is the memory limit in MiB."""
    image: int = 0
    """What a binary takes before its first instruction, in bytes."""


Ended = tuple[RunResult, Mapping[str, bytes]]
"""How a run went, and the files that were wanted and are there."""
Lend = Callable[[Callable[[ForkServerProcess], Ended]], Ended]


def run(lend: Lend, runnable: Runnable, feed: ProgramInput, limits: Limits) -> Execution:
    """Have a fork server run a program once, and no longer than that; SandboxError if it could not even begin it."""
    with _descriptors(feed) as (stdin, stdout, reading, writing, *files):
        listener = Listener(reading)
        opened = (runnable.descriptor, stdin, stdout, writing, *files)
        request = _request(runnable, feed, limits)

        def use(fork_server: ForkServerProcess) -> Ended:
            result, found = fork_server.run(request, opened, listener)
            try:
                # Here, so that a fork server with a trouble of its own is not lent again.
                if result.trouble and not never_loaded(result, limits, runnable.image):
                    raise SandboxError(f"the program could not be started: {result.trouble}")
                return result, {name: _content(descriptor, limits) for name, descriptor in found.items()}
            finally:
                for descriptor in found.values():
                    os.close(descriptor)

        result, contents = lend(use)
        return execution(
            result, limits, _content(stdout, limits), listener.ends.shown(), contents, image=runnable.image
        )


def check(feed: ProgramInput) -> None:
    """Reject file names and numbers of files that a fork server can't handle."""
    for name in (*feed.files, *feed.wanted):
        if "/" in name or name in {"", ".", ".."} or "\0" in name:
            raise SandboxError(f"{name!r} is not a plain file name; all files of a program are in one folder")
    if len(feed.files) + _STANDARD > MAX_FILES or len(feed.wanted) > MAX_FILES:
        raise SandboxError(f"a program can have at most {MAX_FILES - _STANDARD} input and {MAX_FILES} output files")


def _request(runnable: Runnable, feed: ProgramInput, limits: Limits) -> RunRequest:
    memory = str(limits.memory_bytes // _MIB)
    return RunRequest(
        kind=runnable.kind,
        name=runnable.name,
        args=[*(word.replace("{memory}", memory) for word in runnable.command), *feed.args],
        files=list(feed.files),
        wanted=list(feed.wanted),
        cpu_seconds=limits.cpu_seconds,
        wall_seconds=limits.wall_seconds,
        memory_bytes=limits.memory_bytes + _SPARE_MEMORY,
        file_bytes=limits.output_bytes + 1,
        stack_bytes=_stack(runnable.kind, limits),
    )


def _stack(kind: str, limits: Limits) -> int:
    """Return the stack of the first thread; runtimes have their own for programs."""
    if kind == RUNTIME:
        return _RUNTIME_STACK
    return min(_BINARY_STACK, limits.memory_bytes) if kind == BINARY else _PYTHON_STACK


@contextmanager
def _descriptors(feed: ProgramInput) -> Iterator[Sequence[int]]:
    opened: list[int] = []
    try:
        opened += [_in_memory("stdin", feed.stdin), _in_memory("stdout"), *os.pipe2(os.O_CLOEXEC)]
        os.set_blocking(opened[2], False)
        opened += [_in_memory("file", content) for content in feed.files.values()]
        yield opened
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _in_memory(name: str, content: bytes = b"") -> int:
    """Return an open file that has no place on any disk, to be read from its beginning."""
    return _filled(os.memfd_create(name, os.MFD_CLOEXEC), content)


@contextmanager
def opened(name: str, content: bytes) -> Iterator[int]:
    """Keep an executable, sealed file in memory open."""
    descriptor = _executable(name)
    try:
        fcntl.fcntl(_filled(descriptor, content), fcntl.F_ADD_SEALS, _SEALS)
        yield descriptor
    finally:
        os.close(descriptor)


def _executable(name: str) -> int:
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        return os.memfd_create(name, flags | _MFD_EXEC)
    except OSError:  # before Linux 6.3 all of them could be executed, and there was no flag
        return os.memfd_create(name, flags)


def _filled(descriptor: int, content: bytes) -> int:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _content(descriptor: int, limits: Limits) -> bytes:
    """Return what is in a file, and one byte more than is allowed if there is more."""
    size = min(os.fstat(descriptor).st_size, limits.output_bytes + 1)
    content = b""
    while len(content) < size and (chunk := os.pread(descriptor, size - len(content), len(content))):
        content += chunk
    return content
