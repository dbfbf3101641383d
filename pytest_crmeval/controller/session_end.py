"""Complete the end of a session even if another plugin fails."""

import warnings
from collections.abc import Generator

import pytest

from pytest_crmeval.controller.recorder import Recorder


class SessionEnd:
    """Shows errors of other plugins at the end of a session, so that the summary and exit status still appear."""

    def __init__(self, config: pytest.Config, recorder: Recorder) -> None:
        self._config = config
        self._recorder = recorder
        self._exit: tuple[str, int | None] | None = None
        """Reason and status of another plugin's ``pytest.exit``."""
        self.failed = False
        """Whether another plugin has failed, so that the run fails."""

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        """Keep errors from the terminal reporter, which would otherwise skip its summary.

        Warnings are shown, not raised: with ``filterwarnings = error`` one warning (syrupy's after a crashed worker)
        would skip every plugin that finishes later, such as JUnit XML.
        """
        if not self._recorder.has_begun:
            return (yield)
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            try:
                return (yield)
            except Exception as error:  # noqa: BLE001 (any plugin's, and it is shown)
                self.show(error)
                return None

    def show(self, error: Exception) -> None:
        """Show the error as pytest shows errors of plugins; one of a session that evaluates nothing is raised again.

        ``pytest.exit`` is kept until summary and exit status are there.
        """
        if not self._recorder.has_begun:
            raise error
        if isinstance(error, pytest.exit.Exception):
            self._exit = str(error), error.returncode
            return
        self.failed = True
        self._config.notify_exception(pytest.ExceptionInfo.from_exception(error), self._config.option)

    def leave(self, status: int) -> None:
        """End with the status of another plugin's ``pytest.exit``, but not successfully if the run has failed."""
        if self._exit is not None:
            reason, asked = self._exit
            pytest.exit(reason, status or asked)
