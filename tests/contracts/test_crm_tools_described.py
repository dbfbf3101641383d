"""What an agent is told about the 38 tools, and how their arguments may be written."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Tool
from pytest_crmeval.ports.crm import Crm
from tests.desks import CHOICES, COLUMNS, EXAMPLES, NOW, WORLD, Desk, uid

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
    """Return the arguments that a tool advertises."""
    found = tool_of(crm, name).parameters.get("properties", {})
    assert isinstance(found, dict)
    return found


def enums(schema: object) -> Iterator[str]:
    """Walk through a schema for what can be chosen."""
    if isinstance(schema, dict):
        yield from (choice for choice in schema.get("enum", []) if choice is not None)
        yield from (choice for nested in schema.values() for choice in enums(nested))
    elif isinstance(schema, list):
        yield from (choice for nested in schema for choice in enums(nested))


def without_ids(value: object) -> object:
    """Return a row without what is made anew each time."""
    return (
        {name: told for name, told in value.items() if not name.endswith("_id")} if isinstance(value, dict) else value
    )


class TestSchema:
    """A strict JSON Schema of the canonical form."""

    def test_there_are_38_tools(self, crm: Crm) -> None:
        """No more, no fewer, each once."""
        assert sorted(EXAMPLES) == sorted(tool.name for tool in crm.tools)
        assert 38 == len(EXAMPLES)

    def test_every_tool_has_a_description_of_its_own(self, crm: Crm) -> None:
        """Who chooses between two tools reads it."""
        told = [tool.description.strip() for tool in crm.tools]

        assert "" not in told
        assert len(told) == len(set(told))

    @pytest.mark.parametrize("tool", EXAMPLES)
    def test_it_is_a_schema_that_allows_nothing_unknown(self, crm: Crm, tool: str) -> None:
        """Of an object."""
        schema = tool_of(crm, tool).parameters

        Draft202012Validator.check_schema(schema)
        assert ("object", False) == (schema["type"], schema["additionalProperties"])

    @pytest.mark.parametrize("tool", EXAMPLES)
    def test_it_lists_what_is_required(self, crm: Crm, tool: str) -> None:
        """Of a change only what is to be changed."""
        required = set(EXAMPLES[tool]) - (OPTIONAL[tool] if tool in MODIFIES else set())

        assert required == set(tool_of(crm, tool).parameters.get("required", []))  # type: ignore[arg-type] # checked above

    @pytest.mark.parametrize("tool", EXAMPLES)
    def test_it_lists_every_argument(self, crm: Crm, tool: str) -> None:
        """And only the flat form."""
        assert set(EXAMPLES[tool]) | OPTIONAL.get(tool, set()) == set(properties(crm, tool))

    @pytest.mark.parametrize(("tool", "argument", "choice"), CHOSEN)
    def test_it_lists_what_can_be_chosen(self, crm: Crm, tool: str, argument: str, choice: str) -> None:
        """Every value of the schema, and nothing else."""
        assert CHOICES[choice] == tuple(sorted(enums(properties(crm, tool)[argument])))

    @pytest.mark.parametrize("tool", EXAMPLES)
    def test_it_fits_the_example(self, crm: Crm, tool: str) -> None:
        """What the tool takes is what it says that it takes."""
        Draft202012Validator(tool_of(crm, tool).parameters).validate(EXAMPLES[tool])

    @pytest.mark.parametrize(("tool", "argument", "_"), CHOSEN)
    def test_it_does_not_fit_another_choice(self, crm: Crm, tool: str, argument: str, _: str) -> None:
        """A provider that checks arguments refuses it before we do."""
        validator = Draft202012Validator(tool_of(crm, tool).parameters)

        with pytest.raises(ValidationError):
            validator.validate({**EXAMPLES[tool], argument: "Sleeping"})


class TestArguments:
    """What every tool does with the names of its arguments."""

    @pytest.mark.parametrize("tool", EXAMPLES)
    def test_the_example_is_taken(self, desk: Desk, tool: str) -> None:
        """With a value, and nothing to add to it."""
        result = desk.ask(tool, **EXAMPLES[tool])

        assert (None, "") == (result.error, result.note)
        assert result.value is not None

    @pytest.mark.parametrize(
        ("tool", "argument"),
        [
            (tool, argument)
            for tool, arguments in EXAMPLES.items()
            for argument in sorted(arguments.keys() - (OPTIONAL[tool] if tool in MODIFIES else set()))
        ],
    )
    @pytest.mark.parametrize("how", ["left out", "null"])
    def test_what_is_missing_is_named(self, desk: Desk, tool: str, argument: str, how: str) -> None:
        """A null says nothing."""
        others = {name: value for name, value in EXAMPLES[tool].items() if name != argument}
        error = desk.refusal(tool, **others, **({argument: None} if how == "null" else {}))

        assert "invalid_argument" == error.kind
        assert argument in error.message.lower().replace(" ", "_")

    @pytest.mark.parametrize("tool", sorted(EXAMPLES.keys() - set(MODIFIES)))
    def test_what_is_unknown_is_named_with_what_there_is(self, desk: Desk, tool: str) -> None:
        """It is not silently dropped."""
        kind, message = desk.told(tool, bogus="x")

        assert ("invalid_argument", True) == (kind, "bogus" in message)
        assert [] == [name for name in properties(desk.crm, tool) if name not in message]

    @pytest.mark.parametrize(
        ("tool", "argument"),
        [(tool, argument) for tool in OPTIONAL for argument in sorted(OPTIONAL[tool] - EXAMPLES[tool].keys())],
    )
    def test_null_says_nothing(self, crm: Crm, tool: str, argument: str) -> None:
        """An optional argument that is null is like one that was not given."""
        with crm.seeded(WORLD, NOW):
            expected = Desk(crm).example(tool)
        with crm.seeded(WORLD, NOW):
            actual = Desk(crm).example(tool, **{argument: None})

        assert without_ids(expected) == without_ids(actual)


class TestTwoForms:
    """Filters in ``criteria``, changes in ``updates``, names that mean the same."""

    @pytest.mark.parametrize("tool", [tool for tool in SEARCHES if tool != "summarize_opportunities"])
    def test_criteria_are_filters(self, desk: Desk, tool: str) -> None:
        """Of every search."""
        key = tool.replace("_search", "_id")
        first = desk.found(tool)[0]

        assert [first] == desk.found(tool, criteria={key: uid(first)})

    def test_criteria_of_a_summary(self, desk: Desk) -> None:
        """It takes the filters of a search."""
        assert 2 == desk.get("summarize_opportunities", criteria={"client_id": uid("acme")})["total_count"]

    def test_criteria_win(self, desk: Desk) -> None:
        """Over the same filter outside."""
        assert ["acme"] == desk.found("client_search", name="berg", criteria={"name": "acme"})

    def test_criteria_and_filters_count_together(self, desk: Desk) -> None:
        """When they are about different things."""
        assert ["vans"] == desk.found("opportunity_search", client_id=uid("acme"), criteria={"stage": "Proposal"})

    def test_null_criteria_lose(self, desk: Desk) -> None:
        """They say nothing about the filter outside."""
        assert ["münz"] == desk.found("client_search", name="berg", criteria={"name": None})

    @pytest.mark.parametrize("nothing", [{}, None, {"name": None}])
    def test_no_criteria(self, desk: Desk, nothing: object) -> None:
        """An empty object filters nothing."""
        assert ["acme", "münz", "zeta"] == desk.found("client_search", criteria=nothing)

    @pytest.mark.parametrize("criteria", [{"bogus": 1}, "name", ["name"], 7, {"criteria": {"name": "acme"}}])
    @pytest.mark.parametrize("tool", SEARCHES)
    def test_criteria_that_are_none(self, desk: Desk, tool: str, criteria: object) -> None:
        """Neither unknown ones nor something else."""
        assert "invalid_argument" == desk.refusal(tool, criteria=criteria).kind

    @pytest.mark.parametrize("tool", MODIFIES)
    def test_updates_are_changes(self, desk: Desk, tool: str) -> None:
        """Of every entity."""
        key, *_ = EXAMPLES[tool]
        changes = {name: value for name, value in EXAMPLES[tool].items() if name != key}
        nested = desk.get(tool, **{key: EXAMPLES[tool][key]}, updates=changes)

        assert changes.items() <= nested.items()
        assert nested == desk.example(tool)

    def test_updates_lose(self, desk: Desk) -> None:
        """Against the same change outside; others count."""
        changed = desk.get(
            "modify_client", client_id=uid("acme"), owner="Kim", updates={"owner": "Lee", "phone": "+1 7"}
        )

        assert ("Kim", "+1 7") == (changed["owner"], changed["phone"])

    def test_a_null_outside_of_updates(self, desk: Desk) -> None:
        """It says nothing about the change inside."""
        changed = desk.get("modify_client", client_id=uid("acme"), owner=None, updates={"owner": "Lee"})

        assert "Lee" == changed["owner"]

    @pytest.mark.parametrize("tool", MODIFIES)
    def test_empty_updates_change_nothing(self, desk: Desk, tool: str) -> None:
        """And return the record (V12)."""
        key, *_ = EXAMPLES[tool]
        before = desk.state()
        returned = desk.get(tool, **{key: EXAMPLES[tool][key]}, updates={})

        assert before == desk.state()
        assert [returned] == [found[returned[key]] for found in before.values() if returned in found.values()]

    @pytest.mark.parametrize("nothing", [{}, {"updates": None}], ids=["absent", "null"])
    @pytest.mark.parametrize("tool", MODIFIES)
    def test_a_change_of_nothing(self, desk: Desk, tool: str, nothing: dict[str, Json]) -> None:
        """Neither form (V12)."""
        key, *_ = EXAMPLES[tool]
        error = desk.refusal(tool, **{key: EXAMPLES[tool][key]}, **nothing)

        assert "invalid_argument" == error.kind
        assert "Must provide either updates dict or keyword args" in error.message

    @pytest.mark.parametrize("updates", ["owner", ["owner"], 7])
    @pytest.mark.parametrize("tool", MODIFIES)
    def test_updates_that_are_none(self, desk: Desk, tool: str, updates: object) -> None:
        """It is not silently dropped, also not next to a change that is fine."""
        assert "invalid_argument" == desk.told(tool, updates=updates)[0]

    @pytest.mark.parametrize(
        ("tool", "nested"),
        [(tool, nested) for tool in TAKES_NO_NESTED for nested in ("criteria", "updates")]
        + [(tool, "criteria") for tool in MODIFIES]
        + [(tool, "updates") for tool in SEARCHES],
    )
    def test_nobody_else_takes_them(self, desk: Desk, tool: str, nested: str) -> None:
        """They are unknown arguments."""
        kind, message = desk.told(tool, **{nested: {"name": "x"}})

        assert ("invalid_argument", True) == (kind, nested in message)

    def test_two_names_of_one_tool(self, desk: Desk) -> None:
        """They tell the same."""
        assert desk.example("view_opportunity_details") == desk.example("opportunity_details")

    def test_two_names_of_one_argument(self, desk: Desk) -> None:
        """A ``document_url`` is a ``file_url``."""
        made = desk.example("upload_document", document_url="https://files.example/q.pdf")

        assert "https://files.example/q.pdf" == made["file_url"]
        assert "document_url" not in made

    @pytest.mark.parametrize(
        ("file_url", "kept"), [("https://a.example", "https://a.example"), (None, "https://b.example")]
    )
    def test_both_names_of_one_argument(self, desk: Desk, file_url: str | None, kept: str) -> None:
        """Its own name counts, unless it says nothing."""
        made = desk.example("upload_document", file_url=file_url, document_url="https://b.example")

        assert kept == made["file_url"]
