"""The answer key."""

import pytest

from pytest_crmeval.domain.expectation import NO_CALL, Expectation
from pytest_crmeval.domain.messages import ToolError, ToolResult
from tests.fakes import call

DONE, NOTHING_FOUND = ToolResult(value={"client_id": "c-1"}), ToolResult(value=[])
REFUSED = ToolResult(error=ToolError(kind="conflict", message="Client already exists with email 'a@b.c'."))


@pytest.mark.parametrize(("result", "met"), [(DONE, True), (NOTHING_FOUND, True), (REFUSED, False)])
def test_expected_success_is_met_by_any_success(result: ToolResult, *, met: bool) -> None:
    assert met is Expectation(call=call("create_new_client")).is_met_by(result)


@pytest.mark.parametrize(
    ("refusal", "met"),
    [
        ("", True),
        ("already exists", True),
        ("ALREADY EXISTS", True),
        ("validation error", True),
        ("Validation Error", True),
        ("not found", False),
    ],
)
def test_expected_refusal_is_met_by_its_text(refusal: str, *, met: bool) -> None:
    """In part and in any case; the published format has a text that stands for every refusal."""
    expectation = Expectation(call=call("create_new_client"), succeeds=False, refusal=refusal)

    assert met is expectation.is_met_by(REFUSED)


@pytest.mark.parametrize("refusal", ["", "already exists", "validation error"])
@pytest.mark.parametrize("result", [DONE, NOTHING_FOUND])
def test_expected_refusal_is_not_met_by_a_success(result: ToolResult, refusal: str) -> None:
    expectation = Expectation(call=call("create_new_client"), succeeds=False, refusal=refusal)

    assert not expectation.is_met_by(result)


def test_text_of_a_refusal_does_not_matter_if_success_is_expected() -> None:
    expectation = Expectation(call=call("create_new_client"), refusal="already exists")

    assert expectation.is_met_by(DONE)
    assert not expectation.is_met_by(REFUSED)


FIND, MOVE, NOTE = call("find"), call("move"), call("note")


def test_all_calls_are_in_order() -> None:
    """The first one is the one that others may refer to."""
    assert (FIND, MOVE, NOTE) == Expectation(call=FIND, further=[MOVE, NOTE]).calls


def test_turn_without_a_tool_has_no_call() -> None:
    assert () == Expectation(call=NO_CALL, succeeds=False).calls


def test_expectation_with_one_call_has_one_part() -> None:
    """The expectation itself."""
    expectation = Expectation(call=FIND, facts=["Ada"])

    assert (expectation,) == expectation.parts


def test_further_calls_must_succeed() -> None:
    """Whatever is expected of the first; their facts follow from the results."""
    first, second = Expectation(call=FIND, further=[MOVE], succeeds=False, refusal="no").parts

    assert Expectation(call=FIND, succeeds=False, refusal="no") == first
    assert Expectation(call=MOVE) == second


def test_facts_named_by_the_case_are_all_facts_of_the_turn() -> None:
    """Then nothing follows from the results of further calls."""
    first, second = Expectation(call=FIND, further=[MOVE], facts=["Ada"], asks=True).parts

    assert (["Ada"], True) == (first.facts, first.asks)
    assert ((), True) == (second.facts, second.asks)
