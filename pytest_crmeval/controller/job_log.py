"""Errors in the log of a submitted run, written as soon as they happen."""

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_crmeval.controller.locking import PLUGIN
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.journal.jobs import LOG
from pytest_crmeval.options.environment import redactor_of


class JobLog:
    """Writes a line for each errored trial and each failed call of a submitted run; other runs have no log.

    pytest shows errors at the end of the session, which may be hours away. The lines go directly to the file, because
    pytest captures terminal output while a test runs.
    """

    def __init__(self, config: pytest.Config, folder: Path) -> None:
        self._path = folder / LOG if config.pluginmanager.has_plugin(PLUGIN) else None
        self._redacted = redactor_of(config).text

    def recorded(self, trial: Trial) -> None:
        """Write why a trial errored; any thread may call this."""
        if trial.verdict is Verdict.ERRORED:
            planned = trial.planned
            number = f" (trial {planned.trial})" if planned.trial > 1 else ""
            self._write(f"errored: {planned.suite} × {planned.subject}, {planned.case}{number}: {trial.reason}")

    def call_failed(self, reason: str) -> None:
        """Write why a model did not answer a call; any thread may call this."""
        self._write(f"call failed: {reason}")

    def _write(self, text: str) -> None:
        if self._path is None:
            return
        line = next(iter(self._redacted(text).splitlines()), "")
        with suppress(OSError), self._path.open("ab+") as log:  # a full disk; the journal also has the reason
            log.seek(-min(1, log.seek(0, os.SEEK_END)), os.SEEK_END)
            start = "\n" if log.read(1) not in {b"", b"\n"} else ""  # pytest is in the middle of a line of dots
            log.write(f"{start}crmeval: {time.strftime('%H:%M:%S')} {line}\n".encode(errors="replace"))
