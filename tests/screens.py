"""A terminal for real processes: what is on its screen, as a person would see it."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, Thread

import pyte

from tests.postgres.processes import eventually

SECONDS = 300.0
FOREIGN = ("CI", "BUILD_NUMBER", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "COLUMNS", "LINES")
"""Variables of the user's environment that would change the output."""


class Terminal:
    """A terminal with a process in it."""

    def __init__(self, process: subprocess.Popen[bytes], controlling: int, columns: int, lines: int) -> None:
        self.process = process
        self._controlling = controlling
        self._screen = pyte.HistoryScreen(columns, lines, history=10_000, ratio=1.0)
        self._stream = pyte.ByteStream(self._screen)
        self._guard = Lock()
        self.said = b""
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def screen(self) -> list[str]:
        """The lines that are on the screen."""
        with self._guard:
            return [line.rstrip() for line in self._screen.display]

    @property
    def everything(self) -> list[str]:
        """The same, after those that were scrolled away; without the empty ones at the end."""
        with self._guard:
            above = ["".join(line[n].data for n in range(self._screen.columns)) for line in self._screen.history.top]
            lines = [line.rstrip() for line in [*above, *self._screen.display]]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def shows(self, words: str) -> bool:
        """Whether these words are on the screen."""
        return any(words in line for line in self.screen)

    def until(self, words: str) -> None:
        """Wait until these words are on the screen."""
        try:
            eventually(lambda: self.shows(words), words, SECONDS)
        except AssertionError as error:
            raise AssertionError("\n".join([str(error), *self.everything])) from None

    def press_ctrl_c(self) -> None:
        """Press Ctrl-C."""
        os.write(self._controlling, b"\x03")

    def end(self) -> int:
        """Wait for the end of the process and return its exit status."""
        status = self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        return status

    def _read(self) -> None:
        while True:
            try:
                read = os.read(self._controlling, 65_536)
            except OSError:  # the other side has closed it
                return
            if not read:
                return
            with self._guard:
                self.said += read
                self._stream.feed(read)


@contextmanager
def terminal(
    folder: Path, *command: str, columns: int = 80, lines: int = 24, environment: Mapping[str, str] | None = None
) -> Iterator[Terminal]:
    """Run a Python module with arguments in a terminal; whatever happens, end its process group."""
    controlling, own = pty.openpty()
    fcntl.ioctl(own, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    own_variables = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    variables = {**own_variables, "TERM": "xterm-256color", "PYTHONUNBUFFERED": "1", **(environment or {})}
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=folder,
        stdin=own,
        stdout=own,
        stderr=own,
        env=variables,
        preexec_fn=_take_terminal,  # noqa: PLW1509 (nothing but two calls to the kernel)
    )
    os.close(own)
    made = Terminal(process, controlling, columns, lines)
    try:
        yield made
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        os.close(controlling)


def _take_terminal() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
