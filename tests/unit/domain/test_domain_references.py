"""References to earlier results."""

import pytest

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Reply, ToolError, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.domain.references import Outputs, outputs_of, resolve

OUTPUTS: Outputs = {1: {"client_id": "c-1", "amount": 46500, "name": "Acme {{turn_2.name}}"}, 2: {"name": "Ada"}}


@pytest.mark.parametrize(
    ("written", "resolved"),
    [
        ("{{turn_1.client_id}}", "c-1"),
        ("client {{turn_1.client_id}} of {{turn_2.name}}", "client c-1 of Ada"),
        ({"client_id": "{{turn_1.client_id}}"}, {"client_id": "c-1"}),
        ({"filters": [{"id": ["{{turn_1.client_id}}"]}]}, {"filters": [{"id": ["c-1"]}]}),
        (["{{turn_2.name}}", 7, None, True, 1.5], ["Ada", 7, None, True, 1.5]),
    ],
)
def test_a_reference_is_replaced_at_any_depth(written: Json, resolved: Json) -> None:
    """In strings, lists and objects; what is no string stays what it is."""
    assert resolved == resolve(written, OUTPUTS)


def test_a_number_becomes_text() -> None:
    """A reference is part of a string, so its value is, too."""
    assert "46500" == resolve("{{turn_1.amount}}", OUTPUTS)


@pytest.mark.parametrize(
    "written",
    [
        "{{turn_3.client_id}}",
        "{{turn_1.owner}}",
        "{{turn_0.name}}",
        "{{turn_x.name}}",
        "{{ turn_1.client_id }}",
        "{turn_1.client_id}",
        "{{client_id}}",
        "{{turn_1.client_id.name}}",
    ],
)
def test_what_nothing_answers_stays_as_it_is(written: str) -> None:
    """Whoever uses it will be told by the CRM."""
    assert written == resolve(written, OUTPUTS)


def test_what_a_row_says_is_not_a_reference() -> None:
    """Otherwise the name of a client could ask for the rest of the CRM."""
    assert "Acme {{turn_2.name}}" == resolve("{{turn_1.name}}", OUTPUTS)


def test_a_key_is_not_a_reference() -> None:
    """Arguments are named by the tool, not by a result."""
    assert {"{{turn_2.name}}": "Ada"} == resolve({"{{turn_2.name}}": "{{turn_2.name}}"}, OUTPUTS)


def test_resolving_leaves_the_case_alone() -> None:
    """The next agent reads the same case."""
    written: dict[str, Json] = {"ids": ["{{turn_1.client_id}}"]}

    resolve(written, OUTPUTS)

    assert {"ids": ["{{turn_1.client_id}}"]} == written


def dialogue(*turns: list[ToolResult]) -> list[Message]:
    """Return a dialogue in which each turn brought these results, one per call."""
    messages = []
    for results in turns:
        messages += [user_says("please"), *(crm_says([result]) for result in results), agent_says(Reply(text="ok"))]
    return messages


def test_turns_are_counted_from_one() -> None:
    """Also when a turn called nothing."""
    messages = dialogue([ToolResult(value={"id": "a"})], [], [ToolResult(value={"id": "c"})])

    assert {1: {"id": "a"}, 3: {"id": "c"}} == outputs_of(messages)


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        ({"id": "a", "name": "Ada"}, {"id": "a", "name": "Ada"}),
        ([{"id": "a"}, {"id": "b"}], {"id": "a"}),
        ([], {}),
        ("a word", {"value": "a word"}),
        (7, {"value": 7}),
        (None, {"value": None}),
        (["a", "b"], {"value": "a"}),
    ],
)
def test_a_result_speaks_through_its_fields(value: Json, fields: dict[str, Json]) -> None:
    """A list through its first row; a bare value as ``value``."""
    assert {1: fields} == outputs_of(dialogue([ToolResult(value=value)]))


def test_a_refusal_brings_nothing_to_light() -> None:
    """What was there before it stays."""
    refusal = ToolResult(error=ToolError(kind="conflict", message="already in use"))

    assert {1: {"id": "a"}} == outputs_of(dialogue([ToolResult(value={"id": "a"}), refusal], [refusal]))


def test_the_last_result_of_a_turn_counts() -> None:
    """An agent that looks twice means the second look."""
    messages = dialogue([ToolResult(value={"id": "a"}), ToolResult(value={"id": "b"})])

    assert {1: {"id": "b"}} == outputs_of(messages)
