"""Cases that no agent can pass, and above all cases that can be passed."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_crmeval.conversations.crm import tools
from pytest_crmeval.conversations.dataset.crm_schema import COLUMNS, TOOLS
from pytest_crmeval.conversations.dataset.defects import defects
from pytest_crmeval.conversations.dataset.files import index
from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.domain.state import TABLES

ROOT = Path(__file__).parents[4]
HARBOR = "5fcdb532-cec1-59dd-933c-2ef2b966d0b0"
LUMEN = "248b3c5a-7213-589a-bf40-2bb3e2d369ed"
DOCK = "501f539a-0681-5394-99bd-03b7b74f59b1"
FLEET = "39e7c9d8-5fcd-5f6c-8d34-44329f8fd055"
FIBER = "49ddd702-4684-5696-b1ee-0cf8762add81"
CHEAP = "540e1d93-f488-5230-b013-d3d8652651cd"
DEAR = "be6c8d47-4fd7-5c5a-ba8d-996f0c38a6b6"
NOWHERE = "00000000-1111-4222-8333-444444444444"
WORLD: dict[str, Any] = {
    "Client": {
        HARBOR: {"name": "Harbor Light Logistics", "email": "ops@harborlight.example", "status": "Active"},
        LUMEN: {"name": "Lumen Fiber", "email": "contact@lumenfiber.example", "status": "Prospect"},
    },
    "Opportunity": {
        DOCK: {"client_id": HARBOR, "name": "Dock automation", "stage": "Qualification", "amount": 230000},
        FLEET: {"client_id": HARBOR, "name": "Tracking rollout", "stage": "Proposal", "amount": 84000},
        FIBER: {"client_id": LUMEN, "name": "Backbone", "stage": "Proposal", "amount": 61000},
    },
    "Quote": {
        CHEAP: {"opportunity_id": DOCK, "amount": 52500, "status": "Draft", "version": "1.0"},
        DEAR: {"opportunity_id": DOCK, "amount": 57000, "status": "Sent", "version": "2.0"},
    },
}
"""Two clients, three deals, two quotes: nothing is the only one of its kind."""


def turn(utterance: str, tool: str, /, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Return a turn; what is in capitals is a field of the turn, anything else an argument."""
    fields = {name.lower(): changes.pop(name) for name in list(changes) if name.isupper()}
    return {"user_utterance": utterance, "expected_tool": tool, "expected_args": changes, **fields}


def flaws(*turns: dict[str, Any], seed: dict[str, Any] | None = None) -> list[str]:
    """Return what is wrong with a conversation in the world above, or another one."""
    world = WORLD if seed is None else seed
    numbered = [{"turn_id": number, **each} for number, each in enumerate(turns, start=1)]
    record = {"conversation_id": "one", "turns": numbered, "initial_entities": {"seed_data": world}}
    return list(map(str, defects(msgspec.convert(record, ConversationRecord))))


@pytest.mark.parametrize(
    ("utterance", "arguments"),
    [
        ("Add Ada Ltd as a client, ada@ada.example, active.", {"name": "Ada Ltd", "email": "ada@ada.example"}),
        ("Add juniper and sons.", {"name": "Juniper & Sons"}),
        ("Add “Juniper & Sons”.", {"name": "Juniper & Sons"}),
        ("New client: O\u2019Brien Ltd.", {"name": "O'Brien Ltd"}),
        ("New client Müller Groß GmbH", {"name": "Müller Groß GmbH"}),
        ("New client 株式会社サンプル, please", {"name": "株式会社サンプル"}),
        ("New client A1 (the telco).", {"name": "A1"}),
        ("Write to Ada@Ada.Example.", {"email": "ada@ada.example"}),
        ("Mail: <ada@ada.example>", {"email": "ada@ada.example"}),
        ("They are in health care.", {"industry": "Healthcare"}),
        ("They're in tech.", {"industry": "Technology"}),
        ("a manufacturer from Bremen", {"industry": "Manufacturing"}),
        ("Call +1 (555) 010-0199.", {"phone": "1-555-010-0199"}),
        ("Phone 030 123 4567", {"phone": "+49301234567"}),
        ("New client Phase Two", {"name": "Phase 2"}),
        ("They sit at 12 Pier Road, Bremen", {"address": "12 Pier Road, Bremen"}),
        ("Dana takes care of them.", {"owner": "Dana"}),
        ("They are a prospect.", {"status": "Prospect"}),
        ("ACTIVE since today", {"status": "Active"}),
        ("Activate them.", {"status": "Active"}),
        ("They are no longer active.", {"status": "Inactive"}),
        ("Deactivate them.", {"status": "Inactive"}),
    ],
)
def test_values_in_the_utterance_are_provided(utterance: str, arguments: dict[str, str]) -> None:
    assert [] == flaws(turn(utterance, "create_new_client", **arguments))


