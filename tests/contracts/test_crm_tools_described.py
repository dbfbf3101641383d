"""The descriptions of the 38 tools, and how their arguments may be written."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.domain.messages import Tool
from pytest_crmeval.ports.crm import Crm
from tests.crm_world import CHOICES, COLUMNS, EXAMPLES, NOW, WORLD, Caller, uid

SEARCHES = {
    "client_search": "Client",
    "contact_search": "Contact",
    "opportunity_search": "Opportunity",
    "quote_search": "Quote",
    "contract_search": "Contract",
    "company_search": "Company",
    "summarize_opportunities": "Opportunity",
}
OPTIONAL = {
    "create_new_client": {"industry", "phone", "address", "owner", "created_date"},
    "create_new_contact": {"email", "phone", "title", "notes"},
    "create_new_opportunity": {"probability", "close_date", "owner", "notes"},
    "create_quote": {"version", "valid_until", "quote_prefix"},
    "create_contract": {"opportunity_id", "status", "value", "start_date", "end_date", "document_url"},
    "upload_document": {"uploaded_by", "uploaded_at", "file_url"},
    "add_note": {"created_by", "created_at"},
    "modify_client": {"name", "email", "phone", "address", "industry", "status", "owner"},
    "modify_contact": {"first_name", "last_name", "title", "email", "phone", "notes"},
    "modify_opportunity": {"name", "stage", "amount", "close_date", "owner", "probability", "notes"},
    "modify_quote": {"version", "amount", "status", "valid_until", "quote_prefix"},
    **{tool: set(COLUMNS[entity]) for tool, entity in SEARCHES.items()},
}
MODIFIES = ("modify_client", "modify_contact", "modify_opportunity", "modify_quote")
TAKES_NO_NESTED = sorted(EXAMPLES.keys() - SEARCHES.keys() - set(MODIFIES))
CHOSEN = [
    ("create_new_client", "status", "client status"),
    ("ensure_client", "status", "client status"),
    ("modify_client", "status", "client status"),
    ("client_search", "status", "client status"),
    ("create_new_opportunity", "stage", "stage"),
    ("modify_opportunity", "stage", "stage"),
    ("opportunity_search", "stage", "stage"),
    ("summarize_opportunities", "stage", "stage"),
    ("create_quote", "status", "quote status"),
    ("modify_quote", "status", "quote status"),
    ("quote_search", "status", "quote status"),
    ("create_contract", "status", "contract status"),
    ("contract_search", "status", "contract status"),
    ("company_search", "type", "company type"),
    ("upload_document", "entity_type", "document entity"),
    ("add_note", "entity_type", "note entity"),
]


def tool_of(crm: Crm, name: str) -> Tool:
    """Return a tool by its name."""
    return {tool.name: tool for tool in crm.tools}[name]


def properties(crm: Crm, name: str) -> Mapping[str, Any]:
    """Return the arguments in the schema of a tool."""
    found = tool_of(crm, name).parameters.get("properties", {})
    assert isinstance(found, dict)
    return found


def enums(schema: object) -> Iterator[str]:
    """Yield the values that a schema allows."""
    if isinstance(schema, dict):
        yield from (choice for choice in schema.get("enum", []) if choice is not None)
        yield from (choice for nested in schema.values() for choice in enums(nested))
    elif isinstance(schema, list):
        yield from (choice for nested in schema for choice in enums(nested))


def without_ids(value: object) -> object:
    """Return a row without generated values."""
    return (
        {name: shown for name, shown in value.items() if not name.endswith("_id")} if isinstance(value, dict) else value
    )


class TestSchema:
    """A strict JSON Schema of the canonical form."""

    def test_crm_has_38_tools(self, crm: Crm) -> None:
        """Each once."""
        assert sorted(EXAMPLES) == sorted(tool.name for tool in crm.tools)
        assert 38 == len(EXAMPLES)

    def test_every_tool_has_a_description_of_its_own(self, crm: Crm) -> None:
        """A model chooses between tools by it."""
        shown = [tool.description.strip() for tool in crm.tools]

        assert "" not in shown
        assert len(shown) == len(set(shown))

    def test_schema_of_every_tool_forbids_unknown_arguments(self, crm: Crm) -> None:
        """Of an object."""
        for tool in EXAMPLES:
            schema = tool_of(crm, tool).parameters

            Draft202012Validator.check_schema(schema)
            assert ("object", False) == (schema["type"], schema["additionalProperties"]), tool

    def test_schema_lists_required_arguments(self, crm: Crm) -> None:
        """Of a change, only the id is required."""
        for tool in EXAMPLES:
            required = set(EXAMPLES[tool]) - (OPTIONAL[tool] if tool in MODIFIES else set())

            assert required == set(tool_of(crm, tool).parameters.get("required", [])), tool  # type: ignore[arg-type] # checked above

    def test_schema_lists_every_argument(self, crm: Crm) -> None:
        """Only in the flat form."""
        for tool in EXAMPLES:
            assert set(EXAMPLES[tool]) | OPTIONAL.get(tool, set()) == set(properties(crm, tool)), tool

    def test_schema_lists_the_allowed_choices(self, crm: Crm) -> None:
        """Exactly those that the tool accepts."""
        for tool, argument, choice in CHOSEN:
            assert CHOICES[choice] == tuple(sorted(enums(properties(crm, tool)[argument]))), (tool, argument, choice)

    def test_schema_accepts_the_example_call(self, crm: Crm) -> None:
        """What the tool takes is what it says that it takes."""
        for tool in EXAMPLES:
            Draft202012Validator(tool_of(crm, tool).parameters).validate(EXAMPLES[tool])

    def test_schema_rejects_an_unknown_choice(self, crm: Crm) -> None:
        """A provider that validates arguments rejects it before the CRM does."""
        for tool, argument, _ in CHOSEN:
            validator = Draft202012Validator(tool_of(crm, tool).parameters)

            with pytest.raises(ValidationError):
                validator.validate({**EXAMPLES[tool], argument: "Sleeping"})


class TestArguments:
    """How every tool handles the names of its arguments."""

    @pytest.mark.parametrize("tool", EXAMPLES)
    def test_example_call_succeeds(self, caller: Caller, tool: str) -> None:
        """With a value and without a note."""
        result = caller.ask(tool, **EXAMPLES[tool])

        assert (None, "") == (result.error, result.note)
        assert result.value is not None

    def test_missing_required_argument_is_named(self, caller: Caller) -> None:
        """Null counts as missing."""
        for how in ["left out", "null"]:
            for tool, arguments in EXAMPLES.items():
                for argument in sorted(arguments.keys() - (OPTIONAL[tool] if tool in MODIFIES else set())):
                    others = {name: value for name, value in arguments.items() if name != argument}
                    error = caller.refusal(tool, **others, **({argument: None} if how == "null" else {}))

                    assert "invalid_argument" == error.kind, (tool, argument, how)
                    assert argument in error.message.lower().replace(" ", "_"), (tool, argument, how)

    def test_unknown_argument_is_named_with_the_known_ones(self, caller: Caller) -> None:
        """It is not dropped silently."""
        for tool in sorted(EXAMPLES.keys() - set(MODIFIES)):
            kind, message = caller.refused(tool, bogus="x")

            assert ("invalid_argument", True) == (kind, "bogus" in message), tool
            assert [] == [name for name in properties(caller.crm, tool) if name not in message], tool

    def test_null_is_the_same_as_an_omitted_optional_argument(self, crm: Crm) -> None:
        """An optional argument that is null is like one that was not given."""
        for tool, optional in OPTIONAL.items():
            for argument in sorted(optional - EXAMPLES[tool].keys()):
                with crm.seeded(WORLD, NOW):
                    expected = Caller(crm).example(tool)
                with crm.seeded(WORLD, NOW):
                    actual = Caller(crm).example(tool, **{argument: None})

                assert without_ids(expected) == without_ids(actual), (tool, argument)


class TestTwoForms:
    """Filters in ``criteria``, changes in ``updates``, aliases."""

    @pytest.mark.parametrize("tool", [tool for tool in SEARCHES if tool != "summarize_opportunities"])
    def test_criteria_are_filters(self, caller: Caller, tool: str) -> None:
        """In every search."""
        key = tool.replace("_search", "_id")
        first = caller.found(tool)[0]

        assert [first] == caller.found(tool, criteria={key: uid(first)})

    def test_criteria_of_a_summary(self, caller: Caller) -> None:
        """It has the filters of a search."""
        assert 2 == caller.get("summarize_opportunities", criteria={"client_id": uid("acme")})["total_count"]

    def test_criteria_override_the_same_flat_filter(self, caller: Caller) -> None:
        """Over the same filter outside."""
        assert ["acme"] == caller.found("client_search", name="berg", criteria={"name": "acme"})

    def test_criteria_and_filters_count_together(self, caller: Caller) -> None:
        """If they are about different columns."""
        assert ["vans"] == caller.found("opportunity_search", client_id=uid("acme"), criteria={"stage": "Proposal"})

    def test_null_in_criteria_does_not_override_a_flat_filter(self, caller: Caller) -> None:
        """They say nothing about the filter outside."""
        assert ["münz"] == caller.found("client_search", name="berg", criteria={"name": None})

    @pytest.mark.parametrize("nothing", [{}, None, {"name": None}])
    def test_empty_criteria_filter_nothing(self, caller: Caller, nothing: object) -> None:
        """An empty object filters nothing."""
        assert ["acme", "münz", "zeta"] == caller.found("client_search", criteria=nothing)

    def test_malformed_criteria_are_refused(self, caller: Caller) -> None:
        """Neither unknown filters nor a value that is not an object."""
        for tool in SEARCHES:
            for criteria in [{"bogus": 1}, "name", ["name"], 7, {"criteria": {"name": "acme"}}]:
                assert "invalid_argument" == caller.refusal(tool, criteria=criteria).kind, (criteria, tool)

    @pytest.mark.parametrize("tool", MODIFIES)
    def test_updates_are_changes(self, caller: Caller, tool: str) -> None:
        """Of every entity."""
        key, *_ = EXAMPLES[tool]
        changes = {name: value for name, value in EXAMPLES[tool].items() if name != key}
        nested = caller.get(tool, **{key: EXAMPLES[tool][key]}, updates=changes)

        assert changes.items() <= nested.items()
        assert nested == caller.example(tool)

    def test_flat_change_overrides_the_same_change_in_updates(self, caller: Caller) -> None:
        """Other changes are kept."""
        changed = caller.get(
            "modify_client", client_id=uid("acme"), owner="Kim", updates={"owner": "Lee", "phone": "+1 7"}
        )

        assert ("Kim", "+1 7") == (changed["owner"], changed["phone"])

    def test_a_null_outside_of_updates(self, caller: Caller) -> None:
        """The change inside counts."""
        changed = caller.get("modify_client", client_id=uid("acme"), owner=None, updates={"owner": "Lee"})

        assert "Lee" == changed["owner"]

    @pytest.mark.parametrize("tool", MODIFIES)
    def test_empty_updates_change_nothing(self, caller: Caller, tool: str) -> None:
        """The record is returned (V12)."""
        key, *_ = EXAMPLES[tool]
        before = caller.state()
        returned = caller.get(tool, **{key: EXAMPLES[tool][key]}, updates={})

        assert before == caller.state()
        assert [returned] == [found[returned[key]] for found in before.values() if returned in found.values()]

    def test_change_without_any_field_is_refused(self, caller: Caller) -> None:
        """In neither form (V12)."""
        for tool in MODIFIES:
            for nothing in [{}, {"updates": None}]:
                key, *_ = EXAMPLES[tool]
                error = caller.refusal(tool, **{key: EXAMPLES[tool][key]}, **nothing)

                assert "invalid_argument" == error.kind, (nothing, tool)
                assert "Must provide either updates dict or keyword args" in error.message, (nothing, tool)

    def test_malformed_updates_are_refused(self, caller: Caller) -> None:
        """They are not dropped silently, even next to a valid change."""
        for tool in MODIFIES:
            for updates in ["owner", ["owner"], 7]:
                assert "invalid_argument" == caller.refused(tool, updates=updates)[0], (updates, tool)

    def test_other_tools_refuse_criteria_and_updates(self, caller: Caller) -> None:
        """They are unknown arguments."""
        for tool, nested in (
            [(tool, nested) for tool in TAKES_NO_NESTED for nested in ("criteria", "updates")]
            + [(tool, "criteria") for tool in MODIFIES]
            + [(tool, "updates") for tool in SEARCHES]
        ):
            kind, message = caller.refused(tool, **{nested: {"name": "x"}})

            assert ("invalid_argument", True) == (kind, nested in message), (tool, nested)

    def test_both_names_of_a_tool_return_the_same(self, caller: Caller) -> None:
        """They tell the same."""
        assert caller.example("view_opportunity_details") == caller.example("opportunity_details")

    def test_document_url_is_an_alias_of_file_url(self, caller: Caller) -> None:
        """A ``document_url`` is a ``file_url``."""
        made = caller.example("upload_document", document_url="https://files.example/q.pdf")

        assert "https://files.example/q.pdf" == made["file_url"]
        assert "document_url" not in made

    @pytest.mark.parametrize(
        ("file_url", "kept"), [("https://a.example", "https://a.example"), (None, "https://b.example")]
    )
    def test_file_url_overrides_its_alias_unless_null(self, caller: Caller, file_url: str | None, kept: str) -> None:
        """The alias counts only if the name is null."""
        made = caller.example("upload_document", file_url=file_url, document_url="https://b.example")

        assert kept == made["file_url"]


def test_tools_shown_to_models_are_unchanged(crm: Crm, snapshot: SnapshotAssertion) -> None:
    """With pages, which adds the cursor; whoever changes a description changes what models are measured with."""
    with crm.seeded({}, NOW, page_size=20):
        shown = {tool.name: {"description": tool.description, "parameters": tool.parameters} for tool in crm.tools}

    assert snapshot == shown
