"""The finder of sources, by examples: where a value can come from, and where not."""

from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from typing import Any

import pytest

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall, ToolResult
from tests.fakes import call
from tests.plays import FLEET, HARBOR, LARGE_QUOTE, MIRA, SMALL_QUOTE, row, uid
from tests.readings import counted_days, days, factors, figures, percentages, requests, said_word, says, spans
from tests.referents import Event, Moment, World
from tests.sources import Leaf, Question, leaves_of, sources_of

TODAY = date(2026, 1, 31)
LIGHTS = {**HARBOR, "client_id": uid("lights"), "name": "Harbor Lights Cafe", "industry": "Food", "email": None}
NORTH = {**HARBOR, "client_id": uid("north"), "name": "Northwind Mills", "industry": "Textiles", "email": None}
DOCKS = {**FLEET, "opportunity_id": uid("docks"), "name": "Dock sensors", "stage": "Negotiation", "amount": 9000.0}
LOOMS = {**FLEET, "opportunity_id": uid("looms"), "name": "Loom refit", "client_id": uid("north"), "amount": 30000.0}
IVAN = {**MIRA, "contact_id": uid("ivan"), "first_name": "Ivan", "last_name": "Petrov", "title": "Buyer"}
PACT = row(
    "contract", "pact", client_id=uid("north"), opportunity_id=None, end_date="2026-06-30", value=5.0, status="Active"
)
WORLD = World(
    state={
        "clients": [HARBOR, LIGHTS, NORTH],
        "contacts": [MIRA, IVAN],
        "opportunities": [FLEET, DOCKS, LOOMS],
        "quotes": [SMALL_QUOTE, LARGE_QUOTE],
        "contracts": [PACT],
    }
)


def event(done: ToolCall, value: Json = None, *, text: str = "", reply: str = "") -> Event:
    """Return what was done."""
    return Event(text=text, call=done, result=ToolResult(value=value), world=WORLD, reply=reply)


def sources(text: str | Sequence[str], due: ToolCall, argument: str, *events: Event) -> list[str]:
    """Return where the value of an argument may come from, given what is said; the last event comes first."""
    words = [text] if isinstance(text, str) else text
    leaf = next(leaf for leaf in leaves_of(due) if leaf.argument == argument)
    moment = Moment(words=words, events=events, world=WORLD)
    return sources_of(Question(moment=moment, call=due, today=TODAY, said=words, leaf=leaf))


def test_figures_in_any_form() -> None:
    """In digits, in words, with a currency; no days, no addresses."""
    said = "€84,000, then 9.5k, EUR 1,200.50, 12 million, minus 250, eighty-four thousand and two hundred and five"

    assert {84000, 9500, Fraction("1200.5"), 12_000_000, -250, 84205} == figures(said)
    assert {Fraction(3)} == figures("On 5 May 2026 write 3 to a1@b2.example, https://c.example/44")
    assert {5, 10, 12} == percentages("-5%, 10 per cent, twelve percent and 7 days")


def test_parts_and_multiples() -> None:
    """What is left of an amount."""
    assert {Fraction(2, 3), Fraction(1, 2), 2} == factors("A third off this, halve that, double the other")
    assert set() == factors("The third quarter was good")


def test_days_in_any_form() -> None:
    """With the year, and also if there is no such day."""
    said = "2026-01-02, 31 June 2026, the 3rd of May 2027, March 4, 2026 and 8 Sep 2026"

    assert {"2026-01-02", "2026-06-31", "2027-05-03", "2026-03-04", "2026-09-08"} == days(said)


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("in three weeks", "2026-02-21"),
        ("45 days from today", "2026-03-17"),
        ("two months from now", "2026-03-31"),
        ("a year from today", "2027-01-31"),
        ("the last day of next month", "2026-02-28"),
        ("the last day of the month after next", "2026-03-31"),
        ("the first of next month", "2026-02-01"),
        ("the 12th of next month", "2026-02-12"),
        ("year-end", "2026-12-31"),
    ],
)
def test_days_that_are_counted(said: str, day: str) -> None:
    assert {day} == counted_days(f"Make it {said}, please.", TODAY)


