"""The distribution of a set of conversations, as a page."""

from typing import Any

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.conversations.describe.description import describe
from pytest_crmeval.conversations.describe.text import WIDTH, page
from tests.projects import ADA, case, chain, turned

ADA_ID = "5fcdb532-cec1-59dd-933c-2ef2b966d0b0"
SMALL = [
    case("one", split="train", tags=["creation"]),
    case("two", split="test", tags=["creation", "chain"], complexity_level="medium"),
    {**turned(user_utterance="Try it once more.", expect_success=False), "conversation_id": "three"},
    case(
        "four",
        workflow_category="Client Management",
        now="2026-03-02T09:00:00Z",
        initial_entities={"seed_data": {"Client": {ADA_ID: ADA}}},
        turns=[
            {
                "turn_id": 1,
                "user_utterance": "What is Ada's phone, and are there notes?",
                "expected_tool": "client_search",
                "expected_args": {"client_id": ADA_ID},
                "further_calls": [{"expected_tool": "list_notes"}],
            },
            {"turn_id": 2, "user_utterance": "Which one?", "expected_tool": "", "reply_asks": True},
        ],
    ),
    {**chain(1, 3), "conversation_id": "five"},
]


def lines(*records: dict[str, Any], examples: int = 3) -> list[str]:
    """Return the page about some cases."""
    return list(page(describe(msgspec.convert(list(records), list[ConversationRecord])), examples=examples))


def test_description_is_printed_on_one_page(snapshot: SnapshotAssertion) -> None:
    assert snapshot == "\n".join(lines(*SMALL))


def test_no_line_is_wider_than_a_terminal() -> None:
    """However long what is said, and however many conversations are alike."""
    record = turned(user_utterance="so much to say " * 20)
    many = [{**record, "conversation_id": f"a-rather-long-name-of-a-conversation-{n}"} for n in range(20)]

    found = lines(*SMALL, *many, examples=20)

    assert WIDTH >= max(map(len, found))
    assert any(line.endswith("…") for line in found)


@pytest.mark.parametrize(
    ("examples", "shown"), [(2, "  largest group: x0, x1, ... and 1 more"), (3, "  largest group: x0, x1, x2")]
)
def test_large_group_is_listed_in_part(examples: int, shown: str) -> None:
    assert shown == lines(*(case(f"x{n}") for n in range(3)), examples=examples)[-1]


def test_no_group_is_listed_if_nothing_is_similar() -> None:
    """The table says so already."""
    assert "  1           1              1" == lines(case("one"))[-1]


def test_tools_that_are_never_called_are_listed() -> None:
    """Tools that never occur are listed again, for those who look for them."""
    never = " ".join(lines(case("one"))).partition("never called: ")[2]

    assert "list_clients, " in never
    assert "create_new_client" not in never
