"""The distribution of a set of conversations."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from pytest_crmeval.conversations.crm import tools
from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.conversations.describe.description import Calls, Clock, Description, Spread, describe
from tests.projects import case, chain, turned

ONE, OTHER = "5fcdb532-cec1-59dd-933c-2ef2b966d0b0", "39e7c9d8-5fcd-5f6c-8d34-44329f8fd055"


def described(*records: dict[str, Any]) -> Description:
    """Return the distribution of some cases."""
    return describe(msgspec.convert(list(records), list[ConversationRecord]))


def seeded(**rows: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Return a case that starts with some rows."""
    return case("one", initial_entities={"seed_data": rows})


def named(case_id: str, utterance: str) -> dict[str, Any]:
    """Return a case in which something is said."""
    return {**turned(user_utterance=utterance), "conversation_id": case_id}


def test_turns_are_counted() -> None:
    found = described(chain(3), case("one"), case("two"))

    assert (3, 5, 1.67) == (found.conversations, found.turns, found.mean)
    assert [(1, 2), (3, 1)] == list(found.lengths.items())


def test_labels_are_counted() -> None:
    """Levels and splits in their order, also those that never occur; the rest by frequency, then by name."""
    found = described(
        case("one", complexity_level="medium", workflow_category="B", split="test", tags=["x", "y", "y"]),
        case("two", complexity_level="medium", workflow_category="C", tags=["y"]),
        case("three", workflow_category="A"),
        case("four", workflow_category="C"),
    )

    assert [("simple", 2), ("medium", 2), ("complex", 0)] == list(found.complexity.items())
    assert [("C", 2), ("A", 1), ("B", 1)] == list(found.categories.items())
    assert [("train", 0), ("test", 1), ("none", 3)] == list(found.splits.items())
    assert [("y", 2), ("x", 1)] == list(found.tags.items())


def test_every_tool_is_there() -> None:
    """All that the CRM has, whether they occur or not."""
    assert set(tools.TOOLS) == set(described(case("one")).tools)


def test_calls_are_counted() -> None:
    """Main and further ones, and tools that don't exist; a turn without a tool has no call."""
    found = described(
        turned(further_calls=[{"expected_tool": "add_note"}, {"expected_tool": "list_notes"}]),
        turned(expected_tool="add_note"),
        turned(expected_tool="make_coffee"),
        turned(expected_tool="", expected_args={}, expect_success=False),
    )

    assert Calls(main=1, further=1) == found.tools["add_note"]
    assert Calls(main=1) == found.tools["make_coffee"]
    assert (5, 3) == (found.calls, found.writes)
    assert "" not in found.tools


def test_behaviours_are_counted() -> None:
    """By turn; one that is two things is one in all."""
    found = described(
        case("plain"),
        turned(expect_success=False),
        turned(expected_tool="list_notes", expected_args={}),
        turned(expected_tool="", expected_args={}, reply_asks=True),
        turned(expected_tool="", expected_args={}, expect_success=False),
        turned(reply_asks=True),
    )

    assert {"refusal": 1, "question": 2, "nothing_to_find": 1, "no_call": 2, "any": 5} == found.behaviours


def test_wordings_are_counted() -> None:
    """Up to names and numbers, the most frequent first."""
    found = described(
        named("one", "Add Ada Ltd, 5."), named("two", "Drop Ada Ltd."), named("three", "Add Ada Ltd, five!")
    )

    assert [("add <text>, <number>", 2), ("drop <text>", 1)] == list(found.wordings.items())


def test_rows_are_spread() -> None:
    found = described(seeded(Client={ONE: {}, OTHER: {}}), case("two"), seeded(Client={ONE: {}}))

    assert Spread(least=0, mean=1.0, most=2, total=3) == found.rows["Client"]
    assert Spread(least=0, mean=0.0, most=0, total=0) == found.rows["Note"]


def test_names_are_counted_once() -> None:
    person = {"first_name": "Ada", "last_name": "Okafor", "client_id": ONE}
    found = described(
        seeded(
            Client={ONE: {"name": "Ada Ltd", "owner": "Tom"}, OTHER: {"name": "Bo"}},
            Company={ONE: {"name": "Kestrel"}},
            Contact={ONE: person, OTHER: {**person, "last_name": "Smith"}},
            Opportunity={ONE: {"name": "Crane", "owner": "Tom"}},
        ),
        turned(expected_tool="create_new_contact", expected_args=person),
        turned(expected_tool="create_new_opportunity", expected_args={"name": "Radar"}),
        turned(expected_args={"name": "Nobody"}, expect_success=False),
    )

    assert {"companies": 3, "people": 2, "deals": 2, "owners": 1} == found.names


@pytest.mark.parametrize(
    ("utterance", "identity", "way"),
    [
        (f"Show {ONE}.", ONE, "said"),
        ("Show {{turn_1.client_id}}.", "{{turn_1.client_id}}", "said"),
        ("Show it.", "{{turn_1.client_id}}", "shown"),
        ("Show Ada.", ONE, "looked_up"),
    ],
)
def test_ways_to_refer_to_a_record_are_distinguished(utterance: str, identity: str, way: str) -> None:
    """What needs no record that is there is not counted."""
    turn = turned(user_utterance=utterance, expected_tool="client_search", expected_args={"client_id": identity})

    assert {"said": 0, "shown": 0, "looked_up": 0, way: 1} == described(turn, case("none")).ways


def test_the_clock_has_a_range() -> None:
    first, last = (datetime(2026, month, 1, 9, tzinfo=UTC) for month in (1, 3))
    found = described(case("a", now=last.isoformat()), case("b", now=first.isoformat()), case("c"))

    assert Clock(first=first, last=last, days=2, unsaid=1) == found.clock


def test_chains_are_counted_by_their_segments() -> None:
    """What has boundaries but is no chain does not count."""
    assert {1: 1, 2: 2} == described(chain(1, 3), chain(3), chain(2, 3), case("one", segment_boundaries=[1])).chains


def alike(*sizes: int) -> Sequence[dict[str, Any]]:
    """Return groups of conversations that are alike."""
    words = ("add", "book", "catch")
    return [named(f"{word}-{n}", f"{word} it") for word, size in zip(words, sizes, strict=False) for n in range(size)]


def test_similar_conversations_are_grouped() -> None:
    likeness = described(*alike(1, 3, 1)).likeness

    assert 3 == likeness.shapes
    assert [(1, 2), (3, 1)] == list(likeness.sizes.items())
    assert ["book-0", "book-1", "book-2"] == likeness.largest


def test_progress_is_reported() -> None:
    seen: list[int] = []

    describe(msgspec.convert([case("one"), case("two")], list[ConversationRecord]), seen.append)

    assert [1, 2] == seen


def test_empty_dataset_has_a_description_of_zeros() -> None:
    found = described()

    assert (0, 0, 0.0, 0) == (found.conversations, found.calls, found.mean, found.likeness.most)


def test_description_is_json_with_the_requested_number_of_examples() -> None:
    """Nothing but primitives, and no more wordings than asked for."""
    document = described(case("one", now="2026-01-01T09:00:00Z"), *alike(2, 1)).to_dict(examples=1)

    assert document == msgspec.json.decode(msgspec.json.encode(document))
    assert {"different": 3, "most_frequent": [{"wording": "add it", "count": 2}]} == document["wordings"]
    assert {"shapes": 3, "groups": {"1": 2, "2": 1}, "most": 2, "largest": ["add-0", "add-1"]} == document["alike"]
