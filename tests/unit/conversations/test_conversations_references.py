"""References to earlier results."""

import pytest

from pytest_crmeval.conversations.references import fields_of, output_of, outputs_of, resolve, resolved, rows_of
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import (
    Message,
    Reply,
    ToolCall,
    ToolError,
    ToolResult,
    agent_says,
    crm_says,
    user_says,
)
from pytest_crmeval.domain.transcript import Answered, Fields, Outputs, answered_in
from tests.fakes import call

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


@pytest.mark.parametrize("value", [46500, 46500.5, True, None, ["a", "b"], {"stage": 2}])
def test_a_field_keeps_its_type(value: Json) -> None:
    """When the reference is all there is: an amount is not made a text that the CRM would refuse."""
    outputs = {1: {"field": value}}

    assert {"amount": value} == resolve({"amount": "{{turn_1.field}}"}, outputs)
    assert type(value) is type(resolve("{{turn_1.field}}", outputs))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("{{turn_1.amount}} euro", "46500 euro"),
        (" {{turn_1.amount}}", " 46500"),
        ("{{turn_1.amount}}{{turn_1.amount}}", "4650046500"),
    ],
)
def test_within_a_text_a_field_becomes_text(written: str, expected: str) -> None:
    """Whatever its type; a space is enough."""
    assert expected == resolve(written, OUTPUTS)


def test_a_call_is_resolved_in_its_arguments() -> None:
    """Its tool is named by the case, not by a result."""
    written = call("{{turn_2.name}}", client_id="{{turn_1.client_id}}", updates={"amount": "{{turn_1.amount}}"})

    assert call("{{turn_2.name}}", client_id="c-1", updates={"amount": 46500}) == resolved(written, OUTPUTS)


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
def test_unknown_references_are_left_unchanged(written: str) -> None:
    assert written == resolve(written, OUTPUTS)


def test_references_in_values_of_rows_are_not_resolved() -> None:
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


@pytest.mark.parametrize(
    ("value", "rows", "fields"),
    [
        ({"id": "a", "name": "Ada"}, [{"id": "a", "name": "Ada"}], {"id": "a", "name": "Ada"}),
        ([{"id": "a"}, {"id": "b"}], [{"id": "a"}, {"id": "b"}], {"id": "a"}),
        ([], [], {}),
        ("a word", ["a word"], {"value": "a word"}),
        (7, [7], {"value": 7}),
        (None, [None], {"value": None}),
        (["a", "b"], ["a", "b"], {"value": "a"}),
        (True, [True], {"value": True}),
    ],
)
def test_a_result_speaks_through_its_fields(value: Json, rows: list[Json], fields: Fields) -> None:
    """A list through its first row; a bare value as ``value``."""
    assert rows == rows_of(value)
    assert fields == fields_of(value)


SEARCH = call("client_search", criteria={"name": "Ada"})
MADE, OTHER, KNOWN = {"id": "made"}, {"id": "other"}, {"id": "known"}
REFUSAL = ToolResult(error=ToolError(kind="conflict", message="already in use"))


def got(value: Json) -> ToolResult:
    """Return what a call that was not refused brings."""
    return ToolResult(value=value)


