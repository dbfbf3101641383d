"""Sent to a Piston server before a Python program: gives it its input at descriptor 0, then becomes the program.

It runs there, on any Python from 3.7 on, and imports nothing that is slow to load. The program is not touched: it is
compiled from its own file, in a ``__main__`` and a folder that have nothing of this.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

KEPT = 4096
"""Bytes of stderr that are brought back: its end, where a traceback says what happened."""
_OWN = ("__name__", "__doc__", "__package__", "__loader__", "__spec__", "__builtins__", "__annotations__")


def feed(path: str) -> None:
    """Put a file at descriptor 0, and out of the way."""
    descriptor = os.open(path, os.O_RDONLY)
    os.unlink(path)
    os.dup2(descriptor, 0)
    os.close(descriptor)
    # Its old reader has looked at descriptor 0 when that was a pipe, and believes so for ever.
    old = sys.stdin
    fresh = open(0, encoding=old.encoding, errors=old.errors, newline="\n", closefd=False)  # noqa: SIM115  (it is the program's)
    sys.stdin = sys.__stdin__ = fresh  # type: ignore[misc]


def fail(token: str, error: OSError) -> None:
    """End before the program has begun, and say that it was not the program's fault."""
    _write(2, f"{token} {error}\n".encode())
    os._exit(1)


def frame(mark: str, most: int, wanted: list[str]) -> None:
    """Let a child be the program; tell at its end how it ended, and what it has written."""
    import resource

    out = os.open("crmeval.stdout", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    os.unlink("crmeval.stdout")
    reader, writer = os.pipe()
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    room = most + 1 if hard == resource.RLIM_INFINITY else min(most + 1, hard)
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
        os.dup2(out, 1)
        os.dup2(writer, 2)
        os.closerange(3, max(out, reader, writer) + 1)
        return
    os.close(writer)
    status, said = _waited(child, reader)
    _report(mark, most, room, status, said, [out, *map(_opened, wanted)])
    os._exit(0)


def _report(mark: str, most: int, room: int, status: int, said: bytes, files: list[int]) -> None:  # noqa: PLR0913, PLR0917
    sizes = [-1 if file < 0 else os.fstat(file).st_size for file in files]
    signal = status & 127
    line = [mark, -1 if signal else status >> 8, signal, room, len(sizes), *sizes]
    _write(2, (" ".join(map(str, line)) + "\n").encode())
    if max(sizes) <= most:
        _write(1, mark.encode() + b"\n" + b"".join(map(_line, [said, *map(_content, files)])))


def _waited(child: int, reader: int) -> tuple[int, bytes]:
    """Drain stderr until the child has ended, even if other processes hold it open."""
    import select

    said = b""
    status = 0
    ended = False
    while True:
        ready = select.select([reader], [], [], 0 if ended else 0.02)[0]
        chunk = os.read(reader, 65536) if ready else b""
        said = (said + chunk)[-KEPT:]
        if ended:
            return status, said
        if ready and not chunk:
            return os.waitpid(child, 0)[1], said
        found, status = os.waitpid(child, os.WNOHANG)
        ended = found == child


def _opened(name: str) -> int:
    """Open a plain file; -1 if it is none."""
    import stat

    try:
        file = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:  # not there, or no file of its own: it can't be brought back
        return -1
    return file if stat.S_ISREG(os.fstat(file).st_mode) else -1


def _content(file: int) -> bytes:
    if file < 0:
        return b""
    os.lseek(file, 0, os.SEEK_SET)
    with os.fdopen(file, "rb") as opened:
        return opened.read()


def _line(content: bytes) -> bytes:
    import binascii

    return binascii.b2a_base64(content)


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def become(path: str) -> None:
    """Run the program as if it had been started itself."""
    import __main__

    space = __main__.__dict__
    own = __main__.__file__ or ""
    os.unlink(own)
    path = os.path.join(os.path.dirname(own), path)
    with open(path, "rb") as file:
        source = file.read()
    sys.excepthook = _hiding(own)
    sys.argv[0] = os.path.basename(path)
    sys.setrecursionlimit(sys.getrecursionlimit() + 2)  # for the frames that are below it here
    for name in [name for name in space if name not in _OWN]:
        del space[name]
    space["__file__"] = path
    space["__doc__"] = None
    exec(compile(source, path, "exec", dont_inherit=True), space)


def _hiding(own: str) -> Callable[[type[BaseException], BaseException, TracebackType | None], object]:
    """Return what shows an error without the frames below the program's; it can't use a name of this module by then."""
    from types import FunctionType

    plain = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        while trace is not None and trace.tb_frame.f_code.co_filename == own:
            trace = trace.tb_next
        plain(kind, BaseException.with_traceback(error, trace), trace)

    # With names of its own: it stays until the very end, and would hold those of the program as long.
    return FunctionType(show.__code__, {"__builtins__": __builtins__}, "show", None, show.__closure__)
