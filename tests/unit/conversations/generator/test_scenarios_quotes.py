"""Moves about quotes and contracts: each of them, thrown many times on worlds of its own."""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import msgspec
import pytest

from pytest_crmeval.conversations.crm.tools import check
from pytest_crmeval.conversations.dataset.defects import defects
from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.conversations.generator.days import Day
from pytest_crmeval.conversations.generator.intents import Intent
from pytest_crmeval.conversations.generator.rows import Row, World
from pytest_crmeval.conversations.generator.scenarios import contracts, quote_changes, quote_questions, quotes
from pytest_crmeval.conversations.generator.scenarios.quotes import parts, until
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.conversations.generator.starting_rows import StartingRows
from pytest_crmeval.conversations.generator.story import Story
from pytest_crmeval.conversations.generator.wordings import VOICES, Speech
from pytest_crmeval.conversations.scorers.facts import NOTHING
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.ports.crm_calls import writes

NOW = datetime(2026, 3, 16, 9, tzinfo=UTC)
THROWS = 30
Thrown = tuple[Story, World, Intent]
"""A story after an intent, the world as it was before, and the intent."""
Throws = Mapping[str, Sequence[Thrown]]
SCENARIOS = (*quotes.SCENARIOS, *quote_changes.SCENARIOS, *quote_questions.SCENARIOS, *contracts.SCENARIOS)


def story_of(world: World, *seed: object) -> Story:
    """Return a story that is about to begin."""
    return Story(chance=SeededRandom(*seed), world=world, now=NOW, currency="EUR")


def staged(*seed: object) -> Story:
    """Return a story in a world full of quotes and contracts."""
    chance = SeededRandom(*seed)
    theme = chance.one_of(("Quote", "Contract"))
    return story_of(StartingRows(chance=chance, today=NOW.date(), size=3, theme=theme).build(), *seed, "story")


@pytest.fixture(scope="module")
def thrown() -> Throws:
    """Return what comes of each scenario, by its name; made once, so tests must not change it."""
    found: dict[str, list[Thrown]] = {scenario.name: [] for scenario in SCENARIOS}
    for scenario in SCENARIOS:
        for throw in range(THROWS):
            story = staged(scenario.name, throw)
            before = deepcopy(story.world)
            if intent := scenario.intent(story):
                found[scenario.name].append((story, before, intent))
    return found


def columns(world: World) -> dict[str, Mapping[str, Any]]:
    """Return all that a world holds."""
    return {row.ref: row.columns for row in world.rows}


def as_the_crm_does(before: World, intent: Intent) -> dict[str, Mapping[str, Any]]:
    """Return what a world holds after a call, by the rules of the tools."""
    rows = columns(before)
    changes = {name: value for name, value in intent.args.items() if name != "quote_id"}
    if intent.tool == "modify_quote":
        rows[intent.args["quote_id"]] = {**rows[intent.args["quote_id"]], **changes}
    elif intent.tool == "cancel_quote":
        rows[intent.args["quote_id"]] = {**rows[intent.args["quote_id"]], "status": "Canceled"}
    elif intent.tool == "delete_quote":
        del rows[intent.args["quote_id"]]
    elif intent.tool == "create_quote":
        rows["{{turn_1.quote_id}}"] = changes
    elif intent.tool == "create_contract":
        rows["{{turn_1.contract_id}}"] = {"status": "Pending", **changes}
    return rows


def recorded(story: Story, intent: Intent, text: str) -> ConversationRecord:
    """Return a conversation of one turn."""
    turn = {"turn_id": 1, "user_utterance": text, "expected_tool": intent.tool, "expected_args": intent.args}
    plain = {"conversation_id": "one", "initial_entities": {"seed_data": story.world.seed}, "turns": [turn]}
    return msgspec.convert(plain, ConversationRecord)


def test_a_move_is_a_call_that_the_crm_takes(thrown: Throws) -> None:
    """By one of its own tools; most scenarios fit most worlds."""
    for scenario in SCENARIOS:
        intents = [intent for _, _, intent in thrown[scenario.name]]

        assert intents, scenario
        for intent in intents:
            assert "" == check(ToolCall(tool=intent.tool, arguments=dict(intent.args))), scenario
            assert intent.tool in scenario.tools, scenario


def test_a_move_leaves_the_world_as_the_crm_does(thrown: Throws) -> None:
    for scenario in SCENARIOS:
        for story, before, intent in thrown[scenario.name]:
            assert as_the_crm_does(before, intent) == columns(story.world), scenario
            assert writes(intent.tool) == (columns(before) != columns(story.world)), scenario


def test_every_value_is_in_the_utterance(thrown: Throws) -> None:
    for scenario in SCENARIOS:
        for throw, (story, _, intent) in enumerate(thrown[scenario.name]):
            for voice in VOICES:
                phrase, chance = intent.phrase or scenario.name, SeededRandom(scenario.name, throw, voice)
                text = Speech().say(chance, phrase, intent.slots, voice, optional=intent.optional)

                assert [] == list(defects(recorded(story, intent, text))), scenario


def test_a_move_that_does_not_fit_does_nothing() -> None:
    for scenario in SCENARIOS:
        assert scenario.intent(story_of(World(), scenario.name)) is None, scenario


