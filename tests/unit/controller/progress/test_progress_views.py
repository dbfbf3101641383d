"""The progress display during a pytest run."""

import io
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.controller.progress.snapshot import Files, ProgressSnapshot
from pytest_crmeval.controller.progress.views import LATE, MINUTE, BottomLines, Log
from pytest_crmeval.journal.progress import Progress
from tests.fakes import share

ROW = Progress(
    suite="crm",
    subject="gpt-4.1",
    total=60,
    passed=9,
    failed=3,
    pass_rate=share(9, 3),
    calls=50,
    cost=0.25,
    rate=12.0,
    eta=240.0,
)


class Books:
    """A snapshot with given values."""

    def __init__(self, *rows: Progress, traffic: Sequence[str] = ()) -> None:
        self.rows = rows
        self.away = ""
        self.files = Files()
        self._traffic = traffic

    def read(self, now: float) -> tuple[Sequence[Progress], Progress]:
        """Return the rows, and the first as the sum."""
        del now
        return self.rows, self.rows[0] if self.rows else Progress()

    def outage(self) -> str:
        """Return how long the server has been unreachable."""
        return self.away

    def traffic(self) -> Sequence[str]:
        """Return the phrases."""
        return self._traffic


class Pytest:
    """The parts of pytest that a view uses: config, reporter and writer in one object."""

    def __init__(self, file: io.TextIOWrapper | io.StringIO) -> None:
        self._file = file
        self._current_line = ""
        self.hasmarkup = False
        self.pluginmanager = self

    def get_plugin(self, _: str) -> "Pytest":
        """Return the reporter."""
        return self

    def get_terminal_writer(self) -> "Pytest":
        """Return the writer."""
        return self

    @property
    def width_of_current_line(self) -> int:
        """Return how much was written."""
        return len(self._current_line)

    def ensure_newline(self) -> None:
        """Do nothing, as with xdist."""

    def write(self, text: str) -> None:
        """Write."""
        self._current_line = (self._current_line + text).rpartition("\n")[2]
        self._file.write(text)
        self._file.flush()

    def line(self, text: str = "") -> None:
        """Write a line."""
        self.write(f"{text}\n")

    write_line = line


