"""Many runs at once, or one of them alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition


class SharedLock:
    """Lets the threads of a process run together, until one of them needs to be alone."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._running = 0
        self._waiting = 0
        self._alone = False

    @contextmanager
    def together(self) -> Iterator[None]:
        """Run beside others; who wants to be alone goes first."""
        with self._changed:
            self._changed.wait_for(lambda: not self._alone and not self._waiting)
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Run when the others are done, while they wait."""
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: not self._alone and not self._running)
                self._alone = True
            finally:
                self._waiting -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()
