"""Equal values in the reports of tests share one object: pytest keeps every report until the end of the run."""

from collections.abc import Callable, Generator
from functools import lru_cache
from sys import intern
from typing import Any

import pytest

_ALIKE = ("when", "outcome", "worker_id", "testrun_uid", "$report_type", "crmeval_verdict")
"""Attributes with the same strings in many reports."""
_SAME = ("keywords", "location", "_id")
"""Attributes that are equal in all reports of a test; ``_id`` is pytest's own form of the node id (pytest 9.1)."""


@lru_cache(4096, typed=True)
def _one_copy(name: str, value: object) -> tuple[str, object]:
    """Return a shared copy of a property that many tests have."""
    return name, value


class ReportSharing:
    """Shares equal values in the reports of one test, or of all tests."""

    def __init__(self, same: Callable[[str], str] = str) -> None:
        self._same = same
        """Returns the copy of a node id that the run already has."""
        self._running: dict[str, dict[str, Any]] = {}
        """Shared attributes from the last report of each running test, by node id."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_report_from_serializable(self, data: dict[str, Any]) -> Generator[None, Any, Any]:
        """Share the values of a report that has arrived from a worker."""
        if isinstance(nodeid := data.get("nodeid"), str):
            data["nodeid"] = self._same(nodeid)
        report = yield
        if isinstance(report, pytest.TestReport):
            # Replace values in place, so that the dictionaries of all reports still share their keys
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
            else:  # the name of the test is in both
                state["keywords"] = {intern(word): value for word, value in report.keywords.items()}
                state["location"] = tuple(intern(part) if isinstance(part, str) else part for part in report.location)
            if report.when != "teardown":
                self._running[report.nodeid] = {name: state[name] for name in _SAME if name in state}
        return report
