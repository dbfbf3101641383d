"""What users want of deals: over many throws, what is asked for can be done, is said, and comes out as in the CRM."""

import re
from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from pytest_crmeval.conversations.crm.tools import check
from pytest_crmeval.conversations.crm.tools import opportunities as tools
from pytest_crmeval.conversations.dataset.knowledge import expected_calls, unknown_arguments
from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.conversations.generator.intents import Intent, Scenario
from pytest_crmeval.conversations.generator.rows import World
from pytest_crmeval.conversations.generator.scenarios import deal_calculations, deal_questions, deals
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.conversations.generator.story import Story
from pytest_crmeval.conversations.generator.wordings import VOICES, Speech, banks
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.ports.crm_calls import writes

CHANGES, QUESTIONS = (*deals.SCENARIOS, *deal_calculations.SCENARIOS), deal_questions.SCENARIOS
SCENARIOS = (*CHANGES, *QUESTIONS)
NOW = datetime(2026, 2, 3, 9, tzinfo=UTC)
THROWS = 25
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
Shown = dict[str, dict[str, Any]]


def world() -> World:
    """Return three clients, one of them without deals, and deals in most stages."""
    made, ids = World(), SeededRandom("ids")
    light, gate, _ = (
        made.add_seeded("Client", ids.uuid(), {"name": name, "industry": "Shipping", "status": "Active"})
        for name in ("Harbor Light Logistics", "Harbor Gate Cargo", "Lumen Fiber")
    )
    rows: list[dict[str, Any]] = [
        {"name": "Fleet tracking rollout", "stage": "Proposal", "amount": 84000, "close_date": "2026-05-15"},
        {
            "name": "Dock automation",
            "stage": "Negotiation",
            "amount": 61000.25,
            "close_date": "2026-03-20",
            "owner": "Dana Fox",
        },
        {"name": "Cold chain sensors", "stage": "Closed-Won", "amount": 61000, "close_date": "2026-02-10"},
        {
            "name": "Yard cameras",
            "stage": "Qualification",
            "amount": 9_900_000,
            "close_date": "2026-02-28",
            "owner": "Dana Fox",
            "probability": 70,
        },
        {"name": "Pier lighting", "stage": "Closed-Lost", "amount": 12000, "owner": "Dana Fox", "notes": "Too dear."},
        {"name": "Berth survey", "stage": "Prospecting", "amount": 7500, "close_date": "2026-01-20", "notes": "Slow."},
    ]
    for place, row in enumerate(rows):
        made.add_seeded("Opportunity", ids.uuid(), {"client_id": (light if place % 2 else gate).ref, **row})
    for deal in made.of("Opportunity"):
        made.add_seeded("Quote", ids.uuid(), {"opportunity_id": deal.ref, "amount": 500, "status": "Draft"})
    return made


def shown(made: World) -> Shown:
    """Return what the CRM holds now."""
    return {row.ref: deepcopy(row.columns) for row in made.rows}


def throws(scenario: Scenario) -> Iterator[tuple[Story, Shown, Intent]]:
    """Yield a story after a scenario, what the CRM held before, and the beat; it must fit often enough to tell."""
    made = 0
    for number in range(THROWS):
        story = Story(chance=SeededRandom(scenario.name, number), world=world(), now=NOW, currency="EUR")
        before = shown(story.world)
        if intent := scenario.intent(story):
            made += 1
            yield story, before, intent
        else:
            assert before == shown(story.world)
    assert made > THROWS / 10


def said(story: Story, scenario: Scenario, intent: Intent) -> str:
    """Return the words of a intent."""
    return Speech().say(story.chance, intent.phrase or scenario.name, intent.slots, story.chance.one_of(VOICES))


