"""A trial on its way from a worker to the controller: one piece of text, where xdist would take it apart."""

from collections.abc import Generator
from typing import Any

import pytest

from pytest_crmeval.domain.wire import decoded, encoded

_TRIAL = "crmeval_trial"


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
    """The controller's end."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_from_serializable(self, data: dict[str, Any]) -> None:
        """Unpack it before pytest makes a report of it."""
        if isinstance(data.get(_TRIAL), str):
            data[_TRIAL] = decoded(data[_TRIAL])
