"""What is told of one record and true of another."""

import pytest

from pytest_crmeval.conversations.scorers.attribution import mixups
from pytest_crmeval.domain.state import Row

NORTH: Row = {"client_id": "1", "name": "Acme North", "status": "Active", "email": "north@acme.example", "owner": None}
SOUTH: Row = {
    "client_id": "2",
    "name": "Acme South",
    "status": "Prospect",
    "email": "south@acme.example",
    "owner": "Dana",
}
VANS: Row = {"opportunity_id": "3", "name": "Vans", "amount": 84000.0, "close_date": "2026-03-20", "probability": 55}
CABS: Row = {"opportunity_id": "4", "name": "Cabs", "amount": 61000.0, "close_date": "2026-05-01", "probability": 80}


@pytest.mark.parametrize(
    "text",
    [
        "- Acme North: Prospect\n- Acme South: Active",
        "| Acme North | Prospect |\n| Acme South | Active |",
        "Acme North is a Prospect; Acme South is Active.",
        "Acme North is a Prospect and Acme South is Active.",
        "Acme South can be reached at north@acme.example.",
    ],
)
def test_what_is_swapped_is_found(text: str) -> None:
    """In lists, tables and sentences."""
    assert list(mixups(text, [NORTH, SOUTH]))


def test_figures_and_days_are_swapped_like_words() -> None:
    """However they are written."""
    assert ["61000.0 of 'Vans', whose amount is 84000.0"] == list(mixups("Vans: $61,000", [VANS, CABS]))
    assert ["'2026-03-20' of 'Cabs', whose close_date is '2026-05-01'"] == list(
        mixups("Cabs closes on March 20.", [VANS, CABS])
    )


@pytest.mark.parametrize(
    "text",
    [
        "- Acme North: Active\n- Acme South: Prospect",
        "Acme North is Active, unlike Acme South, which is a Prospect.",
        "Acme North is Active and not a Prospect.",
        "I found Acme North and Acme South. One is Active, one is a Prospect.",
        "Acme North is Active. Was it a Prospect?",
        "Acme North (Active; formerly a Prospect).",
    ],
)
def test_what_is_true_or_compared_is_not(text: str) -> None:
    """A piece that names both, or none, or compares, says nothing of one."""
    assert [] == list(mixups(text, [NORTH, SOUTH]))


def test_what_has_no_name_is_called_by_what_it_belongs_to() -> None:
    """A contract by its client, whose own status is another; what nothing there has is still wrong."""
    contract: Row = {"contract_id": "5", "client_id": "2", "status": "Active", "value": 33000.0}

    assert [] == list(mixups("Acme South: 33,000 (Active)", [NORTH, SOUTH, contract]))
    assert list(mixups("Acme North: 33,000 (Prospect)", [NORTH, SOUTH, contract]))


def test_one_record_can_not_be_mixed_up() -> None:
    """Also when it was shown twice, before and after a change."""
    assert [] == list(mixups("Vans: 61,000", [VANS, {**VANS, "amount": 61000.0}]))


def test_records_of_other_kinds_are_other_things() -> None:
    """What a client's address is has nothing to do with a deal."""
    assert [] == list(mixups("Vans: Active, 84,000", [VANS, NORTH]))