def test_span_without_a_start_is_not_a_day() -> None:
    """A span alone has no beginning."""
    assert set() == counted_days("Give them two weeks more.", TODAY)
    assert [(2, "week"), (1, "month")] == [(span.count, span.unit) for span in spans("two weeks, or a month")]


def test_value_must_be_mentioned_as_a_whole() -> None:
    assert says("Mail ann@b.example.", "ann@b.example")
    assert not says("Mail joann@b.example.", "ann@b.example")
    assert not says("Annabel called.", "Ann")
    assert not says("ANN called.", "Ann")
    assert says("ANN called.", "Ann", exactly=False)


def test_a_finger_may_slip() -> None:
    assert said_word("approv", "Please aprpove it")
    assert not said_word("approv", "Please improve it")
    assert not said_word("won", "I own it")


def test_utterance_is_split_into_two_requests() -> None:
    """Fall apart where the second is announced."""
    assert [("Close it.", "move them.")] == requests("Close it. And since you're there, move them.")
    assert [] == requests("Close it and the deal. Move them.")


@pytest.mark.parametrize(
    ("said", "argument", "value", "expected"),
    [
        ("Mail is ann@b.example now", "email", "ann@b.example", ["said"]),
        ("Mail is joann@b.example now", "email", "ann@b.example", []),
        ("They are a prospect", "status", "Prospect", ["choice"]),
        ("Deactivate them", "status", "Inactive", ["choice"]),
        ("Deactivate them", "status", "Active", []),
        ('Try "On hold"', "status", "On hold", ["choice"]),
        ("Write down that they called", "status", "Active", []),
    ],
)
def test_words_are_found_literally_or_by_their_stem(said: str, argument: str, value: str, expected: list[str]) -> None:
    """To the letter, and for a choice by its stem."""
    assert expected == sources(said, call("modify_client", client_id=uid("north"), **{argument: value}), argument)


@pytest.mark.parametrize(
    ("said", "amount", "expected"),
    [
        ("Make it 84k", 84000, ["figure"]),
        ("Make it 85k", 84000, []),
        ("Raise the fleet deal by 10 percent", 92400, ["worked out"]),
        ("Raise the fleet deal by 10 percent", 75600, []),
        ("Take 4,000 off", 80000, ["worked out"]),
        ("The price is too low by 5%", 88200, ["worked out"]),
        ("Cut it by a quarter", 63000, ["worked out"]),
        ("Fleet tracking rollout -5 %", 79800, ["worked out"]),
        ("Fleet tracking rollout -5 %", 88200, []),
        ("Leave it", 84000, []),
    ],
)
def test_amounts_are_found_or_computed(said: str, amount: float, expected: list[str]) -> None:
    """Said, or worked out of what the record has: the fleet deal is worth 84,000."""
    due = call("modify_opportunity", opportunity_id=uid("fleet"), amount=amount)

    assert expected == sources(said, due, "amount")


def test_an_amount_that_can_be_looked_up() -> None:
    """A quote over what the deal is worth, a contract over what was quoted."""
    quote = call("create_quote", opportunity_id=uid("fleet"), amount=84000, status="Draft")
    contract = call("create_contract", opportunity_id=uid("fleet"), value=1200000)

    assert ["shown"] == sources("Draft one over the full amount", quote, "amount")
    assert ["shown"] == sources("A contract over what the sent quote says", contract, "value")
    assert [] == sources("A contract over what the draft says", contract, "value")


@pytest.mark.parametrize(
    ("said", "day", "expected"),
    [
        ("Close on 5 May 2026", "2026-05-05", ["day"]),
        ("Today is 31 January 2026. Close in three weeks", "2026-02-21", ["counted day"]),
        ("Close in three weeks", "2026-02-21", []),
        ("Push it by two weeks", "2025-12-14", ["shifted day"]),
        ("Pull it in by two weeks", "2025-11-16", ["shifted day"]),
        ("Push it by two weeks", "2025-11-16", []),
    ],
)
def test_days_are_found_counted_or_computed(said: str, day: str, expected: list[str]) -> None:
    """Said, counted from the day that the user says it is, or from what the record has: 30 November 2025."""
    due = call("modify_opportunity", opportunity_id=uid("fleet"), close_date=day)

    assert expected == sources(said, due, "close_date")