class Clock:
    """A view with a given snapshot."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def log(pytest_: Pytest, books: Books, clock: Clock) -> Log:
    """Return a log."""
    config: Any = pytest_
    return Log(config, cast("ProgressSnapshot", books), clock)


def test_log_has_a_line_per_minute() -> None:
    message, clock = Pytest(io.StringIO()), Clock()
    view = log(message, Books(ROW), clock)
    counts = []
    for now in (1.0, MINUTE - 1, MINUTE, MINUTE + 1, 2 * MINUTE + 1):
        clock.now = now
        view.calm()
        counts.append(message._file.getvalue().count("\n"))  # type: ignore[union-attr] # noqa: SLF001

    assert [0, 0, 1, 1, 2] == counts


def test_line_of_a_log_starts_on_a_new_line() -> None:
    message, clock = Pytest(io.StringIO()), Clock()
    view = log(message, Books(ROW), clock)
    message.write("....")
    clock.now = MINUTE
    view.calm()

    first, second = message._file.getvalue().splitlines()  # type: ignore[union-attr] # noqa: SLF001
    assert "...." == first
    assert second.startswith("crmeval: 12/60 done, ")


@pytest.mark.parametrize("many", [1, 3, 9])
def test_log_has_a_line_for_each_subject_or_one_for_all(snapshot: SnapshotAssertion, many: int) -> None:
    """Nine lines would be too many."""
    message, clock = Pytest(io.StringIO()), Clock()
    rows = [replace(ROW, subject=f"model {number}") for number in range(many)]
    view = log(message, Books(*rows, traffic=["2 calls waiting for a rate limit", "spent $0.25"]), clock)
    clock.now = MINUTE
    view.calm()

    assert snapshot == message._file.getvalue()  # type: ignore[union-attr] # noqa: SLF001


def test_log_shows_the_progress_of_solution_files() -> None:
    message, clock, books = Pytest(io.StringIO()), Clock(), Books(ROW)
    view = log(message, books, clock)
    for number in range(6):
        books.files.note(f"test_it.py::test[checkpoint-{number}-s]", 120, 468, 43)
    books.files.forget("test_it.py::test[checkpoint-0-s]")
    clock.now = MINUTE
    view.calm()

    _, *files = message._file.getvalue().splitlines()  # type: ignore[union-attr] # noqa: SLF001
    assert "crmeval: checkpoint-1-s: 120 of 468 graded, 43 solved" == files[0]
    assert (5, "crmeval: ... and 1 more file") == (len(files), files[-1])


def test_log_is_empty_before_the_first_case() -> None:
    """The run has not started."""
    message, clock = Pytest(io.StringIO()), Clock()
    view = log(message, Books(), clock)
    message.write("....")
    clock.now = MINUTE
    view.calm()

    assert "...." == message._file.getvalue()  # type: ignore[union-attr] # noqa: SLF001


def test_log_is_written_while_no_case_ends(tmp_path: Path) -> None:
    """Even while standard output is redirected, as during a test; then not again for a minute."""
    path, clock = tmp_path / "log", Clock()
    with path.open("w") as file, Path(os.devnull).open("w") as elsewhere:
        message = Pytest(file)
        view = log(message, Books(ROW), clock)
        message.write("test_crm.py ")
        os.dup2(elsewhere.fileno(), file.fileno())
        for now in (MINUTE, MINUTE + LATE, MINUTE + LATE + 1):
            clock.now = now
            view.tick()
        view.close()

    first, second = path.read_text().splitlines()
    assert "test_crm.py " == first
    assert second.startswith("crmeval: 12/60 done, ")
    assert 0 == message.width_of_current_line


def test_log_shows_once_and_immediately_that_the_server_is_unreachable(tmp_path: Path) -> None:
    """A second outage is shown again."""
    path, books = tmp_path / "log", Books(ROW)
    with path.open("w") as file:
        view = log(Pytest(file), books, Clock())
        for books.away in ("", "waiting for PostgreSQL", "waiting for PostgreSQL", "", "waiting again"):
            view.tick()
        view.close()

    assert ["crmeval: waiting for PostgreSQL", "crmeval: waiting again"] == path.read_text().splitlines()


class Bare(BottomLines):
    """Lines for the bottom of a terminal that does not exist."""

    def __init__(self, books: Books) -> None:
        self._snapshot = cast("ProgressSnapshot", books)
        self._clock = Clock()
        self._writer = Pytest(io.StringIO())

    def lines(self, width: int, height: int = 12) -> str:
        """Return them."""
        return "\n".join(self._lines(width, height))


@pytest.mark.parametrize("width", [40, 80, 200])
def test_lines_at_the_bottom_of_a_terminal(snapshot: SnapshotAssertion, width: int) -> None:
    """A table of the subjects, and a line about models."""
    rows = [replace(ROW, in_flight=5), replace(ROW, subject="claude", in_flight=3, retries=2, errored=1)]
    traffic = ["3 calls waiting for a rate limit", "7 calls retried", "2 rate-limited", "spent $0.52"]

    assert snapshot == Bare(Books(*rows, traffic=traffic)).lines(width)


@pytest.mark.parametrize("width", [40, 80])
def test_many_subjects_leave_room_for_pytest(snapshot: SnapshotAssertion, width: int) -> None:
    """Twenty subjects don't fill the whole screen."""
    rows = [replace(ROW, subject=f"model {number}") for number in range(20)]

    found = Bare(Books(*rows)).lines(width, 8)

    assert found.count("\n") < 8
    assert snapshot == found


def test_nothing_is_shown_before_the_run_starts() -> None:
    assert "" == Bare(Books()).lines(80)