def test_requests_are_possible_and_complete() -> None:
    """The tool takes the arguments, and every value is in the words, or follows from them and the rows."""
    for scenario in SCENARIOS:
        for story, _, intent in throws(scenario):
            turn = {"turn_id": 1, "expected_tool": intent.tool, "expected_args": dict(intent.args)}
            turn["user_utterance"] = said(story, scenario, intent)
            seed = {"initial_entities": {"seed_data": story.world.seed}}
            record = msgspec.convert({"conversation_id": scenario.name, "turns": [turn], **seed}, ConversationRecord)

            assert not check(ToolCall(tool=intent.tool, arguments=intent.args)), scenario
            assert intent.tool in scenario.tools, scenario
            assert [] == [value for parts in expected_calls(record) for value in unknown_arguments(*parts)], turn[
                "user_utterance"
            ]


def test_a_change_is_made_as_the_crm_makes_it() -> None:
    """A deal has what was asked for, nothing else has changed, and no close date is past."""
    for scenario in CHANGES:
        for story, before, intent in throws(scenario):
            after = shown(story.world)
            changes = {name: value for name, value in intent.args.items() if name != "opportunity_id"}
            if intent.tool == "modify_opportunity":
                old = before[intent.args["opportunity_id"]]

                assert {**before, intent.args["opportunity_id"]: {**old, **changes}} == after, scenario
                assert all(old.get(name) != value for name, value in changes.items()), scenario
                assert old["stage"] not in tools.CLOSED or changes.keys().isdisjoint(tools.FROZEN), scenario
            elif intent.tool == "create_new_opportunity":
                assert {**before, "{{turn_1.opportunity_id}}": changes} == after, scenario
            assert changes.get("close_date", "9") >= NOW.date().isoformat(), scenario


def test_clone_has_the_columns_that_the_crm_gives_it() -> None:
    """Named after the deal, with all that the tool copies; a past close date would be refused."""
    for story, before, intent in throws(BY_NAME["clone_deal"]):
        deal = before[intent.args["opportunity_id"]]
        copied = {name: deal[name] for name in tools.COPIED if name in deal}

        assert {**copied, "name": f"{deal['name']} (Clone)"} == story.world.row("{{turn_1.opportunity_id}}").columns
        assert deal.get("close_date", "9") >= NOW.date().isoformat()


def test_a_deal_goes_with_its_quotes() -> None:
    """Nothing that belongs to it is left behind."""
    for story, before, intent in throws(BY_NAME["delete_deal"]):
        gone = intent.args["opportunity_id"]

        assert {ref: row for ref, row in before.items() if gone not in (ref, row.get("opportunity_id"))} == shown(
            story.world
        )


def test_a_deal_with_papers_is_not_deleted() -> None:
    """Notes and documents would stay, and belong to nothing."""
    story = Story(chance=SeededRandom(1), world=world(), now=NOW, currency="EUR")
    for deal in story.world.of("Opportunity"):
        note = {"entity_type": "Opportunity", "entity_id": deal.ref, "content": "Call back."}
        story.world.add_seeded("Note", story.chance.uuid(), note)

    assert BY_NAME["delete_deal"].intent(story) is None


@pytest.mark.parametrize(
    ("name", "slot", "sign"),
    [
        ("raise_deal_by_percent", "percent", 1),
        ("cut_deal_by_percent", "percent", -1),
        ("raise_deal_by_sum", "sum", 1),
        ("cut_deal_by_sum", "sum", -1),
    ],
)
def test_amounts_are_reckoned_to_the_cent(name: str, slot: str, sign: int) -> None:
    for _, before, intent in throws(BY_NAME[name]):
        old = Decimal(str(before[intent.args["opportunity_id"]]["amount"]))
        words = str(intent.slots[slot]).replace(",", "")
        figure = Decimal(re.findall(r"\d+", words)[0]) * (1000 if re.search(r"\dk\b", words) else 1)
        change = old * figure / 100 if slot == "percent" else figure

        assert old + sign * change == Decimal(str(intent.args["amount"]))


