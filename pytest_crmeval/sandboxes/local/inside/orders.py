"""What a cell is told and what it answers: one packet each, with open files beside it."""

import array
import json
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

NAMESPACES, LANDLOCK, SECCOMP, RLIMITS = "namespaces", "landlock", "seccomp", "rlimits"
PYTHON, BINARY, COMPILER = "python", "binary", "compiler"
CPU, WALL, FILES = "cpu", "wall", "files"
"""Which limit a cell has ended a run for."""
MAX_FILES = 64
_MAX_PACKET = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One run. Beside it come program, stdin, stdout, stderr, and then the files by their names."""

    kind: str
    args: Sequence[str] = ()
    """For a compiler the whole command."""
    files: Sequence[str] = ()
    wanted: Sequence[str] = ()
    cpu_seconds: float
    wall_seconds: float
    memory_bytes: int
    file_bytes: int
    stack_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How a run went. Beside it come the wanted files that are there."""

    trouble: str = ""
    """The cell's own: the program was never begun."""
    status: int = 0
    """As ``waitpid`` tells it."""
    cut: str = ""
    """Empty if it ended by itself."""
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    memory_bytes: int = 0
    found: Sequence[str] = ()


def send(control: socket.socket, message: object, descriptors: Sequence[int] = ()) -> None:
    """Send a packet."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    control.sendmsg([json.dumps(message).encode()], rights)


def receive(control: socket.socket) -> tuple[Any, list[int]]:
    """Wait for a packet; None when the other side is gone."""
    # Not recv_fds: it forgets its flags, and a process that another thread starts would inherit the files.
    room = socket.CMSG_LEN(MAX_FILES * 4)
    data, beside, *_ = control.recvmsg(_MAX_PACKET, room, socket.MSG_CMSG_CLOEXEC)
    descriptors = array.array("i")
    for _level, _kind, content in beside:
        descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
    return (json.loads(data) if data else None), list(descriptors)


def packed(message: Order | Answer) -> dict[str, Any]:
    """Return a message as JSON knows it."""
    return {name: getattr(message, name) for name in message.__slots__}
