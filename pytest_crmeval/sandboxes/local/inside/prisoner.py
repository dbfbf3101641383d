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
from pytest_crmeval.sandboxes.local.inside.levels import Ground
from pytest_crmeval.sandboxes.local.inside.orders import BINARY, PYTHON, Order
from pytest_crmeval.sandboxes.local.inside.python_program import NAME, run

REPORT = 100
"""Where the process tells what goes wrong before it is the program's."""
KEPT = 101
"""What stays open: the library, or the binary until it is executed."""

Begin = Callable[[], NoReturn]


def born(ground: Ground, order: Order, descriptors: Sequence[int]) -> Begin:
    """Make this process all that the program needs and may be; return what begins it."""
    try:
        return _born(ground, order, descriptors)
    except BaseException as error:  # noqa: BLE001 (whatever it is, it must not be taken for the program's)
        _give_up(error)


def _give_up(error: BaseException) -> NoReturn:
    os.write(REPORT, f"{type(error).__name__}: {error}".encode())
    os._exit(1)


def _born(ground: Ground, order: Order, descriptors: Sequence[int]) -> Begin:
    program, stdin, stdout, stderr, *files = descriptors
    os.setsid()
    os.chdir(ground.box)
    for name, descriptor in zip(order.files, files, strict=True):
        _write(name, descriptor)
    begin = _beginning(ground, order, program)
    for number, descriptor in enumerate((stdin, stdout, stderr)):
        os.dup2(descriptor, number)
    os.closerange(3, REPORT)
    os.closerange(KEPT + 1, 1 << 16)
    _limit(order)
    kernel.set_dumpable(dumpable=True)
    if order.kind in ground.filters:
        kernel.install_filter(ground.filters[order.kind].of(os.getpid()))
    return begin


def _write(name: str, descriptor: int) -> bytes:
    """Copy an open file into the box; it may be open elsewhere, too, so no offset is moved."""
    content = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    target = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    left = memoryview(content)
    while left:
        left = left[os.write(target, left) :]
    os.close(target)
    return content


def _limit(order: Order) -> None:
    cpu = ceil(order.cpu_seconds) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    stack = order.stack_bytes if hard == resource.RLIM_INFINITY else min(order.stack_bytes, hard)
    resource.setrlimit(resource.RLIMIT_STACK, (stack, hard))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
    resource.setrlimit(resource.RLIMIT_AS, (order.memory_bytes, order.memory_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (order.file_bytes, order.file_bytes))


def _beginning(ground: Ground, order: Order, program: int) -> Begin:
    if order.kind == PYTHON:
        source = _write(NAME, program)
        return lambda: _run_python(source, order.args, ground.box)
    if order.kind == BINARY:
        os.dup2(program, KEPT, inheritable=False)
        number = this_machine().numbers["execveat"]
        return lambda: _execute(lambda: kernel.execute_descriptor(KEPT, ["main", *order.args], number))
    _write("main.cpp", program)
    return lambda: _execute(lambda: os.execv(order.args[0], list(order.args)))  # noqa: S606 (no shell is wanted)


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
