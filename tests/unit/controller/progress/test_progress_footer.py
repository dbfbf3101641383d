"""Lines at the bottom of a terminal: below what pytest writes, and never in it."""

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
    """A terminal that this process writes to, and what is on its screen."""

    def __init__(self, columns: int = COLUMNS, encoding: str = "utf-8") -> None:
        self._controlling, own = pty.openpty()
        fcntl.ioctl(own, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, columns, 0, 0))
        self.file: TextIO = os.fdopen(own, "w", encoding=encoding)
        self.emulated = pyte.HistoryScreen(columns or 80, LINES, ratio=1.0)
        self._stream = pyte.ByteStream(self.emulated)
        os.set_blocking(self._controlling, False)

    @property
    def lines(self) -> list[str]:
        """What is on the screen, with what was scrolled away."""
        self.look()
        above = ["".join(line[n].data for n in range(self.emulated.columns)) for line in self.emulated.history.top]
        shown = [line.rstrip() for line in [*above, *self.emulated.display]]
        while shown and not shown[-1]:
            shown.pop()
        return shown

    def look(self) -> None:
        """Take what was written."""
        try:
            while read := os.read(self._controlling, 65_536):
                self._stream.feed(read)
        except BlockingIOError:
            return

    def close(self) -> None:
        """Switch it off."""
        self.file.close()
        os.close(self._controlling)


@pytest.fixture
def glass() -> Iterator[Glass]:
    """Give a small terminal."""
    made = Glass()
    yield made
    made.close()


@pytest.fixture
def footer(glass: Glass) -> Iterator[Footer]:
    """Give the bottom of it."""
    made = Footer(glass.file)
    yield made
    made.close()


def test_lines_are_below_what_is_written(glass: Glass, footer: Footer) -> None:
    footer.write("test_crm.py ..")
    footer.show(["1 of 3", "2 of 3"])
    footer.write(".")

    assert ["test_crm.py ...", "1 of 3", "2 of 3"] == glass.lines


def test_lines_move_down_with_what_is_written(glass: Glass, footer: Footer) -> None:
    footer.write("one")
    footer.show(["below"])
    footer.write("\ntwo\nthree")

    assert ["one", "two", "three", "below"] == glass.lines


def test_at_the_bottom_everything_moves_up(glass: Glass, footer: Footer) -> None:
    """What pytest wrote is scrolled away, and never overwritten."""
    footer.show(["below", "and below"])
    for number in range(20):
        footer.write(f"test {number}")
        footer.write("\n")

    assert [*(f"test {number}" for number in range(20)), "", "below", "and below"] == glass.lines


def test_other_lines_take_the_place_of_the_first(glass: Glass, footer: Footer) -> None:
    footer.write("dots")
    footer.show(["one", "two", "three"])
    footer.show(["only"])

    assert ["dots", "only"] == glass.lines


def test_the_end_leaves_what_pytest_wrote(glass: Glass, footer: Footer) -> None:
    footer.write("test_crm.py ..")
    footer.show(["one", "two"])
    footer.clear()
    footer.write(". [100%]")

    assert ["test_crm.py ... [100", "%]"] == glass.lines


@pytest.mark.parametrize("pieces", [["x" * COLUMNS, "yz"], ["x" * (COLUMNS - 1), "xyz"], ["x" * COLUMNS, "\nyz"]])
def test_a_line_that_is_full_or_longer_stays_whole(glass: Glass, footer: Footer, pieces: list[str]) -> None:
    """Also if the lines below are drawn when it is just full."""
    footer.show(["below"])
    for piece in pieces:
        footer.write(piece)
        footer.show(["below"])

    assert ["x" * COLUMNS, "yz", "below"] == glass.lines


def test_a_line_that_is_written_over_stays_in_its_place(glass: Glass, footer: Footer) -> None:
    footer.show(["below"])
    footer.write("\rready: 1/2 workers")
    footer.write("\rready: 2/2 workers")

    assert ["ready: 2/2 workers", "below"] == glass.lines


def test_colours_take_no_columns(glass: Glass, footer: Footer) -> None:
    footer.show([f"\x1b[2m{'b' * (COLUMNS - 1)}\x1b[22m"])
    footer.write("\x1b[32m.\x1b[0m" * 10)
    footer.write("\x1b[36m [ 50%]\n\x1b[0m.")

    assert [".......... [ 50%]", ".", "b" * (COLUMNS - 1)] == glass.lines


def test_a_line_that_is_too_wide_is_not_shown(glass: Glass, footer: Footer) -> None:
    """The terminal was made narrower meanwhile."""
    footer.write("dots")
    footer.show(["b" * COLUMNS, "fits"])

    assert ["dots", "fits"] == glass.lines


def test_what_a_terminal_has_no_letters_for_is_shown_all_the_same() -> None:
    """Somehow; what pytest writes is refused as ever, for pytest knows what to do."""
    glass = Glass(encoding="ascii")
    footer = Footer(glass.file)
    footer.write("dots")
    footer.show(["crm × oracle"])

    with pytest.raises(UnicodeEncodeError):
        footer.write("×\n")
    assert ["dots", "crm ? oracle"] == glass.lines
    footer.close()
    glass.close()


def test_a_terminal_that_does_not_know_its_size_has_the_usual() -> None:
    glass = Glass(columns=0)
    footer = Footer(glass.file)

    assert (80, 24) == footer.size
    footer.close()
    glass.close()


def test_who_is_writing_is_not_waited_for(glass: Glass, footer: Footer) -> None:
    """Nor does anybody wait: the lines are drawn the next time."""
    from threading import Thread

    with footer._guard:  # noqa: SLF001 (as another writing thread)
        drawing = Thread(target=footer.show, args=[["below"]])
        drawing.start()
        drawing.join(120)

        assert not drawing.is_alive()
    assert [] == glass.lines


def test_what_is_captured_is_not_drawn_on(glass: Glass, footer: Footer) -> None:
    """Standard output may be taken away while a test runs: the terminal is still there."""
    elsewhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(elsewhere, glass.file.fileno())
    footer.show(["below"])

    assert ["", "below"] == glass.lines
    os.close(elsewhere)


def test_it_is_the_terminal_in_all_other_respects(glass: Glass, footer: Footer) -> None:
    assert (True, "utf-8") == (footer.isatty(), footer.encoding)
    assert isinstance(glass.file, io.TextIOWrapper)
