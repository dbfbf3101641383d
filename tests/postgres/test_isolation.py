"""A trial can't reach out of itself: neither into the database, nor into another trial or schema."""

import json
import secrets
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from psycopg import sql

from pytest_crmeval.conversations.crm import postgres
from pytest_crmeval.conversations.crm.postgres import PostgresCrm
from pytest_crmeval.conversations.crm.reconnecting import ReconnectingCrm
from pytest_crmeval.conversations.crm.tools import TOOLS
from pytest_crmeval.domain.conversation import NOW, Seed
from pytest_crmeval.domain.messages import ToolCall, ToolResult
from pytest_crmeval.domain.state import TABLES
from pytest_crmeval.ports.crm import CrmConnectionLost
from pytest_crmeval.postgres.databases import Address, RunDatabases

CLIENT, DEAL, QUOTE = (f"{digit * 8}-0000-4000-8000-000000000000" for digit in "123")
SEED: Seed = {
    "Client": {CLIENT: {"name": "Acme", "email": "a@acme.example"}},
    "Opportunity": {DEAL: {"client_id": CLIENT, "name": "Vans", "amount": 84000}},
    "Quote": {QUOTE: {"opportunity_id": DEAL, "amount": 84000}},
}
GOOD: dict[str, Any] = {
    "client_id": CLIENT,
    "opportunity_id": DEAL,
    "quote_id": QUOTE,
    "quote_ids": [QUOTE],
    "entity_type": "Opportunity",
    "entity_id": DEAL,
    "name": "Ada",
    "first_name": "Ada",
    "last_name": "Byron",
    "email": "ada@ada.example",
    "stage": "Proposal",
    "amount": 1000,
    "file_name": "a.pdf",
    "content": "Call back.",
}
"""Arguments with which most tools do something."""


def _deep() -> Any:  # noqa: ANN401 (JSON)
    value: Any = []
    for _ in range(10_000):
        value = [value]
    return value


HOSTILE: dict[str, Any] = {
    "ends the statement": "x'; DROP TABLE clients; --",
    "ends the transaction": "'; COMMIT; BEGIN; --",
    "another schema": "pg_catalog.pg_class",
    "an expression": "true OR name",
    "a subquery": "(SELECT email FROM clients LIMIT 1)",
    "a format": "%s %(x)s {} {0} $1 %%",
    "NUL": "a\0b",
    "half a pair": "\ud800",
    "a megabyte": "x" * 1_000_000,
    "right to left": "\u202eemca",
    "an emoji": "🦀" * 50,
    "deep": _deep(),
    "an object": {"$ne": None, "x'; DROP TABLE clients; --": 1},
    "a list": ["x", None, {}],
    "a number": 10**400,
    "no number": float("nan"),
    "a truth": True,
    "negative": -1,
    "blank": "  ",
}


@pytest.fixture(scope="module")
def databases(server: str) -> Iterator[RunDatabases]:
    """Databases of a run on the shared server."""
    databases = RunDatabases(Address(server), f"isolation-{secrets.token_hex(3)}")
    alive = databases.open()
    yield databases
    databases.close(alive)


@pytest.fixture(scope="module")
def home(databases: RunDatabases) -> Address:
    """Return the address of one worker's database."""
    return databases.create("main")


@pytest.fixture
def crm(home: Address) -> Iterator[PostgresCrm]:
    """Create a CRM whose database can be inspected from outside."""
    with home.connect() as connection:
        yield PostgresCrm(connection)


def ask(crm: PostgresCrm, tool: str, **arguments: Any) -> ToolResult:  # noqa: ANN401 (an agent may send anything)
    """Call a tool."""
    return crm.call(ToolCall(tool=tool, arguments=arguments))