@pytest.mark.parametrize(
    "said",
    [
        "46500",
        "46,500",
        "$46,500.00",
        "46.5k",
        "46.5 thousand",
        "EUR 46 500",
        "46.500 €",
        "46'500 francs",
        "USD 46500,-",
        "(46,500)",
        "46500$",
    ],
)
def test_an_amount_has_many_forms(said: str) -> None:
    assert [] == flaws(turn(f"Quote {said} for the dock.", "create_quote", opportunity_id=DOCK, amount=46500))


@pytest.mark.parametrize("said", ["fifty thousand", "half a million", "a hundred", "twenty-five percent", "40 grand"])
def test_a_number_in_words_is_not_judged(said: str) -> None:
    assert [] == flaws(turn(f"Quote {said} for the dock.", "create_quote", opportunity_id=DOCK, amount=46500))


@pytest.mark.parametrize(
    ("utterance", "amount"),
    [
        ("Raise the dock automation deal by 10 percent.", 253000),
        ("Take 5,000 off the dock deal.", 225000),
        ("Add 20000 to the dock deal.", 250000),
        ("The dock deal is worth 3 years of 40,000 each.", 120000),
        ("Split the dock deal in two.", 115000),
        ("Halve it for the dock.", 115000),
        ("Make the dock deal the total of its quotes.", 109500),
        ("Give the dock deal the same amount as the backbone.", 61000),
        ("The dock deal: what the tracking rollout is worth.", 84000),
        ("Cut 12.5% from the dock deal", 201250),
        ("Its chance at the dock is three in four, so to speak", 75),
    ],
)
def test_a_number_may_be_worked_out(utterance: str, amount: float) -> None:
    """From what is said and what can be looked up."""
    assert [] == flaws(turn(utterance, "modify_opportunity", opportunity_id=DOCK, amount=amount))


@pytest.mark.parametrize(
    "said",
    [
        "2027-03-31",
        "March 31, 2027",
        "Mar 31",
        "31 March",
        "the 31st of March 2027",
        "3/31/2027",
        "31.03.2027",
        "3/31",
        "the end of March",
        "Q1",
        "in 30 days",
        "next Friday",
        "tomorrow",
        "the end of the quarter",
    ],
)
def test_a_day_has_many_forms(said: str) -> None:
    assert [] == flaws(turn(f"Dock automation closes {said}.", "modify_opportunity", close_date="2027-03-31"))


@pytest.mark.parametrize(
    ("utterance", "stage"),
    [
        ("The dock deal: we won!", "Closed-Won"),
        ("That is a win at the dock.", "Closed-Won"),
        ("Close it as won.", "Closed-Won"),
        ("We lost the dock to a rival.", "Closed-Lost"),
        ("It is closed-lost.", "Closed-Lost"),
        ("We are going to lose it.", "Closed-Lost"),
        ("They are negotiating.", "Negotiation"),
        ("Move it into negotiations.", "Negotiation"),
        ("It is qualified now.", "Qualification"),
        ("I sent them the proposal.", "Proposal"),
        ("We proposed it.", "Proposal"),
        ("Still a prospect.", "Prospecting"),
        ("still prospecting", "Prospecting"),
        ("Setz das auf PROSPECTING, bitte.", "Prospecting"),
    ],
)
def test_a_stage_has_many_forms(utterance: str, stage: str) -> None:
    """One word of it, in any form."""
    assert [] == flaws(turn(utterance, "modify_opportunity", stage=stage))


@pytest.mark.parametrize(
    ("utterance", "status"),
    [
        ("Draft a quote.", "Draft"),
        ("as a draft", "Draft"),
        ("Mark it as sent.", "Sent"),
        ("Send it.", "Sent"),
        ("Cancel it.", "Canceled"),
        ("It was cancelled.", "Canceled"),
        ("They approve.", "Approved"),
        ("We have their approval.", "Approved"),
        ("They rejected it.", "Rejected"),
        ("a rejection", "Rejected"),
    ],
)
def test_a_status_has_many_forms(utterance: str, status: str) -> None:
    """The same."""
    assert [] == flaws(turn(utterance, "modify_quote", status=status))


