"""What users want of clients, of the people there, and of other companies."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from pytest_crmeval.conversations.crm.tools import check
from pytest_crmeval.conversations.dataset.knowledge import Knowledge
from pytest_crmeval.conversations.dataset.records import SeedData
from pytest_crmeval.conversations.generator.intents import Intent, Scenario
from pytest_crmeval.conversations.generator.naming import Referent
from pytest_crmeval.conversations.generator.rows import World
from pytest_crmeval.conversations.generator.scenarios import client_questions, clients, companies, contacts
from pytest_crmeval.conversations.generator.scenarios.details import found
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.conversations.generator.story import Story
from pytest_crmeval.conversations.generator.wordings import VOICES, Speech, banks
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.state import TABLES
from pytest_crmeval.ports.crm_calls import writes

THROWS = 30
SCENARIOS = (*clients.SCENARIOS, *client_questions.SCENARIOS, *contacts.SCENARIOS, *companies.SCENARIOS)
WRITES = [scenario for scenario in SCENARIOS if writes(scenario.tools[0])]
CHANGES = [scenario for scenario in SCENARIOS if scenario.tools[0].startswith("modify_")]
READS = [scenario for scenario in SCENARIOS if not writes(scenario.tools[0])]
each_write = pytest.mark.parametrize("scenario", WRITES, ids=lambda scenario: scenario.name)
each_change = pytest.mark.parametrize("scenario", CHANGES, ids=lambda scenario: scenario.name)
LEAST = {"plain": 5, "terse": 4, "chatty": 4, "indirect": 4}


def output(*seed: object) -> Story:
    """Return a story with look-alikes among clients and people."""
    chance, world = SeededRandom(*seed), World()
    firms = (("Nordvik Freight", "Active"), ("Nordvik Foods", "Prospect"), ("Lumen Fiber", "Inactive"))
    for name, status in firms:
        word = name.split()[1].lower()
        columns = {"name": name, "status": status, "email": f"info@{word}.example", "industry": "Shipping"}
        more = {"owner": "Rufus Eddington", "phone": "+44 113 496 0312", "address": "68 Quay Street, Leith"}
        world.add_seeded("Client", chance.uuid(), {**columns, **more}, known_as=name.split()[0])
    for number, first in enumerate(("Ada", "Ben", "Adaeze", "Eve")):
        client = world.of("Client")[number % 2]
        columns = {"first_name": first, "last_name": "Okafor", "client_id": client.ref, "title": f"Buyer {number}"}
        more = {"email": f"{first}@buyers.example".lower(), "phone": f"+44 113 496 033{number}"}
        world.add_seeded("Contact", chance.uuid(), {**columns, **more}, feminine=first != "Ben")
    for name, kind in (("Brackenshaw Supply", "Vendor"), ("Tarnfoot Group", "Partner"), ("Drumlin Systems", "Partner")):
        columns = {"name": name, "type": kind, "industry": "Mining", "address": "2 Albion Row, Leeds"}
        world.add_seeded("Company", chance.uuid(), columns, known_as=name.split()[0])
    return Story(chance=chance, world=world, now=datetime(2026, 3, 12, tzinfo=UTC), currency="EUR")


def played(scenario: Scenario) -> Iterator[tuple[Story, Intent]]:
    """Yield the intents of many tries on the same rows; every other write is about the current subject."""
    for throw in range(THROWS):
        story = output(scenario.name, throw)
        if throw % 2 and scenario in WRITES:
            story.subject = story.pick(scenario.entity)
        intent = scenario.intent(story)
        assert intent is not None
        yield story, intent


def said(scenario: Scenario, story: Story, intent: Intent, voice: str = "plain") -> str:
    """Return the words for a intent."""
    return Speech().say(story.chance, intent.phrase or scenario.name, intent.slots, voice)


def test_the_tool_takes_every_call() -> None:
    """Whatever the chance say, arguments are there and of their kind."""
    for scenario in SCENARIOS:
        for _, intent in played(scenario):
            assert "" == check(ToolCall(tool=intent.tool, arguments=dict(intent.args))), scenario
            assert [intent.tool] == list(scenario.tools), scenario


def test_scenarios_have_wordings_in_every_voice() -> None:
    """Enough of them, and none that leaves a place empty."""
    for scenario in SCENARIOS:
        for place, (story, intent) in enumerate(played(scenario)):
            voices = [wording.voice for wording in banks()[intent.phrase or scenario.name]]
            words = said(scenario, story, intent, VOICES[place % len(VOICES)])

            assert not {"{", "}", "[", "]", "|"} & set(words), scenario
            assert all(least <= voices.count(voice) for voice, least in LEAST.items()), scenario


@each_write
def test_every_written_value_is_in_the_utterance(scenario: Scenario) -> None:
    for story, intent in played(scenario):
        knowledge = Knowledge(SeedData())
        knowledge.add_utterance(said(scenario, story, intent))
        unsaid = [name for name, value in intent.args.items() if not knowledge.includes(name, value, list)]

        assert [name for name in intent.args if name.endswith("_id")] == unsaid


@each_write
def test_the_world_is_as_the_crm_will_be(scenario: Scenario) -> None:
    for story, intent in played(scenario):
        assert intent.about is not None
        assert intent.args.items() <= {**intent.about.columns, TABLES[intent.about.entity][1]: intent.about.ref}.items()
        addresses = [client["email"].lower() for client in story.world.of("Client")]
        assert len(addresses) == len(set(addresses))


@each_change
def test_changes_and_corrections_change_the_value(scenario: Scenario) -> None:
    """The value was another one before, and is yet another one when the user puts it right."""
    for story, intent in played(scenario):
        assert intent.about is not None
        (fix,) = intent.fixes
        before = story.world.seed[scenario.entity][intent.about.ref].get(fix.column)
        after, words = fix.draw(story)

        assert before != intent.args[fix.column] == fix.said
        assert after == words != fix.said


def test_a_question_is_asked_once() -> None:
    """Who has seen the answer would give it from memory."""
    for scenario in READS:
        for story, intent in played(scenario):
            story.seen |= {row.ref for row in story.world.rows}

            assert scenario.intent(story) is None, scenario
            assert intent.skills, scenario


@pytest.mark.parametrize("column", ["email", "phone", "owner", "status", "title", "address", "type", "industry"])
def test_a_question_for_one_thing_shows_one_record_that_has_it(column: str) -> None:
    """Ada and Adaeze, both of them Okafor, are not taken for each other."""
    scenarios = [
        scenario for scenario in READS if scenario.name.startswith("ask_") and scenario.name.endswith(f"_{column}")
    ]
    for story, intent in (pair for scenario in scenarios for pair in played(scenario)):
        assert intent.about is not None
        key = TABLES[intent.about.entity][1]
        shown = story.world.rows if key in intent.args else found(story, intent.about.entity, intent.args)

        assert [intent.about] == [row for row in shown if intent.args.get(key, row.ref) == row.ref]
        assert intent.about[column] == ", ".join(map(str, intent.facts or ()))


def test_ensuring_a_client_creates_it_only_if_it_is_missing() -> None:
    grown = set()
    for story, intent in played(next(scenario for scenario in SCENARIOS if scenario.name == "ensure_client_exists")):
        assert intent.about is not None
        grown.add((intent.about.seeded, len(story.world.of("Client"))))

    assert {(True, 3), (False, 4)} == grown


def test_part_of_a_name_finds_all_that_have_it() -> None:
    story = output()
    intents = [client_questions.find_clients_named(output(throw)) for throw in range(THROWS)]
    both = [intent for intent in intents if intent and intent.args == {"name": "Nordvik"}]

    assert ["Nordvik Freight", "Nordvik Foods"] == [row.full_name for row in both[0].looked_at]
    assert "disambiguation" in both[0].skills
    assert 4 == len(found(story, "Contact", {"last_name": "oKAFOR"}))


def test_questions_about_missing_kinds_of_companies_occur() -> None:
    """The reply has to say that there are none."""
    intents = [companies.companies_of_type(output(throw)) for throw in range(THROWS)]

    assert {"Competitor"} == {intent.args["type"] for intent in intents if intent and intent.facts == ["nothing"]}


def test_things_are_counted_once() -> None:
    story = output()
    intent = client_questions.count_everything(story)

    assert intent is not None
    assert intent.facts in ([3], [4])
    assert client_questions.count_everything(story) is None


def test_renamed_client_is_known_by_its_new_name() -> None:
    """If nothing of that is left."""
    for story, intent in played(next(scenario for scenario in SCENARIOS if scenario.name == "rename_client")):
        assert intent.about is not None
        assert intent.about.known_as in intent.about.full_name
        assert 1 == len(found(story, "Client", {"name": intent.about.full_name}))


@pytest.mark.parametrize(
    "scenario", [scenario for scenario in CHANGES if scenario.entity == "Contact"], ids=lambda scenario: scenario.name
)
def test_client_counts_as_seen_if_a_person_is_found_by_it(scenario: Scenario) -> None:
    """Ben at Nordvik Foods takes two looks; Ben Okafor takes one."""
    looks = set()
    for story, intent in played(scenario):
        words = intent.slots["contact"]
        assert isinstance(words, Referent)
        looks.add(("Nordvik" in words.object, *(row.entity for row in intent.looked_at)))
        assert all(row is story.world.client_of(intent.about) for row in intent.looked_at if intent.about)

    assert {(True, "Client"), (False,)} == looks
