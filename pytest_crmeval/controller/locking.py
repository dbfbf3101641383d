"""The lock of a run: taken before the journal is read, so that no other process runs the same run."""

from typing import Any

import pytest

from pytest_crmeval.journal.locks import FolderLock, LockedError
from pytest_crmeval.options.reading import is_dry_run, options_of

PLUGIN = "crmeval-job"
"""The name under which a process that was started for a job registers the lock that it inherited."""


class RunLock:
    """The lock of a run's folder: acquired once, and released at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._folder = options_of(config).folder
        self._lock: FolderLock | None = None

    def take(self) -> None:
        """Acquire it, unless this process has it or plays nothing; UsageError if another process runs this run."""
        background: Any = self._config.pluginmanager.get_plugin(PLUGIN)
        is_given = background is not None and background.folder.resolve() == self._folder.resolve()
        if self._lock is None and not is_dry_run(self._config) and not is_given:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                self._lock = FolderLock.take(self._folder)
            except LockedError as error:
                raise pytest.UsageError(f"crmeval: {error}") from error
            except OSError:
                return  # the folder is not writable: opening the journal reports that next

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Release the lock when everything is on disk; an inherited lock is kept."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None
