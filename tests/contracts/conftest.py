"""What the contracts share."""

from collections.abc import Iterator

import pytest

from pytest_crmeval.ports.crm import Crm
from tests.desks import NOW, WORLD, Desk


@pytest.fixture
def desk(crm: Crm) -> Iterator[Desk]:
    """Work with a CRM that holds the world of ``tests.desks``."""
    with crm.seeded(WORLD, NOW):
        yield Desk(crm)
