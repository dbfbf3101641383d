"""How many labelled replies the scorer `reply` classifies correctly."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_crmeval.conversations.crm.standalone import standalone_crm
from pytest_crmeval.ports.crm import Crm
from tests.replies import counted, judged, played

SETS = Path(__file__).parents[1] / "data" / "replies"
SHARED = Path(__file__).parents[3] / "shared" / "data" / "crm_replies" / "replies.jsonl"


@pytest.fixture(name="crm", scope="module")
def fixture_crm() -> Iterator[Crm]:
    """Return a CRM on its own PostgreSQL."""
    with standalone_crm() as crm:
        yield crm


def test_open_sets_of_replies_are_classified(crm: Crm) -> None:
    """True replies are accepted, and most false ones are caught."""
    accepted, true, caught, false = counted(list(judged(played(SETS / "open-1.jsonl", crm))))

    assert (192, 192) == (true, false)
    assert accepted >= 190
    assert caught >= 180


@pytest.mark.skipif(not SHARED.exists(), reason="the shared data is not there")
def test_shared_set_of_replies_is_classified(crm: Crm) -> None:
    """At least 99 % of the true ones are accepted, and 90 % of the false ones caught."""
    accepted, true, caught, false = counted(list(judged(played(SHARED, crm))))

    assert accepted >= 0.99 * true
    assert caught >= 0.9 * false
