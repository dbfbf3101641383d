"""Pinned pages: the kernel copies them at a fork, all at once.

Other pages are shared until parent or child writes to them. Each of them then costs a page fault, which takes longer
than the copy itself. So the template pins the pages that every program writes to. The kernel pins the buffers of an
io_uring; where a process may not have one, runs take longer, and nothing else is different.
"""

import ctypes
import os
import struct
from collections.abc import Callable, Iterator

_PAGE = os.sysconf("SC_PAGE_SIZE")
_PRESENT, _OF_FILE, _EXCLUSIVE = 1 << 63, 1 << 61, 1 << 56
"""What ``/proc/self/pagemap`` says about a page."""
# The same numbers on every architecture, as all calls since 5.1.
_IO_URING_SETUP, _IO_URING_REGISTER = 425, 427
_REGISTER_BUFFERS = 0
_MAX_PAGES = 512
_PARAMETERS_BYTES = 120

_syscall = ctypes.CDLL(None, use_errno=True).syscall


class _Buffer(ctypes.Structure):
    _fields_ = (("address", ctypes.c_void_p), ("length", ctypes.c_size_t))


def pin_written(play: Callable[[], object]) -> None:
    """Pin the pages that a fork of this process writes to during ``play``, as long as this process lives.

    OSError if the kernel does not allow it.
    """
    written = _written(play)
    pages = [page for page, state in _pages() if state & _PRESENT and page in written][:_MAX_PAGES]
    buffers = (_Buffer * len(pages))(*(_Buffer(page * _PAGE, _PAGE) for page in pages))
    ring = _call(_IO_URING_SETUP, 1, ctypes.create_string_buffer(_PARAMETERS_BYTES))
    try:
        _call(_IO_URING_REGISTER, ring, _REGISTER_BUFFERS, buffers, len(pages))
    except OSError:
        os.close(ring)
        raise


def _written(play: Callable[[], object]) -> frozenset[int]:
    """Return the pages that a fork of this process has for itself after ``play``."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            play()
            own = [
                page for page, state in _pages() if state & (_PRESENT | _OF_FILE | _EXCLUSIVE) == _PRESENT | _EXCLUSIVE
            ]
            os.write(writing, struct.pack(f"{len(own)}Q", *own))  # a pipe has room for it
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        packed = pipe.read()
    os.waitpid(child, 0)
    return frozenset(struct.unpack(f"{len(packed) // 8}Q", packed))


def _pages() -> Iterator[tuple[int, int]]:
    """Yield the number and the state of each page that this process may write to."""
    # pathlib would make every fork larger.
    with open("/proc/self/maps", "rb") as maps, open("/proc/self/pagemap", "rb") as states:  # noqa: PTH123
        for line in maps:
            span, rights = line.split()[:2]
            first, end = (int(address, 16) // _PAGE for address in span.split(b"-"))
            if b"w" in rights:
                found = os.pread(states.fileno(), 8 * (end - first), 8 * first)
                yield from enumerate(struct.unpack(f"{len(found) // 8}Q", found), first)


def _call(number: int, *arguments: object) -> int:
    words = (ctypes.c_long(each) if isinstance(each, int) else each for each in (number, *arguments))
    result = int(_syscall(*words))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result
