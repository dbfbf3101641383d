"""What every CRM keeps to: the one on PostgreSQL, and the next one, too."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_crmeval.domain.conversation import Seed
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall, ToolError, ToolResult
from pytest_crmeval.domain.state import State
from pytest_crmeval.ports.crm import Crm, SeedError

ACME, BOLT = "5fcdb532-cec1-59dd-933c-2ef2b966d0b0", "d7ced239-45db-5bc0-b7df-f6312ea61eab"
OPEN, WON = "39e7c9d8-5fcd-5f6c-8d34-44329f8fd055", "a11c9da5-f863-5682-8abb-643fd36b635f"
NOBODY = "00000000-0000-0000-0000-000000000000"
SEED: Seed = {
    "Client": {
        ACME: {"name": "100% Acme", "email": "a@acme.example", "status": "Active"},
        BOLT: {"name": "Münz_berg", "email": "b@bolt.example", "status": "Prospect", "industry": "Steel"},
    },
    "Opportunity": {
        OPEN: {"client_id": ACME, "name": "Vans", "stage": "Proposal", "amount": 84000.5, "probability": 55},
        WON: {"client_id": ACME, "name": "Vans 100", "stage": "Closed-Won", "amount": 61000},
    },
}
EVERYTHING: Seed = {
    **SEED,
    "Company": {NOBODY: {"name": "Rival", "type": "Competitor", "contacts": ["Ada", "Bob"]}},
    "Contact": {NOBODY: {"first_name": "Mira", "last_name": "Okafor", "client_id": ACME}},
    "Quote": {NOBODY: {"opportunity_id": OPEN, "amount": 57000, "status": "Sent", "valid_until": "2027-03-31"}},
    "Contract": {NOBODY: {"client_id": ACME, "opportunity_id": WON, "value": 61000, "status": "Active"}},
    "Document": {NOBODY: {"entity_type": "Quote", "entity_id": NOBODY, "file_name": "quote.pdf"}},
    "Note": {NOBODY: {"entity_type": "Client", "entity_id": ACME, "content": "Call back."}},
}
NEW_CLIENT = {"name": "Ada Ltd", "email": "ada@ada.example", "status": "Active"}
BAIT = "'; DROP TABLE clients; --"


@dataclass(frozen=True)
class Desk:
    """Somebody who works with a seeded CRM."""

    crm: Crm

    def ask(self, tool: str, **arguments: Any) -> ToolResult:  # noqa: ANN401 (an agent may send anything)
        """Call a tool."""
        return self.crm.call(ToolCall(tool=tool, arguments=arguments))

    def names(self, tool: str, **filters: Json) -> list[Json]:
        """Return the names that a search finds, in its order."""
        found = self.ask(tool, **filters).value
        assert isinstance(found, list)
        return [row["name"] for row in found]

    def refusal(self, tool: str, **arguments: Any) -> ToolError:  # noqa: ANN401 (an agent may send anything)
        """Return why a call is refused; it must not have changed anything."""
        before = rows(self.crm.snapshot())
        result = self.ask(tool, **arguments)
        assert result.error is not None, result.value
        assert result.value is None
        assert before == rows(self.crm.snapshot())
        return result.error


@pytest.fixture
def desk(crm: Crm) -> Iterator[Desk]:
    """Work with a CRM that holds the seed."""
    with crm.seeded(SEED):
        yield Desk(crm)


def rows(state: State) -> dict[str, list[str]]:
    """Return a state that can be compared: a table has no order."""
    return {table: sorted(json.dumps(row, sort_keys=True) for row in found) for table, found in state.items()}


def counts(state: State) -> dict[str, int]:
    """Return how many rows each table holds."""
    return {table: len(found) for table, found in state.items() if found}


class TestSeed:
    """What a CRM holds at the start, and at the end."""

    def test_the_seeded_rows_are_there(self, crm: Crm) -> None:
        """Of every entity, and no others."""
        with crm.seeded(EVERYTHING):
            found = crm.snapshot()

        assert {
            "clients": 2,
            "companies": 1,
            "contacts": 1,
            "contracts": 1,
            "documents": 1,
            "notes": 1,
            "opportunities": 2,
            "quotes": 1,
        } == counts(found)

    def test_a_seeded_row_is_as_it_was_given(self, crm: Crm) -> None:
        """With its id; what was not given is null, except when it was written."""
        with crm.seeded(SEED):
            (bolt,) = (row for row in crm.snapshot()["clients"] if row["client_id"] == BOLT)

        assert {
            "client_id": BOLT,
            "name": "Münz_berg",
            "email": "b@bolt.example",
            "status": "Prospect",
            "industry": "Steel",
            "phone": None,
            "address": None,
            "owner": None,
        } == {column: value for column, value in bolt.items() if column != "created_date"}

    def test_everything_is_forgotten_at_the_end(self, crm: Crm) -> None:
        """What was seeded, and what was called."""
        with crm.seeded(SEED):
            crm.call(ToolCall(tool="create_new_client", arguments=NEW_CLIENT))

        with crm.seeded({}):
            assert {} == counts(crm.snapshot())

    def test_everything_is_forgotten_when_the_trial_breaks(self, crm: Crm) -> None:
        """An agent that raises leaves nothing to the next one."""

        def broken_trial() -> None:
            with crm.seeded(SEED):
                crm.call(ToolCall(tool="create_new_client", arguments=NEW_CLIENT))
                raise ConnectionError("no route to model")

        with pytest.raises(ConnectionError):
            broken_trial()

        with crm.seeded({}):
            assert {} == counts(crm.snapshot())

    def test_two_trials_get_the_same(self, crm: Crm) -> None:
        """The first one's e-mail address is free again."""
        results = []
        for _ in range(2):
            with crm.seeded(SEED):
                results.append(crm.call(ToolCall(tool="create_new_client", arguments=NEW_CLIENT)))

        assert [False, False] == [result.refused for result in results]

    @pytest.mark.parametrize(
        ("seed", "entity"),
        [
            pytest.param({"Client": {ACME: {**NEW_CLIENT, "nick": "A"}}}, "Client", id="unknown column"),
            pytest.param({"Client": {ACME: {**NEW_CLIENT, "100%": "A"}}}, "Client", id="a column with a percent"),
            pytest.param({"Client": {ACME: {**NEW_CLIENT, "%s": "A"}}}, "Client", id="a column like a placeholder"),
            pytest.param({"Client": {ACME: {**NEW_CLIENT, BAIT: "A"}}}, "Client", id="a column of SQL"),
            pytest.param({"Client": {ACME: {"status": "Active"}}}, "Client", id="no name"),
            pytest.param({"Client": {ACME: {**NEW_CLIENT, "status": "Sleeping"}}}, "Client", id="bad enum"),
            pytest.param({"Client": {"ada": NEW_CLIENT}}, "Client", id="an id that is none"),
            pytest.param({"Client": {ACME: NEW_CLIENT, BOLT: NEW_CLIENT}}, "Client", id="an e-mail twice"),
            pytest.param({"Client": {ACME: {**NEW_CLIENT, "name": "A\0"}}}, "Client", id="NUL"),
            pytest.param({"Opportunity": SEED["Opportunity"]}, "Opportunity", id="no parent"),
            pytest.param({"Klient": {ACME: NEW_CLIENT}}, "Klient", id="unknown entity"),
        ],
    )
    def test_a_seed_that_does_not_fit_is_told(self, crm: Crm, seed: Seed, entity: str) -> None:
        """The case is broken, not the agent; the next case is played as if nothing had been."""
        with pytest.raises(SeedError) as caught, crm.seeded(seed):
            pytest.fail("it was seeded")

        assert str(caught.value).startswith(f"seed_data.{entity}: ")
        assert not str(caught.value).endswith("None")
        with crm.seeded(SEED):
            assert {"clients": 2, "opportunities": 2} == counts(crm.snapshot())


