"""The progress of a run while pytest runs it. An error here only ends the display."""

import os
import time
from collections.abc import Callable, Generator, Mapping
from enum import Enum, auto
from threading import Event, Thread

import pytest

from pytest_crmeval.compat import owns_terminal
from pytest_crmeval.controller.progress.snapshot import ProgressSnapshot
from pytest_crmeval.controller.progress.views import BottomLines, Log, View
from pytest_crmeval.options.reading import is_dry_run

EVERY = 0.5
"""Seconds between two updates."""
PATIENCE = 1.0
"""Maximum seconds for the last update of a run: the terminal may have been stopped with Ctrl-S."""


class Mode(Enum):
    """Where progress is shown."""

    OFF = auto()
    LOG = auto()
    """One line per minute."""
    BOTTOM = auto()
    """Lines at the bottom of the terminal."""


def mode_of(config: pytest.Config, environment: Mapping[str, str]) -> Mode:
    """Decide where; ``--crmeval-progress on`` also applies with -q and in CI, but a pipe still gets lines."""
    asked = config.getoption("crmeval_progress") or "auto"
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if asked == "off" or reporter is None or is_dry_run(config):
        return Mode.OFF
    dumb = bool(reporter.isatty()) and environment.get("TERM", "dumb") == "dumb"
    if asked == "auto" and (dumb or config.option.verbose < 0):
        return Mode.OFF
    in_ci = asked == "auto" and any(environment.get(name) for name in ("CI", "BUILD_NUMBER"))
    captured = config.getoption("capture", "no") in {"fd", "sys"}
    debugged = any(config.getoption(name, default=False) for name in ("usepdb", "trace"))
    alone = owns_terminal(config) and captured and not debugged
    free = reporter.isatty() and not dumb and not in_ci and alone
    return Mode.BOTTOM if free else Mode.LOG


class Live:
    """Shows progress while pytest's loop runs.

    One thread updates the display. It never waits for a thread that runs tests, and no such thread waits for it.
    """

    def __init__(
        self, config: pytest.Config, snapshot: ProgressSnapshot, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._config = config
        self._snapshot = snapshot
        self._clock = clock
        self._view: View | None = None
        self._over = Event()
        self._thread: Thread | None = None
        self._trouble = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Show progress while the loop runs."""
        self._guarded(self._begin)
        try:
            return (yield)
        finally:
            self._end()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note that an item has started."""
        self._snapshot.started(nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Note that an item has ended, so pytest is not in the middle of a line."""
        self._snapshot.ended(nodeid)
        if self._view is not None:
            self._guarded(self._view.calm)
        if self._trouble:
            self._end()

    def pytest_enter_pdb(self) -> None:
        """Leave the terminal to the debugger."""
        self._end()

    def _begin(self) -> None:
        mode = mode_of(self._config, os.environ)
        if mode is Mode.OFF:
            return
        self._view = (BottomLines if mode is Mode.BOTTOM else Log)(self._config, self._snapshot, self._clock)
        self._thread = Thread(target=self._watch, args=[self._view], name="crmeval-progress", daemon=True)
        self._thread.start()

    def _watch(self, view: View) -> None:
        while not (self._trouble or self._over.wait(EVERY)):
            self._guarded(view.tick)

    def _guarded(self, show: Callable[[], None]) -> None:
        """Turn the display off after an error; the run continues."""
        try:
            show()
        except Exception as error:  # noqa: BLE001 (shown, and not repeated)
            self._trouble = self._trouble or f"crmeval: progress is no longer shown: {error!r}"

    def _end(self) -> None:
        """Stop the display, once, and report the error if there was one."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(PATIENCE)
        view, self._view, self._thread = self._view, None, None
        if view is not None:
            self._guarded(view.close)
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if self._trouble and reporter is not None:
            reporter.write_line(self._trouble)
            self._trouble = ""
