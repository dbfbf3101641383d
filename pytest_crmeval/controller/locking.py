"""Nobody else runs this run: its lock, taken before anybody looks at what is done."""

from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.journal.locks import Lock, LockedError

PLUGIN = "crmeval-job"
"""Under this name a process that was started for a job has the lock that it was given."""


class RunLock:
    """The lock of the run of a folder, taken once, and let go at the end."""

    def __init__(self, pluginmanager: pytest.PytestPluginManager, folder: Path) -> None:
        self._pluginmanager = pluginmanager
        self._folder = folder
        self._lock: Lock | None = None

    def take(self) -> None:
        """Take it, unless it is had already; UsageError if another process runs this run."""
        if self._lock is None and not self._is_given():
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                self._lock = Lock.take(self._folder)
            except LockedError as error:
                raise pytest.UsageError(f"crmeval: {error}") from error
            except OSError:
                return  # a folder that can't be written: the journal, which is opened next, says so

    def let_go(self) -> None:
        """Let others run it; what was given for the whole process stays."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _is_given(self) -> bool:
        attendant: Any = self._pluginmanager.get_plugin(PLUGIN)
        return attendant is not None and attendant.folder.resolve() == self._folder.resolve()
