"""Ctrl-C at a given moment, for tests of code that waits."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def interrupted(is_time: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Interrupt this thread in the block, once; the signal is repeated, because it may come just before the wait."""
    is_over, this = threading.Event(), threading.get_ident()

    def interrupt(*_: object) -> None:
        if not is_over.is_set():
            is_over.set()
            raise KeyboardInterrupt

    def send() -> None:
        while not is_over.wait(0.05):
            if is_time():
                signal.pthread_kill(this, signal.SIGINT)

    before, sender = signal.signal(signal.SIGINT, interrupt), threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        is_over.set()
        sender.join()
        signal.signal(signal.SIGINT, before)
