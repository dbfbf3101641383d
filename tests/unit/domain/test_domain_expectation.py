"""The answer key."""

import pytest

from pytest_crmeval.domain.expectation import Expectation
from pytest_crmeval.domain.messages import ToolError, ToolResult
from tests.fakes import call

DONE, NOTHING_FOUND = ToolResult(value={"client_id": "c-1"}), ToolResult(value=[])
REFUSED = ToolResult(error=ToolError(kind="conflict", message="Client already exists with email 'a@b.c'."))


@pytest.mark.parametrize(("result", "met"), [(DONE, True), (NOTHING_FOUND, True), (REFUSED, False)])
def test_a_success_is_met_by_what_is_not_refused(result: ToolResult, *, met: bool) -> None:
    """To find nothing is no refusal."""
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
    """Whatever it was expected to say."""
    expectation = Expectation(call=call("create_new_client"), succeeds=False, refusal=refusal)

    assert not expectation.is_met_by(result)


def test_the_words_of_a_refusal_do_not_matter_where_none_is_expected() -> None:
    """A case that expects a success and names an error has made up its mind."""
    expectation = Expectation(call=call("create_new_client"), refusal="already exists")

    assert expectation.is_met_by(DONE)
    assert not expectation.is_met_by(REFUSED)
