"""What the searches of a conversation find, according to the file alone."""

from typing import Any

import msgspec
import pytest

from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.conversations.describe.searches import turns_that_find_nothing
from tests.projects import case

HARBOR, LUMEN = "5fcdb532-cec1-59dd-933c-2ef2b966d0b0", "39e7c9d8-5fcd-5f6c-8d34-44329f8fd055"
CRANE, CHEAP, DEAR, UNPRICED = (f"9db8c136-b80d-547e-9fcb-aec7e252c07{digit}" for digit in "789a")
SEED = {
    "Client": {HARBOR: {"name": "Harbor Light"}, LUMEN: {"name": "Lumen", "status": "Prospect"}},
    "Opportunity": {CRANE: {"client_id": HARBOR, "name": "Crane", "amount": 5}},
    "Quote": {
        UNPRICED: {"opportunity_id": CRANE, "amount": None},
        CHEAP: {"opportunity_id": CRANE, "amount": 900, "status": "Sent"},
        DEAR: {"opportunity_id": CRANE, "amount": 1000},
    },
    "Company": {LUMEN: {"name": "Kestrel", "type": "Partner", "contacts": ["Ada", "Bo"]}},
}
Call = tuple[str, dict[str, Any]]


def vain(*calls: Call, **changes: Any) -> list[bool]:  # noqa: ANN401 (JSON)
    """Return of each turn whether it looks in vain; ``changes`` are the last one's."""
    turns = [
        {"turn_id": number, "expected_tool": tool, "expected_args": arguments}
        for number, (tool, arguments) in enumerate(calls, start=1)
    ]
    turns[-1] |= changes
    record = case("one", turns=turns, initial_entities={"seed_data": SEED})
    return list(turns_that_find_nothing(msgspec.convert(record, ConversationRecord)))


@pytest.mark.parametrize(
    ("tool", "filters", "expected"),
    [
        ("client_search", {"name": "harbor"}, False),
        ("client_search", {"name": "Harbour"}, True),
        ("client_search", {"criteria": {"status": "Active"}}, False),
        ("client_search", {"name": "Lumen", "status": "Active"}, True),
        ("opportunity_search", {"client_id": HARBOR}, False),
        ("opportunity_search", {"client_id": LUMEN}, True),
        ("opportunity_search", {"stage": "Qualification", "amount": 5}, False),
        ("opportunity_search", {"amount": 6}, True),
        ("company_search", {"contacts": "bo"}, False),
        ("company_search", {"contacts": "zoe"}, True),
        ("list_quotes", {}, False),
        ("list_notes", {}, True),
        ("quote_details", {"quote_id": HARBOR}, False),
        ("summarize_counts", {}, False),
        ("no_such_tool", {}, False),
        ("", {}, False),
    ],
)
def test_a_search_finds_what_is_seeded(tool: str, filters: dict[str, Any], expected: bool) -> None:  # noqa: FBT001
    """Texts by a part, whatever their case; what is no search never looks in vain."""
    assert [expected] == vain((tool, filters))


@pytest.mark.parametrize(
    ("call", "search", "expected"),
    [
        (("create_new_client", {"name": "Ada", "email": "a@a.example"}), ("client_search", {"name": "ada"}), False),
        (("ensure_client", {"name": "Ada", "email": "a@a.example"}), ("client_search", {"name": "ada"}), False),
        (("add_note", {"content": "Fine."}), ("list_notes", {}), False),
        (("upload_document", {"file_name": "a.pdf"}), ("list_documents", {}), False),
        (("modify_client", {"client_id": LUMEN, "name": "Lux"}), ("client_search", {"name": "Lumen"}), True),
        (("modify_client", {"client_id": CRANE, "name": "Lux"}), ("client_search", {"name": "Lux"}), True),
        (("clone_opportunity", {"opportunity_id": CRANE}), ("opportunity_search", {"name": "(clone)"}), False),
        (("cancel_quote", {"quote_id": CHEAP}), ("quote_search", {"status": "Sent"}), True),
        (("delete_opportunity", {"opportunity_id": CRANE}), ("quote_search", {"amount": 900}), True),
        (("delete_quote", {"quote_id": CHEAP}), ("quote_search", {"amount": 1000}), False),
    ],
)
def test_a_search_finds_what_was_written_before(call: Call, search: Call, expected: bool) -> None:  # noqa: FBT001
    assert [False, expected] == vain(call, search)


@pytest.mark.parametrize(
    "first",
    [
        ("client_search", {"name": "harbor"}),
        ("opportunity_search", {"name": "crane"}),
    ],
)
def test_a_search_finds_what_belongs_to_an_earlier_result(first: Call) -> None:
    """Its first row speaks for it."""
    assert [False, False] == vain(first, ("opportunity_search", {"client_id": "{{turn_1.client_id}}"}))


def test_the_first_row_is_that_of_the_crm() -> None:
    """The cheaper quote comes first, and 900 is less than 1000; one without an amount comes last."""
    search = ("quote_search", {"quote_id": "{{turn_1.quote_id}}", "amount": 900})

    assert [False, False] == vain(("list_quotes", {}), search)
    assert [False, False] == vain(("compare_quotes", {"quote_ids": [CHEAP, DEAR]}), search)


def test_refused_search_is_not_counted_as_empty() -> None:
    assert [False] == vain(("client_search", {"name": "nobody"}), expect_success=False)


def test_further_call_without_results_is_counted() -> None:
    """It may refer to its own turn."""
    further = [{"expected_tool": "contact_search", "expected_args": {"client_id": "{{turn_1.client_id}}"}}]

    assert [True] == vain(("client_search", {"name": "harbor"}), further_calls=further)


def test_arguments_of_any_depth_do_no_harm() -> None:
    deep: Any = "x"
    for _ in range(900):
        deep = [deep]

    assert [True] == vain(("client_search", {"name": deep}))
