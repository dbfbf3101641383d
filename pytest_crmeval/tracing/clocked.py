"""A dialogue that knows when each message was said."""

import time
from collections.abc import Iterable
from typing import Self

from pytest_crmeval.domain.messages import Message


class ClockedMessages(list[Message]):
    """A list of messages with the time at which each was added."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[int] = []
        """Nanoseconds since 1970."""

    def append(self, message: Message) -> None:
        """Add a message."""
        super().append(message)
        self.times.append(time.time_ns())

    def extend(self, messages: Iterable[Message]) -> None:
        """Add messages."""
        for message in messages:
            self.append(message)

    def __iadd__(self, messages: Iterable[Message]) -> Self:  # type: ignore[override, misc] # narrower, as here
        """Add messages."""
        self.extend(messages)
        return self

    def clear(self) -> None:
        """Begin again."""
        super().clear()
        self.times.clear()