class TestWhatATurnBringsToLight:
    """Four rules, in this order; ``SEARCH`` is the call that the turn should have made."""

    @pytest.mark.parametrize("made", [SEARCH, call("client_search", name="Ada")], ids=["nested", "flat"])
    def test_first_what_the_expected_call_returned(self, made: ToolCall) -> None:
        """In whichever form it was made, whatever else was called, whatever is known."""
        answered = [(call("client_search"), got([OTHER, KNOWN])), (made, got([MADE])), (SEARCH, got([OTHER]))]

        assert MADE == output_of(answered, SEARCH, KNOWN)

    def test_an_alias_is_the_same_tool(self) -> None:
        """It is the expected call by another name."""
        answered = [(call("opportunity_details", opportunity_id="o-1"), got(MADE))]

        assert MADE == output_of(answered, call("view_opportunity_details", opportunity_id="o-1"))

    def test_empty_result_of_the_expected_call_has_no_columns(self) -> None:
        """Even if it is known that it should have been: the agent has deleted it, say."""
        assert {} == output_of([(SEARCH, got([]))], SEARCH, KNOWN)

    def test_second_the_known_row_wherever_it_was_seen(self) -> None:
        """The agent has asked for all clients, or for the deals, and seen it among others."""
        seen = [(call("client_search"), got([OTHER, KNOWN])), (call("client_search", email="a@b.c"), got([OTHER]))]

        assert KNOWN == output_of(seen, SEARCH, KNOWN)
        assert KNOWN == output_of([(call("list_clients"), got([OTHER, KNOWN]))], SEARCH, KNOWN)

    def test_third_what_the_same_tool_returned(self) -> None:
        """With other arguments: who creates a client of a misspelt name has still created one."""
        answered = [(call("client_search"), got([OTHER])), (call("client_search", name="Bob"), got([MADE]))]

        assert OTHER == output_of([(call("write"), got(MADE)), *answered], SEARCH, KNOWN)

    def test_last_what_is_known(self) -> None:
        """The agent has called something else, or nothing at all."""
        assert KNOWN == output_of([(call("write"), got(MADE))], SEARCH, KNOWN)
        assert KNOWN == output_of([], SEARCH, KNOWN)

    def test_turn_without_the_expected_call_has_no_output(self) -> None:
        """Which is not the same as an empty result."""
        assert output_of([(call("write"), got(MADE))], SEARCH) is None
        assert output_of([], SEARCH) is None

    @pytest.mark.parametrize("known", [KNOWN, None])
    def test_a_refusal_brings_nothing(self, known: Fields | None) -> None:
        """Not even that of the expected call."""
        assert known == output_of([(SEARCH, REFUSAL), (call("client_search"), REFUSAL)], SEARCH, known)

    def test_repeated_refused_call_has_the_result_of_that_time(self) -> None:
        """The first one that was answered counts."""
        answered = [(SEARCH, REFUSAL), (SEARCH, got([MADE])), (SEARCH, got([OTHER]))]

        assert MADE == output_of(answered, SEARCH)


def dialogue(*turns: Answered) -> list[Message]:
    """Return a dialogue in which each turn made these calls, one after the other, and got these results."""
    messages = []
    for answered in turns:
        messages.append(user_says("please"))
        for made, result in answered:
            messages += [agent_says(Reply(calls=[made])), crm_says([result])]
        messages.append(agent_says(Reply(text="ok")))
    return messages


def test_each_call_is_paired_with_what_came_back() -> None:
    """Those of one reply in their order."""
    messages = [
        user_says("please"),
        agent_says(Reply(calls=[SEARCH, call("write")])),
        crm_says([got(1), REFUSAL]),
        agent_says(Reply(calls=[call("write")])),
        crm_says([got(2)]),
        agent_says(Reply(text="ok")),
    ]

    assert [(SEARCH, got(1)), (call("write"), REFUSAL), (call("write"), got(2))] == answered_in(messages)


def test_a_call_that_is_not_answered_yet_is_left_out() -> None:
    """It was made, and nothing is known about it."""
    assert [] == answered_in([user_says("please"), agent_says(Reply(calls=[SEARCH]))])


def test_turns_are_counted_from_one() -> None:
    messages = dialogue([(SEARCH, got({"id": "a"}))], [], [(SEARCH, got({"id": "c"}))])

    assert {1: {"id": "a"}, 3: {"id": "c"}} == outputs_of(messages, [SEARCH, SEARCH, SEARCH])


def test_the_turns_of_a_dialogue_refer_to_each_other() -> None:
    """The second one is known by the id that the first one has brought to light."""
    messages = dialogue(
        [(call("create", name="Ada"), got({"id": "a"}))],
        [(call("note", about="b"), got({"id": "no"})), (call("note", about="a"), got({"id": "yes"}))],
    )

    expected = [call("create", name="Ada"), call("note", about="{{turn_1.id}}")]

    assert {1: {"id": "a"}, 2: {"id": "yes"}} == outputs_of(messages, expected)


def test_a_turn_in_which_all_was_refused_brings_nothing_to_light() -> None:
    """It can't be referred to."""
    messages = dialogue([(SEARCH, got({"id": "a"}))], [(SEARCH, REFUSAL)])

    assert {1: {"id": "a"}} == outputs_of(messages, [SEARCH, SEARCH])


def test_only_turns_with_an_expected_call_are_looked_at() -> None:
    """Who asks about the turns before the current one gives their calls, and no more."""
    messages = dialogue([(SEARCH, got({"id": "a"}))], [(SEARCH, got({"id": "b"}))])

    assert {1: {"id": "a"}} == outputs_of(messages, [SEARCH])
