"""The contract of every CRM. The rules of its tools have their own tests."""

import json
from datetime import datetime, timedelta

import pytest

from pytest_crmeval.domain.conversation import Seed
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall, ToolResult
from pytest_crmeval.domain.state import TABLES, State
from pytest_crmeval.ports.crm import Crm, SeedError
from tests.crm_world import COLUMNS, EXAMPLES, NOBODY, NOW, WORLD, Caller, uid

NEW_CLIENT = ToolCall(tool="create_new_client", arguments=EXAMPLES["create_new_client"])
ADA = {"name": "Ada Ltd", "email": "ada@ada.example", "status": "Active"}
ACME = uid("acme")
WORLD_COUNTS = {TABLES[entity][0]: len(rows) for entity, rows in WORLD.items()}


def counts(state: State) -> dict[str, int]:
    """Return the number of rows of each table."""
    return {table: len(found) for table, found in state.items() if found}


class TestSeed:
    """The content of a CRM at the start and at the end."""

    def test_the_seeded_rows_are_there(self, crm: Crm) -> None:
        """Rows of every entity, and no others."""
        with crm.seeded(WORLD, NOW):
            found = crm.snapshot()

        assert TABLES.keys() == WORLD.keys()
        assert WORLD_COUNTS == counts(found)

    def test_snapshot_without_seeded_rows_lists_every_table_as_empty(self, crm: Crm) -> None:
        """Every table is listed, even if it is empty."""
        with crm.seeded({}, NOW):
            found = crm.snapshot()

        assert {table: [] for table, _ in TABLES.values()} == found

    def test_rows_of_a_trial_are_gone_in_the_next(self, crm: Crm) -> None:
        """Seeded rows, and changes."""
        with crm.seeded(WORLD, NOW):
            crm.call(NEW_CLIENT)

        with crm.seeded({}, NOW):
            assert {} == counts(crm.snapshot())

    def test_rows_of_a_trial_that_raised_are_gone_in_the_next(self, crm: Crm) -> None:
        """An agent that raises leaves nothing behind."""

        def broken_trial() -> None:
            with crm.seeded(WORLD, NOW):
                crm.call(NEW_CLIENT)
                raise ConnectionError("no route to model")

        with pytest.raises(ConnectionError):
            broken_trial()

        with crm.seeded({}, NOW):
            assert {} == counts(crm.snapshot())

    def test_two_trials_get_the_same(self, crm: Crm) -> None:
        """The e-mail address of the first trial is free again."""
        results = []
        for _ in range(2):
            with crm.seeded(WORLD, NOW):
                results.append(crm.call(NEW_CLIENT))

        assert [False, False] == [result.refused for result in results]

    def test_the_seed_is_left_alone(self, crm: Crm) -> None:
        """The next agent plays on the same rows."""
        seed: dict[str, dict[str, dict[str, Json]]] = {"Client": {ACME: {"name": "Acme"}}}

        with crm.seeded(seed, NOW):
            crm.call(ToolCall(tool="modify_client", arguments={"client_id": ACME, "name": "Bolt"}))

        assert {"Client": {ACME: {"name": "Acme"}}} == seed

    @pytest.mark.parametrize(
        ("seed", "place"),
        [
            pytest.param({"Client": {ACME: {**ADA, "nick": "A"}}}, f"Client.{ACME}.nick", id="unknown column"),
            pytest.param({"Client": {ACME: {"status": "Active"}}}, f"Client.{ACME}.name", id="no name"),
            pytest.param({"Client": {ACME: {**ADA, "status": "Asleep"}}}, f"Client.{ACME}.status", id="bad enum"),
            pytest.param({"Client": {ACME: {**ADA, "name": "A\0"}}}, f"Client.{ACME}.name", id="NUL"),
            pytest.param({"Client": {"ada": ADA}}, "Client.ada.client_id", id="an id that is none"),
            pytest.param(
                {"Contact": {ACME: {"first_name": "Kim", "last_name": "Lee", "client_id": NOBODY}}},
                f"Contact.{ACME}.client_id",
                id="no parent",
            ),
            pytest.param({"Klient": {ACME: ADA}}, "Klient", id="unknown entity"),
        ],
    )
    def test_invalid_seed_value_is_reported(self, crm: Crm, seed: Seed, place: str) -> None:
        """The case is defective, not the agent; the next case is not affected."""
        with pytest.raises(SeedError) as caught, crm.seeded(seed, NOW):
            pytest.fail("it was seeded")

        assert str(caught.value).startswith(f"seed_data.{place}: ")
        assert not str(caught.value).endswith("None")
        with crm.seeded(WORLD, NOW):
            assert WORLD_COUNTS == counts(crm.snapshot())

    def test_inconsistent_seed_rows_are_reported(self, crm: Crm) -> None:
        """Each is valid, but they have the same e-mail address."""
        seed: Seed = {"Client": {ACME: ADA, NOBODY: ADA}}

        with pytest.raises(SeedError, match=r"seed_data.*ada@ada\.example"), crm.seeded(seed, NOW):
            pytest.fail("it was seeded")