def seen_from_outside(home: Address) -> dict[str, int]:
    """Return the number of rows of each table as seen by other sessions, and the number of other tables."""
    with home.connect() as connection:
        found = {
            table: connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone()
            for table, _ in TABLES.values()
        }
        others = connection.execute(
            "SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchone()
    return {**{table: row[0] for table, row in found.items() if row}, "tables": others[0] if others else 0}


NOTHING = {**dict.fromkeys((table for table, _ in TABLES.values()), 0), "tables": len(TABLES)}


@pytest.mark.parametrize("tool", TOOLS)
def test_no_argument_of_any_tool_affects_anything_else(crm: PostgresCrm, home: Address, tool: str) -> None:
    """Each call returns JSON or a refusal with a reason; the trial continues, and nothing of it is left."""
    properties = TOOLS[tool].tool.parameters["properties"]
    assert isinstance(properties, dict)
    good = {name: GOOD[name] for name in TOOLS[tool].required if name in GOOD}
    attacks = [{**good, name: value} for name in properties for value in HOSTILE.values()]
    attacks += [{**good, str(value)[:2000]: "x"} for value in HOSTILE.values() if isinstance(value, str)]
    attacks += [{**good, form: value} for form in ("criteria", "updates") for value in HOSTILE.values()]

    with crm.seeded(SEED, NOW):
        results = [ask(crm, tool, **arguments) for arguments in attacks]
        alive = ask(crm, "client_search", name="acm")

    for result in results:
        json.dumps(result.value, allow_nan=False)
        assert result.error is None or result.error.message
    assert isinstance(alive.value, list)
    assert NOTHING == seen_from_outside(home)


@pytest.mark.parametrize("name", ["commit", "commit_session", "_truncate_tables", "close", "__init__", "SELECT 1", ""])
def test_only_tools_can_be_called(crm: PostgresCrm, home: Address, name: str) -> None:
    """A tool is an entry of the registry, not any attribute of an object."""
    with crm.seeded(SEED, NOW):
        result = ask(crm, name)

    assert result.error is not None
    assert "unknown_tool" == result.error.kind
    assert NOTHING == seen_from_outside(home)


def test_refused_call_does_not_undo_anything(crm: PostgresCrm) -> None:
    """Neither the seed nor what the agent has written before."""
    with crm.seeded(SEED, NOW):
        ask(crm, "create_new_client", name="Bolt", email="b@bolt.example", status="Active")
        refused = ask(crm, "create_new_client", name="Bolt", email="B@BOLT.example", status="Active")
        after = ask(crm, "client_search")

    assert refused.error is not None
    assert isinstance(after.value, list)
    assert ["Acme", "Bolt"] == [row["name"] for row in after.value]


def test_two_trials_never_see_each_other(home: Address) -> None:
    with home.connect() as one, home.connect() as two:
        mine, yours = PostgresCrm(one), PostgresCrm(two)
        with mine.seeded(SEED, NOW), yours.seeded({}, NOW):
            ask(mine, "add_note", entity_type="Client", entity_id=CLIENT, content="Secret.")
            seen = ask(yours, "summarize_counts")

    assert dict.fromkeys((table for table, _ in TABLES.values()), 0) == seen.value


def test_query_that_takes_too_long_is_a_tool_error(home: Address) -> None:
    """The trial continues when the lock is released."""
    with home.connect() as connection, home.connect() as other:
        crm = PostgresCrm(connection, timeout_seconds=0.2)
        with crm.seeded(SEED, NOW):
            with other.transaction(force_rollback=True):
                other.execute("LOCK TABLE companies IN ACCESS EXCLUSIVE MODE")
                stuck = ask(crm, "company_search", name="x")
            after = ask(crm, "summarize_counts")

    assert stuck.error is not None
    assert "timeout" == stuck.error.kind
    assert isinstance(after.value, dict)
    assert (1, 1) == (after.value["clients"], after.value["quotes"])


def test_lost_connection_is_not_a_tool_error(home: Address) -> None:
    """The player gets an exception."""
    with (
        home.connect() as connection,
        home.connect() as other,
        pytest.raises(CrmConnectionLost, match="the connection to PostgreSQL was lost"),
    ):
        _play_on_a_lost(connection, other)


def _play_on_a_lost(connection: psycopg.Connection[Any], other: psycopg.Connection[Any]) -> None:
    crm = PostgresCrm(connection)
    with crm.seeded(SEED, NOW):
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [connection.info.backend_pid])
        ask(crm, "client_search")


@pytest.mark.parametrize("apart", [False, True])
def test_tables_do_not_grow_with_the_number_of_trials(
    databases: RunDatabases, monkeypatch: pytest.MonkeyPatch, *, apart: bool
) -> None:
    """Every trial is rolled back: without a vacuum, its rows would stay in the tables and slow down every scan."""
    monkeypatch.setattr(postgres, "VACUUM_EVERY", 100 * sum(map(len, SEED.values())))
    home = databases.create("crowded")
    with home.connect_apart("crowded") if apart else home.connect() as connection:
        crm = PostgresCrm(connection)

        def size_after(trials: int) -> int:
            for _ in range(trials):
                with crm.seeded(SEED, NOW):
                    ask(crm, "create_new_client", name="Beta", email="b@beta.example", status="Active")
            sizes = [connection.execute("SELECT pg_relation_size(%s)", [table]) for table, _ in TABLES.values()]
            return sum(size for found in sizes for (size,) in found)

        first = size_after(100)

        assert 0 < size_after(500) <= first
        connection.execute("DROP SCHEMA IF EXISTS crowded CASCADE")


def test_vacuum_that_takes_too_long_costs_no_trial(home: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server may be busy; the trials continue, and the next vacuum does the work."""
    monkeypatch.setattr(postgres, "_VACUUM", b"SELECT pg_sleep(60)")
    monkeypatch.setattr(postgres, "VACUUM_EVERY", 2)
    with home.connect() as connection:
        crm = PostgresCrm(connection, timeout_seconds=0.5)
        for _ in range(4):
            with crm.seeded(SEED, NOW):
                assert 1 == len(crm.snapshot()["clients"])


def test_finished_trial_survives_a_connection_that_is_lost_at_its_end(home: Address) -> None:
    """The trial is complete, and the server rolls back."""
    with home.connect() as connection, home.connect() as other:
        crm = PostgresCrm(connection)
        with crm.seeded(SEED, NOW):
            state = crm.snapshot()
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [connection.info.backend_pid])

    assert 1 == len(state["clients"])
    assert crm.is_lost
    assert NOTHING == seen_from_outside(home)


def test_connection_that_is_lost_between_trials_is_replaced(home: Address) -> None:
    """The next trial is not affected."""
    opened: list[psycopg.Connection[Any]] = []

    def connect() -> PostgresCrm:
        opened.append(home.connect())
        return PostgresCrm(opened[-1])

    with closing(ReconnectingCrm(connect)) as crm, home.connect() as other:
        for _ in range(2):
            with crm.seeded(SEED, NOW):
                assert 1 == len(crm.snapshot()["clients"])
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [opened[-1].info.backend_pid])

    assert 2 == len(opened)