def test_rows_already_seen_are_not_requested_again() -> None:
    for scenario in SCENARIOS:
        for throw in range(THROWS):
            story = staged(scenario.name, throw)
            story.seen.update(row.ref for row in story.world.rows)
            intent = scenario.intent(story)

            assert intent is None or writes(intent.tool), scenario


def test_every_quote_and_contract_can_be_named_after_any_change() -> None:
    """Without a pronoun, and by words that fit no other."""
    for throw in range(40):
        story = staged("named", throw)
        for scenario in story.chance.shuffled(SCENARIOS):
            if intent := scenario.intent(story):
                story.next_turn(intent)
        story.subject = None
        story.focus.clear()

        for entity in ("Quote", "Contract"):
            assert all(story.refer_to(row).object for row in story.world.of(entity)), throw


def test_corrections_have_another_value(thrown: Throws) -> None:
    """By a value that the record does not have yet."""
    for scenario in (*quotes.SCENARIOS, *quote_changes.SCENARIOS):
        for story, _, intent in thrown[scenario.name]:
            for fix in intent.fixes:
                assert intent.about is fix.row
                assert (
                    fix.column != "amount"
                    or fix.draw(replace(story, chance=SeededRandom(fix.row.ref)))[0] != fix.row["amount"]
                )


@pytest.fixture
def world() -> World:
    """Return a world in which all answers are known: a deal with two quotes, one with one, and a contract."""
    world = World()
    client, deal, other = (SeededRandom(name).uuid() for name in ("client", "deal", "other deal"))
    world.add_seeded("Client", client, {"name": "Harbor Light"}, known_as="Harbor")
    for ref, name in ((deal, "Dock automation"), (other, "Pier lights")):
        world.add_seeded("Opportunity", ref, {"client_id": client, "name": name, "stage": "Proposal", "amount": 20_000})
    for ref, amount, status, day in (
        (deal, 18_000, "Sent", 9),
        (deal, 22_000.5, "Sent", 4),
        (other, 7_000, "Draft", 7),
    ):
        quote = {"opportunity_id": ref, "amount": amount, "status": status, "valid_until": f"2026-04-0{day}"}
        world.add_seeded("Quote", SeededRandom(amount).uuid(), {**quote, "version": "1.0", "quote_prefix": f"P-{day}"})
    contract = {"client_id": client, "status": "Active", "value": 9_000, "end_date": "2027-01-31"}
    world.add_seeded("Contract", SeededRandom("contract").uuid(), {**contract, "start_date": "2026-02-01"})
    return world


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("cheaper_of_two", [18_000]),
        ("cheapest_quote", [18_000]),
        ("dearest_quote", [22_000.5]),
        ("quote_gap", [4_000.5]),
        ("total_of_quotes", [40_000.5]),
        ("quotes_side_by_side", [18_000, "Sent", 22_000.5]),
        ("first_quote_to_expire", ["2026-04-04"]),
        ("deal_quotes_with_status", [18_000, 22_000.5]),
        ("list_prefixes", ["P-4", "P-7", "P-9"]),
        ("list_all_quotes", [18_000, 22_000.5, 7_000]),
        ("contracts_of_client", [9_000]),
        ("contract_of_deal", [NOTHING]),
        ("ask_contract_value", [9_000]),
        ("ask_contract_end", ["2027-01-31"]),
        ("ask_contract_start", ["2026-02-01"]),
        ("ask_contract_status", ["Active"]),
        ("list_all_contracts", [9_000]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_questions_have_the_answers_that_were_worked_out_by_hand(world: World, name: str, facts: list[Any]) -> None:
    scenario = next(scenario for scenario in SCENARIOS if scenario.name == name)
    intent = scenario.intent(story_of(world, "asked"))

    assert intent is not None
    assert facts == intent.facts


def test_quotes_are_counted_by_status(world: World) -> None:
    for throw in range(30):
        intent = quote_questions.count_quotes(story_of(world, throw))

        assert intent is not None, throw
        assert intent.facts == [{"Sent": 2, "Draft": 1}.get(intent.args["status"], NOTHING)], throw


def test_quote_is_not_named_by_the_value_that_is_asked_for(world: World) -> None:
    """The status of the draft quote is no question."""
    for throw in range(30):
        world.add_seeded(
            "Quote", SeededRandom("draft").uuid(), {**world.of("Quote")[0].columns, "amount": 20_000, "status": "Draft"}
        )
        status = quote_questions.ask_quote_status(story_of(world, throw))
        version = quote_questions.ask_quote_version(story_of(world, throw))

        assert status is None or not re.search("the (sent|draft) quote", str(status.slots["quote"])), throw
        assert version is None or "version" not in str(version.slots["quote"]), throw


def test_a_percentage_comes_out_to_the_cent() -> None:
    """One that does not is not asked for, nor one that makes a quote like another."""
    taken = [Row(entity="Quote", ref="", columns={"amount": 950})]

    assert {3: 970, 10: 900} == {percent: part for percent, part in parts(1000, taken, -1) if percent in (3, 5, 10)}
    assert [(4, 10.66), (8, 11.07), (12, 11.48), (20, 12.3)] == parts(10.25, [], 1)


def test_until_is_followed_by_a_day() -> None:
    """Valid until in two weeks is no English."""
    day = date(2026, 3, 30)

    assert "two weeks from now" == until(Day(value=day, said="in two weeks", relative=True))
    assert "30 March 2026" == until(Day(value=day, said="30 March 2026"))
