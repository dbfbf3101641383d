"""Two ways to show progress: at the bottom of a terminal, and line by line in a log."""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import pytest

from pytest_crmeval.compat import forget_line, set_terminal_file, terminal_descriptor, terminal_file
from pytest_crmeval.controller.progress.footer import Footer
from pytest_crmeval.controller.progress.snapshot import ProgressSnapshot
from pytest_crmeval.render.progress_table import cut, folded, in_words, named, sheet

MINUTE = 60.0
LATE = 10.0
"""Seconds that a log line waits until pytest is not in the middle of a line."""
NARROWEST, LOWEST = 20, 8
"""Minimum columns and lines of a terminal with lines at its bottom."""
SEVERAL = 6
"""Maximum number of rows with a line each; more of them share one line."""


class View(Protocol):
    """Shows the progress of a run."""

    def tick(self) -> None:
        """Update the display after some time; called in a thread of its own, while other threads may write."""
        ...

    def calm(self) -> None:
        """Note that pytest is not in the middle of a line."""
        ...

    def close(self) -> None:
        """Remove everything from the screen."""
        ...


class BottomLines:
    """Lines at the bottom of the terminal."""

    def __init__(self, config: pytest.Config, snapshot: ProgressSnapshot, clock: Callable[[], float]) -> None:
        self._config = config
        self._writer: Any = config.get_terminal_writer()
        self._terminal = terminal_file(config)  # mode_of has checked that there is one
        self._snapshot = snapshot
        self._clock = clock
        self._footer = Footer(self._terminal)
        set_terminal_file(config, self._footer)

    def tick(self) -> None:
        """Draw."""
        size = self._footer.size
        fits = size.columns >= NARROWEST and size.lines >= LOWEST
        self._footer.show(list(self._lines(size.columns - 1, size.lines // 2)) if fits else ())

    def calm(self) -> None:
        """Do nothing: lines at the bottom of the terminal can stay."""

    def close(self) -> None:
        """Take the lines away."""
        set_terminal_file(self._config, self._terminal)
        self._footer.close()

    def _lines(self, width: int, height: int) -> Iterator[str]:
        rows, whole = self._snapshot.read(self._clock())
        if not rows:
            return
        found = sheet(rows, whole, width)
        head, *lines = found.lines()
        if found.heads and len(lines) >= height:
            lines = [*lines[: height - 3], f"... {len(lines) - height + 2} more ...", lines[-1]]
        elif len(lines) >= height:
            head, *lines = folded(in_words(whole).split(", "), width)
        yield self._dim(head) if found.heads else head
        yield from lines
        yield from (self._dim(cut(line, width)) for line in self._snapshot.files.lines())
        if traffic := self._snapshot.traffic():
            yield from map(self._dim, folded(traffic, width))

    def _dim(self, text: str) -> str:
        return f"\x1b[2m{text}\x1b[22m" if self._writer.hasmarkup else text


class Log:
    """One line per minute, for each row or for all together."""

    def __init__(self, config: pytest.Config, snapshot: ProgressSnapshot, clock: Callable[[], float]) -> None:
        self._reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        self._config = config
        self._writer = config.get_terminal_writer()
        self._snapshot = snapshot
        self._clock = clock
        self._due = clock() + MINUTE
        self._is_away = False
        self._descriptor = terminal_descriptor(config)

    def tick(self) -> None:
        """Write even in the middle of pytest's line if that has not changed for long or the server is unreachable."""
        was_away, outage = self._is_away, self._snapshot.outage()
        self._is_away = bool(outage)
        if outage and not was_away:
            self._interject([f"crmeval: {outage}"])
        if self._clock() >= self._due + LATE:
            self._interject(self._lines_now())

    def calm(self) -> None:
        """Write, if it is time."""
        if self._clock() < self._due:
            return
        lines = list(self._lines_now())
        if lines:
            self._reporter.ensure_newline()
            if self._writer.width_of_current_line:  # xdist's dots
                self._writer.line()
        for line in lines:
            self._reporter.write_line(line)

    def close(self) -> None:
        """Do nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _interject(self, lines: Iterable[str]) -> None:
        if self._descriptor is not None:
            text = "".join(f"{line}\n" for line in lines)
            started = "\n" if self._writer.width_of_current_line and text else ""
            os.write(self._descriptor, f"{started}{text}".encode(errors="replace"))
            forget_line(self._config)

    def _lines_now(self) -> Iterator[str]:
        """Yield the lines that are due."""
        now = self._clock()
        self._due = now + MINUTE
        rows, whole = self._snapshot.read(now)
        if 1 < len(rows) <= SEVERAL:
            yield from (f"crmeval: {named(row)}: {in_words(row)}" for row in rows)
        elif rows:
            yield f"crmeval: {', '.join([in_words(whole), *self._snapshot.traffic()])}"
        yield from (f"crmeval: {line}" for line in self._snapshot.files.lines())