def test_close_dates_are_pushed_from_where_they_are() -> None:
    units = {"day": 1, "week": 7}
    for _, before, intent in throws(BY_NAME["push_close_date"]):
        old = date.fromisoformat(before[intent.args["opportunity_id"]]["close_date"])
        new = date.fromisoformat(intent.args["close_date"])
        unit = str(intent.slots["span"]).split()[1].rstrip("s")

        assert old.day == new.day if unit == "month" else not (new - old).days % units[unit]
        assert old < new
        assert not intent.relative


def test_a_question_changes_nothing_and_is_asked_once() -> None:
    for scenario in QUESTIONS:
        for story, before, intent in throws(scenario):
            assert not writes(intent.tool), scenario
            assert before == shown(story.world), scenario
            story.seen |= {deal.ref for deal in story.world.of("Opportunity")}
            assert scenario.intent(story) is None, scenario


def test_facts_of_questions_are_true() -> None:
    for scenario in QUESTIONS:
        for story, _, intent in throws(scenario):
            found = [
                deal
                for deal in story.world.of("Opportunity")
                if all(
                    value.lower() in str(deal[name]).lower()
                    for name, value in intent.args.items()
                    if name in deal.columns
                )
                and intent.args.get("opportunity_id", deal.ref) == deal.ref
                and ("owner" not in intent.args or deal["owner"])
            ]
            amounts = [deal["amount"] for deal in found]
            stated = [word for deal in found for word in (deal["stage"], deal["stage"].removeprefix("Closed-").lower())]
            columns = [deal[name] for deal in found for name in ("close_date", "owner", "probability")]
            if intent.facts is None:
                assert 0 < len(found) <= deal_questions.MANY, scenario
            elif "comparison" in intent.skills:
                key = {"biggest_deal": max(amounts), "smallest_deal": min(amounts)}.get(scenario.name)
                dates = min(deal["close_date"] for deal in found if deal["close_date"]) if key is None else ""
                assert intent.facts == [
                    deal["name"] for deal in found if key == deal["amount"] or dates == deal["close_date"]
                ], scenario
            elif intent.facts == ["nothing"]:
                assert not found, scenario
                assert "absence" in intent.skills, scenario
            elif "aggregation" in intent.skills:
                assert set(intent.facts) <= {len(found), sum(amounts)}, scenario
            else:
                assert set(intent.facts) <= {*amounts, *stated, *columns}, scenario


@pytest.mark.parametrize("name", ["biggest_deal", "smallest_deal", "closes_first"])
def test_equal_deals_are_not_compared(name: str) -> None:
    """Of deals with the same amount and the same close date none comes first."""
    for number in range(THROWS):
        story = Story(chance=SeededRandom(number), world=world(), now=NOW, currency="EUR")
        for deal in story.world.of("Opportunity"):
            deal.columns.update(amount=5000, close_date="2026-08-01")

        assert BY_NAME[name].intent(story) is None


def test_closed_and_overdue_deals_do_not_close_first() -> None:
    for story, _, intent in throws(BY_NAME["closes_first"]):
        (deal,) = story.world.of("Opportunity", name=intent.facts[0] if intent.facts else "")

        assert not deal.is_closed
        assert NOW.date().isoformat() <= deal["close_date"]


def test_user_does_not_say_the_stage_that_is_asked_for() -> None:
    """Harbor Gate's deal in Proposal is in Proposal."""
    scenario = BY_NAME["ask_deal_stage"]
    for story, _, intent in throws(scenario):
        assert str(story.world.row(intent.args["opportunity_id"])["stage"]) not in said(story, scenario, intent)


def test_each_voice_has_words() -> None:
    """Enough of them, none twice."""
    for scenario in SCENARIOS:
        texts = [wording.text for wording in banks()[scenario.name]]

        assert len(set(texts)) == len(texts), scenario
        for voice in VOICES:
            assert len([wording for wording in banks()[scenario.name] if wording.voice == voice]) >= 4, scenario
