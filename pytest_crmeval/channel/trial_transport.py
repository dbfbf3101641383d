"""A trial on its way from a worker to the controller: one piece of text, where xdist would take it apart."""

from collections.abc import Generator
from functools import lru_cache
from sys import intern
from typing import Any

import pytest

from pytest_crmeval.domain.wire import decoded, encoded

_TRIAL = "crmeval_trial"
_ALIKE = ("when", "outcome", "worker_id", "testrun_uid", "$report_type")
"""Attributes with the same strings in many reports."""
_SAME = ("keywords", "location", "_id")
"""Attributes that are equal in all reports of a test; ``_id`` is pytest's own form of the node id (pytest 9.1)."""


@lru_cache(4096, typed=True)
def _one_copy(name: str, value: object) -> tuple[str, object]:
    """Return a shared copy of a property that many tests have."""
    return name, value


class Packing:
    """The worker's end. execnet writes down every key and every number by itself: text takes a tenth of the time."""

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(self) -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
        """Pack the trial of a report; the report itself stays as it is."""
        data = yield
        if data and _TRIAL in data:
            data[_TRIAL] = encoded(data[_TRIAL]).decode()
        return data


class Unpacking:
    """The controller's end.

    pytest keeps every report until the end of the run. Equal values in the reports of one test, or of all tests, share
    one object to save memory.
    """

    def __init__(self) -> None:
        self._running: dict[str, dict[str, Any]] = {}
        """Shared attributes from the last report of each running test, by node id."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_report_from_serializable(self, data: dict[str, Any]) -> Generator[None, Any, Any]:
        """Unpack the trial before pytest makes a report of it, and share the report's values."""
        if isinstance(data.get(_TRIAL), str):
            data[_TRIAL] = decoded(data[_TRIAL])
        report = yield
        if isinstance(report, pytest.TestReport):
            self._share(report)
        return report

    def _share(self, report: pytest.TestReport) -> None:
        """Replace values in place, so that the dictionaries of all reports still share their keys."""
        state = vars(report)
        for name in _ALIKE:
            if isinstance(value := state.get(name), str):
                state[name] = intern(value)
        state["user_properties"] = [
            _one_copy(*each) if isinstance(each[-1], str | float) else each for each in report.user_properties
        ]
        before = self._running.pop(report.nodeid, None)
        if before and all(state.get(name) == before.get(name) for name in _SAME):
            state.update({name: before[name] for name in _SAME if name in before})
        else:
            state["keywords"] = {intern(word): value for word, value in report.keywords.items()}
        if report.when != "teardown":
            self._running[report.nodeid] = {name: state[name] for name in _SAME if name in state}
