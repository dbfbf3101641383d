"""A connection to the controller over a cluster: the same messages as on a channel of execnet.

Only the controller calls: it fetches the messages of a player and delivers answers. Both are numbered, so that a call
that is repeated after the network broke neither loses nor doubles a message.
"""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Condition, Lock, Thread
from typing import Any, Protocol

PATIENCE = 5.0
"""Seconds that a fetch waits for the first message."""
BATCH = 500
"""Maximum number of messages per call."""
Messages = tuple[int, Sequence[bytes]]
"""Messages in order, and the number of the first one."""


class PlayerLostError(Exception):
    """A player, or its node, has ended."""


class RemotePlayer(Protocol):
    """A player on another machine."""

    def call(self, method: str, *arguments: object) -> Any:  # noqa: ANN401 (of any method)
        """Call a method and wait for its result; PlayerLostError if the player is gone."""
        ...


class NodePipe:
    """The player's end: messages wait until the controller fetches them."""

    def __init__(self) -> None:
        self._messages: deque[bytes] = deque()
        self._first = 1
        """Number of the first message that waits."""
        self._delivered = 0
        self._delivering = Lock()
        self._changed = Condition()
        self._closed = False
        self._callback: Callable[[Any], Any] = str

    def send(self, item: object) -> None:
        """Keep a message until it is fetched; OSError if the connection is closed."""
        assert isinstance(item, bytes)  # noqa: S101 (messages are encoded)
        with self._changed:
            if self._closed:
                raise OSError("the connection to the controller is closed")
            self._messages.append(item)
            self._changed.notify()

    def setcallback(self, callback: Callable[[Any], Any], endmarker: object = None) -> None:
        """Call ``callback`` with each answer; the process of a player ends with its connection, so nothing follows."""
        del endmarker
        self._callback = callback

    def close(self) -> None:
        """Send no more: the controller notices when it has fetched the last message."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def fetch(self, known: int) -> Messages | None:
        """Return the messages after number ``known``, which the controller has; None if there will be no more."""
        with self._changed:
            while self._first <= known:
                self._messages.popleft()
                self._first += 1
            self._changed.wait_for(lambda: self._messages or self._closed, PATIENCE)
            if self._closed and not self._messages:
                return None
            return self._first, [message for message, _ in zip(self._messages, range(BATCH), strict=False)]

    def deliver(self, first: int, answers: Sequence[bytes]) -> None:
        """Take answers, of which the first has the number ``first``; those that were delivered before are ignored."""
        with self._delivering:  # a call that is repeated may still be running
            for answer in answers[self._delivered + 1 - first :]:
                self._callback(answer)
            self._delivered = max(self._delivered, first + len(answers) - 1)


class PlayerPipe:
    """The controller's end, as a channel of execnet."""

    def __init__(self, player: RemotePlayer, name: str, ended: Callable[[], object]) -> None:
        """Connect to a player; ``ended`` is called when it has ended."""
        self._player = player
        self._name = name
        self._ended = ended
        self._answers: SimpleQueue[bytes | None] = SimpleQueue()

    def send(self, item: object) -> None:
        """Send an answer later."""
        assert isinstance(item, bytes)  # noqa: S101 (answers are encoded)
        self._answers.put(item)

    def setcallback(self, callback: Callable[[Any], Any], endmarker: object = None) -> None:
        """Call ``callback`` with each message, and with ``endmarker`` when the player has ended."""
        Thread(target=self._fetch, args=[callback, endmarker], name=f"crmeval-fetch-{self._name}", daemon=True).start()
        Thread(target=self._deliver, name=f"crmeval-deliver-{self._name}", daemon=True).start()

    def close(self) -> None:
        """Send no more."""
        self._answers.put(None)

    def _fetch(self, callback: Callable[[Any], Any], endmarker: object) -> None:
        known = 0
        try:
            while (found := self._player.call("fetch", known)) is not None:
                first, messages = found
                known = first + len(messages) - 1
                for message in messages:
                    callback(message)
        except PlayerLostError:
            pass  # the end marker says it
        self.close()
        self._ended()
        callback(endmarker)

    def _deliver(self) -> None:
        number = 1
        try:
            while answers := self._waiting():
                self._player.call("deliver", number, answers)
                number += len(answers)
        except PlayerLostError:
            return  # the other thread notices it as well

    def _waiting(self) -> list[bytes]:
        """Wait for answers and return them; none if the connection was closed."""
        found = [self._answers.get()]
        with suppress(Empty):
            while found[-1] is not None and len(found) < BATCH:
                found.append(self._answers.get_nowait())
        if found[-1] is None:
            self._answers.put(None)  # for the next call
        return [answer for answer in found if answer is not None]
