"""A program in Python is run as ``python main.py`` would run it, in an interpreter that is warm already."""

import atexit
import builtins
import gc
import io
import os
import signal
import sys
import weakref
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from types import FrameType, ModuleType, TracebackType
from typing import Any, NoReturn, cast

NAME = "main.py"
_FLUSH_FAILED = 120
_TOO_LARGE = 2**63
_end = os._exit
"""Kept under a name of our own, because a program may replace it."""
_OURS = "pytest_crmeval"
_CALLS = 4
"""Calls between the one of ``make_ready`` and the program: into the fork, ``run``, ``_played`` and ``exec``."""
_ANYTHING = b"""import sys
def f(x: int) -> list[int]:
    return [y for y in range(x) if y % 2]
print(f(3), sys.stdin.readline().split())
try:
    input()
except EOFError:
    pass
"""
_REHEARSALS = 20


def make_ready(box: str) -> None:
    """Do, once and before any run is forked, all that is the same for every program."""
    for name in [name for name in sys.modules if name.partition(".")[0] == _OURS]:
        del sys.modules[name]
    sys.path.insert(0, box)
    sys.setrecursionlimit(sys.getrecursionlimit() + _depth() + _CALLS)
    # Files of the same kind as those of a run: one in memory twice, and a pipe.
    file = os.memfd_create("stand-in", os.MFD_CLOEXEC)
    reading, writing = os.pipe()
    for descriptor, number in ((file, 0), (file, 1), (writing, 2)):
        os.dup2(descriptor, number)
    for descriptor in (file, reading, writing):
        os.close(descriptor)
    for _ in range(_REHEARSALS):
        _open_streams()
        sys.modules["__main__"] = _main(f"{box}/{NAME}")
        warm_up()
    os.lseek(0, 0, os.SEEK_SET)  # a stream remembers where its file was when it was opened
    os.ftruncate(0, 0)
    _open_streams()
    gc.collect()
    gc.freeze()
    # Not frozen: what a program leaves in its names is collected at its end.
    sys.modules["__main__"] = _main(f"{box}/{NAME}")


def warm_up() -> None:
    """Play a program that does what most programs do."""
    _finished(_played(_ANYTHING))


def run(source: bytes, arguments: Sequence[str]) -> NoReturn:
    """Run a program to its end, which is the end of this process."""
    sys.argv = [NAME, *arguments]
    sys.orig_argv = [sys.executable, *sys.argv]
    _end(_finished(_played(source)))


def _played(source: bytes) -> int:
    """Return the exit status of a program; nothing but ``sys.modules`` holds its module then."""
    names = sys.modules["__main__"].__dict__
    try:
        exec(compile(source, names["__file__"], "exec", dont_inherit=True), names)  # noqa: S102 (our trade)
    except SystemExit as leaving:
        return _status(leaving)
    except BaseException as error:  # noqa: BLE001 (it is shown, as an interpreter does)
        return _show(error)
    return 0


def _depth() -> int:
    """Return how many calls are open where ``make_ready`` is called."""
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 (there is no public name)
    depth = 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


def _main(path: str) -> ModuleType:
    main = ModuleType("__main__")
    main.__dict__.update(
        __builtins__=builtins,
        __file__=path,
        __cached__=None,
        __loader__=SourceFileLoader("__main__", path),
        __annotations__={},
    )
    return main


def _open_streams() -> None:
    """Open what an interpreter opens: line ends are left as they are, and stderr never fails."""
    for number, name, mode, errors in (
        (0, "stdin", "rb", "surrogateescape"),
        (1, "stdout", "wb", "surrogateescape"),
        (2, "stderr", "wb", "backslashreplace"),
    ):
        stream = _stream(number, f"<{name}>", mode, errors)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _stream(descriptor: int, name: str, mode: str, errors: str) -> io.TextIOWrapper:
    buffer: Any = open(descriptor, mode, closefd=False)  # noqa: SIM115 (it is open as long as the program)
    buffer.raw.name = name
    stream: Any = io.TextIOWrapper(buffer, "utf-8", errors, "\n", line_buffering=errors == "backslashreplace")
    stream.mode = mode[0]
    return cast("io.TextIOWrapper", stream)


def _status(leaving: SystemExit) -> int:
    """Return what ``sys.exit`` was given, as the kernel will know it."""
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code & 0xFF if -_TOO_LARGE <= leaving.code < _TOO_LARGE else 0xFF
    with suppress(Exception):
        print(leaving.code, file=sys.stderr)  # noqa: T201 (as an interpreter does)
    return 1


def _show(error: BaseException) -> int:
    """Print the traceback, without the one frame in it that is ours."""
    trace: TracebackType | None = error.__traceback__ and error.__traceback__.tb_next
    error.__traceback__ = trace
    try:
        sys.excepthook(type(error), error, trace)
    except SystemExit as leaving:
        return _status(leaving)
    except BaseException as second:  # noqa: BLE001 (a hook of the program, which has failed, too)
        sys.__excepthook__(type(second), second, second.__traceback__)
    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return 1


def _finished(status: int) -> int:
    """Do what an interpreter does in the end and a program may count on; the rest is left to the kernel."""
    if threading := sys.modules.get("threading"):
        _attempt(threading._shutdown)  # noqa: SLF001 (there is no public name)
    _attempt(atexit._run_exitfuncs)  # noqa: SLF001 (the same)
    flushed = _flush()
    # What a program has put there instead must not be asked again: all that it needs is about to go.
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, name, getattr(sys, f"__{name}__", None))
    _let_go_of_main()
    _flush()
    return status if flushed or status else _FLUSH_FAILED


def _let_go_of_main() -> None:
    """Let files that were not closed be written and objects with a ``__del__`` go, while they still have their names.

    If something still refers to the module, its names are set to None.
    """
    main = sys.modules.pop("__main__", None)
    held = weakref.ref(main) if isinstance(main, ModuleType) else None
    del main
    gc.collect()
    if held is not None and (left := held()) is not None:
        for name in [name for name in left.__dict__ if name != "__builtins__"]:
            left.__dict__[name] = None
        gc.collect()


def _attempt(action: object) -> None:
    try:
        action()  # type: ignore[operator]
    except BaseException as error:  # noqa: BLE001 (it is shown, and ends nothing)
        sys.__excepthook__(type(error), error, error.__traceback__)


def _flush() -> bool:
    """Write what is still to be written; return whether stdout took it."""
    with suppress(Exception):
        sys.stderr.flush()
    stdout = getattr(sys, "stdout", None)
    try:
        if stdout is not None and not getattr(stdout, "closed", False):
            stdout.flush()
    except Exception:  # noqa: BLE001 (whatever stands there instead of stdout)
        return False
    return True
