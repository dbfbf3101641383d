"""Log records of prefetched cases, which are shown with their own item and not with the one that is running."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_PLAYING: ContextVar[list[str] | None] = ContextVar("crmeval_log", default=None)
"""The log lines of the case that this context plays, including those of its SDK's thread."""


@contextmanager
def caught() -> Iterator[list[str]]:
    """Collect the lines that are logged in this context, in the format of pytest."""
    lines: list[str] = []
    token = _PLAYING.set(lines)
    try:
        yield lines
    finally:
        _PLAYING.reset(token)


class Catcher(logging.Handler):
    """Collects the log records of prefetched cases."""

    def emit(self, record: logging.LogRecord) -> None:
        """Add a record to the lines of its case, if it belongs to a prefetched one."""
        lines = _PLAYING.get()
        if lines is not None:
            lines.append(f"{self.format(record)}\n")


def is_of_the_item(record: logging.LogRecord) -> bool:
    """Whether a record belongs to the running item and not to a prefetched case."""
    del record
    return _PLAYING.get() is None