def test_nothing_can_be_called_outside_of_a_trial(crm: Crm) -> None:
    """It would change the CRM for good."""
    with pytest.raises(RuntimeError, match="outside of seeded"):
        crm.call(ToolCall(tool="client_search"))


class TestSnapshot:
    """What a CRM says that it holds."""

    def test_it_is_json(self, crm: Crm) -> None:
        """No dates, decimals or UUIDs: it goes over a wire and to a disk."""
        with crm.seeded(EVERYTHING):
            state = crm.snapshot()

        assert state == json.loads(json.dumps(state, allow_nan=False))

    def test_it_shows_what_was_done(self, desk: Desk) -> None:
        """At once."""
        desk.ask("create_new_client", **NEW_CLIENT)

        assert {"clients": 3, "opportunities": 2} == counts(desk.crm.snapshot())

    def test_it_does_not_change_afterwards(self, desk: Desk) -> None:
        """It is how things were at one moment."""
        before = desk.crm.snapshot()

        desk.ask("create_new_client", **NEW_CLIENT)

        assert {"clients": 2, "opportunities": 2} == counts(before)


class TestTools:
    """What can be called."""

    def test_every_tool_is_described(self, crm: Crm) -> None:
        """By a unique name, a sentence, and a JSON Schema that allows nothing unknown."""
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

    def test_a_value_is_json(self, desk: Desk) -> None:
        """What a tool returns is sent to a provider, too."""
        results = [
            desk.ask("client_search"),
            desk.ask("opportunity_search"),
            desk.ask("create_new_client", **NEW_CLIENT),
        ]

        assert results == [ToolResult(value=json.loads(json.dumps(result.value))) for result in results]

    def test_a_write_returns_the_row(self, desk: Desk) -> None:
        """With the id that the next call refers to."""
        made = desk.ask("create_new_client", **NEW_CLIENT).value

        assert isinstance(made, dict)
        assert made in desk.crm.snapshot()["clients"]

    def test_a_change_changes_what_was_named_and_nothing_else(self, desk: Desk) -> None:
        """Other rows and other columns stay."""
        before = {row["opportunity_id"]: row for row in desk.crm.snapshot()["opportunities"]}

        desk.ask("modify_opportunity", opportunity_id=OPEN, stage="Negotiation", probability=75)

        after = {row["opportunity_id"]: row for row in desk.crm.snapshot()["opportunities"]}
        assert {**before, OPEN: {**before[OPEN], "stage": "Negotiation", "probability": 75}} == after


