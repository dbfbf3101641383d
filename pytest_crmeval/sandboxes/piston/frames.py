"""Output in a frame, which the runner prints: how the program ended, and everything that it wrote."""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.ports.sandbox import SandboxError
from pytest_crmeval.sandboxes.piston.answers import Stage
from pytest_crmeval.sandboxes.signals import name_of

_HEAD = 4
"""Numbers before the sizes: exit code, signal, room, how many sizes there are."""
_NUMBERS = re.compile(r"(?: -?[0-9]{1,18})+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What the runner reports about the program that it has run."""

    code: int | None
    signal: str
    room: int
    """Bytes that a file could have at most."""
    sizes: Sequence[int]
    """Of stdout and of the files that were wanted; -1 for one that is not there."""
    stderr: bytes = field(default=b"", repr=False)
    contents: Sequence[bytes] | None = field(default=None, repr=False)
    """None if they did not come back."""


def frame_of(stage: Stage, mark: str, wanted: int) -> Frame | None:
    """Find the frame with so many wanted files; None if the runner was ended with the program before it could write it.

    SandboxError if it can't be read: a program may find the way to where the frame is written.
    """
    head = next((line for line in stage.stderr.splitlines() if line.startswith(f"{mark} ")), None)
    if head is None:
        return None
    code, number, room, *sizes = _numbers(head.removeprefix(mark), wanted + 1)
    _, found, body = stage.stdout.partition(f"{mark}\n")
    contents = _contents(body, sizes) if found else None
    return Frame(
        code=None if number else code,
        signal=name_of(number) if number else "",
        room=room,
        sizes=sizes,
        stderr=contents[0] if contents else b"",
        contents=contents[1:] if contents else None,
    )


def _numbers(line: str, count: int) -> list[int]:
    """Read the numbers, without the number of sizes, which is known."""
    numbers = [int(word) for word in line.split()] if _NUMBERS.fullmatch(line) else []
    if len(numbers) != _HEAD + count or numbers[_HEAD - 1] != count:
        raise _spoiled(f"it begins with {cut(line, 100)!r}")
    return [*numbers[: _HEAD - 1], *numbers[_HEAD:]]


def _contents(body: str, sizes: Sequence[int]) -> Sequence[bytes]:
    """Read stderr, stdout and the files."""
    try:
        contents = [base64.b64decode(line, validate=True) for line in body.split("\n")[:-1]]
    except ValueError as error:  # also for what is not ASCII
        raise _spoiled(str(error)) from error
    if [max(size, 0) for size in sizes] != [len(content) for content in contents[1:]]:
        raise _spoiled(
            f"{[len(content) for content in contents]} bytes were received, expected {list(sizes)} after stderr"
        )
    return contents


def _spoiled(how: str) -> SandboxError:
    return SandboxError(
        f"the output of the program can't be read ({how}): the program has corrupted the report of the runner, or has "
        "left a process that was still writing"
    )
