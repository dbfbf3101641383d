"""What an answer of a fork server says about the program."""

import os
import signal
from collections.abc import Mapping

from pytest_crmeval.ports.sandbox import Execution, Limits, Termination
from pytest_crmeval.sandboxes.local.inside.messages import CPU, FILES, MEMORY, WALL, RunResult
from pytest_crmeval.sandboxes.signals import name_of

_LAST_LINES = 4_096
_HEAP_IS_FULL = (b"java.lang.OutOfMemoryError", b"JavaScript heap out of memory")


def ending(result: RunResult, limits: Limits, written: int, stderr: bytes, image: int = 0) -> Termination:
    """Return what ended a run: the limit that was broken first, or the program itself."""
    if written > limits.output_bytes or result.cut == FILES:
        return Termination.OUTPUT
    if result.memory_bytes > limits.memory_bytes or result.cut == MEMORY:
        return Termination.MEMORY
    if result.cut == CPU or result.cpu_seconds > limits.cpu_seconds:
        return Termination.CPU_TIME
    if result.cut == WALL:
        return Termination.WALL_TIME
    if _refused_memory(result, stderr) or never_loaded(result, limits, image):
        return Termination.MEMORY
    return Termination.SIGNALLED if os.WIFSIGNALED(result.status) else Termination.EXITED


def _refused_memory(result: RunResult, stderr: bytes) -> bool:
    """Whether the program has died because it was given no more memory, at once and so without ever using it."""
    end = stderr[-_LAST_LINES:].rstrip()
    if result.status != 0 and any(words in end for words in _HEAP_IS_FULL):
        return True
    if os.WIFSIGNALED(result.status):
        return os.WTERMSIG(result.status) == signal.SIGABRT and b"std::bad_alloc" in end
    return result.status != 0 and end.rpartition(b"\n")[2].partition(b":")[0] == b"MemoryError"


def never_loaded(result: RunResult, limits: Limits, image: int) -> bool:
    """Whether a binary whose global variables alone are beyond the limit could not be begun, or died.

    The kernel reports it as an error or, once it has begun to take the old program apart, as a SIGSEGV.
    """
    return image > limits.memory_bytes and (bool(result.trouble) or os.WIFSIGNALED(result.status))


def execution(  # noqa: PLR0913 (all that is known about a run)
    result: RunResult, limits: Limits, stdout: bytes, stderr: bytes, files: Mapping[str, bytes], *, image: int = 0
) -> Execution:
    """Return how a run ended; ``stdout`` and ``files`` are cut at the limit, which they may exceed by one byte."""
    written = max(map(len, (stdout, *files.values())))
    how = ending(result, limits, written, stderr, image)
    return Execution(
        ending=how,
        exit_code=os.waitstatus_to_exitcode(result.status) if os.WIFEXITED(result.status) else None,
        signal=name_of(os.WTERMSIG(result.status)) if how is Termination.SIGNALLED else "",
        stdout=stdout[: limits.output_bytes],
        stderr=stderr,
        files={name: content[: limits.output_bytes] for name, content in files.items()},
        cpu_seconds=result.cpu_seconds,
        wall_seconds=result.wall_seconds,
        memory_bytes=result.memory_bytes,
    )
