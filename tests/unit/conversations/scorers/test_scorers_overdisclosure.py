"""Whether a reply tells of everything there is, as if all of it had been asked for."""

import pytest

from pytest_crmeval.conversations.scorers.mentions import read
from pytest_crmeval.conversations.scorers.overdisclosure import surplus
from pytest_crmeval.conversations.scorers.turns import turns_of
from pytest_crmeval.domain.conversation import Turn
from pytest_crmeval.domain.messages import ToolCall
from tests.fakes import call
from tests.plays import FIND_FLEET, FLEET, HARBOR, Answers, asks, case_of, found, row, trial, uid

DOCK = {**FLEET, "opportunity_id": uid("dock"), "name": "Dock automation"}
SEARCH, LIST = call("opportunity_search"), call("list_opportunities")
BY_CLIENT = call("opportunity_search", client_id=uid("harbor"))
WORLD: Answers = [
    (FIND_FLEET, found([FLEET])),
    (SEARCH, found([DOCK, FLEET])),
    (LIST, found({uid("dock"): DOCK, uid("fleet"): FLEET})),
    (BY_CLIENT, found([DOCK, FLEET])),
    (call("opportunity_search", name=" "), found([DOCK, FLEET])),
    (call("list_clients"), found({uid("harbor"): HARBOR})),
]
ASKED = asks("Find the fleet tracking deal.", FIND_FLEET)
BOTH = "Fleet tracking rollout, Dock automation."


def told(text: str, *made: ToolCall, turn: Turn = ASKED) -> list[str]:
    """Return what is named unasked in a reply after these calls."""
    case = case_of(turn)
    (played,) = turns_of(case, trial(case, WORLD, [*made], text))
    return list(surplus(read(text), played))


@pytest.mark.parametrize("made", [SEARCH, LIST, call("opportunity_search", name=" ")], ids=str)
def test_who_looks_at_everything_must_not_tell_everything(made: ToolCall) -> None:
    """The user asked for one of them."""
    assert ["Dock automation"] == told(BOTH, made)
    assert [] == told("Fleet tracking rollout.", made)


@pytest.mark.parametrize(
    "text",
    [
        "Fleet tracking rollout. Dock automation is another one.",
        "It is Fleet tracking rollout, not Dock automation.",
        "There are Dock automation and Fleet tracking rollout; the one you want is Fleet tracking rollout.",
        "Fleet tracking rollout. Do you want Dock automation, too?",
    ],
)
def test_others_may_be_named_for_contrast(text: str) -> None:
    """If there is a word for it."""
    assert [] == told(text, SEARCH)


def test_what_somebody_looked_for_may_be_told() -> None:
    """A search that is wider than expected, but is one."""
    assert [] == told(BOTH, BY_CLIENT)
    assert [] == told(BOTH, BY_CLIENT, SEARCH)


def test_what_the_user_has_named_may_be_told() -> None:
    """It was asked about, in a way."""
    assert [] == told(BOTH, SEARCH, turn=asks("Is the fleet deal there, or Dock automation?", FIND_FLEET))


def test_rows_of_another_kind_may_be_told() -> None:
    """Whose deal it is, for example."""
    assert [] == told("Fleet tracking rollout, of Harbor Light Logistics.", FIND_FLEET, call("list_clients"))


def test_where_the_case_names_the_facts_or_wants_a_question_nothing_is_too_much() -> None:
    """Then it is not the rows that were asked for, or a choice is to be offered."""
    assert [] == told(BOTH, SEARCH, turn=asks("How much is it?", FIND_FLEET, facts=[84000]))
    assert [] == told(BOTH, SEARCH, turn=asks("Move the deal.", FIND_FLEET, back=True))


def test_who_is_asked_for_everything_tells_everything() -> None:
    """As the expected call shows."""
    assert [] == told(BOTH, LIST, turn=asks("Which deals are there?", SEARCH))
    assert [] == told(BOTH, SEARCH, turn=asks("Find it, and list all.", FIND_FLEET, further=[SEARCH]))


ACME, EUROPE = (row("client", name, name=name) for name in ("Acme", "Acme Europe"))
FIND_EUROPE, CLIENTS = call("client_search", name="acme e"), call("client_search")


def of_two_acmes(text: str) -> list[str]:
    """Return what is named unasked by somebody who was asked for Acme's daughter and has seen both."""
    case = case_of(asks("Find the European one.", FIND_EUROPE))
    world = [(FIND_EUROPE, found([EUROPE])), (CLIENTS, found([ACME, EUROPE]))]
    (played,) = turns_of(case, trial(case, world, [CLIENTS], text))
    return list(surplus(read(text), played))


def test_a_name_in_a_longer_one_is_not_named() -> None:
    """Acme Europe is not Acme; but who names both does."""
    assert [] == of_two_acmes("Acme Europe.")
    assert ["Acme"] == of_two_acmes("Acme Europe, Acme.")


@pytest.mark.parametrize(
    "text",
    [
        "Dock automation, Fleet tracking rollout. Anything else?",
        "Fleet tracking rollout. Dock automation. I also looked at their amounts.",
        "First things first. Fleet tracking rollout, Dock automation.",
        "Two match: Fleet tracking rollout, Dock automation.",
        "I have these:\n- Fleet tracking rollout\n- Dock automation\nIs there anything else?",
    ],
)
def test_words_beside_it_excuse_nothing(text: str) -> None:
    """What sets one apart from the other stands where the other is named."""
    assert ["Dock automation"] == told(text, SEARCH)


@pytest.mark.parametrize(
    "text",
    [
        "The deals are:\n- Dock automation\n- Fleet tracking rollout\nThe one you want is Fleet tracking rollout.",
        "Fleet tracking rollout. Others in the CRM:\n- Dock automation",
    ],
)
def test_a_list_is_part_of_what_stands_around_it(text: str) -> None:
    """Who lists all and picks one has answered."""
    assert [] == told(text, SEARCH)
