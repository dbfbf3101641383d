"""Output that was brought back in a frame: how the program ended, how much it wrote, and all that it wrote."""

import base64
import binascii
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_crmeval.sandboxes.piston.answers import Stage, TroubleError

_HEAD = 5
"""Words before the sizes: the mark, exit code, signal, room, how many sizes there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What the runner tells of the program that it has run."""

    code: int | None
    signal: str
    room: int
    """Bytes that a file could have at most."""
    sizes: Sequence[int]
    """Of stdout and of the files that were wanted; -1 for one that is not there."""
    stderr: bytes = field(default=b"", repr=False)
    contents: Sequence[bytes] | None = field(default=None, repr=False)
    """None if they did not come back."""


def frame_of(stage: Stage, mark: str) -> Frame | None:
    """Find the frame; None if the runner did not come to the end, because it was ended with the program."""
    head = next((line for line in stage.stderr.splitlines() if line.startswith(f"{mark} ")), None)
    if head is None:
        return None
    words = head.split()
    numbers = [int(word) for word in words[1:] if word.lstrip("-").isdigit()]
    if len(numbers) != len(words) - 1 or len(numbers) < _HEAD - 1 or len(numbers) != _HEAD - 1 + numbers[3]:
        raise TroubleError(f"it brought back half of a frame: {head!r}")
    code, number, room = numbers[:3]
    _, found, body = stage.stdout.partition(f"{mark}\n")
    contents = _contents(body, len(numbers) - _HEAD + 2) if found else None
    return Frame(
        code=None if number else code,
        signal=_signal(number) if number else "",
        room=room,
        sizes=numbers[_HEAD - 1 :],
        stderr=contents[0] if contents else b"",
        contents=contents[1:] if contents else None,
    )


def _contents(body: str, count: int) -> Sequence[bytes]:
    lines = body.split("\n")[:-1]
    if len(lines) != count:
        raise TroubleError(f"it brought back {len(lines)} of {count} contents of a frame")
    try:
        return [base64.b64decode(line, validate=True) for line in lines]
    except binascii.Error as error:
        raise TroubleError(f"it brought back a frame that can't be read: {error}") from error


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal has no name
        return f"signal {number}"
