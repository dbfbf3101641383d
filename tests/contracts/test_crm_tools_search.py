"""The searches: which rows are found, in which order, and how many are shown."""

from collections.abc import Mapping

import pytest

from pytest_crmeval.domain.conversation import Seed
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolResult
from pytest_crmeval.domain.state import TABLES
from pytest_crmeval.ports.crm import Crm
from tests.crm_world import CHOICES, COLUMNS, NOBODY, NOW, Caller, row_of, shown, uid

SEARCHES = {
    "client_search": "Client",
    "contact_search": "Contact",
    "opportunity_search": "Opportunity",
    "quote_search": "Quote",
    "contract_search": "Contract",
    "company_search": "Company",
}
LISTS = {f"list_{table}": entity for entity, (table, _) in TABLES.items()}
READS = (*SEARCHES, *LISTS, "summarize_opportunities", "summarize_counts", "quote_prefixes")
FILTERS: list[tuple[str, Mapping[str, Json], list[str]]] = [
    ("client_search", {"name": "ACME"}, ["acme"]),
    ("client_search", {"name": "MÜNZ"}, ["münz"]),
    ("client_search", {"name": " acme "}, ["acme"]),
    ("client_search", {"name": "%"}, ["acme"]),
    ("client_search", {"name": "_"}, ["münz"]),
    ("client_search", {"name": "1%e"}, []),
    ("client_search", {"name": "M_nz"}, []),
    ("client_search", {"name": "\\"}, []),
    ("client_search", {"name": ".*"}, []),
    ("client_search", {"industry": "tAHL"}, ["münz"]),
    ("client_search", {"email": "info@acme"}, ["acme"]),
    ("client_search", {"email": "EXAMPLE"}, ["acme", "münz"]),
    ("client_search", {"phone": "555 01"}, ["acme"]),
    ("client_search", {"address": "ölgasse"}, ["münz"]),
    ("client_search", {"owner": "éMILE"}, ["münz"]),
    ("client_search", {"status": "Inactive"}, ["zeta"]),
    ("client_search", {"status": "Active"}, ["acme"]),
    ("client_search", {"client_id": uid("münz")}, ["münz"]),
    ("client_search", {"client_id": uid("münz").upper()}, ["münz"]),
    ("client_search", {"client_id": NOBODY}, []),
    ("client_search", {"created_date": "2025-01-02T03:04:05+00:00"}, ["acme"]),
    ("client_search", {"created_date": "2025-01-02T05:04:05+02:00"}, ["acme"]),
    ("client_search", {"created_date": NOW.isoformat()}, ["münz", "zeta"]),
    ("client_search", {"name": "e", "owner": "dana", "status": "Active"}, ["acme"]),
    ("client_search", {"name": "acme", "status": "Prospect"}, []),
    ("contact_search", {}, ["zoë", "adam", "mira"]),
    ("contact_search", {"first_name": "ZOË"}, ["zoë"]),
    ("contact_search", {"last_name": "OKA"}, ["adam", "mira"]),
    ("contact_search", {"title": "finance"}, ["mira"]),
    ("contact_search", {"email": "MIRA@"}, ["mira"]),
    ("contact_search", {"phone": "0202"}, ["mira"]),
    ("contact_search", {"notes": "S_M"}, ["mira"]),
    ("contact_search", {"client_id": uid("acme")}, ["adam", "mira"]),
    ("contact_search", {"contact_id": uid("zoë")}, ["zoë"]),
    ("contact_search", {"first_name": "a", "client_id": uid("münz")}, []),
    ("opportunity_search", {}, ["bikes", "lorries", "trams", "vans"]),
    ("opportunity_search", {"name": "VAN"}, ["vans"]),
    ("opportunity_search", {"owner": "dan"}, ["trams", "vans"]),
    ("opportunity_search", {"notes": "100% FIN"}, ["vans"]),
    ("opportunity_search", {"stage": "Closed-Won"}, ["lorries"]),
    ("opportunity_search", {"amount": 84000.5}, ["vans"]),
    ("opportunity_search", {"amount": 1200}, ["bikes"]),
    ("opportunity_search", {"amount": 1200.0}, ["bikes"]),
    ("opportunity_search", {"amount": 120}, []),
    ("opportunity_search", {"probability": 99}, ["lorries"]),
    ("opportunity_search", {"close_date": "2026-06-30"}, ["vans"]),
    ("opportunity_search", {"close_date": "2025-12-31"}, ["lorries"]),
    ("opportunity_search", {"created_at": "2025-05-06T07:08:09Z"}, ["vans"]),
    ("opportunity_search", {"client_id": uid("acme")}, ["bikes", "vans"]),
    ("opportunity_search", {"opportunity_id": uid("vans")}, ["vans"]),
    ("opportunity_search", {"client_id": uid("münz"), "owner": "Dana"}, ["trams"]),
    ("quote_search", {}, ["old", "cheap", "dear", "plain"]),
    ("quote_search", {"version": "BETA"}, ["cheap"]),
    ("quote_search", {"quote_prefix": "va"}, ["cheap", "dear"]),
    ("quote_search", {"status": "Approved"}, ["plain"]),
    ("quote_search", {"amount": 55000.25}, ["cheap"]),
    ("quote_search", {"valid_until": "2027-03-31"}, ["dear"]),
    ("quote_search", {"created_date": "2024-02-03T04:05:06+00:00"}, ["old"]),
    ("quote_search", {"opportunity_id": uid("vans")}, ["cheap", "dear"]),
    ("quote_search", {"quote_id": uid("old")}, ["old"]),
    ("contract_search", {"document_url": "LEASING"}, ["leasing"]),
    ("contract_search", {"status": "Pending"}, ["frame"]),
    ("contract_search", {"value": 10}, ["service"]),
    ("contract_search", {"start_date": "2026-01-01"}, ["leasing"]),
    ("contract_search", {"end_date": "2026-12-31"}, ["leasing"]),
    ("contract_search", {"client_id": uid("acme")}, ["leasing"]),
    ("contract_search", {"opportunity_id": uid("lorries")}, ["service"]),
    ("contract_search", {"contract_id": uid("frame")}, ["frame"]),
    ("company_search", {}, ["maker", "rival"]),
    ("company_search", {"name": "RIV"}, ["rival"]),
    ("company_search", {"industry": "toy"}, ["rival"]),
    ("company_search", {"address": "side"}, ["rival"]),
    ("company_search", {"type": "Vendor"}, ["maker"]),
    ("company_search", {"contacts": "BOB"}, ["rival"]),
    ("company_search", {"company_id": uid("maker")}, ["maker"]),
]
BAD_FILTERS: list[tuple[str, str, Json]] = [
    *(("client_search", "client_id", value) for value in ("no id at all", uid("acme")[:8], "%", 7)),
    ("contact_search", "contact_id", "x"),
    ("contact_search", "client_id", "x"),
    ("opportunity_search", "client_id", "x"),
    ("opportunity_search", "opportunity_id", "x"),
    ("quote_search", "opportunity_id", "x"),
    ("quote_search", "quote_id", "x"),
    ("contract_search", "contract_id", "x"),
    ("contract_search", "client_id", "x"),
    ("contract_search", "opportunity_id", "x"),
    ("company_search", "company_id", "x"),
    ("opportunity_search", "amount", "a lot"),
    ("opportunity_search", "amount", "1200"),
    ("opportunity_search", "amount", True),
    ("opportunity_search", "probability", "high"),
    ("opportunity_search", "close_date", "soon"),
    ("opportunity_search", "created_at", "lately"),
    ("quote_search", "valid_until", "2027-02-30"),
    ("quote_search", "amount", [1]),
    ("contract_search", "value", "much"),
    ("contract_search", "start_date", 7),
    ("client_search", "name", 7),
    ("client_search", "name", ["acme"]),
    ("client_search", "created_date", "x"),
    ("company_search", "name", {"like": "r"}),
]
BAD_CHOICES = [
    ("client_search", "status", "client status"),
    ("opportunity_search", "stage", "stage"),
    ("quote_search", "status", "quote status"),
    ("contract_search", "status", "contract status"),
    ("company_search", "type", "company type"),
    ("summarize_opportunities", "stage", "stage"),
]


