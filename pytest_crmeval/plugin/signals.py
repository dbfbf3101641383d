"""SIGTERM and SIGHUP end a run as Ctrl-C does: the first time gracefully, the second time at once."""

import signal
import threading
from types import FrameType
from typing import Any

GRACEFUL = ("SIGTERM", "SIGHUP")


class Signals:
    """Signals that are taken for Ctrl-C, until they are given back."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}

    def take(self) -> None:
        """Begin to, with those that nobody else has an opinion on: ``nohup`` has, and so has whoever handles them."""
        if threading.current_thread() is threading.main_thread():
            for number in (getattr(signal, name) for name in GRACEFUL if hasattr(signal, name)):
                if signal.getsignal(number) is signal.SIG_DFL:
                    self._before[number] = signal.signal(number, interrupt)

    def give_back(self) -> None:
        """Let them be what they were, unless somebody has taken them since."""
        for number, before in self._before.items():
            if signal.getsignal(number) is interrupt:
                signal.signal(number, before)
        self._before.clear()


def interrupt(number: int, _: FrameType | None) -> None:
    """Interrupt the main thread; pytest does the rest."""
    raise KeyboardInterrupt(signal.Signals(number).name)
