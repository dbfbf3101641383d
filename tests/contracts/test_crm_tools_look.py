"""The tools that show rows: lists, details, comparisons, summaries."""

from typing import Any

import pytest

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolResult
from pytest_crmeval.domain.state import TABLES
from pytest_crmeval.ports.crm import Crm
from tests.crm_world import COLUMNS, NOBODY, NOW, WORLD, Caller, row_of, uid

LISTS = {f"list_{table}": entity for entity, (table, _) in TABLES.items()}


class TestList:
    """All rows of a table, by their ids."""

    @pytest.mark.parametrize(("tool", "entity"), LISTS.items())
    def test_every_row_is_there_by_its_id(self, caller: Caller, tool: str, entity: str) -> None:
        """Complete."""
        table, _ = TABLES[entity]

        assert caller.state()[table] == caller.get(tool)
        assert WORLD[entity].keys() == caller.get(tool).keys()

    @pytest.mark.parametrize("tool", LISTS)
    def test_an_empty_table(self, crm: Crm, tool: str) -> None:
        """It is an empty object."""
        with crm.seeded({}, NOW):
            assert ToolResult(value={}) == Caller(crm).ask(tool)

    @pytest.mark.parametrize(("entity", "name"), [("Document", "offer"), ("Note", "remark")])
    def test_list_returns_every_column(self, caller: Caller, entity: str, name: str) -> None:
        """Every column."""
        assert {uid(name): row_of(entity, name)} == caller.get(f"list_{entity.lower()}s")


class TestDetails:
    """One row, or several for a comparison."""

    @pytest.mark.parametrize(
        ("tool", "entity", "name"),
        [
            ("view_opportunity_details", "Opportunity", "vans"),
            ("opportunity_details", "Opportunity", "bikes"),
            ("quote_details", "Quote", "plain"),
        ],
    )
    def test_a_row_has_every_column(self, caller: Caller, tool: str, entity: str, name: str) -> None:
        """As it was seeded."""
        assert row_of(entity, name) == caller.get(tool, **{COLUMNS[entity][0]: uid(name)})

    @pytest.mark.parametrize("written", [uid("vans").upper(), f" {uid('vans')}\n"])
    def test_an_id_can_be_written_in_capitals_and_with_space_around(self, caller: Caller, written: str) -> None:
        """It is the same id."""
        assert row_of("Opportunity", "vans") == caller.get("view_opportunity_details", opportunity_id=written)

    @pytest.mark.parametrize("names", [["dear", "cheap"], ["cheap", "dear"], ["plain", "old", "dear"], ["old"]])
    def test_quotes_are_compared_in_the_order_given(self, caller: Caller, names: list[str]) -> None:
        """Complete."""
        expected = [row_of("Quote", name) for name in names]

        assert expected == caller.get("compare_quotes", quote_ids=[uid(name) for name in names])

    @pytest.mark.parametrize("names", [["dear", "cheap"], ["cheap", "dear"], ["plain", "old", "dear"]])
    def test_comparison_shows_quotes_and_their_sum(self, caller: Caller, names: list[str]) -> None:
        """Amounts and statuses in the given order, and the sum."""
        rows: list[dict[str, Any]] = [row_of("Quote", name) for name in names]
        shown = caller.get("compare_quote_details", quote_ids=[uid(name) for name in names])

        assert {"quotes", "amounts", "statuses", "total_amount"} == shown.keys()
        assert rows == shown["quotes"]
        assert [row["amount"] for row in rows] == shown["amounts"]
        assert [row["status"] for row in rows] == shown["statuses"]
        assert sum(row["amount"] for row in rows) == shown["total_amount"]

    @pytest.mark.parametrize("unknown", [NOBODY, "no id at all", uid("vans")])
    @pytest.mark.parametrize("tool", ["compare_quotes", "compare_quote_details"])
    def test_an_unknown_quote(self, caller: Caller, tool: str, unknown: str) -> None:
        """One unknown id is enough (V7)."""
        error = caller.refusal(tool, quote_ids=[uid("dear"), unknown])

        assert "not_found" == error.kind
        assert f"Quote not found with ID '{unknown}'." in error.message

    @pytest.mark.parametrize("ids", ["x", uid("dear"), 7, [], {"a": uid("dear")}, [7], [None], [[uid("dear")]]])
    @pytest.mark.parametrize("tool", ["compare_quotes", "compare_quote_details"])
    def test_no_list_of_ids(self, caller: Caller, tool: str, ids: Json) -> None:
        """A string is not a list."""
        assert "invalid_argument" == caller.refusal(tool, quote_ids=ids).kind


class TestSummary:
    """Figures instead of rows."""

    @pytest.mark.parametrize(
        ("filters", "expected"),
        [
            (
                {},
                {
                    "total_count": 4,
                    "total_amount": 146700.5,
                    "by_stage": {"Closed-Lost": 1, "Closed-Won": 1, "Negotiation": 1, "Proposal": 1},
                    "by_owner": {"Dana": 2, "Unassigned": 1, "Émile": 1},
                },
            ),
            (
                {"client_id": uid("acme")},
                {
                    "total_count": 2,
                    "total_amount": 85200.5,
                    "by_stage": {"Negotiation": 1, "Proposal": 1},
                    "by_owner": {"Dana": 1, "Unassigned": 1},
                },
            ),
            (
                {"owner": "DANA"},
                {
                    "total_count": 2,
                    "total_amount": 84500.5,
                    "by_stage": {"Closed-Lost": 1, "Proposal": 1},
                    "by_owner": {"Dana": 2},
                },
            ),
            (
                {"stage": "Closed-Won"},
                {"total_count": 1, "total_amount": 61000, "by_stage": {"Closed-Won": 1}, "by_owner": {"Émile": 1}},
            ),
            (
                {"client_id": uid("zeta")},
                {"total_count": 0, "total_amount": 0, "by_stage": {}, "by_owner": {}},
            ),
        ],
    )
    def test_opportunities_are_summarized_by_stage_and_owner(
        self, caller: Caller, filters: dict[str, Json], expected: Json
    ) -> None:
        """Counted and added up, by stage and by owner; deals without an owner are unassigned."""
        assert expected == caller.get("summarize_opportunities", **filters)

    def test_counts_include_all_tables_and_new_rows(self, caller: Caller) -> None:
        """Of all tables, also after a change."""
        caller.example("create_new_client")

        assert {
            "clients": 4,
            "companies": 2,
            "contacts": 3,
            "contracts": 3,
            "documents": 1,
            "notes": 1,
            "opportunities": 4,
            "quotes": 4,
        } == caller.get("summarize_counts")

    def test_quote_prefixes_are_sorted_and_distinct(self, caller: Caller) -> None:
        """Each once, sorted; rows without a prefix are ignored."""
        assert ["BIK", "VAN"] == caller.get("quote_prefixes")

    def test_a_new_prefix(self, caller: Caller) -> None:
        """It is sorted in."""
        caller.example("create_quote", quote_prefix="CAR")

        assert ["BIK", "CAR", "VAN"] == caller.get("quote_prefixes")

    def test_quote_prefixes_of_an_empty_crm_are_empty(self, crm: Crm) -> None:
        """An empty list."""
        with crm.seeded({}, NOW):
            assert ToolResult(value=[]) == Caller(crm).ask("quote_prefixes")