class TestSearch:
    """What is found."""

    @pytest.mark.parametrize(
        ("filters", "found"),
        [
            ({}, ["100% Acme", "Münz_berg"]),
            ({"name": "acme"}, ["100% Acme"]),
            ({"name": "ACME"}, ["100% Acme"]),
            ({"name": "MÜNZ"}, ["Münz_berg"]),
            ({"name": "%"}, ["100% Acme"]),
            ({"name": "_"}, ["Münz_berg"]),
            ({"name": "1%c"}, []),
            ({"name": "M_nz"}, []),
            ({"name": "\\"}, []),
            ({"name": ".*"}, []),
            ({"name": "zebra"}, []),
            ({"status": "Prospect"}, ["Münz_berg"]),
            ({"status": "Active", "name": "münz"}, []),
            ({"industry": "steel", "name": "münz"}, ["Münz_berg"]),
            ({"client_id": ACME}, ["100% Acme"]),
            ({"client_id": ACME[:8]}, []),
            ({"client_id": NOBODY}, []),
            ({"client_id": "no id at all"}, []),
        ],
    )
    def test_text_is_found_by_its_letters_in_any_case(
        self, desk: Desk, filters: dict[str, Json], found: list[str]
    ) -> None:
        """``%`` and ``_`` are letters; every filter counts; ids and choices are exact."""
        assert found == desk.names("client_search", **filters)

    def test_nothing_found_is_no_refusal(self, desk: Desk) -> None:
        """It is an answer."""
        assert ToolResult(value=[]) == desk.ask("client_search", name="zebra")


