"""What a reply has to say when the case does not say it."""

import pytest

from pytest_crmeval.conversations.scorers.facts import NOTHING, facts_of
from pytest_crmeval.domain.expectation import Expectation
from pytest_crmeval.domain.json import Json
from tests.fakes import call
from tests.plays import FLEET, HARBOR, LARGE_QUOTE, MIRA, SMALL_QUOTE, row


def facts(tool: str, value: Json) -> list[Json]:
    """Return what must be said after ``tool`` has answered ``value``."""
    return facts_of(Expectation(call=call(tool)), tool, value, {})


CONTRACT = row("contract", "lease", client_id="c", opportunity_id="o", value=61000.0, status="Active")


@pytest.mark.parametrize(
    ("tool", "value", "expected"),
    [
        ("client_search", [HARBOR], ["Harbor Light Logistics"]),
        ("contact_search", [MIRA], ["Mira", "O'Brien"]),
        ("opportunity_search", [FLEET], ["Fleet tracking rollout"]),
        ("quote_search", [SMALL_QUOTE, LARGE_QUOTE], [75000.0, 1200000.0]),
        ("compare_quotes", [SMALL_QUOTE, LARGE_QUOTE], [75000.0, 1200000.0]),
        ("contract_search", [CONTRACT], [61000.0]),
        ("contract_search", [{**CONTRACT, "value": None}], ["Active"]),
        ("company_search", [row("company", "rival", name="Rival", type="Competitor")], ["Rival"]),
        ("list_clients", {"id": HARBOR}, ["Harbor Light Logistics"]),
        ("list_documents", {"id": row("document", "offer", entity_id="e", file_name="offer.pdf")}, ["offer.pdf"]),
        ("list_notes", {"id": row("note", "one", entity_id="e", content="Call back.")}, []),
        ("view_opportunity_details", FLEET, ["Proposal"]),
        ("quote_details", SMALL_QUOTE, [75000.0, "Draft"]),
        ("compare_quote_details", {"quotes": [], "amounts": [1.0, 2.0], "total_amount": 3.0}, [1.0, 2.0]),
        ("summarize_opportunities", {"total_count": 3, "total_amount": 9.5, "by_stage": {}}, [3, 9.5]),
        ("summarize_counts", {"clients": 3, "contacts": 0, "quotes": 2}, [3, 2]),
        ("summarize_counts", {"clients": 0}, [NOTHING]),
        ("quote_prefixes", ["BIK", "VAN"], ["BIK", "VAN"]),
        ("client_search", [], [NOTHING]),
        ("list_clients", {}, [NOTHING]),
        ("client_search", [HARBOR, HARBOR], ["Harbor Light Logistics"]),
    ],
)
def test_what_the_user_asked_for(tool: str, value: Json, expected: list[Json]) -> None:
    """What rows are called, and of one object what it is about; each fact once."""
    assert expected == facts(tool, value)


def test_many_rows_are_counted() -> None:
    """Up to ten are named."""
    rows = [row("client", str(number), name=f"Client {number}") for number in range(11)]

    assert [11] == facts("client_search", rows)
    assert [f"Client {number}" for number in range(10)] == facts("client_search", rows[:10])


@pytest.mark.parametrize("tool", ["create_new_client", "modify_quote", "delete_quote", "add_note"])
def test_of_a_change_nothing_has_to_be_said(tool: str) -> None:
    assert [] == facts(tool, HARBOR)


def test_of_a_refusal_nothing_has_to_be_said_besides_that_it_is_one() -> None:
    """Which is no fact."""
    assert [] == facts_of(Expectation(call=call("client_search"), succeeds=False), "client_search", [HARBOR], {})


def test_the_facts_of_the_case_go_before() -> None:
    """Also when there are none; references are resolved, and keep their type."""
    told = Expectation(call=call("client_search"), facts=["{{turn_1.amount}}", "by {{turn_1.day}}", 3, True])
    silent = Expectation(call=call("client_search"), facts=[])

    assert [9.5, "by Friday", 3, True] == facts_of(told, "client_search", [], {1: {"amount": 9.5, "day": "Friday"}})
    assert [] == facts_of(silent, "client_search", [HARBOR], {})