class TestClock:
    """The clock stands still at the time of the case."""

    @pytest.mark.parametrize("now", [NOW, NOW - timedelta(days=10_000), NOW + timedelta(days=10_000)])
    def test_rows_are_created_at_the_time_of_the_case(self, crm: Crm, now: datetime) -> None:
        """In seeded and in new rows; not the day of the run."""
        with crm.seeded({"Client": {ACME: {"name": "Acme"}}}, now):
            crm.call(NEW_CLIENT)
            clients = crm.snapshot()["clients"]

        assert [now, now] == [datetime.fromisoformat(str(row["created_date"])) for row in clients]

    def test_clock_does_not_advance_during_a_trial(self, caller: Caller) -> None:
        """Two rows are written at the same time, however long the agent takes in between."""
        first = caller.get("add_note", entity_type="Client", entity_id=ACME, content="One.")
        second = caller.get("add_note", entity_type="Client", entity_id=ACME, content="Two.")

        assert first["created_at"] == second["created_at"]


def test_call_outside_of_a_trial_raises(crm: Crm) -> None:
    """It would change the CRM permanently."""
    with pytest.raises(RuntimeError, match="outside of seeded"):
        crm.call(ToolCall(tool="client_search"))


class TestSnapshot:
    """A snapshot of the CRM."""

    def test_snapshot_is_json(self, crm: Crm) -> None:
        """No dates, decimals or UUIDs, because it is encoded and stored."""
        with crm.seeded(WORLD, NOW):
            state = crm.snapshot()

        assert state == json.loads(json.dumps(state, allow_nan=False))

    def test_a_row_has_every_column(self, caller: Caller) -> None:
        """Null if there is no value."""
        state = caller.crm.snapshot()

        for entity, (table, _) in TABLES.items():
            assert {frozenset(COLUMNS[entity])} == {frozenset(row) for row in state[table]}

    def test_snapshot_shows_changes_at_once(self, caller: Caller) -> None:
        """At once."""
        caller.example("create_new_client")

        assert {**WORLD_COUNTS, "clients": WORLD_COUNTS["clients"] + 1} == counts(caller.crm.snapshot())

    def test_snapshot_does_not_change_after_a_later_call(self, caller: Caller) -> None:
        """It shows the state at one moment."""
        before = caller.crm.snapshot()

        caller.example("create_new_client")

        assert WORLD_COUNTS == counts(before)

    def test_looking_changes_nothing(self, caller: Caller) -> None:
        """Two snapshots are equal."""
        assert caller.state() == caller.state()


