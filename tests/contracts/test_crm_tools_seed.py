"""The rows that a trial starts with, and calls that take too long."""

import math
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import psycopg
import pytest

from pytest_crmeval.collect.context import context_of
from pytest_crmeval.conversations.crm.postgres import PostgresCrm
from pytest_crmeval.domain.conversation import Seed
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.state import TABLES
from pytest_crmeval.ports.crm import Crm, SeedError
from tests.crm_world import COLUMNS, NOBODY, NOW, WORLD, Caller, row_of, uid

Connections = tuple[psycopg.Connection[Any], psycopg.Connection[Any]]
LEAST: dict[str, dict[str, Json]] = {
    "Client": {"name": "Ada"},
    "Company": {"name": "Rival", "type": "Vendor"},
    "Contact": {"first_name": "Kim", "last_name": "Lee", "client_id": uid("Client")},
    "Opportunity": {"name": "Boats", "client_id": uid("Client"), "amount": 5},
    "Quote": {"opportunity_id": uid("Opportunity"), "amount": 5},
    "Contract": {"client_id": uid("Client")},
    "Document": {"entity_type": "Client", "entity_id": uid("Client"), "file_name": "a.pdf"},
    "Note": {"entity_type": "Client", "entity_id": uid("Client"), "content": "Hm."},
}
"""The required columns of each entity."""
SMALLEST: Seed = {entity: {uid(entity): row} for entity, row in LEAST.items()}
MISFITS: list[tuple[str, str, Json]] = [
    *((entity, "bogus", "x") for entity in LEAST),
    ("Client", "100%", "x"),
    ("Client", "name; DROP TABLE clients", "x"),
    ("Quote", "name", "Vans"),
    ("Client", "status", "Sleeping"),
    ("Client", "status", "active"),
    ("Opportunity", "stage", "Open"),
    ("Quote", "status", "Active"),
    ("Contract", "status", "Draft"),
    ("Company", "type", "Friend"),
    ("Document", "entity_type", "Contact"),
    ("Note", "entity_type", "Company"),
    ("Client", "name", 7),
    ("Client", "name", ["Ada"]),
    ("Client", "name", ""),
    ("Client", "name", True),
    ("Client", "phone", 5550101),
    ("Client", "industry", ["Toys"]),
    ("Client", "address", {"street": "Main"}),
    ("Contact", "first_name", 7),
    ("Contact", "notes", ["Tall."]),
    ("Opportunity", "name", {"en": "Boats"}),
    ("Opportunity", "amount", "a lot"),
    ("Opportunity", "amount", True),
    ("Opportunity", "amount", 0),
    ("Opportunity", "amount", -5),
    ("Opportunity", "amount", 10**400),
    ("Opportunity", "amount", math.nan),
    ("Opportunity", "probability", 10**400),
    ("Contract", "value", 10**13),
    ("Opportunity", "probability", 0),
    ("Opportunity", "probability", 100),
    ("Opportunity", "probability", 50.5),
    ("Opportunity", "probability", "high"),
    ("Opportunity", "close_date", "soon"),
    ("Opportunity", "close_date", "2026-02-30"),
    ("Opportunity", "close_date", 7),
    ("Opportunity", "created_at", "lately"),
    ("Quote", "amount", [5]),
    ("Quote", "version", 1.0),
    ("Quote", "valid_until", "x"),
    ("Contract", "value", "much"),
    ("Contract", "start_date", "x"),
    ("Company", "contacts", "Ada"),
    ("Company", "contacts", [7]),
    ("Document", "file_name", 7),
    ("Document", "entity_id", "x"),
    ("Note", "content", ["Hm."]),
    ("Contact", "client_id", NOBODY),
    ("Contact", "client_id", "x"),
    ("Contact", "client_id", 7),
    ("Opportunity", "client_id", NOBODY),
    ("Quote", "opportunity_id", NOBODY),
    ("Contract", "client_id", NOBODY),
    ("Contract", "opportunity_id", NOBODY),
]


def seed_with(entity: str, **attributes: Json) -> Seed:
    """Return the smallest seed, with one row changed."""
    return {**SMALLEST, entity: {uid(entity): {**LEAST[entity], **attributes}}}


def complaint(crm: Crm, seed: Seed) -> str:
    """Return the error for an invalid seed."""
    with pytest.raises(SeedError) as caught, crm.seeded(seed, NOW):
        pytest.fail("it was seeded")
    return str(caught.value)