def crowd(count: int) -> Seed:
    """Return this many rows of every entity, in reverse order."""
    parents = {"client_id": uid("Client 0"), "opportunity_id": uid("Opportunity 0"), "entity_id": uid("Client 0")}
    fixed: dict[str, Json] = {
        **parents,
        "status": "Active",
        "stage": "Proposal",
        "type": "Vendor",
        "entity_type": "Client",
        "file_name": "a.pdf",
        "content": "Hm.",
        "first_name": "Kim",
    }

    def row(entity: str, number: int) -> dict[str, Json]:
        own: dict[str, Json] = {"name": f"N{number:03}", "last_name": f"L{number:03}", "amount": number + 1, **fixed}
        if entity == "Quote":
            own["status"] = "Draft"
        needed = {"Quote": {"opportunity_id", "amount", "status"}, "Contract": {"client_id", "status"}}
        columns = needed.get(entity, set(COLUMNS[entity][1:]))
        return {name: value for name, value in own.items() if name in columns}

    return {
        entity: {uid(f"{entity} {number}"): row(entity, number) for number in reversed(range(count))}
        for entity in TABLES
    }


class TestSearch:
    """Which rows are found."""

    def test_every_column_can_be_searched(self, caller: Caller) -> None:
        """Text by a part of it, ignoring case; other columns exactly; in order."""
        for tool, filters, found in FILTERS:
            assert found == caller.found(tool, **filters), (tool, filters, found)

    def test_every_filter_is_in_the_schema(self, caller: Caller) -> None:
        """A filter need not be a valid value: a part of a name, an incomplete e-mail address."""
        for tool, filters, _ in FILTERS:
            assert caller.advertised(tool, filters), (tool, filters)

    def test_no_filter_finds_all_contracts(self, caller: Caller) -> None:
        """They have no name to be sorted by."""
        assert ["frame", "leasing", "service"] == sorted(caller.found("contract_search"))

    @pytest.mark.parametrize("entity", SEARCHES.values())
    def test_a_row_has_every_column(self, caller: Caller, entity: str) -> None:
        """A row has every column."""
        tool = f"{entity.lower()}_search"
        expected = {name: row_of(entity, name) for name in caller.found(tool)}

        assert expected == {name: caller.get(tool, **{COLUMNS[entity][0]: uid(name)})[0] for name in expected}

    def test_search_without_matches_returns_an_empty_list(self, caller: Caller) -> None:
        """It is a valid answer."""
        assert ToolResult(value=[]) == caller.ask("client_search", name="zebra")

    @pytest.mark.parametrize("blank", ["", " ", "\t\n"])
    @pytest.mark.parametrize(
        ("tool", "column", "found"),
        [
            ("client_search", "phone", ["acme", "münz", "zeta"]),
            ("contact_search", "title", ["zoë", "adam", "mira"]),
            ("opportunity_search", "notes", ["bikes", "lorries", "trams", "vans"]),
            ("quote_search", "version", ["old", "cheap", "dear", "plain"]),
            ("company_search", "address", ["maker", "rival"]),
        ],
    )
    def test_a_blank_filter_filters_nothing(
        self, caller: Caller, tool: str, column: str, found: list[str], blank: str
    ) -> None:
        """Not even rows that have no value."""
        assert found == caller.found(tool, **{column: blank})

    def test_a_blank_filter_does_not_switch_others_off(self, caller: Caller) -> None:
        """The other filters count."""
        assert ["acme"] == caller.found("client_search", name=" ", status="Active")

    def test_filter_of_the_wrong_type_is_refused(self, caller: Caller) -> None:
        """An empty result would look like an answer; the message names the filter."""
        for tool, column, value in BAD_FILTERS:
            error = caller.refusal(tool, **{column: value})

            assert "invalid_argument" == error.kind, (tool, column, value)
            assert column in error.message.lower().replace(" ", "_"), (tool, column, value)

    def test_filter_with_an_unknown_choice_is_refused(self, caller: Caller) -> None:
        """The filter is exact, and the message lists the choices (V2)."""
        for tool, column, choice in BAD_CHOICES:
            for value in ["Sleeping", "active", "ACTIVE", "Act", 7, ["Active"]]:
                error = caller.refusal(tool, **{column: value})

                assert "invalid_argument" == error.kind, (value, tool, column, choice)
                assert f"{column.capitalize()} must be one of: {', '.join(CHOICES[choice])}." in error.message, (
                    value,
                    tool,
                    column,
                    choice,
                )

    @pytest.mark.parametrize("value", [10**400, -(10**400), 1e308, 10**14], ids=shown)
    @pytest.mark.parametrize(
        ("tool", "column"),
        [("opportunity_search", "amount"), ("opportunity_search", "probability"), ("contract_search", "value")],
    )
    def test_filter_with_a_huge_number_is_handled(self, caller: Caller, tool: str, column: str, value: Json) -> None:
        """No row has it, or it is refused."""
        result = caller.ask(tool, **{column: value})

        assert (result.value or None, result.error and result.error.kind) in {(None, None), (None, "invalid_argument")}

    def test_a_quote_has_no_name(self, caller: Caller) -> None:
        """The message says so."""
        error = caller.refusal("quote_search", name="Vans")

        assert ("invalid_argument", True) == (error.kind, "name" in error.message)

    def test_filters_cannot_inject_sql(self, caller: Caller) -> None:
        """Neither its name nor its value (D3)."""
        assert "invalid_argument" == caller.refusal("client_search", **{"true OR name": "x"}).kind
        assert [] == caller.found("client_search", name="' OR true --")

    def test_the_order_of_those_with_one_name_is_kept(self, caller: Caller) -> None:
        """A change moves a row on disk, but not in the result."""
        for _ in range(5):
            caller.example("create_new_opportunity")
        before = [row["opportunity_id"] for row in caller.get("opportunity_search", name="Boats")]
        for changed in before[:3]:
            caller.get("modify_opportunity", opportunity_id=changed, owner="Kim")

        assert before == [row["opportunity_id"] for row in caller.get("opportunity_search", name="Boats")]

    @pytest.mark.parametrize("tool", READS)
    def test_reading_tools_change_nothing(self, caller: Caller, tool: str) -> None:
        """Reading tools change nothing."""
        before = caller.state()
        first = caller.ask(tool)

        assert first == caller.ask(tool)
        assert before == caller.state()


