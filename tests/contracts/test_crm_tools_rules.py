"""The rules V7, V9 and V10 about existing rows; V12 is tested with the two forms of a change."""

import re

import pytest

from pytest_crmeval.domain.conversation import Seed
from pytest_crmeval.domain.json import Json
from tests.crm_world import CHOICES, EXAMPLES, NOBODY, WORLD, Caller, uid

IDS = [
    ("create_new_contact", "client_id", "Client"),
    ("create_new_opportunity", "client_id", "Client"),
    ("create_quote", "opportunity_id", "Opportunity"),
    ("create_contract", "client_id", "Client"),
    ("create_contract", "opportunity_id", "Opportunity"),
    ("modify_client", "client_id", "Client"),
    ("modify_contact", "contact_id", "Contact"),
    ("modify_opportunity", "opportunity_id", "Opportunity"),
    ("modify_quote", "quote_id", "Quote"),
    ("cancel_quote", "quote_id", "Quote"),
    ("delete_opportunity", "opportunity_id", "Opportunity"),
    ("delete_quote", "quote_id", "Quote"),
    ("clone_opportunity", "opportunity_id", "Opportunity"),
    ("view_opportunity_details", "opportunity_id", "Opportunity"),
    ("opportunity_details", "opportunity_id", "Opportunity"),
    ("quote_details", "quote_id", "Quote"),
]
CLOSED = {"lorries": "Closed-Won", "trams": "Closed-Lost"}
FROZEN: dict[str, Json] = {"stage": "Proposal", "amount": 70000, "probability": 50, "close_date": "2027-01-01"}


class TestUnknownIds:
    """V7: a referenced record must exist."""

    def test_refusal_of_an_unknown_id_repeats_the_id(self, caller: Caller) -> None:
        """Even if it is not a valid id, or belongs to another entity."""
        for tool, argument, entity in IDS:
            for unknown in [NOBODY, "no id at all", "7", uid("acme")[:-1], uid("offer")]:
                assert ("not_found", f"{entity} not found with ID '{unknown}'.") == caller.refused(
                    tool, **{argument: unknown}
                ), (unknown, tool, argument, entity)

    def test_document_or_note_on_an_unknown_record_is_refused(self, caller: Caller) -> None:
        """Only in the table of the named entity."""
        for tool, entity in [("upload_document", entity) for entity in CHOICES["document entity"]] + [
            ("add_note", entity) for entity in CHOICES["note entity"]
        ]:
            for unknown in [NOBODY, "no id at all", uid("offer")]:
                expected = ("not_found", f"{entity} not found with ID '{unknown}'.")

                assert expected == caller.refused(tool, entity_type=entity, entity_id=unknown), (unknown, tool, entity)

    @pytest.mark.parametrize("form", ["urn:uuid:{}", "{{{}}}", "{}-"])
    @pytest.mark.parametrize(
        ("tool", "argument", "name"),
        [
            ("create_new_contact", "client_id", "acme"),
            ("create_quote", "opportunity_id", "vans"),
            ("create_contract", "opportunity_id", "vans"),
            ("add_note", "entity_id", "mira"),
        ],
    )
    def test_id_in_another_notation_is_found_or_refused(
        self, caller: Caller, tool: str, argument: str, name: str, form: str
    ) -> None:
        """It must not cause a database error."""
        result = caller.ask(tool, **{**EXAMPLES[tool], argument: form.format(uid(name))})

        assert (result.error and result.error.kind) in {None, "not_found"}, result.error

    def test_id_that_is_not_text_is_refused(self, caller: Caller) -> None:
        """It is not an id."""
        for tool, argument, _ in IDS:
            for value in [7, True, [uid("acme")], {"id": uid("acme")}]:
                assert caller.refused(tool, **{argument: value})[0] in {"invalid_argument", "not_found"}, (
                    value,
                    tool,
                    argument,
                )


class TestClosedDeals:
    """V9: a closed deal stays closed."""

    @pytest.mark.parametrize("nested", [False, True], ids=["flat", "updates"])
    @pytest.mark.parametrize(
        "fields",
        [[field] for field in FROZEN] + [["stage", "amount"], ["probability", "close_date"], list(FROZEN)],
    )
    @pytest.mark.parametrize("name", CLOSED)
    def test_refusal_lists_the_frozen_fields_of_a_closed_deal(
        self, caller: Caller, name: str, fields: list[str], *, nested: bool
    ) -> None:
        """Sorted; also if the call contains allowed changes."""
        changes: dict[str, Json] = {"owner": "Kim", **{field: FROZEN[field] for field in fields}}
        error = caller.refusal(
            "modify_opportunity", opportunity_id=uid(name), **({"updates": changes} if nested else changes)
        )
        shown = re.search(
            rf"Cannot modify closed opportunity fields \[(.*)\] while stage is '{CLOSED[name]}'\.", error.message
        )

        assert "refused_by_rule" == error.kind
        assert shown is not None, error.message
        assert sorted(fields) == [field.strip("' ") for field in shown[1].split(",")]

    @pytest.mark.parametrize("stage", CLOSED.values())
    def test_deal_is_frozen_right_after_it_was_closed(self, caller: Caller, stage: str) -> None:
        """It is closed at once; the closing call itself may set all fields."""
        caller.get("modify_opportunity", opportunity_id=uid("vans"), stage=stage, amount=1, probability=99)

        assert "refused_by_rule" == caller.refusal("modify_opportunity", opportunity_id=uid("vans"), amount=2).kind

    def test_setting_the_same_stage_of_a_closed_deal_is_refused(self, caller: Caller) -> None:
        """It counts as a change."""
        error = caller.refusal("modify_opportunity", opportunity_id=uid("lorries"), stage="Closed-Won")

        assert "refused_by_rule" == error.kind


