"""The answer key."""

import pytest

from pytest_crmeval.domain.expectation import NO_CALL, Expectation
from pytest_crmeval.domain.messages import ToolError, ToolResult
from tests.fakes import call

DONE, NOTHING_FOUND = ToolResult(value={"client_id": "c-1"}), ToolResult(value=[])
REFUSED = ToolResult(error=ToolError(kind="conflict", message="Client already exists with email 'a@b.c'."))


@pytest.mark.parametrize(("result", "met"), [(DONE, True), (NOTHING_FOUND, True), (REFUSED, False)])
def test_a_success_is_met_by_what_is_not_refused(result: ToolResult, *, met: bool) -> None:
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
def test_a_refusal_is_met_by_one_in_such_words(refusal: str, *, met: bool) -> None:
    """In part and in any case; the published format has words that stand for every refusal."""
    expectation = Expectation(call=call("create_new_client"), succeeds=False, refusal=refusal)

    assert met is expectation.is_met_by(REFUSED)


@pytest.mark.parametrize("refusal", ["", "already exists", "validation error"])
@pytest.mark.parametrize("result", [DONE, NOTHING_FOUND])
def test_a_refusal_is_not_met_by_a_success(result: ToolResult, refusal: str) -> None:
    expectation = Expectation(call=call("create_new_client"), succeeds=False, refusal=refusal)

    assert not expectation.is_met_by(result)


def test_the_words_of_a_refusal_do_not_matter_where_none_is_expected() -> None:
    """A case that expects a success and names an error has made up its mind."""
    expectation = Expectation(call=call("create_new_client"), refusal="already exists")

    assert expectation.is_met_by(DONE)
    assert not expectation.is_met_by(REFUSED)


FIND, MOVE, NOTE = call("find"), call("move"), call("note")


def test_all_calls_are_in_their_order() -> None:
    """First the one that the others may refer to."""
    assert (FIND, MOVE, NOTE) == Expectation(call=FIND, further=[MOVE, NOTE]).calls


def test_where_there_is_nothing_to_ask_there_is_no_call() -> None:
    assert () == Expectation(call=NO_CALL, succeeds=False).calls


def test_of_one_call_there_is_one_part() -> None:
    """The expectation itself."""
    expectation = Expectation(call=FIND, facts=["Ada"])

    assert (expectation,) == expectation.parts


def test_of_further_calls_success_is_expected() -> None:
    """Whatever is expected of the first; and their facts follow from what the CRM answers."""
    first, second = Expectation(call=FIND, further=[MOVE], succeeds=False, refusal="no").parts

    assert Expectation(call=FIND, succeeds=False, refusal="no") == first
    assert Expectation(call=MOVE) == second


def test_facts_that_the_case_names_are_all_facts_of_the_turn() -> None:
    """Nothing follows then from what further calls return."""
    first, second = Expectation(call=FIND, further=[MOVE], facts=["Ada"], asks=True).parts

    assert (["Ada"], True) == (first.facts, first.asks)
    assert ((), True) == (second.facts, second.asks)
