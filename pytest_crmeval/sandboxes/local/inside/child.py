"""The process of one run, from its birth until it is somebody else's program."""

import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from math import ceil
from typing import NoReturn

from pytest_crmeval.sandboxes.local.inside import kernel
from pytest_crmeval.sandboxes.local.inside.calls import this_machine
from pytest_crmeval.sandboxes.local.inside.levels import Isolation
from pytest_crmeval.sandboxes.local.inside.messages import BINARY, PYTHON, RUNTIME, RunRequest
from pytest_crmeval.sandboxes.local.inside.python_program import NAME, run, stand_in

REPORT = 100
"""Where the process tells what goes wrong before it is the program's."""
KEPT = 101
"""What stays open: the library, or the binary until it is executed."""

Begin = Callable[[], NoReturn]


def prepare(isolation: Isolation, request: RunRequest, descriptors: Sequence[int]) -> Begin:
    """Write the files of a run, and put its input and output in place, before it is forked; return what begins it."""
    program, stdin, stdout, stderr, *files = descriptors
    for name, descriptor in zip(request.files, files, strict=True):
        _write(name, descriptor)
    begin = _beginning(isolation, request, program)
    stand_in((stdin, stdout, stderr))
    return begin


def become_program(isolation: Isolation, request: RunRequest, begin: Begin) -> NoReturn:
    """Take all from this process that the program must not have, and begin the program."""
    try:
        os.setsid()
        os.closerange(3, REPORT)
        os.closerange(KEPT + 1, 1 << 16)
        _limit(request)
        kernel.set_dumpable(dumpable=True)
        if request.kind in isolation.filters:
            isolation.filters[request.kind].install(os.getpid())
    except BaseException as error:  # noqa: BLE001 (whatever it is, it must not be taken for the program's)
        _give_up(error)
    begin()


def _give_up(error: BaseException) -> NoReturn:
    os.write(REPORT, f"{type(error).__name__}: {error}".encode())
    os._exit(1)


def _write(name: str, descriptor: int) -> None:
    """Copy an open file into the box. The kernel does it: a large input must not count as the program's memory."""
    target = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    offset, size = 0, os.fstat(descriptor).st_size
    while offset < size:
        offset += os.sendfile(target, descriptor, offset, size - offset)
    os.close(target)


def _limit(request: RunRequest) -> None:
    cpu = ceil(request.cpu_seconds) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    stack = request.stack_bytes if hard == resource.RLIM_INFINITY else min(request.stack_bytes, hard)
    resource.setrlimit(resource.RLIMIT_STACK, (stack, hard))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
    # A runtime reserves far more addresses than it uses.
    memory = resource.RLIMIT_DATA if request.kind == RUNTIME else resource.RLIMIT_AS
    resource.setrlimit(memory, (request.memory_bytes, request.memory_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (request.file_bytes, request.file_bytes))


def _beginning(isolation: Isolation, request: RunRequest, program: int) -> Begin:
    if request.kind == PYTHON:
        _write(NAME, program)
        source = os.pread(program, os.fstat(program).st_size, 0)
        return lambda: _run_python(source, request.args, isolation.box)
    if request.kind == BINARY:
        return _begin_open_file(program, ["main", *request.args])
    _write(request.name, program)
    if request.kind == RUNTIME:
        return _begin_open_file(os.open(request.args[0], os.O_RDONLY | os.O_CLOEXEC), request.args)
    return lambda: _execute(lambda: os.execv(request.args[0], list(request.args)))  # noqa: S606 (no shell is wanted)


def _begin_open_file(executable: int, command: Sequence[str]) -> Begin:
    os.dup2(executable, KEPT, inheritable=False)
    number = this_machine().numbers["execveat"]
    return lambda: _execute(lambda: kernel.execute_descriptor(KEPT, command, number))


def _run_python(source: bytes, arguments: Sequence[str], box: str) -> NoReturn:
    os.close(REPORT)
    run(source, arguments, box)


def _execute(become: Callable[[], object]) -> NoReturn:
    """Become another program, which must not ignore the signals that Python ignores."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        become()
    except OSError as error:
        _give_up(error)
    sys.exit("an exec that worked does not come back")
