"""What users want of notes and files: they are written as said, and read only by those who have not seen them."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from pytest_crmeval.conversations.crm.tools import check
from pytest_crmeval.conversations.generator.intents import Intent, Scenario
from pytest_crmeval.conversations.generator.scenarios.notes_and_files import SCENARIOS
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.conversations.generator.starting_rows import StartingRows
from pytest_crmeval.conversations.generator.story import Story
from pytest_crmeval.conversations.generator.wordings import VOICES, Speech, banks
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.ports.crm_calls import writes

NOW = datetime(2026, 2, 3, 9, tzinfo=UTC)
THROWS = 20
LEAST = {"plain": 5, "terse": 4, "chatty": 4, "indirect": 4}
WRITES = [scenario for scenario in SCENARIOS if writes(scenario.tools[0])]
READS = [scenario for scenario in SCENARIOS if not writes(scenario.tools[0])]
each_move = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
each_write = pytest.mark.parametrize("scenario", WRITES, ids=lambda scenario: scenario.name)
each_read = pytest.mark.parametrize("scenario", READS, ids=lambda scenario: scenario.name)


def begun(scenario: Scenario, throw: int) -> Story:
    """Return a story with notes or files in most of its worlds."""
    chance = SeededRandom("papers", scenario.name, throw)
    theme = chance.one_of((scenario.entity, "Quote", "Contract"))
    world = StartingRows(chance=chance, today=NOW.date(), size=3, theme=theme).build()
    return Story(chance=chance, world=world, now=NOW, currency="EUR", number=4)


def played(scenario: Scenario) -> Iterator[tuple[Story, Intent]]:
    """Yield the scenario as often as it fits, which must be often enough to tell."""
    found = [
        (story, intent)
        for story in (begun(scenario, throw) for throw in range(THROWS))
        if (intent := scenario.intent(story))
    ]
    assert len(found) >= THROWS // 10
    yield from found


@each_write
def test_written_row_has_the_arguments_of_the_call(scenario: Scenario) -> None:
    """As a record that the turn makes, with what the call says and nothing else."""
    for story, intent in played(scenario):
        written = story.world.rows[-1]

        assert "" == check(ToolCall(tool=intent.tool, arguments=dict(intent.args)))
        assert dict(intent.args) == written.columns
        assert f"{{{{turn_4.{scenario.entity.lower()}_id}}}}" == written.ref
        assert intent.about
        assert (intent.args["entity_id"], intent.args["entity_type"]) == (intent.about.ref, intent.about.entity)


@each_move
def test_a_move_says_every_text_to_the_letter(scenario: Scenario) -> None:
    """In every voice: notes, names of files and people, addresses."""
    speech = Speech()
    for story, intent in played(scenario):
        texts = [value for name, value in intent.args.items() if not name.startswith("entity_")]
        for voice in VOICES:
            said = speech.say(story.chance, scenario.name, intent.slots, voice)

            assert [] == [text for text in texts if text not in said]


@each_read
def test_values_already_seen_are_not_asked_for(scenario: Scenario) -> None:
    """Notes and files are all shown at once: then there is nothing left to ask for."""
    for story, intent in played(scenario):
        story.next_turn(intent)

        assert scenario.intent(story) is None


@each_read
def test_facts_are_values_in_the_crm(scenario: Scenario) -> None:
    """How many, or what they say, or what they are called."""
    for story, intent in played(scenario):
        rows = story.world.of(scenario.entity)
        output = [str(row["content"] or row["file_name"]).removesuffix(".") for row in rows]

        assert intent.facts
        assert [] == [fact for fact in intent.facts if fact not in (len(rows), *output)]
        assert (rows if intent.tool.startswith("list_") else []) == list(intent.looked_at)


@each_move
def test_every_voice_has_enough_wordings(scenario: Scenario) -> None:
    texts = {voice: {one.text for one in banks()[scenario.name] if one.voice == voice} for voice in VOICES}

    assert [] == [voice for voice, least in LEAST.items() if len(texts[voice]) < least]


def test_counted_notes_include_those_of_earlier_turns() -> None:
    notes = {scenario.name: scenario for scenario in SCENARIOS}
    counts = []
    for throw in range(THROWS):
        story = begun(notes["count_notes"], throw)
        before = len(story.world.of("Note"))
        story.next_turn(notes["note_on_client"].intent(story) or Intent(tool="", args={}, slots={}))
        if intent := notes["count_notes"].intent(story):
            counts.append((before + 1, *(intent.facts or ())))

    assert counts
    assert [] == [pair for pair in counts if pair[0] != pair[1]]
