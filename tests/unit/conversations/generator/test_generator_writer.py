"""Whole conversations, as they are written."""

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from pytest_crmeval.conversations.dataset.files import decode
from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.conversations.generator import generate, line_of

NOWHERE = Path("generated.jsonl")


@pytest.fixture(scope="module")
def records() -> list[ConversationRecord]:
    """Return some conversations."""
    return list(generate(3, 160))


def test_the_same_seed_writes_the_same_letters() -> None:
    """The first ones of another number of conversations are others: shares are kept for every number."""
    assert [*map(line_of, generate(5, 12))] == [*map(line_of, generate(5, 12))]
    assert [*map(line_of, generate(5, 12))] != [*map(line_of, generate(6, 12))]


def test_a_line_can_be_read_back(records: list[ConversationRecord]) -> None:
    for record in records:
        line = line_of(record)

        assert line == line_of(decode(line.encode(), NOWHERE, 1))


def test_lines_hold_no_more_than_they_must(records: list[ConversationRecord]) -> None:
    """What is not there is not written, so that 1,200 of them are small."""
    for record in records:
        assert ":null" not in line_of(record)
        assert 12_000 > len(line_of(record))


def test_ids_tell_what_a_conversation_is_about(records: list[ConversationRecord]) -> None:
    for record in records:
        kind, level, _ = re.fullmatch(r"(?:chain-)?(\w+)-(\w+)-(\d{4})", record.conversation_id).groups()  # type: ignore[union-attr] # it matches

        assert level == record.complexity_level
        assert kind in {"client", "contact", "company", "deal", "quote", "contract", "document", "note"}


def test_a_user_says_what_day_it_is_before_it_matters(records: list[ConversationRecord]) -> None:
    relative = re.compile(
        r"\b((?:days|weeks|year) from (?:today|now)|of next month|of this year|year-end|in \w+ (?:days|weeks))\b"
    )
    met = 0
    for record in records:
        text = ""
        for turn in record.turns:
            text += turn.user_utterance + "\n"
            if relative.search(turn.user_utterance) and turn.expect_success:
                met += 1
                assert str(record.now.year) in text if record.now else False, (record.conversation_id, text)

    assert met


def test_two_requests_are_two_calls(records: list[ConversationRecord]) -> None:
    for record in records:
        joined = any(turn.further_calls for turn in record.turns)

        assert joined == ("two-requests" in record.tags)


def test_the_second_request_neither_undoes_nor_overtakes_the_first(records: list[ConversationRecord]) -> None:
    joined = [turn for record in records for turn in record.turns if turn.further_calls]

    assert len(joined) > 15
    for turn in joined:
        (second,) = turn.further_calls
        same = set(map(str, turn.expected_args.values())) & set(map(str, second.expected_args.values()))
        own = any(f"{{{{turn_{turn.turn_id}." in str(value) for value in second.expected_args.values())
        if own or any(len(value) == 36 for value in same):
            columns = {name for name in second.expected_args if not name.endswith("_id")}

            assert not columns & set(turn.expected_args), turn.user_utterance
            assert not second.expected_tool.startswith(("delete_", "cancel_")), turn.user_utterance


def test_user_answers_a_clarifying_question(records: list[ConversationRecord]) -> None:
    answers = [after for record in records for turn, after in pairwise(record.turns) if turn.reply_asks]

    assert len(answers) > 5
    assert [] == [after.user_utterance for after in answers if after.reply_asks]


def test_corrections_change_the_value_of_the_turn_before(records: list[ConversationRecord]) -> None:
    """The same record, another value."""
    corrected = [record for record in records if "correction" in record.tags]

    assert len(corrected) > 5


def test_a_chain_says_how_its_segments_end(records: list[ConversationRecord]) -> None:
    chains = [record for record in records if record.chain_id]
    outcomes = Counter(each.expected_outcome for one in chains for each in one.cumulative_context.segment_summaries)

    assert chains
    assert {"success", "failure"} >= set(outcomes)
    for chain in chains:
        assert (chain.segment_boundaries or [0])[-1] == len(chain.turns)


def test_no_placeholder_is_left(records: list[ConversationRecord]) -> None:
    for record in records:
        assert not re.search(r"[{}\[\]]", json.dumps([turn.user_utterance for turn in record.turns])[1:-1])


@pytest.mark.parametrize("seed", [153, -1, 10**12])
def test_conversations_can_be_generated_from_any_seed(seed: int) -> None:
    assert 100 == len(list(generate(seed, 100)))


def test_a_small_set_has_something_held_out() -> None:
    """About a quarter, as in large ones."""
    splits = [record.split for record in generate(7, 50)]

    assert 9 <= splits.count("test") <= 14


def test_conversation_has_at_most_one_voice(records: list[ConversationRecord]) -> None:
    """One conversation has one voice, or none of its own."""
    for record in records:
        assert len({"terse", "chatty", "indirect"} & set(record.tags)) <= 1
