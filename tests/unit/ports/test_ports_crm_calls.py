"""Calls that can be written in several forms are brought into one."""

from copy import deepcopy
from typing import Any

import pytest

from pytest_crmeval.conversations.crm.tools import TOOLS
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.ports.crm_calls import canonical, writes
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
    """``criteria`` and flat filters are equivalent."""

    def test_criteria_are_filters(self, tool: str) -> None:
        """They are merged with the flat ones."""
        assert call(tool, owner="Dana", name="Ada") == canonical(call(tool, owner="Dana", criteria={"name": "Ada"}))

    def test_criteria_take_precedence_over_a_flat_filter(self, tool: str) -> None:
        """As in the published format."""
        assert call(tool, name="Ada") == canonical(call(tool, name="Bob", criteria={"name": "Ada"}))

    def test_null_criteria_are_ignored(self, tool: str) -> None:
        """The flat filter counts."""
        assert call(tool, name="Bob") == canonical(call(tool, name="Bob", criteria={"name": None}))
        assert call(tool, name="Bob") == canonical(call(tool, name="Bob", criteria=None))

    @pytest.mark.parametrize("criteria", ["Ada", ["Ada"], 7, True])
    def test_invalid_criteria_are_not_changed(self, tool: str, criteria: Any) -> None:  # noqa: ANN401 (JSON)
        """The CRM will refuse them."""
        assert call(tool, criteria=criteria) == canonical(call(tool, criteria=criteria))

    def test_search_has_no_updates(self, tool: str) -> None:
        """They are an unknown argument like any other."""
        assert call(tool, updates={"name": "Ada"}) == canonical(call(tool, updates={"name": "Ada"}))


@pytest.mark.parametrize("tool", ALL_CHANGES)
class TestAChange:
    """``updates`` and flat changes are equivalent."""

    def test_updates_are_changes(self, tool: str) -> None:
        """They are merged with the flat ones."""
        assert call(tool, id="1", name="Ada", owner="Dana") == canonical(
            call(tool, id="1", owner="Dana", updates={"name": "Ada"})
        )

    def test_flat_change_takes_precedence_over_updates(self, tool: str) -> None:
        """As in the published format; a search is different."""
        assert call(tool, name="Bob") == canonical(call(tool, name="Bob", updates={"name": "Ada"}))

    def test_flat_null_is_ignored(self, tool: str) -> None:
        """The value in ``updates`` counts."""
        assert call(tool, name="Ada") == canonical(call(tool, name=None, updates={"name": "Ada"}))

    @pytest.mark.parametrize("updates", ["Ada", ["Ada"], 7, True])
    def test_invalid_updates_are_not_changed(self, tool: str, updates: Any) -> None:  # noqa: ANN401 (JSON)
        """The CRM will refuse them."""
        assert call(tool, updates=updates) == canonical(call(tool, updates=updates))

    def test_modification_has_no_criteria(self, tool: str) -> None:
        """They are an unknown argument like any other."""
        assert call(tool, criteria={"name": "Ada"}) == canonical(call(tool, criteria={"name": "Ada"}))


@pytest.mark.parametrize("nested", ["criteria", "updates"])
@pytest.mark.parametrize("tool", [*OTHERS, "no_such_tool"])
def test_nested_arguments_of_other_tools_are_not_changed(tool: str, nested: str) -> None:
    """Nested arguments are not changed, and are refused."""
    assert {nested: {"name": "Ada"}} == canonical(call(tool, **{nested: {"name": "Ada"}})).arguments


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_null_counts_as_omitted(tool: str) -> None:
    """For every tool; empty values, false and zero do not."""
    given: dict[str, Json] = {"a": "", "b": 0, "c": False, "d": []}

    assert given == canonical(ToolCall(tool=tool, arguments={**given, "e": None})).arguments


def test_null_within_a_value_is_kept() -> None:
    """It is part of the value."""
    assert call("compare_quotes", quote_ids=[None]) == canonical(call("compare_quotes", quote_ids=[None]))


def test_tool_with_two_names_has_one_form() -> None:
    """The published data uses both."""
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
def test_argument_with_two_names_has_one_form(given: dict[str, str | None], url: str) -> None:
    """Its own name takes precedence; null counts as omitted."""
    assert call("upload_document", file_url=url) == canonical(ToolCall(tool="upload_document", arguments=given))


def test_alias_of_an_argument_belongs_to_one_tool() -> None:
    """A contract has its own ``document_url``."""
    assert call("create_contract", document_url="a") == canonical(call("create_contract", document_url="a"))


@pytest.mark.parametrize("arguments", [None, [], "name", 7, ["name", "email"]])
def test_malformed_arguments_are_not_changed(arguments: Any) -> None:  # noqa: ANN401 (that is the point)
    malformed = ToolCall(tool="client_search", arguments=arguments)

    assert malformed == canonical(malformed)


@pytest.mark.parametrize("tool", [None, 7, ["client_search"]])
def test_malformed_tool_name_is_not_changed(tool: Any) -> None:  # noqa: ANN401 (that is the point)
    malformed = ToolCall(tool=tool, arguments={"name": None})

    assert malformed == canonical(malformed)


EVERY_FORM = [
    call("opportunity_search", criteria={"stage": "Proposal", "name": None}, owner="Dana"),
    call("modify_opportunity", opportunity_id="o-1", updates={"stage": "Proposal"}, owner=None),
    call("upload_document", document_url="a", entity_id="o-1"),
    call("opportunity_details", opportunity_id="o-1"),
]


@pytest.mark.parametrize("form", EVERY_FORM, ids=lambda form: form.tool)
def test_canonical_form_of_a_canonical_call_is_the_same(form: ToolCall) -> None:
    assert canonical(form) == canonical(canonical(form))


@pytest.mark.parametrize("form", EVERY_FORM, ids=lambda form: form.tool)
def test_original_call_is_not_changed(form: ToolCall) -> None:
    before = deepcopy(form)

    canonical(form)

    assert before == form


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_writing_tools_are_recognised_by_name(tool: str) -> None:
    """All tools are covered, so a new one must be classified."""
    assert (tool in WRITING) is writes(tool)