@pytest.mark.parametrize(
    ("utterance", "content"),
    [
        ("Note: they want the terms in writing.", "They want the terms in writing."),
        ("Note that they're keen to start on Monday", "They are keen to start on Monday."),
        ("Leave a note: customer asked for 70,000 after signing", "Customer asked for 70,000 after signing."),
        ("Note on Lumen: follow-up call next week about pricing", "Follow up call next week about pricing"),
        ("Write down that Mira prefers e-mails in the morning, please", "Mira prefers emails in the morning"),
    ],
)
def test_text_of_a_note_may_differ_from_the_utterance(utterance: str, content: str) -> None:
    note = turn(utterance, "add_note", entity_type="Client", entity_id=LUMEN, content=content)

    assert [] == flaws(turn("Lumen?", "client_search", name="lumen"), note)


@pytest.mark.parametrize(
    ("utterance", "arguments"),
    [
        ("Attach fleet-tracking.pdf to the dock deal.", {"file_name": "fleet-tracking.pdf"}),
        ("Attach the signed contract as a PDF.", {"file_name": "signed_contract.pdf"}),
        ("It is at https://files.example/a/b.pdf", {"file_url": "https://files.example/a/b.pdf"}),
    ],
)
def test_document_is_provided_by_its_file_name(utterance: str, arguments: dict[str, str]) -> None:
    upload = turn(utterance, "upload_document", entity_type="Opportunity", entity_id=DOCK, **arguments)

    assert [] == flaws(turn("Find the dock.", "opportunity_search", name="dock"), upload)


@pytest.mark.parametrize(
    ("utterance", "version"), [("as version 2", "2.0"), ("call it v2.0", "2.0"), ("the second, 3.1", "3.1")]
)
def test_version_is_provided_by_its_number(utterance: str, version: str) -> None:
    assert [] == flaws(turn(utterance, "modify_quote", version=version))


@pytest.mark.parametrize(
    ("utterance", "identity"),
    [
        (f"Delete {DOCK}.", DOCK),
        (f"Delete {DOCK.upper()}.", DOCK),
        ("Delete the dock automation deal.", DOCK),
        ("Delete the DOCK thing.", DOCK),
        ("Delete the one over 84,000.", FLEET),
        ("Delete what we have in qualification.", DOCK),
        ("Delete Lumen's deal.", FIBER),
        ("Delete the deal of contact@lumenfiber.example.", FIBER),
        ("Delete the deal with the 57k quote.", DOCK),
    ],
)
def test_a_record_can_be_looked_up(utterance: str, identity: str) -> None:
    """By anything that it, or a record it belongs to, is known by."""
    assert [] == flaws(turn(utterance, "delete_opportunity", opportunity_id=identity))


def test_the_only_record_needs_no_name() -> None:
    """This opportunity, there is but one."""
    seed = {"Opportunity": {DOCK: WORLD["Opportunity"][DOCK]}}

    assert [] == flaws(turn("Delete this.", "delete_opportunity", opportunity_id=DOCK), seed=seed)


@pytest.mark.parametrize(
    "first",
    [
        turn("Which deals do we have?", "opportunity_search"),
        turn("Sum up the deals.", "list_opportunities"),
        turn("Show me that one.", "view_opportunity_details", opportunity_id=DOCK),
        turn("Which?", "opportunity_search", criteria={"stage": "Proposal"}),
    ],
)
def test_values_that_a_search_shows_are_provided(first: dict[str, Any]) -> None:
    """Everything that an earlier turn may have brought to light."""
    second = turn("Take the last.", "modify_opportunity", opportunity_id=FIBER, name="Dock automation", amount=84000)

    assert [] == flaws(first, second)


def test_search_criteria_are_not_provided_values() -> None:
    first = turn("Search for deals.", "opportunity_search", stage="Negotiation")
    second = turn("Move the dock on.", "modify_opportunity", opportunity_id=DOCK, stage="Negotiation")

    assert ["turn 2: a value to be written is never provided: stage='Negotiation'"] == flaws(first, second)


def test_values_written_earlier_are_provided() -> None:
    first = turn("Cold chain for Lumen, 70,000.", "create_new_opportunity", name="Cold chain", amount=70000)
    second = turn("Quote it in full, as a draft.", "create_quote", amount=70000, status="Draft")

    assert [] == flaws(first, second)


