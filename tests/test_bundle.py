"""The bundled conversations are what the documentation promises of them."""

import json
from collections import Counter
from pathlib import Path

import pytest

from pytest_crmeval import cli
from pytest_crmeval.conversations.crm.tools import TOOLS
from pytest_crmeval.conversations.dataset.files import decode
from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.conversations.describe.description import Description, describe
from pytest_crmeval.conversations.describe.similarity import signature
from pytest_crmeval.conversations.generator import generate, line_of
from pytest_crmeval.ports.crm_calls import writes

BUNDLE = Path(__file__).parents[1] / "evals" / "data" / "crm.jsonl"
VOICES = ("terse", "chatty", "indirect", "typos", "two-requests", "correction")
SKILLS = (
    *("lookup", "disambiguation", "multi-write", "refusal", "clarification", "absence", "out-of-scope", "recovery"),
    *("arithmetic", "date", "comparison", "aggregation", "chain", "pronoun", "description", "creation", "deletion"),
)


@pytest.fixture(scope="module")
def records() -> list[ConversationRecord]:
    """Return the bundled conversations."""
    lines = BUNDLE.read_bytes().splitlines()
    return [decode(line, BUNDLE, number) for number, line in enumerate(lines, start=1)]


@pytest.fixture(scope="module")
def described(records: list[ConversationRecord]) -> Description:
    """Return their distribution."""
    return describe(records)


def test_the_bundle_is_what_the_generator_writes(records: list[ConversationRecord]) -> None:
    """To the letter, so that everybody can make it again: crmeval generate --seed 42 --count 1200."""
    assert 1200 == len(records)
    assert BUNDLE.read_text(encoding="utf-8") == "".join(map(line_of, generate(42, 1200)))


def test_bundle_is_small_enough_for_git() -> None:
    assert BUNDLE.stat().st_size < 8_000_000


def test_lint_of_valid_cases_prints_no_findings(capsys: pytest.CaptureFixture[str]) -> None:
    status = cli.main(["lint", str(BUNDLE), "--format", "json"])
    found = {kind: shown["examples"] for kind, shown in json.loads(capsys.readouterr().out)["kinds"].items()}

    assert 0 == status
    assert {} == {kind: examples for kind, examples in found.items() if examples}


def test_the_levels_have_the_published_shares(described: Description) -> None:
    """About 23, 52 and 25 percent."""
    assert {"simple": 276, "medium": 624, "complex": 300} == described.complexity


def test_every_tool_is_called_often_enough_to_count(described: Description) -> None:
    assert {} == {tool: described.tools[tool].total for tool in sorted(TOOLS) if described.tools[tool].total < 15}


def test_one_turn_in_ten_must_be_refused_or_clarified(described: Description) -> None:
    """It is refused, asked back about, found to be about nothing, or not for the CRM."""
    assert 0.08 < described.behaviours["any"] / described.turns < 0.13


def test_bundle_has_many_companies_and_people(described: Description) -> None:
    assert described.names["companies"] >= 300
    assert described.names["people"] >= 500


def test_utterances_have_many_wordings(described: Description) -> None:
    """At least 1,000 different wordings, names and numbers aside, none of which is heard all the time."""
    assert len(described.wordings) >= 1000
    assert max(described.wordings.values()) <= 0.005 * described.turns


def test_striking_openings_are_not_repeated(records: list[ConversationRecord]) -> None:
    said = [turn.user_utterance or "" for record in records for turn in record.turns]
    striking = ("on a napkin", "Finance gave me a number", "We've shuffled things around")

    assert {} == {words: number for words in striking if (number := sum(words in text for text in said)) > 3}


@pytest.mark.parametrize("tag", [*VOICES, *SKILLS])
def test_every_voice_and_skill_occurs(tag: str, described: Description) -> None:
    """Often enough to be reported by."""
    assert described.tags.get(tag, 0) >= 30


def test_tags_say_what_is_written(records: list[ConversationRecord]) -> None:
    """By the calls that are to succeed: no more tags than deeds, and no fewer."""
    deeds = {"create_new_contact": "creation", "modify_quote": "update", "delete_quote": "deletion", "add_note": "note"}
    for record in records:
        calls = [turn.expected_tool for turn in record.turns if turn.expect_success]
        calls += [call.expected_tool for turn in record.turns for call in turn.further_calls]
        done = [call for call in calls if writes(call)]

        assert {tag for tool, tag in deeds.items() if tool in done} <= set(record.tags), record.conversation_id
        assert (len(done) > 1) is ("multi-write" in record.tags), record.conversation_id
        assert ("note" in record.tags) is ("add_note" in done), record.conversation_id


def test_companies_and_people_have_similar_names(records: list[ConversationRecord]) -> None:
    """Two firms whose names begin alike in every third conversation, three people of a name in some dozen."""
    firms = people = 0
    for record in records:
        seed = record.initial_entities.seed_data
        starts = Counter(row["name"].split()[0] for row in seed.client.values())
        names = Counter(row["last_name"] for row in seed.contact.values())
        firms += max(starts.values()) > 1
        people += max(names.values(), default=0) > 2

    assert firms > 400
    assert people > 50


def test_records_are_seldom_called_by_their_id(described: Description) -> None:
    """But by name, by what they are, by a pronoun."""
    assert described.ways["said"] < 0.1 * sum(described.ways.values())


def test_chains_have_three_to_five_segments(described: Description) -> None:
    assert {3, 4, 5} == set(described.chains)


def test_a_quarter_is_held_out(described: Description) -> None:
    assert 0.2 < described.splits["test"] / described.conversations < 0.3


def test_test_split_has_no_conversation_like_one_of_the_train_split(records: list[ConversationRecord]) -> None:
    seen = {signature(record) for record in records if record.split == "train"}

    assert [] == [record.conversation_id for record in records if record.split == "test" and signature(record) in seen]


def test_at_most_three_conversations_are_alike(described: Description) -> None:
    """Up to names and numbers."""
    assert described.likeness.most <= 3


def test_conversations_take_place_on_many_days(described: Description) -> None:
    """Conversations take place on many days."""
    assert described.clock.unsaid == 0
    assert described.clock.days > 200