class TestCrowd:
    """At most 50 rows are shown, with a note if there are more."""

    @pytest.mark.parametrize("tool", [*SEARCHES, *LISTS])
    def test_search_shows_the_first_50_rows(self, crm: Crm, tool: str) -> None:
        """With the total number."""
        with crm.seeded(crowd(60), NOW):
            result = Caller(crm).ask(tool)

        assert isinstance(result.value, (list, dict))
        assert 50 == len(result.value)
        assert "the first 50 of 60" in result.note

    @pytest.mark.parametrize("tool", [*SEARCHES, *LISTS])
    def test_search_of_exactly_50_rows_shows_all(self, crm: Crm, tool: str) -> None:
        """Without a note."""
        with crm.seeded(crowd(50), NOW):
            result = Caller(crm).ask(tool)

        assert isinstance(result.value, (list, dict))
        assert (50, "") == (len(result.value), result.note)

    @pytest.mark.parametrize(
        ("tool", "column", "expected"),
        [
            ("client_search", "name", [f"N{number:03}" for number in range(50)]),
            ("contact_search", "last_name", [f"L{number:03}" for number in range(50)]),
            ("opportunity_search", "name", [f"N{number:03}" for number in range(50)]),
            ("quote_search", "amount", list(range(1, 51))),
            ("company_search", "name", [f"N{number:03}" for number in range(50)]),
        ],
    )
    def test_page_has_the_first_rows_in_sort_order(
        self, crm: Crm, tool: str, column: str, expected: list[Json]
    ) -> None:
        """Not those that were found first."""
        with crm.seeded(crowd(60), NOW):
            assert expected == [row[column] for row in Caller(crm).get(tool)]

    def test_note_counts_the_rows_that_match_the_filter(self, crm: Crm) -> None:
        """Not the whole table."""
        with crm.seeded(crowd(120), NOW):
            assert "the first 50 of 100" in Caller(crm).ask("client_search", name="N0").note

    def test_a_summary_is_about_all(self, crm: Crm) -> None:
        """A summary is about all."""
        with crm.seeded(crowd(60), NOW):
            caller = Caller(crm)
            output = caller.get("summarize_opportunities")

            assert (60, 60 * 61 / 2) == (output["total_count"], output["total_amount"])
            assert dict.fromkeys((table for table, _ in TABLES.values()), 60) == caller.get("summarize_counts")