def test_values_in_earlier_utterances_are_provided() -> None:
    first = turn("Create Harbor Lights, ops@harborlight.example, active.", "create_new_client", EXPECT_SUCCESS=False)
    second = turn("Then use office@hl.example.", "create_new_client", name="Harbor Lights", status="Active")

    assert [] == flaws(first, second)


def test_a_value_may_be_made_of_a_reference() -> None:
    first = turn("Find Lumen.", "client_search", name="Lumen")
    second = turn("Open a renewal for them, named so.", "create_new_opportunity", name="Renewal {{turn_1.name}}")

    assert [] == flaws(first, second)


def test_implied_arguments_need_not_be_provided() -> None:
    quiet = turn("The usual for the dock.", "create_quote", amount=9000, status="Draft", IMPLIED_ARGS=["amount"])

    assert ["turn 1: a value to be written is never provided: status='Draft'"] == flaws(quiet)


def test_defaults_need_not_be_provided() -> None:
    contract = turn("A contract with Lumen.", "create_contract", client_id=LUMEN, status="Pending")

    assert [] == flaws(contract)


def test_reference_to_a_similar_record_provides_its_values() -> None:
    client = turn(
        "Add Ada Ltd, same mail and status as Lumen.",
        "create_new_client",
        email="contact@lumenfiber.example",
        status="Prospect",
    )

    assert [] == flaws(client)


@pytest.mark.parametrize("tool", ["modify_opportunity", "create_quote"])
def test_a_turn_that_is_to_be_refused_is_not_judged(tool: str) -> None:
    """It may ask for anything."""
    assert [] == flaws(turn("Do it.", tool, opportunity_id=NOWHERE, amount=-5, EXPECT_SUCCESS=False))


def test_a_read_is_not_judged() -> None:
    assert [] == flaws(turn("What is open?", "opportunity_search", stage="Negotiation", owner="Dana"))


@pytest.mark.parametrize(
    "text",
    [
        "Note: {}",
        "Note: { }",
        "Note: {0} and {1}",
        'Note: {"name": "Ada"}',
        'Note: {{"name": "Ada"}}',
        "Note: {a, b}",
        "Note: {x | x > 1}",
        "Note: f{x",
        "Note: a} b {c",
        "Note: {'a'}",
    ],
)
def test_braces_without_a_name_are_not_a_placeholder(text: str) -> None:
    """Unless there is a name, and nothing else, in them."""
    note = turn(text, "add_note", entity_type="Client", entity_id=LUMEN, content=text, EXPECT_SUCCESS=False)

    assert [] == flaws(note)


@pytest.mark.parametrize(
    "placeholder",
    [
        "{stage}",
        "{quote_id_1}",
        "{{company_name}}",
        "{{ company_name }}",
        "{{company name}}",
        "{client.name}",
        "{{turn_1}}",
        "{{turn_x.client_id}}",
        "{turn_1.client_id}",
        "{{ turn_1.client_id }}",
    ],
)
def test_a_placeholder_that_is_left_makes_a_case_invalid(placeholder: str) -> None:
    """The user would say it, the label would want it."""
    found = flaws(turn(f"Find {placeholder}.", "client_search", criteria={"name": placeholder}))

    assert [
        f"turn 1: the user's words contain a placeholder that is never filled: {placeholder}",
        f"turn 1: an expected argument contains a placeholder that is never filled: {placeholder}",
    ] == found


@pytest.mark.parametrize(
    ("reference", "complaint"),
    [
        ("{{turn_3.client_id}}", "there is no turn 3"),
        ("{{turn_0.client_id}}", "there is no turn 0"),
        ("{{turn_2.client_id}}", "turn 2 is not over yet"),
        ("{{turn_1.nickname}}", "client_search has no such field"),
        ("{{turn_1.opportunity_id}}", "client_search has no such field"),
    ],
)
def test_a_reference_needs_an_answer(reference: str, complaint: str) -> None:
    """From an earlier turn whose tool has such a field; in an utterance as in an argument."""
    said = turn(f"Show {reference}.", "contact_search")
    meant = turn("Show them.", "contact_search", criteria={"client_id": reference})
    found = [f"turn 2: a reference that no earlier turn resolves: {reference}, but {complaint}"]
    first = turn("Find Lumen.", "client_search", name="Lumen")

    assert (found, found) == (flaws(first, said), flaws(first, meant))


