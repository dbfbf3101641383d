"""The bundled hard conversations are what the documentation promises of them."""

import json
import re
from collections import Counter
from datetime import date
from fractions import Fraction

import pytest

from pytest_crmeval import cli
from pytest_crmeval.conversations.calibration.weak_agents import WEAK_AGENTS
from pytest_crmeval.conversations.dataset.files import decode
from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.conversations.describe.description import Description, describe
from pytest_crmeval.conversations.generator import generate_hard, line_of
from pytest_crmeval.conversations.generator.hard.policies import FAMILIES
from pytest_crmeval.conversations.generator.hard.policies.new_records import currency
from pytest_crmeval.conversations.generator.hard.scene import Scene
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.conversations.generator.wordings import banks
from pytest_crmeval.domain.state import TABLES
from tests.reference_plays import HARD

SKILLS = {
    *("large-world", "policy", "dependent-steps", "reacting-user", "long-range", "trouble", "injection"),
    *(agent.skill for agent in WEAK_AGENTS),
}


@pytest.fixture(scope="module")
def records() -> list[ConversationRecord]:
    """Return the bundled conversations."""
    return [decode(line, HARD, number) for number, line in enumerate(HARD.read_bytes().splitlines(), start=1)]


@pytest.fixture(scope="module")
def described(records: list[ConversationRecord]) -> Description:
    """Return the distribution of every fourth, because masking takes long."""
    return describe(records[::4])


def test_the_hard_bundle_is_what_the_generator_writes() -> None:
    """Crmeval generate --level hard --seed 42 --count 400."""
    assert HARD.read_text(encoding="utf-8") == "".join(map(line_of, generate_hard(42, 400)))


def test_bundle_is_small_enough_for_git() -> None:
    assert HARD.stat().st_size < 15_000_000


def test_lint_of_valid_cases_prints_no_findings(capsys: pytest.CaptureFixture[str]) -> None:
    status = cli.main(["lint", str(HARD), "--format", "json"])
    found = {kind: shown["examples"] for kind, shown in json.loads(capsys.readouterr().out)["kinds"].items()}

    assert 0 == status
    assert {} == {kind: examples for kind, examples in found.items() if examples}


def test_a_quarter_is_held_out(records: list[ConversationRecord]) -> None:
    assert {"train": 300, "test": 100} == Counter(record.split for record in records)


def test_every_case_needs_several_skills(records: list[ConversationRecord]) -> None:
    tags = Counter(tag for record in records for tag in record.tags)

    for record in records:
        assert "hard" in record.tags, record.conversation_id
        assert len(SKILLS & {*record.tags}) >= 5, record.conversation_id
    assert {} == {skill: tags[skill] for skill in SKILLS if tags[skill] < 240}


def test_every_case_has_a_large_crm_with_pages(records: list[ConversationRecord]) -> None:
    for record in records:
        seed = record.initial_entities.seed_data
        assert 150 <= sum(len(getattr(seed, entity.lower())) for entity in TABLES) <= 600, record.conversation_id
        assert 20 == record.page_size


def test_names_are_similar(records: list[ConversationRecord]) -> None:
    """Two clients whose names begin with the same words, in every case."""
    for record in records:
        names = (row["name"].split() for row in record.initial_entities.seed_data.client.values())
        assert max(Counter(tuple(name[:2]) for name in names).values()) > 1, record.conversation_id


def test_every_family_of_rules_occurs(records: list[ConversationRecord]) -> None:
    titles = Counter(
        line.removeprefix("- ").partition(":")[0] for record in records for line in record.policy.splitlines()
    )

    assert len(FAMILIES) >= 12
    assert sum(number < 120 for number in titles.values()) >= len(FAMILIES)


def test_utterances_have_many_wordings(described: Description) -> None:
    assert len(described.wordings) >= 0.6 * described.turns
    assert max(described.wordings.values()) <= 0.02 * described.turns
    assert 1 == described.likeness.most


def test_small_talk_is_seldom_repeated(records: list[ConversationRecord]) -> None:
    said = [turn.user_utterance for record in records for turn in record.turns]
    used = [sum(text.startswith(talk.text) for text in said) for talk in banks()["hard_small_talk"]]

    assert max(used) <= 3
    assert sum(used) > 200


def test_users_correct_themselves_and_insist_three_times(records: list[ConversationRecord]) -> None:
    turns = [turn.failure_category for record in records for turn in [*record.turns, record.turns[0]]]
    corrections = [call for record in records for turn in record.turns for call in turn.mistakes.get("forgets", [])]

    assert ["policy"] * 4 in [turns[place : place + 4] for place in range(len(turns))]
    assert {"add_note", "modify_opportunity"} == {call.expected_tool for call in corrections}
    assert any("amount" in call.expected_args for call in corrections)


def test_no_amount_is_halfway_between_two_round_ones() -> None:
    """Some round it up, others to the nearest even number."""
    for seed in range(300):
        chance = SeededRandom("currency", seed)
        scene = Scene(chance=chance, today=date(2026, 3, 4), currency="EUR")
        ((request,),) = currency(scene)
        rate = Fraction(re.findall(r"converted at (\d\.\d\d) ", scene.rules[0])[0])

        assert scene.amount() % 5, seed
        assert 5 != Fraction(request.slots["amount"].split()[1].replace(",", "")) * rate % 10, seed


def test_another_seed_gives_other_conversations(records: list[ConversationRecord]) -> None:
    other = next(generate_hard(7, 1))

    assert other.turns != records[0].turns
    assert line_of(other) == line_of(next(generate_hard(7, 1)))
