"""The threads of one worker in which cases are played ahead of their items."""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from threading import Thread

from pytest_crmeval.channel import Channel, ControllerGoneError, Dropped, Finished, Join, NextJob, Quit, Settle

PlayCase = Callable[[str], Finished]
"""Plays the case of a key and returns its outcome."""


class Slots:
    """Threads that play the next case until there are no more."""

    def __init__(
        self,
        count: int,
        channel: Channel,
        seat: Callable[[int], AbstractContextManager[PlayCase]],
        next_key: Callable[[], str | None] | None = None,
    ) -> None:
        self._channel = channel
        self._next = next_key or (lambda: channel.ask(NextJob()))
        self._seat = seat
        self._threads = [
            Thread(target=self._work, args=[number], name=f"crmeval-ahead-{number}", daemon=True)
            for number in range(1, count + 1)
        ]

    def start(self) -> None:
        """Start the threads."""
        self._channel.tell(Join(len(self._threads)))
        for thread in self._threads:
            thread.start()

    def drain(self, *, over: bool = False) -> None:
        """Wait until the cases of all workers are played; with ``over``, no further case is started."""
        with suppress(ControllerGoneError):
            self._channel.ask(Settle(over))

    def _work(self, number: int) -> None:
        reason = ""
        try:
            with self._seat(number) as play:
                while self._play_next(play):
                    pass
        except Exception as error:  # noqa: BLE001 (such as no connection for this slot; the others continue)
            reason = str(error)
        with suppress(ControllerGoneError):
            self._channel.tell(Quit(reason))

    def _play_next(self, play: PlayCase) -> bool:
        """Play the next case; return whether there was one."""
        key = self._next()
        if key is None:
            return False
        try:
            self._channel.tell(play(key))
        except BaseException:
            self._channel.tell(Dropped(key))
            raise
        return True
