"""How two CRMs differ, for a reader."""

from collections.abc import Sequence

from pytest_crmeval.conversations.judge.differences import differences
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.state import Row, State
from tests.fakes import new

ACME: Row = {"client_id": "c-acme", "name": "Acme", "owner": None, "created_date": "2026-01-01"}
SEEDED = frozenset({"c-acme"})


def found(expected: State, actual: State) -> Sequence[JsonObject]:
    """Compare two CRMs that started with Acme."""
    return differences(expected, actual, SEEDED)


def test_a_changed_column_is_told_with_both_values() -> None:
    """And which row it is."""
    columns = {"owner": {"expected": None, "actual": "Dana"}}
    expected = {"table": "clients", "is": "different", "id": "c-acme", "name": "Acme", "columns": columns}

    assert [expected] == found({"clients": [ACME]}, {"clients": [{**ACME, "owner": "Dana"}]})


def test_a_deleted_row_is_missing() -> None:
    """One that was there at the beginning."""
    row = {"name": "Acme", "owner": None}

    assert [{"table": "clients", "is": "missing: it was deleted", "id": "c-acme", "row": row}] == found(
        {"clients": [ACME]}, {}
    )


def test_a_row_that_should_have_been_deleted_is_too_many() -> None:
    """One that was there at the beginning."""
    (difference,) = found({}, {"clients": [ACME]})

    assert "too many: it should have been deleted" == difference["is"]


def test_a_row_that_was_made_otherwise_is_missing_and_too_many() -> None:
    """The reader sees both."""
    ada, adam = new("client_id", name="Ada"), new("client_id", name="Adam")

    assert [
        {"table": "clients", "is": "missing: it should have been made", "row": {"name": "Ada"}},
        {"table": "clients", "is": "too many: it was made", "row": {"name": "Adam"}},
    ] == found({"clients": [ada]}, {"clients": [adam]})


def test_a_row_that_was_made_twice_is_too_many_once() -> None:
    """Rows are counted."""
    ada = [new("client_id", name="Ada") for _ in range(3)]

    assert ["too many: it was made"] == [each["is"] for each in found({"clients": ada[:1]}, {"clients": ada[1:]})]


def test_ids_clocks_order_and_full_stops_do_not_matter() -> None:
    """Also where new rows refer to new rows."""

    def state(day: str, stop: str) -> dict[str, list[Row]]:
        ada = new("client_id", name="Ada", created_date=day)
        notes = [new("note_id", entity_id=ada["client_id"], content=f"{word}{stop}") for word in ("Call", "Write")]
        return {"clients": [{**ACME, "created_date": day}, ada], "notes": notes}

    expected, actual = state("2026-01-01", "."), state("2027-07-07", "")
    actual["notes"].reverse()

    assert [] == found(expected, actual)


def test_a_row_that_refers_to_another_new_row_differs() -> None:
    """A note on Ada is no note on Bob."""

    def state(place: int) -> State:
        people = [new("client_id", name="Ada"), new("client_id", name="Bob")]
        return {"clients": people, "notes": [new("note_id", entity_id=people[place]["client_id"], content="Call")]}

    rows = [each["row"] for each in found(state(0), state(1))]

    assert [
        {"entity_id": "(the new row of clients: Ada)", "content": "Call"},
        {"entity_id": "(the new row of clients: Bob)", "content": "Call"},
    ] == rows