def test_an_end_is_counted_from_the_start() -> None:
    due = call("create_contract", client_id=uid("north"), start_date="2026-03-01", end_date="2027-03-01")

    assert ["shifted day"] == sources("From 1 March 2026, ending 12 months later", due, "end_date")
    assert [] == sources("From 1 March 2026, ending 11 months later", due, "end_date")


def test_contract_is_pending_by_default() -> None:
    """That is the only default."""
    due = call("create_contract", client_id=uid("north"), status="Pending")

    assert ["default"] == sources("A contract with Northwind", due, "status")
    assert [] == sources("An active contract with Northwind", due, "status")


@pytest.mark.parametrize(
    ("said", "argument", "name", "expected"),
    [
        ("Call Harbor Light Logistics", "client_id", "harbor", ["named record"]),
        ("Call Harbor Light Logistics", "client_id", "lights", []),
        ("Call Northwind", "client_id", "north", ["named record"]),
        ("Call Harbor", "client_id", "harbor", []),
        ("Our Textiles client called", "client_id", "north", ["named record"]),
        ("Who is behind the Loom refit deal?", "client_id", "north", ["belongs"]),
        ("Northwind's deal", "opportunity_id", "looms", ["belongs"]),
        ("Harbor Light Logistics' deal", "opportunity_id", "fleet", []),
        ("Harbor Light Logistics' bigger deal", "opportunity_id", "fleet", ["belongs"]),
        ("Harbor Light Logistics' bigger deal", "opportunity_id", "docks", []),
        ("Harbor Light Logistics' deal in Negotiation", "opportunity_id", "docks", ["belongs"]),
        ("The smaller quote on Fleet tracking rollout", "quote_id", "small", ["belongs"]),
        ("The smaller quote on Fleet tracking rollout was sent", "quote_id", "large", []),
        ("Version 2.0 of the quote for Fleet tracking rollout", "quote_id", "large", ["belongs"]),
        ("The quote for Fleet tracking rollout", "quote_id", "small", []),
        (
            "Of the quotes on Harbor Light Logistics' bigger deal, the cheaper one",
            "opportunity_id",
            "fleet",
            ["belongs"],
        ),
        ("Of the quotes on Harbor Light Logistics' bigger deal, the cheaper one", "opportunity_id", "docks", []),
        ("Mira at Harbor Light Logistics", "contact_id", "mira", ["belongs"]),
        ("Harbor Light Logistics' Buyer", "contact_id", "ivan", ["belongs"]),
        ("Ivan Petrov", "contact_id", "ivan", ["named record"]),
        ("Northwind's contract that ends on 30 June 2026", "contract_id", "pact", ["belongs"]),
        (f"Quote {uid('small')}", "quote_id", "small", ["said"]),
    ],
)
def test_records_are_found_by_name_id_or_relation(said: str, argument: str, name: str, expected: list[str]) -> None:
    """By name, by id, by what they belong to and how they differ."""
    assert expected == sources(said, call("look", **{argument: uid(name)}), argument)


def test_pronoun_refers_to_the_record_of_the_turn_before() -> None:
    """A pronoun means the record of the turn before, and what is further back if that was of another kind."""
    due = call("modify_opportunity", opportunity_id=uid("fleet"), stage="Proposal")
    fleet = event(call("view_opportunity_details", opportunity_id=uid("fleet")), dict(FLEET))
    looms = event(call("view_opportunity_details", opportunity_id=uid("looms")), dict(LOOMS))
    mira = event(call("modify_contact", contact_id=uid("mira"), title="CFO"), dict(MIRA))

    assert ["last record"] == sources("Move it on", due, "opportunity_id", fleet, looms)
    assert ["last record"] == sources("Move that deal on", due, "opportunity_id", mira, fleet)
    assert [] == sources("Move it on", due, "opportunity_id", looms, fleet)
    assert [] == sources("Move it on", due, "opportunity_id")


def test_related_record_is_found_by_the_current_one() -> None:
    """Their deal, the quote for it."""
    north = event(call("client_search", name="Northwind"), [dict(NORTH)])
    fleet = event(call("view_opportunity_details", opportunity_id=uid("fleet")), dict(FLEET))

    assert ["belongs"] == sources("Their deal", call("look", opportunity_id=uid("looms")), "opportunity_id", north)
    assert ["belongs"] == sources("The bigger quote on it", call("look", quote_id=uid("large")), "quote_id", fleet)
    assert [] == sources("The quote on it", call("look", quote_id=uid("large")), "quote_id", fleet)


