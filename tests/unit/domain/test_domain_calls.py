"""One form for calls that can be written in several."""

from copy import deepcopy
from typing import Any

import pytest

from pytest_crmeval.conversations.crm.tools import TOOLS
from pytest_crmeval.domain.calls import canonical, writes
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall
from tests.fakes import call

ALL_SEARCHES = sorted(name for name, entry in TOOLS.items() if entry.filters)
ALL_CHANGES = sorted(name for name, entry in TOOLS.items() if entry.changes)
OTHERS = sorted(TOOLS.keys() - {*ALL_SEARCHES, *ALL_CHANGES})
WRITING = {
    *("create_new_client", "create_new_contact", "create_new_opportunity", "create_quote", "create_contract"),
    *("modify_client", "modify_contact", "modify_opportunity", "modify_quote", "cancel_quote"),
    *("delete_opportunity", "delete_quote", "clone_opportunity", "upload_document", "add_note", "ensure_client"),
}


@pytest.mark.parametrize("tool", ALL_SEARCHES)
class TestASearch:
    """``criteria`` and flat filters are one."""

    def test_criteria_are_filters(self, tool: str) -> None:
        """They lie beside the flat ones."""
        assert call(tool, owner="Dana", name="Ada") == canonical(call(tool, owner="Dana", criteria={"name": "Ada"}))

    def test_of_a_filter_that_is_given_twice_criteria_count(self, tool: str) -> None:
        """As the published format has it."""
        assert call(tool, name="Ada") == canonical(call(tool, name="Bob", criteria={"name": "Ada"}))

    def test_null_criteria_say_nothing(self, tool: str) -> None:
        """So the flat one stands."""
        assert call(tool, name="Bob") == canonical(call(tool, name="Bob", criteria={"name": None}))
        assert call(tool, name="Bob") == canonical(call(tool, name="Bob", criteria=None))

    @pytest.mark.parametrize("criteria", ["Ada", ["Ada"], 7, True])
    def test_criteria_that_are_none_stay_as_they_are(self, tool: str, criteria: Any) -> None:  # noqa: ANN401 (JSON)
        """The CRM will refuse them."""
        assert call(tool, criteria=criteria) == canonical(call(tool, criteria=criteria))

    def test_it_has_no_updates(self, tool: str) -> None:
        """They are an unknown argument like any other."""
        assert call(tool, updates={"name": "Ada"}) == canonical(call(tool, updates={"name": "Ada"}))


@pytest.mark.parametrize("tool", ALL_CHANGES)
class TestAChange:
    """``updates`` and flat changes are one."""

    def test_updates_are_changes(self, tool: str) -> None:
        """They lie beside the flat ones."""
        assert call(tool, id="1", name="Ada", owner="Dana") == canonical(
            call(tool, id="1", owner="Dana", updates={"name": "Ada"})
        )

    def test_of_a_change_that_is_given_twice_the_flat_one_counts(self, tool: str) -> None:
        """As the published format has it; other than in a search."""
        assert call(tool, name="Bob") == canonical(call(tool, name="Bob", updates={"name": "Ada"}))

    def test_a_flat_null_says_nothing(self, tool: str) -> None:
        """So the one in ``updates`` stands."""
        assert call(tool, name="Ada") == canonical(call(tool, name=None, updates={"name": "Ada"}))

    @pytest.mark.parametrize("updates", ["Ada", ["Ada"], 7, True])
    def test_updates_that_are_none_stay_as_they_are(self, tool: str, updates: Any) -> None:  # noqa: ANN401 (JSON)
        """The CRM will refuse them."""
        assert call(tool, updates=updates) == canonical(call(tool, updates=updates))

    def test_it_has_no_criteria(self, tool: str) -> None:
        """They are an unknown argument like any other."""
        assert call(tool, criteria={"name": "Ada"}) == canonical(call(tool, criteria={"name": "Ada"}))


@pytest.mark.parametrize("nested", ["criteria", "updates"])
@pytest.mark.parametrize("tool", [*OTHERS, "no_such_tool"])
def test_other_tools_take_their_arguments_flat(tool: str, nested: str) -> None:
    """What is nested stays so, and is refused."""
    assert {nested: {"name": "Ada"}} == canonical(call(tool, **{nested: {"name": "Ada"}})).arguments


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_a_null_is_not_given(tool: str) -> None:
    """For any tool; what is empty, false or nought is."""
    given: dict[str, Json] = {"a": "", "b": 0, "c": False, "d": []}

    assert given == canonical(ToolCall(tool=tool, arguments={**given, "e": None})).arguments


def test_a_null_within_a_value_stays() -> None:
    """It is a part of what is given."""
    assert call("compare_quotes", quote_ids=[None]) == canonical(call("compare_quotes", quote_ids=[None]))


def test_two_names_of_one_tool() -> None:
    """The published data use both."""
    assert call("view_opportunity_details", opportunity_id="o-1") == canonical(
        call("opportunity_details", opportunity_id="o-1")
    )


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ({"document_url": "a"}, "a"),
        ({"file_url": "b"}, "b"),
        ({"document_url": "a", "file_url": "b"}, "b"),
        ({"document_url": None, "file_url": "b"}, "b"),
        ({"document_url": "a", "file_url": None}, "a"),
    ],
)
def test_two_names_of_one_argument(given: dict[str, str | None], url: str) -> None:
    """Its own name counts when both are given; null is not given."""
    assert call("upload_document", file_url=url) == canonical(ToolCall(tool="upload_document", arguments=given))


def test_the_other_name_of_an_argument_belongs_to_one_tool() -> None:
    """A contract has a ``document_url`` of its own."""
    assert call("create_contract", document_url="a") == canonical(call("create_contract", document_url="a"))


@pytest.mark.parametrize("arguments", [None, [], "name", 7, ["name", "email"]])
def test_what_is_malformed_stays_as_it_is(arguments: Any) -> None:  # noqa: ANN401 (that is the point)
    malformed = ToolCall(tool="client_search", arguments=arguments)

    assert malformed == canonical(malformed)


@pytest.mark.parametrize("tool", [None, 7, ["client_search"]])
def test_a_tool_that_has_no_name_stays_as_it_is(tool: Any) -> None:  # noqa: ANN401 (that is the point)
    """The same for the name."""
    malformed = ToolCall(tool=tool, arguments={"name": None})

    assert malformed == canonical(malformed)


EVERY_FORM = [
    call("opportunity_search", criteria={"stage": "Proposal", "name": None}, owner="Dana"),
    call("modify_opportunity", opportunity_id="o-1", updates={"stage": "Proposal"}, owner=None),
    call("upload_document", document_url="a", entity_id="o-1"),
    call("opportunity_details", opportunity_id="o-1"),
]


@pytest.mark.parametrize("form", EVERY_FORM, ids=lambda form: form.tool)
def test_the_canonical_form_is_its_own(form: ToolCall) -> None:
    """To bring it into that form twice is to do it once."""
    assert canonical(form) == canonical(canonical(form))


@pytest.mark.parametrize("form", EVERY_FORM, ids=lambda form: form.tool)
def test_the_call_itself_is_left_alone(form: ToolCall) -> None:
    before = deepcopy(form)

    canonical(form)

    assert before == form


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_a_tool_that_changes_something_is_known_by_its_name(tool: str) -> None:
    """Every tool that there is: a new one has to be sorted in."""
    assert (tool in WRITING) is writes(tool)
