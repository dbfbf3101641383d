"""What conversations are like up to names and numbers."""

from typing import Any

import msgspec
import pytest

from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.conversations.describe.similarity import Values, signature, values_of, wording
from tests.projects import ADA, case, turned

HARBOR = "5fcdb532-cec1-59dd-933c-2ef2b966d0b0"
VALUES = Values.of(
    names=["Harbor Light Logistics", "Bank of the North", "Smith", "Mark", "IT", "Łukasz Żak", "O'Brien", "New Dawn"],
    texts=["Proposal", "They want terms in writing."],
)


def record(**changes: Any) -> ConversationRecord:  # noqa: ANN401 (JSON)
    """Return a case with some fields changed."""
    return msgspec.convert(case("one", **changes), ConversationRecord)


def of(**changes: Any) -> ConversationRecord:  # noqa: ANN401 (JSON)
    """Return a case whose only turn is changed."""
    return msgspec.convert(turned(**changes), ConversationRecord)


@pytest.mark.parametrize(
    ("utterance", "expected"),
    [
        pytest.param("Find Harbor Light Logistics", "find <text>", id="a name"),
        pytest.param("find HARBOR LIGHT logistics", "find <text>", id="whatever its case"),
        pytest.param("find harbor light", "find <text>", id="some words of it"),
        pytest.param("What is open at Harbor?", "what is open at <text>?", id="one word with a capital"),
        pytest.param("meet me at the harbor", "meet me at the harbor", id="one word without"),
        pytest.param("Harbor's deal", "<text>'s deal", id="a genitive"),
        pytest.param("Which Smiths are there?", "which <text> are there?", id="a plural"),
        pytest.param("Harborside", "harborside", id="whole words only"),
        pytest.param("the bigger of the Norths", "the bigger of the <text>", id="not the small words of a name"),
        pytest.param("New client, please", "new client, please", id="not its ordinary words"),
        pytest.param("Mark it as paid, ask Mark", "mark it as paid, ask <text>", id="a name that is a verb"),
        pytest.param("move it to IT", "move it to <text>", id="a name that is a pronoun"),
        pytest.param("lukasz zak and O\u2019Brien", "<text> and <text>", id="accents and apostrophes aside"),
        pytest.param("Smith Harbor Light", "<text>", id="names one after the other"),
        pytest.param("on to proposal", "on to <text>", id="a text, whatever its case"),
        pytest.param("Note: they want terms in writing", "note: <text>", id="a sentence"),
        pytest.param("They want a lot", "they want a lot", id="no part of a sentence"),
        pytest.param("Find  it .", "find it", id="blanks and the last stop don't count"),
    ],
)
def test_values_of_the_case_are_masked(utterance: str, expected: str) -> None:
    """The rest remains, in small letters."""
    assert expected == wording(utterance, VALUES)


@pytest.mark.parametrize(
    "number",
    [
        *("46500", "46,500", "46.500,00", "46 500", "46.5k", "1.2m", "2 million", "$46,500.50", "€1,200", "46 500 EUR"),
        *("EUR 3", "10%", "10 %", "75 percent", "10:30", "+44 1437 555018", "(604) 555-0134", "-5", "35 grand"),
        *("two", "twenty-one", "forty-six thousand five hundred", "a hundred", "half a million", "sixty percent"),
        *("one hundred and five dollars", "a dozen"),
    ],
)
def test_numbers_are_masked(number: str) -> None:
    assert "make it <number>, please" == wording(f"Make it {number}, please.", VALUES)


@pytest.mark.parametrize(
    "date",
    [
        *(
            "2026-05-15",
            "2026-05-15T10:00:00",
            "15 May 2026",
            "15 May",
            "May 15th",
            "May 15, 2026",
            "15th of May, 2026",
        ),
        *("June", "Sept. 3", "March 2026", "Friday", "Friday, 15 May 2026", "15/05/2026", "3/31", "31.12.2026", "15th"),
        *("twenty-first of June", "Q3", "Q4 2026", "H1 2027", "may"),
    ],
)
def test_dates_are_masked(date: str) -> None:
    """Written, or spoken."""
    assert "close it by <date>, please" == wording(f"Close it by {date}, please.", VALUES)


