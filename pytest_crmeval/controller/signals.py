"""SIGTERM and SIGHUP end a run as Ctrl-C does: the first time gracefully, the second time at once."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

GRACEFUL = ("SIGINT", "SIGTERM", "SIGHUP")
_FILES = 256
"""How many file descriptors are searched for a terminal, which is opened early."""


class Signals:
    """Treats signals like Ctrl-C until their handlers are restored."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._terminals: set[int] = set()
        self._postpone: Callable[[], None] | None = None
        """Called when a signal is postponed; None if signals are not postponed."""
        self._postponed: KeyboardInterrupt | None = None

    def take(self) -> None:
        """Handle the signals that have default handlers: ``nohup`` ignores one, and a plugin may handle others."""
        if threading.current_thread() is threading.main_thread():
            # Not only the first three: while pytest collects, it has the terminal under another number.
            self._terminals = {os.fstat(file).st_rdev for file in range(_FILES) if os.isatty(file)}
            for number in (getattr(signal, name) for name in GRACEFUL if hasattr(signal, name)):
                if signal.getsignal(number) in {signal.SIG_DFL, signal.default_int_handler}:
                    self._before[number] = signal.signal(number, self._interrupt)

    def give_back(self) -> None:
        """Restore the previous handlers, except where another handler has been installed since."""
        for number, before in self._before.items():
            if signal.getsignal(number) == self._interrupt:
                signal.signal(number, before)
        self._before.clear()

    @contextmanager
    def postponed(self, notify: Callable[[], None] = lambda: None, seconds: float | None = None) -> Iterator[None]:
        """Postpone a first signal in the block until ``interrupt``; a second one interrupts at once.

        ``notify`` is called at the first signal. If the block takes more than ``seconds`` after that, it is
        interrupted.
        """
        limit = threading.Timer(seconds or 0.0, signal.pthread_kill, [threading.get_ident(), signal.SIGINT])
        limit.daemon = True

        def postpone() -> None:
            notify()
            if seconds is not None:
                limit.start()

        self._postpone = postpone
        try:
            yield
        finally:
            self._postpone = None
            limit.cancel()

    def interrupt(self) -> None:
        """Interrupt now, if a signal was postponed."""
        interrupt, self._postponed = self._postponed, None
        if interrupt is not None:
            raise interrupt

    def _interrupt(self, number: int, _: FrameType | None) -> None:
        """Interrupt the main thread; pytest handles the rest."""
        if number == signal.SIGHUP:
            silence_terminals(self._terminals)
        # Ctrl-C has no message, as in Python itself.
        interrupt = KeyboardInterrupt(*([] if number == signal.SIGINT else [signal.Signals(number).name]))
        if self._postpone is None or self._postponed is not None:
            raise interrupt
        self._postponed = interrupt
        self._postpone()


def silence_terminals(terminals: set[int]) -> None:
    """Redirect output to a closed terminal to /dev/null: an error would end the run before its report."""
    for file in range(_FILES if terminals else 0):
        with suppress(OSError):  # it is not open
            if os.fstat(file).st_rdev in terminals:
                nowhere = os.open(os.devnull, os.O_RDWR)
                os.dup2(nowhere, file, inheritable=os.get_inheritable(file))
                os.close(nowhere)