def test_related_record_takes_precedence_if_the_words_require_it() -> None:
    """After one of two quotes was shown, *the bigger quote on it* is still that of the deal."""
    shown = event(call("quote_search", opportunity_id=uid("fleet"), status="Draft"), [dict(SMALL_QUOTE)])

    assert ["belongs"] == sources(
        "The bigger of the two quotes on it", call("look", quote_id=uid("large")), "quote_id", shown
    )
    assert ["last record"] == sources("Send it", call("look", quote_id=uid("small")), "quote_id", shown)


def test_record_of_an_unanswered_request_is_still_the_subject() -> None:
    """Where the agent asked back, only the words of the turn before tell who is meant."""
    harbor = event(call("client_search", name="Harbor Light Logistics"), [dict(HARBOR)])
    named = event(call(""), text="Mira at Harbor Light Logistics has a new number")
    described = event(call(""), text="Their Buyer has a new number")

    assert ["last record"] == sources("It is 5", call("look", contact_id=uid("mira")), "contact_id", named)
    assert ["belongs"] == sources("It is 5", call("look", contact_id=uid("ivan")), "contact_id", described, harbor)
    assert [] == sources("It is 5", call("look", contact_id=uid("mira")), "contact_id", described, harbor)


def test_one_of_several_shown_records_is_found_by_the_reply_or_the_words() -> None:
    """That which the reply named, or which the words tell from the others."""
    shown: list[Json] = [dict(FLEET), dict(LOOMS)]
    listed = call("list_opportunities")
    due = call("look", opportunity_id=uid("looms"))

    assert [] == sources("Open it", due, "opportunity_id", event(listed, shown))
    assert ["last record"] == sources("Open it", due, "opportunity_id", event(listed, shown, reply="It is Loom refit."))
    assert ["last record"] == sources("The smaller one", due, "opportunity_id", event(listed, shown))
    assert ["last record"] == sources("The one over 30k", due, "opportunity_id", event(listed, shown))


def test_several_at_once() -> None:
    both = call("compare_quotes", quote_ids=[uid("small"), uid("large")])
    one = call("compare_quotes", quote_ids=[uid("small"), uid("other")])

    assert ["belongs"] == sources("Compare what we quoted on Fleet tracking rollout", both, "quote_ids")
    assert [] == sources("Compare what we quoted on Fleet tracking rollout", one, "quote_ids")


def test_the_kind_of_record() -> None:
    """Follows from the record, and has no source if that has none."""
    due = call("add_note", entity_type="Opportunity", entity_id=uid("looms"), content="Called.")

    assert ["entity"] == sources("Note on Loom refit: Called.", due, "entity_type")
    assert [] == sources("Note on Dock sensors: Called.", due, "entity_type")
    assert [] == sources("Note: Called.", call("add_note", **{**due.arguments, "entity_type": "Client"}), "entity_type")


def test_search_criteria_are_found_in_the_words_or_the_record() -> None:
    """What was said, in whatever case, or what the record has that is meant."""
    due = call("client_search", name="Northwind Mills")

    assert ["said"] == sources("Who has HARBOR in the name?", call("client_search", name="harbor"), "name")
    assert ["shown"] == sources("Who owns Northwind?", due, "name")
    assert [] == sources("Who owns Harbor Lights Cafe?", due, "name")


def test_values_of_a_refused_request_are_still_known() -> None:
    due = call("create_new_client", name="Ada Works", email="a@b.example", status="Active")
    words = ["Create Ada Works, active, with a@taken.example", "Then a@b.example"]

    assert [["said"], ["said"], ["choice"]] == [sources(words, due, name) for name in ("name", "email", "status")]
    assert [] == sources(words[1:], due, "name")


def test_nested_values_are_leaves() -> None:
    due: Any = call("modify_quote", quote_id="q", updates={"status": "Sent"}, quote_ids=["a", "b"])

    assert [
        Leaf(argument="quote_id", value="q"),
        Leaf(argument="status", value="Sent"),
        Leaf(argument="quote_ids", value="a"),
        Leaf(argument="quote_ids", value="b"),
    ] == list(leaves_of(due))