class TestTools:
    """The tools."""

    def test_every_tool_is_described(self, crm: Crm) -> None:
        """By a unique name, a description, and a JSON Schema without unknown arguments."""
        tools = crm.tools

        assert len(tools) == len({tool.name for tool in tools}) > 0
        assert all(tool.description.endswith(".") for tool in tools)
        assert {("object", False)} == {
            (tool.parameters["type"], tool.parameters["additionalProperties"]) for tool in tools
        }

    def test_a_description_is_json(self, crm: Crm) -> None:
        """It is sent to a provider."""
        for tool in crm.tools:
            assert tool.parameters == json.loads(json.dumps(tool.parameters))

    def test_tools_are_the_same_in_every_trial(self, crm: Crm) -> None:
        """The tools reveal nothing about the rows."""
        before = crm.tools

        with crm.seeded(WORLD, NOW):
            assert before == crm.tools

    @pytest.mark.parametrize("tool", EXAMPLES)
    def test_a_result_is_json(self, caller: Caller, tool: str) -> None:
        """The result of a tool is sent to a provider, too."""
        result = caller.ask(tool, **EXAMPLES[tool])

        assert ToolResult(value=json.loads(json.dumps(result.value, allow_nan=False))) == result

    def test_a_write_returns_the_row(self, caller: Caller) -> None:
        """With the id for later calls."""
        assert caller.example("create_new_client") in caller.crm.snapshot()["clients"]

    def test_a_change_changes_what_was_named_and_nothing_else(self, caller: Caller) -> None:
        """Other rows and other columns don't change."""
        expected = caller.state()
        expected["opportunities"][uid("vans")] |= {"stage": "Negotiation", "probability": 75}

        caller.get("modify_opportunity", opportunity_id=uid("vans"), stage="Negotiation", probability=75)

        assert expected == caller.state()


class TestRefusal:
    """A refusal has a kind and a reason, and changes nothing (checked by ``caller.refusal``)."""

    def test_an_unknown_tool(self, caller: Caller) -> None:
        """The message lists the known tools."""
        error = caller.refusal("drop_client", client_id=ACME)

        assert "unknown_tool" == error.kind
        assert "'drop_client'" in error.message
        assert all(tool.name in error.message for tool in caller.crm.tools)

    @pytest.mark.parametrize(
        ("tool", "changes", "kind", "named"),
        [
            pytest.param("create_new_client", {"nick": "Ada"}, "invalid_argument", "'nick'", id="unknown argument"),
            pytest.param("create_new_client", {"status": None}, "invalid_argument", "status", id="missing argument"),
            pytest.param("create_new_client", {"status": "active"}, "invalid_argument", "Prospect", id="bad choice"),
            pytest.param("create_new_client", {"email": "info@acme.example"}, "conflict", "info@acme", id="taken"),
            pytest.param("create_quote", {"amount": 0}, "invalid_argument", "Amount", id="no amount"),
            pytest.param("create_quote", {"opportunity_id": NOBODY}, "not_found", f"'{NOBODY}'", id="unknown id"),
            pytest.param("create_quote", {"opportunity_id": ACME}, "not_found", f"'{ACME}'", id="another's id"),
            pytest.param(
                "modify_opportunity", {"opportunity_id": uid("lorries")}, "refused_by_rule", "stage", id="a closed deal"
            ),
        ],
    )
    def test_refusal_has_a_kind_and_names_the_invalid_argument(
        self, caller: Caller, tool: str, changes: dict[str, Json], kind: str, named: str
    ) -> None:
        """A program reads the kind, an agent the message."""
        shown, message = caller.refused(tool, **changes)

        assert (kind, True) == (shown, named in message)

    def test_rows_that_the_agent_created_count_for_conflicts(self, caller: Caller) -> None:
        """An e-mail address that the agent itself has used is taken."""
        caller.example("create_new_client")

        assert "conflict" == caller.refused("create_new_client")[0]

    def test_the_next_call_is_made_as_if_nothing_had_been(self, caller: Caller) -> None:
        """A refusal does not affect the trial, and does not undo earlier changes."""
        first = caller.example("create_new_client")
        caller.refusal("create_new_client", **EXAMPLES["create_new_client"])

        second = caller.example("create_new_client", email="bob@bob.example")

        clients = caller.crm.snapshot()["clients"]
        assert first in clients
        assert second in clients
