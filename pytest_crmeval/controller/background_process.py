"""The process of a job: it holds the lock of its run from the start, and records how it ended.

``crmeval submit`` and ``crmeval run`` set an environment variable for the process that they start. The recorder writes
most ends. If the run never got that far (an error in the command, a broken conftest, nothing to play), the end is
written here.
"""

import atexit
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from pytest_crmeval.controller.locking import PLUGIN
from pytest_crmeval.controller.signals import Signals
from pytest_crmeval.journal.counts import ended
from pytest_crmeval.journal.jobs import JobError, State, read_job, write_job
from pytest_crmeval.journal.locks import FolderLock


class BackgroundProcess:
    """Records the end of a job."""

    def __init__(self, folder: Path, lock: FolderLock) -> None:
        self.folder = folder
        self.lock = lock
        self._status: int | None = None
        self._interrupted = False
        self._signals = Signals()  # the controller handles them as well, but does not exist while pytest loads
        self._signals.take()
        atexit.register(self._write)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self) -> Generator[None, int | None, int | None]:
        """Record how pytest ends."""
        try:
            status = yield
        except pytest.UsageError:
            self._status = int(pytest.ExitCode.USAGE_ERROR)
            raise
        self._status = None if status is None else int(status)
        return status

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note that the run was interrupted."""
        self._interrupted = isinstance(excinfo.value, KeyboardInterrupt)

    def _write(self) -> None:
        """Write the end, unless the recorder has done so."""
        try:
            job = read_job(self.folder)
            if job.state is State.RUNNING:
                failed = getattr(sys, "last_value", None)
                stopped = self._interrupted or isinstance(failed, KeyboardInterrupt)
                status = self._status
                if status is None:  # nothing was run: an error of pytest itself, or an uncaught one
                    status = int(pytest.ExitCode.USAGE_ERROR if failed is None else pytest.ExitCode.TESTS_FAILED)
                    if isinstance(failed, KeyboardInterrupt):
                        status = int(pytest.ExitCode.INTERRUPTED)
                write_job(self.folder, ended(self.folder, job, status, stopped=stopped))
        except (JobError, OSError) as error:
            sys.stderr.write(f"crmeval: could not record the end of the run: {error}\n")


def track_background_run(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the plugin if this process was started for a job."""
    handed = FolderLock.handed_over()
    if handed:
        pluginmanager.register(BackgroundProcess(*handed), PLUGIN)
