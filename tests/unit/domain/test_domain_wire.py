"""How messages are encoded."""

import json
from types import MappingProxyType
from typing import Any

import pytest

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Reply, ToolError, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.domain.wire import DEEPEST, decoded, encoded, read_message, shallow, written
from tests.fakes import call

REFUSED = ToolResult(error=ToolError(kind="conflict", message="already in use"))
NOTED = ToolResult(value=[{"name": "Ada"}], note="the first of 2 rows")


def nested(depth: int) -> Json:
    """Return lists in objects in lists."""
    value: Json = 1
    for level in range(depth):
        value = [value] if level % 2 else {"deep": value}
    return value


@pytest.mark.parametrize(
    "message",
    [
        user_says("Add Zoë.\nPlease."),
        user_says(""),
        agent_says(Reply(text="Let me see.", calls=[call("search", name="Ada", limit=3), call("list")])),
        crm_says([NOTED, REFUSED, ToolResult(value=None), ToolResult(value=False)]),
        crm_says([]),
    ],
)
def test_message_is_read_as_written(message: Message) -> None:
    assert message == read_message(decoded(encoded(written(message))))


def test_empty_fields_are_omitted() -> None:
    assert b'{"speaker": "user", "text": "Zo\xc3\xab"}' == encoded(written(user_says("Zoë")))


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"speaker": "judge"},
        {"speaker": "user", "text": 1},
        {"speaker": "agent", "calls": [{"tool": "search"}]},
        {"speaker": "agent", "calls": [1]},
        {"speaker": "crm", "results": [{"error": {"kind": "bad luck", "message": ""}}]},
    ],
)
def test_invalid_message_is_refused(record: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        read_message(record)


@pytest.mark.parametrize(
    "value",
    ["half \ud83d", "\\\ud83d", "\ud83d and \ude00", float("inf"), [{"at": float("-inf")}], "\x00\r\n\u2028", 10**400],
)
def test_unusual_values_survive(value: Json) -> None:
    line = encoded(value)

    assert value == decoded(line)
    assert b"\n" not in line


def test_values_without_a_json_form_are_still_json() -> None:
    """Other readers refuse NaN."""
    assert {"rate": {"$float": "nan"}} == json.loads(encoded({"rate": float("nan")}))
    assert "nan" == str(decoded(encoded(float("nan"))))


@pytest.mark.parametrize("value", [{"$float": "seven"}, {"$float": 7}, {"$float": "nan", "more": 1}])
def test_object_that_looks_like_an_encoded_number_stays_an_object(value: Json) -> None:
    """A model may have sent it."""
    assert value == decoded(encoded(value))


def test_two_halves_of_a_surrogate_pair_are_one_character() -> None:
    """Otherwise reading and writing a file would change it."""
    assert encoded("😀") == encoded("\ud83d\ude00")
    assert encoded("😀", canonical=True) == encoded("\ud83d\ude00", canonical=True)


def test_mapping_of_any_kind_is_an_object() -> None:
    assert b'{"a": {"b": 1}}' == encoded({"a": MappingProxyType({"b": 1})})


def test_only_a_canonical_line_sorts_keys() -> None:
    """Readers see arguments in the order of the model."""
    one, other = {"b": 1, "a": 2}, {"a": 2, "b": 1}

    assert encoded(one) != encoded(other)
    assert encoded(one, canonical=True) == encoded(other, canonical=True)


@pytest.mark.parametrize("depth", [0, 1, DEEPEST - 1])
def test_value_of_ordinary_depth_does_not_change(depth: int) -> None:
    """It is the same object."""
    value = nested(depth)

    assert value is shallow(value)


@pytest.mark.parametrize("depth", [DEEPEST + 1, 900, 100_000])
def test_value_that_is_nested_too_deeply_is_omitted(depth: int) -> None:
    """Every reader can read the result; a value that was read is not cut again."""
    value = shallow(nested(depth))

    assert value == decoded(encoded(value)) == shallow(value)


def test_line_that_is_nested_too_deeply_is_not_json() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        decoded("[" * 100_000)
