"""What can't be done, or not yet: it is refused as the CRM refuses it, leaves no trace, and can be put right."""

from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from pytest_crmeval.conversations.crm.tools import check
from pytest_crmeval.conversations.dataset.knowledge import expected_calls, unknown_arguments
from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.conversations.generator.intents import Intent, Scenario
from pytest_crmeval.conversations.generator.rows import World
from pytest_crmeval.conversations.generator.scenarios import (
    absent_records,
    ambiguous_requests,
    missing_details,
    refused_by_data,
    refused_formats,
    refused_values,
)
from pytest_crmeval.conversations.generator.scenarios.follow_ups import OpenRequest, answer, put_right
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.conversations.generator.starting_rows import StartingRows
from pytest_crmeval.conversations.generator.story import Story
from pytest_crmeval.conversations.generator.wordings import VOICES, Speech, banks
from pytest_crmeval.domain.messages import ToolCall

NOW = datetime(2026, 2, 3, 9, tzinfo=UTC)
THROWS = 12
LEAST = {"plain": 5, "terse": 4, "chatty": 4, "indirect": 4}
BY_DATA = refused_by_data.SCENARIOS
BY_RULE = (*refused_values.SCENARIOS, *refused_formats.SCENARIOS)
QUESTIONS = (*ambiguous_requests.SCENARIOS, *missing_details.SCENARIOS)
ALL = (*BY_DATA, *BY_RULE, *QUESTIONS, *absent_records.SCENARIOS)
ENTITIES = {"client_search": "Client", "contact_search": "Contact", "opportunity_search": "Opportunity"}


def each(scenarios: tuple[Scenario, ...]) -> pytest.MarkDecorator:
    """Run a test for each of the scenarios."""
    return pytest.mark.parametrize("scenario", scenarios, ids=lambda scenario: scenario.name)


def shown(made: World) -> dict[str, dict[str, Any]]:
    """Return what the CRM holds now."""
    return {f"{place} {row.ref}": deepcopy(row.columns) for place, row in enumerate(made.rows)}


def begun(scenario: Scenario, throw: int) -> Story:
    """Return a story; for what is deleted twice, one in which something was deleted."""
    chance = SeededRandom("trouble", scenario.name, throw)
    world = StartingRows(chance=chance, today=NOW.date(), size=3, theme=scenario.entity or "Client").build()
    story = Story(chance=chance, world=world, now=NOW, currency="EUR")
    if scenario.make in (refused_by_data.delete_again, refused_by_data.open_what_is_gone) and (
        quote := story.pick("Quote")
    ):
        world.remove(quote)
        story.next_turn(Intent(tool="delete_quote", args={"quote_id": quote.ref}, slots={}))
    return story


def played(scenario: Scenario) -> Iterator[tuple[Story, Intent]]:
    """Yield the scenario as often as it fits, which must be often enough to tell."""
    made = 0
    for throw in range(THROWS):
        story = begun(scenario, throw)
        before = shown(story.world)
        if intent := scenario.intent(story):
            made += 1
            assert before == shown(story.world), "what is not done leaves no trace"
            yield story, intent
    assert made >= THROWS // 10


@each(ALL)
def test_scenario_has_utterances_in_every_voice(scenario: Scenario) -> None:
    """With every value to the letter, and no capital where there is none in a file's name."""
    speech = Speech()
    for story, intent in played(scenario):
        for voice in VOICES:
            text = speech.say(
                story.chance, intent.phrase or scenario.name, intent.slots, voice, optional=intent.optional
            )
            texts = {
                name: value for name, value in intent.slots.items() if isinstance(value, str) and name != "request"
            }

            assert [] == [value for value in texts.values() if value.casefold() not in text.casefold()]
            assert texts.get("file", "") in text


@each(BY_RULE)
def test_a_rule_refuses_in_the_words_that_are_expected(scenario: Scenario) -> None:
    """Whatever the CRM holds; except for the clock, which the arguments alone don't show."""
    for story, intent in played(scenario):
        output = check(ToolCall(tool=intent.tool, arguments=dict(intent.args)))
        if intent.error == refused_values.OVER:
            output = "today or in the future" if intent.args["close_date"] < story.now.date().isoformat() else ""

        assert intent.error in output
        assert "refusal" in intent.skills


def is_so(story: Story, intent: Intent) -> bool:
    """Whether there is a reason for a refusal in the rows."""
    if intent.error == refused_by_data.MISSING:
        return not {row.ref for row in story.world.rows} & set(intent.args.values())
    if intent.error == refused_by_data.TAKEN:
        others = [row for row in story.world.of("Client") if row.ref != intent.args.get("client_id")]
        return intent.args["email"].casefold() in [row["email"].casefold() for row in others]
    deal = story.world.row(intent.args["opportunity_id"])
    return deal.is_closed if intent.error == refused_by_data.CLOSED else deal["close_date"] < NOW.date().isoformat()


