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


@pytest.mark.parametrize(("name", "labelled", "least"), [("open-1", (192, 192), 175), ("open-12", (198, 166), 130)])
def test_open_sets_of_replies_are_classified(crm: Crm, name: str, labelled: tuple[int, int], least: int) -> None:
    """True replies are accepted, and most false ones are caught; the second set is of hard conversations."""
    accepted, true, caught, false = counted(list(judged(played(SETS / f"{name}.jsonl", crm))))

    assert labelled == (true, false)
    assert accepted >= 0.99 * true
    assert caught >= least


@pytest.mark.skipif(not SHARED.exists(), reason="the shared data is not there")
def test_shared_set_of_replies_is_classified(crm: Crm) -> None:
    """At least 99 % of the true ones are accepted, and 90 % of the false ones caught."""
    accepted, true, caught, false = counted(list(judged(played(SHARED, crm))))

    assert accepted >= 0.99 * true
    assert caught >= 0.9 * false
