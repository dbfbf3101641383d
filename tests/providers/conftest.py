"""What the tests of the providers share: every dialect over every wire; nothing stays open after a module."""

from collections.abc import Iterator
from itertools import product

import pytest

from pytest_crmeval.models.sdks import event_loop
from tests.providers.contract import DIALECTS, WIRES, Desk


@pytest.fixture(scope="module", autouse=True)
def _line() -> Iterator[None]:
    """Close the line to the servers, and with it every client."""
    yield
    event_loop.close()


@pytest.fixture(params=list(product(DIALECTS, WIRES)), ids="-".join)
def desk(request: pytest.FixtureRequest) -> Desk:
    """Every dialect, over every wire."""
    return Desk(*request.param)
