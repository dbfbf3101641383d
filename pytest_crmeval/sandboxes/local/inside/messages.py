"""The request to a fork server and its answer: one packet each, with open files.

A request is marshalled, which is quick. An answer is JSON: it comes from inside the sandbox, and nothing in it can harm
the client.
"""

import array
import socket
from collections.abc import Sequence
from typing import NamedTuple

NAMESPACES, LANDLOCK, SECCOMP, RLIMITS = "namespaces", "landlock", "seccomp", "rlimits"
PYTHON, BINARY, RUNTIME, COMPILER = "python", "binary", "runtime", "compiler"
CPU, WALL, FILES, MEMORY = "cpu", "wall", "files", "memory"
"""Which limit a fork server has ended a run for."""
MAX_FILES = 64
_MAX_PACKET = 64 * 1024


class RunRequest(NamedTuple):
    """One run. Beside it come program, stdin, stdout, stderr, and then the files by their names."""

    kind: str
    cpu_seconds: float
    wall_seconds: float
    memory_bytes: int
    file_bytes: int
    stack_bytes: int
    name: str = ""
    """The file that a compiler or a runtime reads the program from."""
    args: Sequence[str] = ()
    """For a compiler or a runtime the whole command."""
    files: Sequence[str] = ()
    wanted: Sequence[str] = ()


class RunResult(NamedTuple):
    """How a run went. Beside it come the wanted files that are there."""

    trouble: str = ""
    """The fork server's own: the program was never begun."""
    status: int = 0
    """As ``waitpid`` returns it."""
    cut: str = ""
    """Empty if it ended by itself."""
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    memory_bytes: int = 0
    found: Sequence[str] = ()


def send(control: socket.socket, packet: bytes, descriptors: Sequence[int] = ()) -> None:
    """Send a packet."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    control.sendmsg([packet], rights)


def receive(control: socket.socket) -> tuple[bytes, list[int]]:
    """Wait for a packet; an empty one when the other side is gone."""
    # Not recv_fds: it forgets its flags, and a process that another thread starts would inherit the files.
    room = socket.CMSG_LEN(MAX_FILES * 4)
    packet, beside, *_ = control.recvmsg(_MAX_PACKET, room, socket.MSG_CMSG_CLOEXEC)
    descriptors = array.array("i")
    for _level, _kind, content in beside:
        descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
    return packet, list(descriptors)
