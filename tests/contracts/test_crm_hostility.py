"""Whatever an agent sends ends as a typed refusal or a harmless success, and the trial continues."""

import json
import math
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from pytest_crmeval.domain.messages import ErrorKind, ToolCall, ToolResult
from tests.crm_world import EXAMPLES, Caller, uid

NEW_CLIENT = EXAMPLES["create_new_client"]
BAIT = "'; DROP TABLE clients; --"


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


@pytest.fixture(autouse=True)
def unharmed(caller: Caller) -> Iterator[None]:
    """Check that the seeded rows have not changed, and that the CRM still works."""
    before = caller.crm.snapshot()
    yield
    after = caller.crm.snapshot()
    assert all(row in after[table] for table, found in before.items() for row in found)
    assert not caller.ask("create_new_client", name="Last", email="last@last.example", status="Active").refused


def survived(result: ToolResult) -> None:
    """Check that a result is one of the two; a refusal must have a reason."""
    if result.error is None:
        assert result.value == json.loads(json.dumps(result.value))
    else:
        assert result.error.kind in get_args(ErrorKind)
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
def test_hostile_text_as_written_or_searched_value_is_handled(
    caller: Caller, tool: str, argument: str, text: str
) -> None:
    """As a value that is written, and as a search filter."""
    arguments = NEW_CLIENT if tool == "create_new_client" else {}

    survived(caller.ask(tool, **{**arguments, argument: HOSTILE_TEXT[text]}))


@pytest.mark.parametrize("text", HOSTILE_TEXT)
def test_hostile_text_in_an_email_address_is_handled(caller: Caller, text: str) -> None:
    """It has its own index, with its own limits."""
    survived(caller.ask("create_new_client", **{**NEW_CLIENT, "email": f"{HOSTILE_TEXT[text]}@a.example"}))


@pytest.mark.parametrize("text", HOSTILE_TEXT)
def test_hostile_text_as_an_id_is_handled(caller: Caller, text: str) -> None:
    survived(caller.ask("modify_opportunity", opportunity_id=HOSTILE_TEXT[text], owner="Dana"))


@pytest.mark.parametrize("text", HOSTILE_TEXT)
def test_the_name_of_an_argument(caller: Caller, text: str) -> None:
    result = caller.ask("client_search", **{HOSTILE_TEXT[text]: "x"})

    survived(result)
    assert result.refused


@pytest.mark.parametrize("text", HOSTILE_TEXT)
def test_the_name_of_a_tool(caller: Caller, text: str) -> None:
    assert "unknown_tool" == caller.refusal(HOSTILE_TEXT[text]).kind


@pytest.mark.parametrize("text", [text for text in HOSTILE_TEXT if text not in {"NUL", "half a surrogate pair"}])
def test_hostile_text_is_stored_unchanged(caller: Caller, text: str) -> None:
    """Nothing is escaped twice, cut off or cleaned, except for surrounding space."""
    made = caller.ask("add_note", entity_type="Client", entity_id=uid("acme"), content=HOSTILE_TEXT[text]).value

    assert isinstance(made, dict)
    assert HOSTILE_TEXT[text].strip() == made["content"]


@pytest.mark.parametrize("kind", WRONG_TYPES)
@pytest.mark.parametrize("argument", ["name", "email", "status"])
def test_value_of_another_type_is_handled(caller: Caller, argument: str, kind: str) -> None:
    """Nothing is converted."""
    result = caller.ask("create_new_client", **{**NEW_CLIENT, argument: WRONG_TYPES[kind]})

    assert result.error is not None
    assert "invalid_argument" == result.error.kind


@pytest.mark.parametrize("arguments", [None, [], "name", 7, ["name", "email"], {7: "x"}, {None: None}])
def test_arguments_that_are_not_an_object(caller: Caller, arguments: Any) -> None:  # noqa: ANN401 (that is the point)
    """A model's JSON may be anything."""
    result = caller.crm.call(ToolCall(tool="create_new_client", arguments=arguments))

    assert result.error is not None
    assert "invalid_argument" == result.error.kind
