"""`crmeval status --watch` on a terminal: a table that is always up to date."""

import time
from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pytest_crmeval.journal.jobs import State
from pytest_crmeval.journal.status import RunWatcher, Status
from pytest_crmeval.render.progress_table import ALL, sheet
from pytest_crmeval.render.status import foot, head

STEP = 0.2
"""Seconds after which a changed width of the terminal is noticed."""
_COLORS = {
    State.SUBMITTED: "yellow",
    State.RUNNING: "cyan",
    State.FINISHED: "green",
    State.STOPPED: "yellow",
    State.LOST: "red",
}
_BAD = {"failed": "red", "errored": "bold red", "invalid": "yellow", "retries": "yellow"}


def watch_live(watch: RunWatcher, interval: float, console: Console | None = None) -> Status:
    """Show a run until it ends, and leave on the screen how it ended."""
    console = console or Console(highlight=False, force_terminal=True)
    status = watch.look(time.time(), time.monotonic())
    with Live(console=console, auto_refresh=False, transient=False) as live:
        while True:
            width = console.width
            live.update(Group(*rendered(status, width)), refresh=True)
            if status.is_over:
                return status
            if _waited(interval, console, width):
                status = watch.look(time.time(), time.monotonic())


def rendered(status: Status, width: int) -> Iterator[RenderableType]:
    """Yield what is shown on so many columns."""
    for line in head(status, width):
        text = Text(line, style="bold")
        text.highlight_words([str(status.state)], style=_COLORS[status.state])
        yield text
    yield _table(status, width)
    for line in foot(status, width):
        yield Text(line, style="dim" if line.startswith("  ") else "", overflow="fold")


def _waited(interval: float, console: Console, width: int) -> bool:
    """Wait for the next look; False if the width of the terminal changes before that."""
    deadline = time.monotonic() + interval
    while (left := deadline - time.monotonic()) > 0:
        time.sleep(min(STEP, left))
        if console.width != width:
            return False
    return True


def _table(status: Status, width: int) -> RenderableType:
    found = sheet(status.rows, status.whole, width)
    if not found.heads:  # too narrow for a table: each name with its figures below it
        lines = ((number, line) for row in found.rows for number, line in enumerate(row))
        return Group(*(Text(line, no_wrap=True) if number else Text(line, style="bold") for number, line in lines))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), collapse_padding=True, header_style="dim")
    for place, name in enumerate(found.heads):
        table.add_column(name, justify="right" if place else "left", no_wrap=True)
    for row in found.rows:
        table.add_row(*map(_cell, found.heads, row), style="bold" if row[0] == ALL else "")
    return table


def _cell(name: str, text: str) -> Text:
    color = _BAD.get(name, "") if text not in {"0", "-"} else ""
    return Text(text, style="green" if text == "done" else color)