class TestRefusal:
    """A refusal is typed, says why, and changes nothing (``desk.refusal`` looks)."""

    def test_an_unknown_tool(self, desk: Desk) -> None:
        """The message lists those that there are."""
        error = desk.refusal("drop_client", client_id=ACME)

        assert "unknown_tool" == error.kind
        assert "'drop_client'" in error.message
        assert all(tool.name in error.message for tool in desk.crm.tools)

    def test_an_unknown_argument(self, desk: Desk) -> None:
        """It is not silently dropped."""
        error = desk.refusal("create_new_client", **NEW_CLIENT, nick="Ada")

        assert ("invalid_argument", True) == (error.kind, "`nick`" in error.message)

    def test_a_missing_argument(self, desk: Desk) -> None:
        """The message names it."""
        error = desk.refusal("create_new_client", name="Ada Ltd", email="ada@ada.example")

        assert ("invalid_argument", True) == (error.kind, "`status`" in error.message)

    def test_a_choice_that_there_is_not(self, desk: Desk) -> None:
        """Choices are exact, also in searches."""
        for tool, arguments in (
            ("create_new_client", {**NEW_CLIENT, "status": "active"}),
            ("client_search", {"status": "x"}),
        ):
            error = desk.refusal(tool, **arguments)

            assert ("invalid_argument", True) == (error.kind, "status" in error.message)

    def test_an_e_mail_address_that_is_taken(self, desk: Desk) -> None:
        """By a seeded client."""
        error = desk.refusal("create_new_client", **{**NEW_CLIENT, "email": "a@acme.example"})

        assert ("conflict", True) == (error.kind, "a@acme.example" in error.message)

    def test_an_e_mail_address_that_the_agent_has_used(self, desk: Desk) -> None:
        """By a client of this very trial."""
        desk.ask("create_new_client", **NEW_CLIENT)

        assert "conflict" == desk.refusal("create_new_client", **NEW_CLIENT).kind

    @pytest.mark.parametrize("unknown", [NOBODY, "", "no id at all", BAIT])
    @pytest.mark.parametrize(
        ("tool", "key", "arguments"),
        [
            ("create_new_contact", "client_id", {"first_name": "Mira", "last_name": "Okafor"}),
            ("create_new_opportunity", "client_id", {"name": "Bikes", "amount": 1, "stage": "Proposal"}),
            ("modify_opportunity", "opportunity_id", {"amount": 1}),
            ("create_quote", "opportunity_id", {"amount": 1, "status": "Draft"}),
            ("add_note", "entity_id", {"entity_type": "Quote", "content": "Call back."}),
        ],
    )
    def test_an_unknown_id(self, desk: Desk, tool: str, key: str, arguments: dict[str, Json], unknown: str) -> None:
        """The message repeats it."""
        error = desk.refusal(tool, **{**arguments, key: unknown})

        assert ("not_found", True) == (error.kind, f"'{unknown}'" in error.message)

    def test_an_id_of_something_else(self, desk: Desk) -> None:
        """A client is no deal."""
        assert "not_found" == desk.refusal("add_note", entity_type="Opportunity", entity_id=ACME, content="Hm.").kind

    @pytest.mark.parametrize(
        "change", [{"stage": "Proposal"}, {"amount": 70000}, {"probability": 50}, {"close_date": "2027-01-01"}]
    )
    def test_a_closed_deal_stays_closed(self, desk: Desk, change: dict[str, Json]) -> None:
        """Its stage, amount, probability and date; also together with what may be changed."""
        error = desk.refusal("modify_opportunity", opportunity_id=WON, owner="Dana", **change)

        assert ("refused_by_rule", True) == (error.kind, next(iter(change)) in error.message)

    def test_a_closed_deal_may_change_hands(self, desk: Desk) -> None:
        """Owner, name and notes are no part of the deal."""
        assert not desk.ask("modify_opportunity", opportunity_id=WON, owner="Dana", notes="Kept.").refused

    def test_a_change_of_nothing(self, desk: Desk) -> None:
        """Say what to change."""
        assert "invalid_argument" == desk.refusal("modify_opportunity", opportunity_id=OPEN).kind

    @pytest.mark.parametrize("amount", [0, -1, 0.001, 10_000_001, 1e308, math.nan, math.inf, 10**400, True, "1", None])
    def test_an_amount_that_is_none(self, desk: Desk, amount: object) -> None:
        """More than nothing, up to ten million, and a number."""
        error = desk.refusal("create_quote", opportunity_id=OPEN, amount=amount, status="Draft")

        assert "invalid_argument" == error.kind

    def test_the_next_call_is_made_as_if_nothing_had_been(self, desk: Desk) -> None:
        """A refusal does not spoil the trial."""
        desk.refusal("create_new_client", **{**NEW_CLIENT, "email": "a@acme.example"})

        assert not desk.ask("create_new_client", **NEW_CLIENT).refused


def deep(levels: int = 100_000) -> list[Any]:
    """Return lists in lists."""
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    return nested


HOSTILE_TEXT = {
    "a quote": "O'Brien",
    "a double quote": 'Ada "the Ace"',
    "a backslash": "a\\'b",
    "a dollar quote": "$$; SELECT 1; $$",
    "SQL": BAIT,
    "a placeholder": "%s %(name)s %b {}",
    "NUL": "a\0b",
    "half a surrogate pair": "\ud83d",
    "every direction": "a\u202eb\u200bc\ufeff",
    "an escape": "\x1b[2J\r\n",
    "a megabyte": "x" * 1_000_000,
    "a reference": "{{turn_1.client_id}}",
}
WRONG_TYPES: dict[str, Any] = {
    "null": None,
    "a number": 7,
    "a truth": True,
    "not a number": math.nan,
    "a list": ["Ada"],
    "an object": {"$ne": None},
    "bytes": b"Ada",
    "an abyss": deep(),
    "an object of ours": object(),
}