def test_a_refusal_answers_no_reference() -> None:
    """It brings nothing to light."""
    first = turn("Add Lumen.", "create_new_client", EXPECT_SUCCESS=False)
    second = turn("Show it.", "client_search", client_id="{{turn_1.client_id}}")

    assert ["{{turn_1.client_id}}, but turn 1 is expected to be refused"] == [
        flaw.split(": ", maxsplit=2)[2] for flaw in flaws(first, second)
    ]


@pytest.mark.parametrize(
    ("tool", "field"),
    [
        ("delete_quote", "value"),
        ("quote_prefixes", "value"),
        ("summarize_opportunities", "total_amount"),
        ("compare_quotes", "quote_id"),
        ("compare_quote_details", "total_amount"),
        ("opportunity_details", "client_id"),
        ("a_tool_of_tomorrow", "anything"),
    ],
)
def test_a_reference_may_ask_for_what_a_tool_returns(tool: str, field: str) -> None:
    first = turn("Do it.", tool, EXPECT_SUCCESS=True)
    second = turn("And?", "client_search", name=f"{{{{turn_1.{field}}}}}")

    assert [] == flaws(first, second)


@pytest.mark.parametrize(
    ("utterance", "tool", "arguments"),
    [
        ("Add Ada Ltd.", "create_new_client", {"email": "client-19bc9d79@ada.example"}),
        ("Add Ada Ltd.", "create_new_client", {"status": "Prospect"}),
        ("Add Ada Ltd.", "create_new_client", {"name": "Babbage Ltd"}),
        ("Add Ada Ltd.", "create_new_client", {"email": "contact@lumenfiber.example"}),
        ("Add Mira Okafor at Lumen.", "create_new_contact", {"title": "Head of Procurement"}),
        ("Move the dock deal to Negotiation.", "modify_opportunity", {"probability": 75}),
        ("Move the dock deal on.", "modify_opportunity", {"stage": "Negotiation"}),
        ("Move it.", "modify_opportunity", {"updates": {"stage": "Negotiation"}}),
        ("Quote the dock.", "create_quote", {"amount": 75000}),
        ("Quote the dock at 70,000.", "create_quote", {"amount": 75000}),
        ("Quote the dock, good till we say otherwise.", "create_quote", {"valid_until": "2027-03-31"}),
        ("Attach a document to the dock deal.", "upload_document", {"file_name": "document.pdf"}),
        ("Add a note to the dock deal.", "add_note", {"content": "Follow up on this opportunity next week."}),
        ("Remove it.", "delete_opportunity", {"opportunity_id": NOWHERE}),
        ("Remove it.", "delete_opportunity", {"opportunity_id": DOCK}),
        ("Huge.", "create_quote", {"amount": 10**400}),
    ],
)
def test_value_that_is_never_provided_makes_a_case_invalid(
    utterance: str, tool: str, arguments: dict[str, Any]
) -> None:
    """It was not said, not seen, and can't be looked up."""
    ((name, value),) = arguments.get("updates", arguments).items()

    (flaw,) = flaws(turn(utterance, tool, **arguments))

    assert flaw.startswith(f"turn 1: a value to be written is never provided: {name}={value!r}"[:150])


def test_value_that_only_the_expected_response_has_is_leaked() -> None:
    response = {"text": "Added null to the CRM. Key details: status=Draft, amount=$75000.0."}
    quote = turn("Quote the dock.", "create_quote", amount=75000, status="Draft", EXPECTED_RESPONSE=response)

    assert [
        "turn 1: a value to be written appears only in the expected response: amount=75000",
        "turn 1: a value to be written appears only in the expected response: status='Draft'",
    ] == flaws(quote)


def test_an_abyss_is_looked_into() -> None:
    deep: Any = "Backbone"
    for _ in range(20_000):
        deep = [deep]

    assert [] == flaws(turn("Backbone it is.", "create_quote", version=deep))


def test_our_own_cases_can_be_passed() -> None:
    cases = [ref.read() for ref in index([ROOT / "tests/data/handmade.jsonl"])]

    assert {} == {case.id: case.defects for case in cases if case.defects}


