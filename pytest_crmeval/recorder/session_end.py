"""Keep the end of a session going when another plugin fails in it."""

import warnings
from collections.abc import Callable, Generator

import pytest


class SessionEnd:
    """Shows errors that other plugins raise at the end of a session, so that summary and exit status still come."""

    def __init__(self, config: pytest.Config, has_begun: Callable[[], bool]) -> None:
        self._config = config
        self._has_begun = has_begun
        self.failed = False
        """Whether another plugin has failed; the run is red then."""

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        """Keep errors from the terminal reporter, which would leave out its summary.

        Warnings are shown, not raised: with ``filterwarnings = error`` one warning (syrupy's after a crashed worker)
        would skip every plugin that finishes later, such as JUnit XML.
        """
        if not self._has_begun():
            return (yield)
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            try:
                return (yield)
            except Exception as error:  # noqa: BLE001 (any plugin's, and it is shown)
                self.show(error)
                return None

    def show(self, error: Exception) -> None:
        """Show the error as pytest shows errors of plugins.

        ``pytest.exit``, and any error of a session that evaluates nothing, is raised again.
        """
        if not self._has_begun() or isinstance(error, pytest.exit.Exception):
            raise error
        self.failed = True
        self._config.notify_exception(pytest.ExceptionInfo.from_exception(error), self._config.option)
