"""The threads of one worker in which conversations are played ahead of their items."""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from threading import Thread
from typing import Protocol

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.player.queue_client import ControllerGoneError, QueueClient, Taken


class Seat(Protocol):
    """A place to play at."""

    def __call__(self, key: str) -> JsonObject:
        """Play a case, and return what is to be told of it, whatever happens."""
        ...


class Slots:
    """So many threads that play whatever is next, until there is nothing more."""

    def __init__(
        self, count: int, queue: QueueClient, player: str, seat: Callable[[int], AbstractContextManager[Seat]]
    ) -> None:
        self._queue = queue
        self._player = player
        self._seat = seat
        self._threads = [
            Thread(target=self._work, args=[number], name=f"crmeval-ahead-{number}", daemon=True)
            for number in range(1, count + 1)
        ]

    def start(self) -> None:
        """Begin to play."""
        self._queue.join(self._player, len(self._threads))
        for thread in self._threads:
            thread.start()

    def drain(self, *, over: bool = False) -> None:
        """Wait until there is nothing more to play, for anybody's items; ``over``: begin nothing more."""
        with suppress(ControllerGoneError, OSError):  # the controller is gone: there is nobody to play for
            self._queue.settle(self._player, over=over)

    def take(self, key: str, *, patient: bool) -> Taken:
        """Return the outcome of a case; "alone" means that the item has to play it itself."""
        return self._queue.take(key, self._player, patient=patient)

    def finish(self, key: str, outcome: JsonObject) -> None:
        """Tell how an item has played its own case."""
        self._queue.finish(key, outcome)

    def leave(self, key: str) -> None:
        """Have nothing more played ahead for the test of this case."""
        self._queue.leave(key)

    def drop(self, key: str) -> None:
        """Tell that an item has not come to the end of its own case."""
        self._queue.drop(key)

    def _work(self, number: int) -> None:
        why = ""
        try:
            with self._seat(number) as seat:
                while self._play_next(seat):
                    pass
        except Exception as error:  # noqa: BLE001 (no database for this slot, for one: the others go on, and it is told)
            why = f"{self._player}: {error}"
        with suppress(ControllerGoneError, OSError):  # the controller is gone: there is nobody to play for
            self._queue.quit(self._player, why)

    def _play_next(self, seat: Seat) -> bool:
        """Play the next case; return whether there was one."""
        key = self._queue.next(self._player)
        if key is None:
            return False
        try:
            self._queue.finish(key, seat(key))
        except BaseException:
            self._queue.drop(key)
            raise
        return True
