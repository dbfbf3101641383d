"""Log records of conversations that are played ahead: they go to their own item, not to the one that happens to run."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_PLAYING: ContextVar[list[str] | None] = ContextVar("crmeval_log", default=None)
"""Where the records of the conversation go that is being played; also what its SDK logs, in a thread of its own."""


@contextmanager
def caught() -> Iterator[list[str]]:
    """Catch what is logged in this context, as pytest would have shown it, line by line."""
    lines: list[str] = []
    token = _PLAYING.set(lines)
    try:
        yield lines
    finally:
        _PLAYING.reset(token)


class Catcher(logging.Handler):
    """Takes the records of cases that are played ahead."""

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record of a conversation that is played ahead."""
        lines = _PLAYING.get()
        if lines is not None:
            lines.append(f"{self.format(record)}\n")


def is_of_the_item(record: logging.LogRecord) -> bool:
    """Whether a record belongs to the item that is running, and not to a case that is played ahead."""
    del record
    return _PLAYING.get() is None
