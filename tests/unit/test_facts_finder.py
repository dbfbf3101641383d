"""The finder of facts, by examples: what follows from an answer of the CRM, and what does not."""

from collections.abc import Sequence

import pytest

from pytest_crmeval.domain.json import Json
from tests.facts import Shown, derivation
from tests.plays import FLEET, HARBOR, LARGE_QUOTE, MIRA, SMALL_QUOTE, row, uid
from tests.referents import Moment, World

LIGHTS = {**HARBOR, "client_id": uid("lights"), "name": "Harbor Light Cafe", "address": "16 Nkrumah Road, Mombasa"}
DOCKS = {**FLEET, "opportunity_id": uid("docks"), "name": "Dock sensors", "stage": "Closed-Won", "amount": 9000.0}
LATE = {**DOCKS, "opportunity_id": uid("late"), "name": "Number crunching", "close_date": "2026-02-01"}
NOTE = row("note", "one", content="They liked the sample.", entity_id=uid("docks"), entity_type="Opportunity")
OTHER = {**NOTE, "note_id": uid("other"), "content": "Call them.", "entity_id": uid("fleet")}
WORLD = World(
    state={
        "clients": [HARBOR, LIGHTS],
        "contacts": [MIRA],
        "opportunities": [FLEET, DOCKS, LATE],
        "quotes": [SMALL_QUOTE, LARGE_QUOTE],
        "notes": [NOTE, OTHER],
    }
)
QUOTES = [SMALL_QUOTE, LARGE_QUOTE]
NOTES = {uid("one"): NOTE, uid("other"): OTHER}


def follows(text: str, tool: str, value: Json, facts: Sequence[Json], *, asks: bool = False) -> str:
    """Return how facts follow from an answer of the CRM to such words."""
    moment = Moment(words=[text], events=(), world=WORLD)
    return derivation(Shown(moment=moment, tool=tool, value=value, asks=asks), facts)


@pytest.mark.parametrize(
    ("text", "value", "facts"),
    [
        ("How far is Dock sensors, and how much is it?", DOCKS, ["won", 9000]),
        ("Who owns Dock sensors?", DOCKS, ["Dana"]),
        ("When does Number crunching close?", LATE, ["2026-02-01"]),
        ("What staage is Fleet tracking rollout in?", FLEET, ["Proposal"]),
        ("What's the status of version 1.0 of the quote for Dock sensors?", SMALL_QUOTE, ["Draft"]),
    ],
)
def test_a_cell_follows_where_its_column_is_asked_for(text: str, value: Json, facts: list[Json]) -> None:
    """In other words, and mistyped; what another column has does not follow."""
    assert "cells" == follows(text, "details", value, facts)
    assert "" == follows(text, "details", value, [*facts, 55])
    assert "" == follows(text, "details", value, ["Dana" if facts != ["Dana"] else "Proposal"])


def test_address_may_be_given_in_parts() -> None:
    assert "cells" == follows("Address?", "client_search", [LIGHTS], ["16 Nkrumah Road", "Mombasa"])
    assert "" == follows("Address?", "client_search", [LIGHTS], ["Mombasa"])


@pytest.mark.parametrize(
    ("text", "way", "right", "wrong"),
    [
        ("How many of our quotes are sent?", "count", 2, 3),
        ("Add up the quotes for Dock sensors.", "sum", 1275000, 75000),
        ("How much is the cheapest quote on the bigger deal?", "extreme", 75000, 1200000),
        ("The dearest of the two, how much?", "extreme", 1200000, 75000),
        ("By how much do the two quotes differ?", "difference", 1125000, 1200000),
    ],
)
def test_figures_are_worked_out(text: str, way: str, right: Json, wrong: Json) -> None:
    assert way == follows(text, "quote_search", QUOTES, [right])
    assert "" == follows(text, "quote_search", QUOTES, [wrong])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Which of our deals is worth most?", "Fleet tracking rollout"),
        ("What's most urgent? Which deal closes first?", "Fleet tracking rollout"),
        ("Which deal is worth least?", "Number crunching"),
    ],
)
def test_the_one_at_the_end_is_named(text: str, name: str) -> None:
    deals: list[Json] = [LATE | {"amount": 5.0}, FLEET]

    assert "extreme" == follows(text, "opportunity_search", deals, [name])
    assert [] == [other for other in ("Dock sensors", "nothing") if follows(text, "opportunity_search", deals, [other])]


def test_smallest_of_equal_values_is_undefined() -> None:
    """A question without an answer is no question."""
    assert "" == follows("Which deal is worth least?", "opportunity_search", [DOCKS, LATE, FLEET], ["Dock sensors"])


def test_totals_are_reported_as_requested() -> None:
    """The table that the words name; how many, how much, or both; names don't count."""
    counts = {"clients": 2, "notes": 3, "opportunities": 4}
    totals = {"total_count": 4, "total_amount": 99.5}

    assert "count" == follows("Are we good people? Count our notes.", "summarize_counts", counts, [3])
    assert "" == follows("Are we good people? Count our notes.", "summarize_counts", counts, [2])
    assert "sum" == follows("All deals: how many, how much in total?", "summarize_opportunities", totals, [4, 99.5])
    assert "" == follows("All deals: how many?", "summarize_opportunities", totals, [4, 99.5])


def test_every_row_must_be_named() -> None:
    """None is left out, none is made up; notes only of what is spoken of."""
    assert "cells" == follows("List the quotes with amounts.", "list_quotes", {"a": SMALL_QUOTE}, [75000])
    assert "" == follows("List the quotes with amounts.", "quote_search", QUOTES, [75000])
    assert "cells" == follows("Read out the notes on Dock sensors", "list_notes", NOTES, ["They liked the sample"])
    assert "cells" == follows("Read out all notes", "list_notes", NOTES, ["They liked the sample", "Call them"])
    assert "" == follows("Read out all notes", "list_notes", NOTES, ["They liked the sample"])


def test_clarifying_question_distinguishes_the_candidates() -> None:
    """By what only one of them is called; all of them are named."""
    rows: list[Json] = [HARBOR, LIGHTS]

    assert "names" == follows("New number for Harbor Light", "client_search", rows, ["Cafe", "Logistics"], asks=True)
    assert "" == follows("New number for Harbor Light", "client_search", rows, ["Cafe", "Light"], asks=True)
    assert "" == follows("New number for Harbor Light", "client_search", rows, ["Cafe"], asks=True)


def test_empty_result_is_reported_as_nothing() -> None:
    assert "nothing" == follows("Which quotes are sent?", "quote_search", [], ["nothing"])
    assert "" == follows("Which quotes are sent?", "quote_search", QUOTES, ["nothing"])
    assert "" == follows("Which quotes are sent?", "quote_search", [], [75000])