@pytest.mark.parametrize(
    "utterance",
    ["may i see that one?", "they march on", "the second one", "what does each come to", "v2 of it"],
)
def test_words_that_only_look_like_figures_remain(utterance: str) -> None:
    """A verb is no month, and a pronoun no number."""
    assert utterance == wording(utterance, VALUES)


@pytest.mark.parametrize(
    ("utterance", "expected"),
    [
        ("Write to ada@ada.example.", "write to <email>"),
        (f"Open {HARBOR} again", "open <id> again"),
        ("Open {{turn_1.client_id}} again", "open <id> again"),
        ("Open OPP-1234 again", "open <id> again"),
        ('Note: "Call Lena, 5 days."', "note: <text>"),
        ("Call it \u201ea b\u201c or 'c d' or «e»", "call it <text> or <text> or <text>"),
        ("the brothers' deal isn't the sisters' deal", "the brothers' deal isn't the sisters' deal"),
        ("see https://files.example/a/b.pdf", "see <text>"),
    ],
)
def test_addresses_and_ids_are_masked_by_their_form(utterance: str, expected: str) -> None:
    assert expected == wording(utterance, Values.of())


def test_values_are_those_of_rows_arguments_and_facts() -> None:
    seed = {"seed_data": {"Client": {HARBOR: {"name": "Harbor Light", "address": "1 Quay"}}}}
    turn = {
        "turn_id": 1,
        "expected_tool": "client_search",
        "expected_args": {"criteria": {"name": "Lumen"}},
        "further_calls": [{"expected_tool": "contact_search", "expected_args": {"first_name": "Zoë"}}],
        "reply_facts": ["Leith", 7],
    }

    values = values_of(record(initial_entities=seed, turns=[turn]))

    assert {"harbor", "light", "1", "lumen", "zoe", "leith"} == set(values.by_word)


def test_type_of_an_entity_is_not_masked() -> None:
    """A note on a quote is not the same as a note on a deal."""
    arguments = {"entity_type": "Quote", "entity_id": HARBOR, "content": "Fine."}

    assert (
        "note on the quote: <text>"
        == signature(of(user_utterance="Note on the quote: fine", expected_args=arguments))[0][0]
    )


def test_conversations_that_differ_only_in_names_and_numbers_have_equal_signatures() -> None:
    one = of(
        user_utterance="Find Ada, over 5k.",
        expected_tool="opportunity_search",
        expected_args={"criteria": {"name": "Ada", "amount": 5000}},
    )
    other = of(
        user_utterance="find Bo Ltd, over 70,000",
        expected_tool="opportunity_search",
        expected_args={"amount": 70000, "name": "Bo Ltd"},
    )

    assert signature(one) == signature(other)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"user_utterance": "Please add Ada Ltd, ada@ada.example, active."}, id="wording"),
        pytest.param({"expected_tool": "ensure_client"}, id="tool"),
        pytest.param({"expected_args": {**ADA, "phone": "1"}}, id="argument"),
        pytest.param({"expect_success": False}, id="success"),
        pytest.param({"further_calls": [{"expected_tool": "list_clients"}]}, id="further tool"),
    ],
)
def test_conversations_with_different_words_or_calls_have_different_signatures(changes: dict[str, Any]) -> None:
    """One difference is enough."""
    assert signature(of()) != signature(of(**changes))


def test_the_order_of_turns_matters() -> None:
    """The same turns in another order are another conversation."""
    add, show = turned()["turns"][0], turned(expected_tool="list_clients", expected_args={})["turns"][0]

    one, other = (
        record(turns=[{**turn, "turn_id": number} for number, turn in enumerate(turns, start=1)])
        for turns in ((add, show), (show, add))
    )

    assert signature(one) == signature(other)[::-1]
    assert signature(one) != signature(other)