class TestUnknownFields:
    """V10: only existing fields can be changed, and only some of them."""

    @pytest.mark.parametrize("nested", [False, True], ids=["flat", "updates"])
    @pytest.mark.parametrize(
        ("tool", "entity", "field"),
        [
            ("modify_client", "Client", "bogus"),
            ("modify_contact", "Contact", "stage"),
            ("modify_opportunity", "Opportunity", "100%"),
            ("modify_quote", "Quote", "name"),
        ],
    )
    def test_change_of_an_unknown_field_is_refused(
        self, caller: Caller, tool: str, entity: str, field: str, *, nested: bool
    ) -> None:
        """Even next to a valid change."""
        kind, message = caller.refused(tool, **({"updates": {field: "x"}} if nested else {field: "x"}))

        assert "invalid_argument" == kind
        assert f"{entity} has no field named '{field}'." in message

    @pytest.mark.parametrize("nested", [False, True], ids=["flat", "updates"])
    @pytest.mark.parametrize(
        ("tool", "field", "value"),
        [
            ("modify_client", "created_date", "2026-01-01T00:00:00Z"),
            ("modify_contact", "client_id", uid("zeta")),
            ("modify_opportunity", "client_id", uid("zeta")),
            ("modify_opportunity", "created_at", "2026-01-01T00:00:00Z"),
            ("modify_quote", "opportunity_id", uid("bikes")),
            ("modify_quote", "created_date", "2026-01-01T00:00:00Z"),
        ],
    )
    def test_change_of_an_immutable_field_is_refused(
        self, caller: Caller, tool: str, field: str, value: Json, *, nested: bool
    ) -> None:
        """For example the client of a deal, or its creation time."""
        kind, message = caller.refused(tool, **({"updates": {field: value}} if nested else {field: value}))

        assert ("invalid_argument", True) == (kind, field in message)


REFUSED: list[tuple[str, str, dict[str, Json]]] = [
    ("not_found", "modify_client", {"client_id": NOBODY, "owner": "Kim"}),
    ("not_found", "view_opportunity_details", {"opportunity_id": "no id at all"}),
    ("invalid_argument", "client_search", {"status": "Sleeping"}),
    ("invalid_argument", "create_quote", {"opportunity_id": uid("vans"), "amount": 0, "status": "Draft"}),
    ("invalid_argument", "create_new_client", {"name": "A\0", "email": "nul@a.example", "status": "Active"}),
    ("conflict", "create_new_client", {"name": "Two", "email": "m@bolt.example", "status": "Active"}),
    ("conflict", "modify_client", {"client_id": uid("acme"), "email": "m@bolt.example"}),
    ("refused_by_rule", "modify_opportunity", {"opportunity_id": uid("trams"), "amount": 1}),
    ("unknown_tool", "commit_session", {}),
]


class TestRefusal:
    """A refusal is a result like any other: the trial continues (D1)."""

    @pytest.mark.parametrize(("kind", "tool", "arguments"), REFUSED)
    def test_refusal_keeps_earlier_and_later_changes(
        self, caller: Caller, kind: str, tool: str, arguments: dict[str, Json]
    ) -> None:
        """Calls after it count."""
        first = caller.example("create_new_client")
        error = caller.refusal(tool, **arguments)
        second = caller.example("create_quote")

        assert kind == error.kind
        state = caller.state()
        assert (first, second) == (state["clients"][first["client_id"]], state["quotes"][second["quote_id"]])
        assert row_count(WORLD) + 2 == sum(len(rows) for rows in state.values())

    def test_any_number_of_refused_calls_changes_nothing(self, caller: Caller) -> None:
        """There is no limit."""
        before = caller.state()
        for _ in range(5):
            for _, tool, arguments in REFUSED:
                caller.ask(tool, **arguments)

        assert before == caller.state()

    @pytest.mark.parametrize(
        "tool", ["commit_session", "close", "_truncate_tables", "call", "snapshot", "seeded", "tools", "__init__", ""]
    )
    def test_unknown_tool_is_refused_with_the_list_of_tools(self, caller: Caller, tool: str) -> None:
        """Only listed tools can be called (D3); the message lists them."""
        error = caller.refusal(tool)

        assert "unknown_tool" == error.kind
        assert [] == [name for name in EXAMPLES if name not in error.message]


def row_count(seed: Seed) -> int:
    """Return the number of rows of a seed."""
    return sum(len(rows) for rows in seed.values())
