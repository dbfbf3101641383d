"""The template: a warm interpreter inside the sandbox. It is forked for each run, and the fork becomes the program.

A fork costs what must be copied for it: the page tables, and later every page that parent or child writes to. So the
template loads no more than programs need, and does little between two runs; the fork server does the rest. The package
can't be reached from inside the sandbox: the fork server sends this module there as compiled code.
"""

import ctypes
import marshal
import os
import resource
import signal
import site
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_crmeval.sandboxes.local.inside.pinning import pin_written
from pytest_crmeval.sandboxes.local.inside.python_program import make_ready, run, warm_up

if TYPE_CHECKING:
    from socket import socket

TEMPLATE = "template"
"""The kind of the filter that the template itself has."""
REPORT = 100
"""Descriptor where a fork reports what keeps it from its program."""
KEPT = 101
"""Descriptor that stays open: the library, or an executable file until it is executed."""
PIDS = 102
"""Descriptor where the template writes the pid of each fork: a pipe, which the fork server reads only if it must."""
PID_BYTES = 4
Request = tuple[str, str | int | None, list[str], list[tuple[int, tuple[int, int]]], int]
"""One run: which filter; what is executed, a path or KEPT, or None for a program in Python; its arguments; its limits;
and the size of its text. Stdin, stdout, stderr and program come as open files, in this order."""
WARM = [
    "abc", "bisect", "collections", "collections.abc", "contextlib", "copy", "enum", "functools", "heapq", "io",
    "itertools", "math", "operator", "os", "re", "string", "struct", "time", "types", "typing", "encodings.ascii",
    "encodings.latin_1",
]  # fmt: skip
"""Modules that programs import often: loaded once, and not again for each run. Large ones that few programs import, as
dataclasses, would make every fork slower."""
_MAX_PACKET = 96 * 1024
"""More than a fork server takes for a request itself, and not so much that it would be mapped for each one."""
_MAX_RIGHTS = 64
_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 4, 22, 2

_prctl = ctypes.CDLL(None, use_errno=True).prctl
_Arguments = tuple[ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong]


class _Instructions(ctypes.Structure):
    """A seccomp filter, as the kernel takes it."""

    _fields_ = (("length", ctypes.c_ushort), ("address", ctypes.c_void_p))


class _Filter:
    """A seccomp filter in memory, ready to be installed."""

    def __init__(self, instructions: bytes, pids: Sequence[int]) -> None:
        buffer = ctypes.create_string_buffer(instructions, len(instructions))
        self._words = memoryview(buffer).cast("B").cast("I")
        self._pids = [2 * place + 1 for place in pids]
        program = _Instructions(len(instructions) // 8, ctypes.addressof(buffer))
        # Converted already: a fork would have to copy what it needs for that.
        self._arguments = _prctl_arguments(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program))
        self._kept = (buffer, program)

    def install(self) -> None:
        """Let the filter decide about each later call of this process, which may signal only itself."""
        pid = os.getpid()
        for place in self._pids:
            self._words[place] = pid
        _control_process(self._arguments)


def serve(control: "socket", settings: Mapping[str, Any]) -> None:
    """Fork for each request, until the fork server has gone."""
    _warm_up(settings["packages"])
    filters = {kind: _Filter(*made) for kind, made in settings["filters"].items()}
    make_ready(settings["box"])
    with suppress(OSError):
        pin_written(warm_up)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))  # pins are all that it was for
    _control_process(_prctl_arguments(_PR_SET_DUMPABLE, 0))
    os.set_inheritable(REPORT, False)  # noqa: FBT003 (it takes no keyword)
    if TEMPLATE in filters:
        filters[TEMPLATE].install()
    os.closerange(0, 3)  # what is received is numbered from there: a fork finds its own files in their places
    control.send(marshal.dumps("ready"))
    while True:
        packet, rights, _, _ = control.recvmsg(_MAX_PACKET, _MAX_RIGHTS)
        if not packet:
            return
        program = memoryview(rights[0][2]).cast("i")[3]
        child = os.fork()
        if child == 0:
            _become_program(marshal.loads(packet), program, filters)  # noqa: S302 (from the fork server)
        os.write(PIDS, child.to_bytes(PID_BYTES, "little"))
        _, status, usage = os.wait4(child, 0)
        control.send(marshal.dumps((status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)))
        os.closerange(0, 3)
        os.close(program)


def _warm_up(packages: Sequence[str]) -> None:
    for name in WARM:
        with suppress(ImportError):  # an interpreter that was built without it
            import_module(name)
    # Without -S these would be there: programs call exit().
    site.setquit()
    site.setcopyright()
    site.sethelper()
    sys.path.extend(packages)
    os.environ.pop("LD_BIND_NOW", None)


def _become_program(request: Request, program: int, filters: Mapping[str, _Filter]) -> NoReturn:
    """Take from this process what the program must not have, and begin the program."""
    kind, executable, words, limits, size = request
    try:
        os.setsid()  # the leader of a session can't join the group of the template, to signal it
        source = os.pread(program, size, 0)
        if executable == KEPT:
            os.dup2(program, KEPT, inheritable=False)
        os.closerange(3, REPORT)
        os.closerange(KEPT + 1, 1 << 16)
        for limit, value in limits:
            resource.setrlimit(limit, value)
        if kind in filters:
            filters[kind].install()
        if executable is not None:
            # Other programs must not ignore the signals that Python ignores.
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            os.execve(executable, words, os.environ)  # noqa: S606 (no shell is wanted)
        os.close(REPORT)
    except BaseException as error:  # noqa: BLE001 (it must not be mistaken for an error of the program)
        os.write(REPORT, f"{type(error).__name__}: {error}".encode())
        os._exit(1)
    run(source, words)


def _prctl_arguments(option: int, first: int, second: int = 0) -> _Arguments:
    return ctypes.c_int(option), ctypes.c_ulong(first), ctypes.c_ulong(second), ctypes.c_ulong(0), ctypes.c_ulong(0)


def _control_process(arguments: _Arguments) -> None:
    if _prctl(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {arguments[0].value}: {os.strerror(number)}")
