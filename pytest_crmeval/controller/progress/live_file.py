"""Shows other processes how the models and the server of a run are doing."""

from collections.abc import Generator
from pathlib import Path
from threading import Event, Thread

import pytest

from pytest_crmeval.controller.progress.snapshot import ProgressSnapshot
from pytest_crmeval.journal import live

EVERY = 1.0
"""Seconds between two writes."""


class LiveFile:
    """Writes the traffic of the run into its folder, and removes what all processes wrote there when it ends."""

    def __init__(self, run: Path, snapshot: ProgressSnapshot) -> None:
        self._run = run
        self._snapshot = snapshot
        self._over = Event()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Write while the loop runs."""
        thread = Thread(target=self._write, name="crmeval-live-file", daemon=True)
        thread.start()
        try:
            return (yield)
        finally:
            self._over.set()
            thread.join()
            live.clear(self._run)

    def _write(self) -> None:
        live.clear(self._run)
        written: object = []
        while not self._over.wait(EVERY):
            traffic = list(self._snapshot.traffic())
            if traffic != written and self._run.is_dir():
                try:
                    live.write(self._run, live.CONTROLLER, traffic=traffic)
                except OSError:  # the disk is full: the run matters more
                    return
                written = traffic
