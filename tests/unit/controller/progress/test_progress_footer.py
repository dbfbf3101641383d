"""Lines at the bottom of a terminal: below the output of pytest, and never in it."""

import fcntl
import io
import os
import pty
import struct
import termios
from collections.abc import Iterator
from typing import TextIO

import pyte
import pytest

from pytest_crmeval.controller.progress.footer import Footer

COLUMNS, LINES = 20, 6


class Glass:
    """A terminal that this process writes to, and the content of its screen."""

    def __init__(self, columns: int = COLUMNS, encoding: str = "utf-8") -> None:
        self._controlling, own = pty.openpty()
        fcntl.ioctl(own, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, columns, 0, 0))
        self.file: TextIO = os.fdopen(own, "w", encoding=encoding)
        self.emulated = pyte.HistoryScreen(columns or 80, LINES, ratio=1.0)
        self._stream = pyte.ByteStream(self.emulated)
        os.set_blocking(self._controlling, False)

    @property
    def lines(self) -> list[str]:
        """The screen, with the lines that were scrolled away."""
        self.look()
        above = ["".join(line[n].data for n in range(self.emulated.columns)) for line in self.emulated.history.top]
        shown = [line.rstrip() for line in [*above, *self.emulated.display]]
        while shown and not shown[-1]:
            shown.pop()
        return shown

    def look(self) -> None:
        """Read the output."""
        try:
            while read := os.read(self._controlling, 65_536):
                self._stream.feed(read)
        except BlockingIOError:
            return

    def close(self) -> None:
        """Turn it off."""
        self.file.close()
        os.close(self._controlling)


@pytest.fixture
def glass() -> Iterator[Glass]:
    """Create a small terminal."""
    made = Glass()
    yield made
    made.close()


@pytest.fixture
def footer(glass: Glass) -> Iterator[Footer]:
    """Create the lines at its bottom."""
    made = Footer(glass.file)
    yield made
    made.close()


def test_lines_are_below_the_output(glass: Glass, footer: Footer) -> None:
    footer.write("test_crm.py ..")
    footer.show(["1 of 3", "2 of 3"])
    footer.write(".")

    assert ["test_crm.py ...", "1 of 3", "2 of 3"] == glass.lines


def test_lines_move_down_with_the_output(glass: Glass, footer: Footer) -> None:
    footer.write("one")
    footer.show(["below"])
    footer.write("\ntwo\nthree")

    assert ["one", "two", "three", "below"] == glass.lines


def test_output_is_scrolled_at_the_bottom(glass: Glass, footer: Footer) -> None:
    """Lines of pytest are scrolled away, and never overwritten."""
    footer.show(["below", "and below"])
    for number in range(20):
        footer.write(f"test {number}")
        footer.write("\n")

    assert [*(f"test {number}" for number in range(20)), "", "below", "and below"] == glass.lines


def test_new_lines_replace_the_old_ones(glass: Glass, footer: Footer) -> None:
    footer.write("dots")
    footer.show(["one", "two", "three"])
    footer.show(["only"])

    assert ["dots", "only"] == glass.lines


def test_end_leaves_the_output_of_pytest(glass: Glass, footer: Footer) -> None:
    footer.write("test_crm.py ..")
    footer.show(["one", "two"])
    footer.clear()
    footer.write(". [100%]")

    assert ["test_crm.py ... [100", "%]"] == glass.lines


@pytest.mark.parametrize(
    "pieces",
    [
        ["x" * COLUMNS, "yz"],
        ["x" * (COLUMNS - 1), "xyz"],
        ["x" * (COLUMNS - 1), "x", "yz"],
        ["x" * COLUMNS, "\nyz"],
    ],
)
def test_full_or_long_line_stays_complete(glass: Glass, footer: Footer, pieces: list[str]) -> None:
    """Even if the lines below are drawn when it is exactly full."""
    footer.show(["below"])
    for piece in pieces:
        footer.write(piece)
        footer.show(["below"])

    assert ["x" * COLUMNS, "yz", "below"] == glass.lines


def test_line_that_is_overwritten_stays_in_its_place(glass: Glass, footer: Footer) -> None:
    footer.show(["below"])
    footer.write("\rready: 1/2 workers")
    footer.write("\rready: 2/2 workers")

    assert ["ready: 2/2 workers", "below"] == glass.lines


def test_colours_need_no_columns(glass: Glass, footer: Footer) -> None:
    footer.show([f"\x1b[2m{'b' * (COLUMNS - 1)}\x1b[22m"])
    footer.write("\x1b[32m.\x1b[0m" * 10)
    footer.write("\x1b[36m [ 50%]\n\x1b[0m.")

    assert [".......... [ 50%]", ".", "b" * (COLUMNS - 1)] == glass.lines


def test_line_that_is_too_wide_is_not_shown(glass: Glass, footer: Footer) -> None:
    """The terminal has been made narrower."""
    footer.write("dots")
    footer.show(["b" * COLUMNS, "fits"])

    assert ["dots", "fits"] == glass.lines


def test_characters_that_the_terminal_cannot_encode_are_replaced() -> None:
    """Only in our lines: pytest handles its own output."""
    glass = Glass(encoding="ascii")
    footer = Footer(glass.file)
    footer.write("dots")
    footer.show(["crm × oracle"])

    with pytest.raises(UnicodeEncodeError):
        footer.write("×\n")
    assert ["dots", "crm ? oracle"] == glass.lines
    footer.close()
    glass.close()


def test_terminal_of_unknown_size_has_the_default_size() -> None:
    glass = Glass(columns=0)
    footer = Footer(glass.file)

    assert (80, 24) == footer.size
    footer.close()
    glass.close()


def test_drawing_does_not_wait_for_a_writer(glass: Glass, footer: Footer) -> None:
    """The writer does not wait either: the lines are drawn the next time."""
    from threading import Thread

    with footer._guard:  # noqa: SLF001 (as another writing thread)
        drawing = Thread(target=footer.show, args=[["below"]])
        drawing.start()
        drawing.join(120)

        assert not drawing.is_alive()
    assert [] == glass.lines


def test_lines_are_drawn_on_the_terminal_while_output_is_captured(glass: Glass, footer: Footer) -> None:
    """Standard output may be redirected during a test."""
    elsewhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(elsewhere, glass.file.fileno())
    footer.show(["below"])

    assert ["", "below"] == glass.lines
    os.close(elsewhere)


def test_other_attributes_are_those_of_the_terminal(glass: Glass, footer: Footer) -> None:
    assert (True, "utf-8") == (footer.isatty(), footer.encoding)
    assert isinstance(glass.file, io.TextIOWrapper)
