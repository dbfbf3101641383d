"""What an answer of a cell says about the program."""

import os
import signal

from pytest_crmeval.domain.program import Ending, Execution, Limits
from pytest_crmeval.sandboxes.local.inside.orders import CPU, FILES, WALL, Answer
from pytest_crmeval.sandboxes.signals import name_of

_LAST_LINES = 4_096


def ending(answer: Answer, limits: Limits, written: int, stderr: bytes, image: int = 0) -> Ending:
    """Return what ended a run: the limit that was broken first, or the program itself."""
    if written > limits.output_bytes or answer.cut == FILES:
        return Ending.OUTPUT
    if answer.memory_bytes > limits.memory_bytes:
        return Ending.MEMORY
    if answer.cut == CPU or answer.cpu_seconds > limits.cpu_seconds:
        return Ending.CPU_TIME
    if answer.cut == WALL:
        return Ending.WALL_TIME
    if _refused_memory(answer, stderr) or never_loaded(answer, limits, image):
        return Ending.MEMORY
    return Ending.SIGNALLED if os.WIFSIGNALED(answer.status) else Ending.EXITED


def _refused_memory(answer: Answer, stderr: bytes) -> bool:
    """Whether the program has died because it was given no more memory, at once and so without ever using it."""
    end = stderr[-_LAST_LINES:].rstrip()
    if os.WIFSIGNALED(answer.status):
        return os.WTERMSIG(answer.status) == signal.SIGABRT and b"std::bad_alloc" in end
    return answer.status != 0 and end.rpartition(b"\n")[2].partition(b":")[0] == b"MemoryError"


def never_loaded(answer: Answer, limits: Limits, image: int) -> bool:
    """Whether a binary whose global variables alone are beyond the limit could not be begun, or died.

    The kernel tells it as an error or, once it has begun to take the old program apart, as a SIGSEGV.
    """
    return image > limits.memory_bytes and (bool(answer.trouble) or os.WIFSIGNALED(answer.status))


def execution(  # noqa: PLR0913 (all that is known about a run)
    answer: Answer, limits: Limits, stdout: bytes, stderr: bytes, files: dict[str, bytes], *, image: int = 0
) -> Execution:
    """Return how a run ended. What is over a limit in ``stdout`` and ``files`` by one byte tells that, and is cut."""
    written = max(map(len, (stdout, *files.values())))
    how = ending(answer, limits, written, stderr, image)
    return Execution(
        ending=how,
        exit_code=os.waitstatus_to_exitcode(answer.status) if os.WIFEXITED(answer.status) else None,
        signal=name_of(os.WTERMSIG(answer.status)) if how is Ending.SIGNALLED else "",
        stdout=stdout[: limits.output_bytes],
        stderr=stderr,
        files={name: content[: limits.output_bytes] for name, content in files.items()},
        cpu_seconds=answer.cpu_seconds,
        wall_seconds=answer.wall_seconds,
        memory_bytes=answer.memory_bytes,
    )
