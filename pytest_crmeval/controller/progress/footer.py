"""Lines at the bottom of a terminal, below pytest's output, which they never overwrite."""

import os
import re
from collections.abc import Sequence
from threading import RLock
from typing import Any, TextIO

from pytest_crmeval.render.progress_table import cells

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_SAVE, _BACK = "\x1b7", "\x1b8"
_DOWN, _UP = "\x1bD", "\x1b[{}A"
"""Down scrolls at the bottom and keeps the column; up does not scroll."""
_ERASE = f"{_SAVE}\x1b[B\r\x1b[J{_BACK}"
"""Clears everything below the cursor's line."""
USUAL = os.terminal_size((80, 24))
"""The assumed size of a terminal that does not report it."""


class Footer:
    """Replaces pytest's terminal file: passes its output through, and keeps lines of our own below.

    The cursor is always where pytest left it. The footer has its own file descriptor, so pytest's capturing, which
    redirects standard output while a test runs, does not affect it.
    """

    def __init__(self, terminal: TextIO) -> None:
        terminal.flush()
        self._terminal = terminal
        self._descriptor = os.dup(terminal.fileno())
        self._out = os.fdopen(self._descriptor, "w", encoding=terminal.encoding, errors=terminal.errors)
        self._guard = RLock()  # a signal may arrive while it is held, and its handler may write
        self._lines: Sequence[str] = ()
        self._drawn = False
        self._column = 0

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever a file has)
        """Pass all other attributes through to the terminal."""
        return getattr(self._terminal, name)

    @property
    def size(self) -> os.terminal_size:
        """Columns and lines of the terminal, as it is now."""
        try:
            found = os.get_terminal_size(self._descriptor)
        except OSError:  # the terminal is gone, and the next write raises the error
            return USUAL
        return found if found.columns else USUAL

    def write(self, text: str) -> int:
        """Write pytest's output above our lines."""
        with self._guard:
            width = self.size.columns
            before, self._column = self._column, _column_after(self._column, text)
            if self._lines and ("\n" in text or before // width != self._column // width):
                erasing = _ERASE if self._drawn else ""
                self._out.write(erasing + text + self._drawing(width))
            else:
                self._out.write(text)
            self._out.flush()
        return len(text)

    def flush(self) -> None:
        """Do nothing: everything is written at once."""

    def show(self, lines: Sequence[str]) -> None:
        """Show these lines from now on. If another thread is writing, they are not shown: there will be others."""
        if not self._guard.acquire(blocking=False):
            return
        try:
            self._lines = lines
            erasing = _ERASE if self._drawn else ""
            self._out.write(erasing + self._drawing(self.size.columns))
            self._out.flush()
        finally:
            self._guard.release()

    def clear(self) -> None:
        """Remove the lines."""
        with self._guard:
            if self._drawn:
                self._out.write(_ERASE)
                self._out.flush()
            self._lines, self._drawn = (), False

    def close(self) -> None:
        """Remove the lines and close the terminal."""
        try:
            self.clear()
        finally:
            self._out.close()

    def _drawing(self, width: int) -> str:
        """Return the escape sequences that draw the lines, and store whether anything is drawn.

        Nothing is drawn when pytest's line is full: saving and restoring the cursor would lose the pending line break.
        """
        lines = [line for line in self._lines if cells(_ESCAPE.sub("", line)) < width]
        self._drawn = bool(lines) and (self._column % width > 0 or not self._column)
        if not self._drawn:
            return ""
        room = _DOWN * len(lines) + _UP.format(len(lines))
        encoding = self._out.encoding
        shown = "".join(f"\r\n{line}" for line in lines).encode(encoding, "replace").decode(encoding)
        return f"{room}{_SAVE}{shown}{_BACK}"


def _column_after(column: int, text: str) -> int:
    """Return the cursor's column after ``text``, which may exceed the width of a line."""
    _, newline, last = text.rpartition("\n")
    _, returned, last = last.rpartition("\r")
    return (0 if newline or returned else column) + cells(_ESCAPE.sub("", last))