class TestSeed:
    """The rows of a CRM at the start."""

    @pytest.mark.parametrize("entity", TABLES)
    def test_a_row_is_as_it_was_given(self, crm: Crm, entity: str) -> None:
        """Every column, including closed stages, old dates, notes and addresses (D11)."""
        with crm.seeded(WORLD, NOW):
            held = {str(row[COLUMNS[entity][0]]): row for row in crm.snapshot()[TABLES[entity][0]]}

        assert WORLD[entity].keys() == held.keys()
        for row_id, given in WORLD[entity].items():
            assert given.items() <= held[row_id].items()

    @pytest.mark.parametrize(
        ("entity", "name"),
        [("Client", "zeta"), ("Contact", "adam"), ("Opportunity", "bikes"), ("Quote", "plain"), ("Contract", "frame")],
    )
    def test_columns_that_are_not_seeded_are_null(self, crm: Crm, entity: str, name: str) -> None:
        """Nothing is filled in, except the creation time, by the clock of the CRM."""
        with crm.seeded(WORLD, NOW):
            held = {row[COLUMNS[entity][0]]: row for row in crm.snapshot()[TABLES[entity][0]]}

        assert row_of(entity, name) == held[uid(name)]

    @pytest.mark.parametrize(
        ("entity", "column", "default"),
        [
            ("Client", "status", "Active"),
            ("Opportunity", "stage", "Qualification"),
            ("Quote", "status", "Draft"),
            ("Contract", "status", "Active"),
        ],
    )
    def test_a_status_has_a_default(self, crm: Crm, entity: str, column: str, default: str) -> None:
        """A seed need not contain it."""
        with crm.seeded(SMALLEST, NOW):
            (row,) = crm.snapshot()[TABLES[entity][0]]

        assert default == row[column]

    def test_a_clock_of_another_zone(self, crm: Crm) -> None:
        """The moment counts."""
        clock = datetime.fromisoformat("2026-03-02T11:30:00+02:00")
        with crm.seeded(SMALLEST, clock):
            (row,) = crm.snapshot()["clients"]

        assert NOW == datetime.fromisoformat(str(row["created_date"]))

    def test_seed_value_that_does_not_fit_its_column_is_named(self, crm: Crm) -> None:
        """The case is defective, not the agent: entity, id and attribute are named."""
        for entity, attribute, value in MISFITS:
            shown = complaint(crm, seed_with(entity, **{attribute: value}))

            assert [] == [word for word in (entity, uid(entity), attribute) if word not in shown], shown

    def test_missing_required_attribute_of_a_seed_row_is_named(self, crm: Crm) -> None:
        """Missing required attribute of a seed row is named."""
        for how in ["left out", "null"]:
            for entity, attribute in [(entity, attribute) for entity, row in LEAST.items() for attribute in row]:
                row = {name: value for name, value in LEAST[entity].items() if name != attribute}
                row |= {attribute: None} if how == "null" else {}
                shown = complaint(crm, {**SMALLEST, entity: {uid(entity): row}})

                assert [] == [word for word in (entity, uid(entity), attribute) if word not in shown], shown

    def test_the_row_that_does_not_fit_is_named_among_others(self, crm: Crm) -> None:
        """Not the first one."""
        rows = {**WORLD["Client"], uid("bad"): {"name": "Bad", "status": "Sleeping"}, uid("good"): {"name": "Good"}}
        shown = complaint(crm, {"Client": rows})

        assert uid("bad") in shown
        assert uid("acme") not in shown

    @pytest.mark.parametrize("entity", LEAST)
    def test_invalid_id_is_reported_with_entity_and_id(self, crm: Crm, entity: str) -> None:
        """An id that is none."""
        shown = complaint(crm, {**SMALLEST, entity: {"ada": LEAST[entity]}})

        assert [] == [word for word in (entity, "ada") if word not in shown], shown

    def test_an_e_mail_address_twice(self, crm: Crm) -> None:
        """An e mail address twice."""
        rows = {
            uid("one"): {"name": "One", "email": "a@a.example"},
            uid("two"): {"name": "Two", "email": "a@a.example"},
        }
        shown = complaint(crm, {"Client": rows})

        assert [] == [word for word in ("Client", "email") if word not in shown], shown

    def test_the_next_trial_is_played_as_if_nothing_had_been(self, crm: Crm) -> None:
        """A defective case affects no other."""
        complaint(crm, seed_with("Contract", opportunity_id=NOBODY))

        with crm.seeded(WORLD, NOW):
            assert {entity: len(WORLD[entity]) for entity in TABLES} == {
                entity: len(crm.snapshot()[table]) for entity, (table, _) in TABLES.items()
            }

    @pytest.mark.parametrize("entity", TABLES)
    def test_an_empty_entity(self, crm: Crm, entity: str) -> None:
        """Published cases have them."""
        with crm.seeded({entity: {}}, NOW):
            assert {table: [] for table, _ in TABLES.values()} == crm.snapshot()


@pytest.fixture
def connections(pytestconfig: pytest.Config) -> Iterator[Connections]:
    """Open two connections to a database."""
    worker = getattr(pytestconfig, "workerinput", {}).get("workerid", "main")
    address = context_of(pytestconfig).services().server.databases().create(f"{worker}-own")
    with address.connect() as ours, address.connect() as theirs:
        yield ours, theirs


def test_rows_are_the_same_on_a_server_of_another_zone(connections: Connections) -> None:
    ours, _ = connections
    ours.execute("SET TIME ZONE 'Asia/Kolkata'")
    caller = Caller(PostgresCrm(ours))

    with caller.crm.seeded(WORLD, NOW):
        assert [row_of("Client", "acme")] == caller.get("client_search", name="acme")


class TestTimeout:
    """A call that takes too long is refused, and the trial continues."""

    def test_the_trial_goes_on(self, connections: Connections) -> None:
        """The trial goes on."""
        ours, theirs = connections
        caller = Caller(PostgresCrm(ours, timeout_seconds=0.8))

        with caller.crm.seeded(WORLD, NOW):
            first = caller.example("create_quote")
            with theirs.transaction(force_rollback=True):
                theirs.execute("INSERT INTO clients (name, email, status) VALUES ('X', 'ada@ada.example', 'Active')")
                kind, message = caller.refused("create_new_client")
            second = caller.example("create_new_client")
            state = caller.state()

        assert "timeout" == kind
        assert message
        assert (first, second) == (state["quotes"][first["quote_id"]], state["clients"][second["client_id"]])

    def test_a_trial_may_take_longer_than_a_call(self, connections: Connections) -> None:
        """Agents take time to think."""
        caller = Caller(PostgresCrm(connections[0], timeout_seconds=0.5))

        with caller.crm.seeded(WORLD, NOW):
            time.sleep(0.6)
            assert ["acme", "münz", "zeta"] == caller.found("client_search")