@each(BY_DATA)
def test_calls_are_refused_because_of_the_data(scenario: Scenario) -> None:
    """The call is well-formed; the record is closed, over, not there, or has the address already."""
    for story, intent in played(scenario):
        assert "" == check(ToolCall(tool=intent.tool, arguments=dict(intent.args)))
        assert is_so(story, intent)


@each(ambiguous_requests.SCENARIOS)
def test_ambiguous_request_fits_several_rows(scenario: Scenario) -> None:
    for story, intent in played(scenario):
        assert isinstance(intent, OpenRequest)
        ((column, value),) = intent.args.items()
        found = [
            row
            for row in story.world.of(intent.rows[0].entity)
            if (row[column] == value if column.endswith("_id") else value.casefold() in row[column].casefold())
        ]

        assert found == list(intent.rows)
        assert 1 < len(found)
        assert value not in [row.full_name for row in found]
        assert intent.asks


@each(ambiguous_requests.SCENARIOS)
def test_no_clarification_about_a_record_just_mentioned(scenario: Scenario) -> None:
    for throw in range(THROWS):
        story = begun(scenario, throw)
        story.seen = {row.ref for row in story.world.rows}

        assert scenario.intent(story) is None


@each(missing_details.SCENARIOS)
def test_request_with_a_missing_detail_expects_a_question(scenario: Scenario) -> None:
    """Nothing can be called before."""
    for _, intent in played(scenario):
        assert ("", {}, True) == (intent.tool, intent.args, intent.asks)


@each(tuple(scenario for scenario in absent_records.SCENARIOS if scenario.tools))
def test_searched_names_are_in_no_row(scenario: Scenario) -> None:
    for story, intent in played(scenario):
        rows = story.world.of(ENTITIES[intent.tool])
        words = [str(value).casefold() for value in intent.args.values()]

        assert ["nothing"] == list(intent.facts or ())
        assert [] == [row.full_name for row in rows if any(word in row.full_name.casefold() for word in words)]


@each(tuple(scenario for scenario in absent_records.SCENARIOS if not scenario.tools))
def test_request_outside_of_the_crm_is_declined(scenario: Scenario) -> None:
    """Nothing is called, and nothing is asked."""
    for _, intent in played(scenario):
        assert ("", {}, True, False) == (intent.tool, intent.args, intent.declined, intent.asks)


SETTLED = tuple(
    scenario
    for scenario in ALL
    if any(
        isinstance(intent := scenario.intent(begun(scenario, throw)), OpenRequest) and intent.follow_up
        for throw in range(20)
    )
)


def gone_on(scenario: Scenario) -> Iterator[tuple[Story, Intent, Intent, dict[str, dict[str, Any]]]]:
    """Yield the story after the scenario and what follows it, both intents, and what the CRM held in between."""
    for story, intent in played(scenario):
        story.next_turn(intent)
        between = shown(story.world)
        if following := put_right(story) or answer(story):
            yield story, intent, following, between


@each(SETTLED)
def test_following_request_can_be_carried_out(scenario: Scenario) -> None:
    """The arguments are those of the tool, and the CRM is not as before."""
    for story, _, following, between in gone_on(scenario):
        assert "" == check(ToolCall(tool=following.tool, arguments=dict(following.args)))
        assert between != shown(story.world)
        assert not following.troubled


@each(SETTLED)
def test_values_of_the_following_request_are_provided(scenario: Scenario) -> None:
    """In the first turn or in the second, or it can be looked up."""
    speech = Speech()
    for story, intent, following, _ in gone_on(scenario):
        turns = [
            {
                "turn_id": number,
                "user_utterance": "Today is 3 February 2026. "
                + speech.say(story.chance, each.phrase or scenario.name, each.slots, "plain", optional=each.optional),
                "expected_tool": each.tool,
                "expected_args": dict(each.args),
                "expect_success": not each.error,
            }
            for number, each in enumerate((intent, following), start=1)
        ]
        plain = {
            "conversation_id": "output",
            "turns": turns,
            "initial_entities": {"seed_data": story.world.seed},
            "now": NOW.isoformat(),
        }
        record = msgspec.convert(plain, ConversationRecord)
        left = [list(unknown_arguments(*step)) for step in expected_calls(record)]

        assert [] == left[-1], turns


def test_every_voice_has_enough_wordings() -> None:
    """In every voice, for every scenario and whatever follows it."""
    names = {intent.phrase or scenario.name for scenario in ALL for _, intent in played(scenario)} - {"out_of_scope"}
    names |= {following.phrase for scenario in SETTLED for _, _, following, _ in gone_on(scenario)}
    few = [
        (name, voice)
        for name in sorted(names)
        for voice, least in LEAST.items()
        if least > len({one.text for one in banks()[name] if one.voice == voice})
    ]

    assert [] == few


def test_no_answer_follows_an_ordinary_turn() -> None:
    """After an ordinary turn there is nothing to answer, either."""
    story = begun(refused_by_data.SCENARIOS[0], 0)
    story.next_turn(Intent(tool="list_clients", args={}, slots={}))

    assert (None, None) == (put_right(story), answer(story))