def test_columns_are_those_of_the_crm() -> None:
    """What we know by heart is what the schema says."""
    schema = (ROOT / "pytest_crmeval/postgres/schema.sql").read_text(encoding="utf-8")
    tables = dict(re.findall(r"CREATE TABLE (\w+) \((.*?)\n\);", schema, re.DOTALL))
    columns = {table: frozenset(re.findall(r"^ {4}(\w+)", body, re.MULTILINE)) for table, body in tables.items()}

    assert columns == {TABLES[entity][0]: names for entity, names in COLUMNS.items()}


def test_tools_are_those_of_the_crm() -> None:
    assert set(tools.TOOLS) == set(TOOLS)


def further(tool: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Return a further call."""
    return {"expected_tool": tool, "expected_args": arguments}


OPEN = turn(
    "Open a deal for Lumen called Ducts, 5,000, in Proposal, and note on it: Ask Kim.",
    "create_new_opportunity",
    client_id=LUMEN,
    name="Ducts",
    amount=5000,
    stage="Proposal",
)


def noted(**arguments: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Return the note that goes with the deal."""
    note = {"entity_type": "Opportunity", "entity_id": "{{turn_1.opportunity_id}}", "content": "Ask Kim", **arguments}
    return {**OPEN, "further_calls": [further("add_note", **note)]}


def test_a_further_call_may_refer_to_its_own_turn() -> None:
    assert [] == flaws(noted())


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"content": "Nobody says such things"}, "a value to be written is never provided: content="),
        ({"content": "{note}"}, "an expected argument contains a placeholder that is never filled: {note}"),
        ({"entity_id": "{{turn_1.note_id}}"}, "{{turn_1.note_id}}, but create_new_opportunity has no such field"),
        ({"entity_id": "{{turn_2.client_id}}"}, "{{turn_2.client_id}}, but turn 2 is not over yet"),
    ],
)
def test_further_calls_are_looked_at_like_others(arguments: dict[str, str], complaint: str) -> None:
    assert any(complaint in flaw for flaw in flaws(noted(**arguments), turn("List them.", "list_clients")))


def test_a_list_speaks_through_none_of_its_rows() -> None:
    """They stand in it by their ids."""
    second = turn("And?", "client_search", name="{{turn_1.name}}")
    (flaw,) = flaws(turn("List them.", "list_clients"), second)

    assert flaw.endswith("{{turn_1.name}}, but list_clients has no such field")


def test_facts_refer_like_arguments() -> None:
    """To their own turn, too; not to one that calls nothing, or to nothing at all."""
    own = turn("Show it.", "client_search", name="Acme", REPLY_FACTS=["{{turn_1.email}}"])
    astray = turn("Show it.", "client_search", name="Acme", REPLY_FACTS=["{{turn_1.colour}}", 7])

    assert [] == flaws(own)
    assert ["{{turn_1.colour}}, but client_search has no such field" in flaw for flaw in flaws(astray)] == [True]


def test_the_first_call_can_not_refer_to_its_own_turn() -> None:
    """It has not been answered."""
    (flaw,) = flaws(turn("Show it.", "view_opportunity_details", opportunity_id="{{turn_1.opportunity_id}}"))

    assert flaw.endswith("turn 1 is not over yet")


def test_values_shown_by_the_first_call_are_provided_for_further_calls() -> None:
    seen = turn("What quotes are there?", "quote_search", FURTHER_CALLS=[further("delete_quote", quote_id=CHEAP)])

    assert [] == flaws(seen)


def test_a_turn_without_a_call_has_nothing_to_be_referred_to() -> None:
    """Its words are heard all the same."""
    outside = turn("Text Kim: Ask Dana.", "", EXPECT_SUCCESS=False)
    note = turn("Then note that on Lumen.", "add_note", entity_type="Client", entity_id=LUMEN, content="Ask Dana")

    assert [] == flaws(outside, note)
    assert any(
        "turn 1 calls nothing" in flaw for flaw in flaws(outside, turn("So?", "client_search", name="{{turn_1.name}}"))
    )


def test_a_refused_turn_may_ask_for_anything_but_its_further_calls_may_not() -> None:
    """These are to succeed."""
    refused = turn("Try Lumen.", "modify_client", client_id=LUMEN, name="Unheard-of", EXPECT_SUCCESS=False)
    more = {
        **refused,
        "further_calls": [further("add_note", entity_type="Client", entity_id=LUMEN, content="Unsaid words")],
    }

    assert [] == flaws(refused)
    assert ["turn 1: a value to be written is never provided: content='Unsaid words'"] == flaws(more)