class TestHostility:
    """Whatever an agent sends ends as a typed refusal or a harmless success, and the trial goes on."""

    @pytest.fixture(autouse=True)
    def unharmed(self, desk: Desk) -> Iterator[None]:
        """Afterwards the seeded rows are what they were, and the CRM still works."""
        before = desk.crm.snapshot()
        yield
        after = desk.crm.snapshot()
        assert all(row in after[table] for table, found in before.items() for row in found)
        assert not desk.ask("create_new_client", name="Last", email="last@last.example", status="Active").refused

    @staticmethod
    def survived(result: ToolResult) -> None:
        """See that a result is one of the two; a refusal has to say why."""
        if result.error is None:
            assert result.value == json.loads(json.dumps(result.value))
        else:
            assert result.error.kind in {"invalid_argument", "not_found", "conflict", "refused_by_rule", "unknown_tool"}
            assert result.error.message not in {"", "None"}

    @pytest.mark.parametrize("text", HOSTILE_TEXT)
    @pytest.mark.parametrize(
        ("tool", "argument"),
        [
            ("create_new_client", "name"),
            ("create_new_client", "industry"),
            ("client_search", "name"),
            ("client_search", "client_id"),
            ("client_search", "status"),
        ],
    )
    def test_text(self, desk: Desk, tool: str, argument: str, text: str) -> None:
        """As a value that is written, and as one that is searched for."""
        arguments = NEW_CLIENT if tool == "create_new_client" else {}

        self.survived(desk.ask(tool, **{**arguments, argument: HOSTILE_TEXT[text]}))

    @pytest.mark.parametrize("text", HOSTILE_TEXT)
    def test_an_e_mail_address(self, desk: Desk, text: str) -> None:
        """It has an index of its own, which has limits of its own."""
        self.survived(desk.ask("create_new_client", **{**NEW_CLIENT, "email": f"{HOSTILE_TEXT[text]}@a.example"}))

    @pytest.mark.parametrize("text", HOSTILE_TEXT)
    def test_an_id(self, desk: Desk, text: str) -> None:
        """Of a row to be changed."""
        self.survived(desk.ask("modify_opportunity", opportunity_id=HOSTILE_TEXT[text], owner="Dana"))

    @pytest.mark.parametrize("text", HOSTILE_TEXT)
    def test_the_name_of_an_argument(self, desk: Desk, text: str) -> None:
        """No key reaches SQL."""
        result = desk.ask("client_search", **{HOSTILE_TEXT[text]: "x"})

        self.survived(result)
        assert result.refused

    @pytest.mark.parametrize("text", HOSTILE_TEXT)
    def test_the_name_of_a_tool(self, desk: Desk, text: str) -> None:
        """Only what is listed can be called."""
        assert "unknown_tool" == desk.refusal(HOSTILE_TEXT[text]).kind

    @pytest.mark.parametrize("text", [text for text in HOSTILE_TEXT if text not in {"NUL", "half a surrogate pair"}])
    def test_what_was_written_is_what_was_sent(self, desk: Desk, text: str) -> None:
        """Nothing is escaped twice, cut off or cleaned."""
        made = desk.ask("add_note", entity_type="Client", entity_id=ACME, content=HOSTILE_TEXT[text]).value

        assert isinstance(made, dict)
        assert HOSTILE_TEXT[text] == made["content"]

    @pytest.mark.parametrize("kind", WRONG_TYPES)
    @pytest.mark.parametrize("argument", ["name", "email", "status"])
    def test_a_value_of_another_type(self, desk: Desk, argument: str, kind: str) -> None:
        """Nothing is made to fit."""
        result = desk.ask("create_new_client", **{**NEW_CLIENT, argument: WRONG_TYPES[kind]})

        assert result.error is not None
        assert "invalid_argument" == result.error.kind

    @pytest.mark.parametrize("arguments", [None, [], "name", 7, ["name", "email"], {7: "x"}, {None: None}])
    def test_arguments_that_are_no_object(self, desk: Desk, arguments: Any) -> None:  # noqa: ANN401 (that is the point)
        """A model's JSON may be anything."""
        result = desk.crm.call(ToolCall(tool="create_new_client", arguments=arguments))

        assert result.error is not None
        assert "invalid_argument" == result.error.kind
