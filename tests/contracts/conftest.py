"""Fixtures of the contract tests."""

from collections.abc import Iterator

import pytest

from pytest_crmeval.ports.crm import Crm
from tests.crm_world import NOW, WORLD, Caller


@pytest.fixture
def caller(crm: Crm) -> Iterator[Caller]:
    """Return a caller of a CRM with the rows of ``tests.crm_world``."""
    with crm.seeded(WORLD, NOW):
        yield Caller(crm)
