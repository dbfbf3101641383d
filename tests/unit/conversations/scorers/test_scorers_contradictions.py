"""What a reply says in so many words and is otherwise."""

import pytest

from pytest_crmeval.conversations.scorers.contradictions import contradictions, stale
from pytest_crmeval.conversations.scorers.groundedness import Grounds
from pytest_crmeval.conversations.scorers.mentions import read
from pytest_crmeval.domain.messages import Message, agent_says, crm_says, user_says
from tests.fakes import call, calls
from tests.plays import FLEET, LARGE_QUOTE, MIRA, SMALL_QUOTE, found, uid

DOCK = {**FLEET, "opportunity_id": uid("dock"), "name": "Dock automation", "stage": "Qualification"}
EARLIER = (
    user_says("What is open? And who is our contact?"),
    crm_says([found([FLEET, DOCK]), found([MIRA]), found([SMALL_QUOTE, LARGE_QUOTE])]),
)
CHANGE = call("modify_opportunity", opportunity_id=uid("fleet"), stage="Negotiation", amount=90000)
NOW = (
    user_says("Move it to Negotiation, for 90,000."),
    agent_says(calls(CHANGE)),
    crm_says([found({**FLEET, "stage": "Negotiation", "amount": 90000.0})]),
)


def against(text: str, turn: tuple[Message, ...] = NOW) -> list[str]:
    """Return what a reply says against what was heard."""
    grounds = Grounds()
    grounds.add([*EARLIER, *turn])
    return list(contradictions(read(text), turn, grounds))


@pytest.mark.parametrize(
    "text",
    [
        "I found 2 deals.",
        "There are two open opportunities, and you have **2 quotes**.",
        "I found one contact.",
        "1 deal is in Qualification.",
        "We currently have a total of 2 deals.",
        "I've moved the deal Fleet tracking rollout to Negotiation.",
        "I've moved it from Proposal to Negotiation and raised it to $90,000.",
        "The stage is Negotiation now; the amount is now 90,000.",
        "I've set the close date to 30 November 2025, and the amount to 90000.",
        "Would you like me to set it to Closed-Won?",
        "It could be moved to Closed-Won next.",
        "Stages: Prospecting, Qualification, Proposal, Negotiation, Closed-Won, Closed-Lost.",
        "Done for Mira O'Brien on Monday, at HQ, with Status Sent.",
        "Please contact Support; the deal I've changed is fine.",
        "Contact: Mira O\u2019Brien. Dear Mira, thanks.",
        "Deal Moved to Next Stage",
        "I've updated Fleet tracking rollout; Dock automation is as it was.",
        "It is 90 k now.",
    ],
)
def test_the_truth_contradicts_nothing(text: str) -> None:
    """Also when it lists, offers or compares."""
    assert [] == against(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I found 3 deals.", ["'found 3 deals'"]),
        ("There are five open opportunities.", ["'There are five open opportunities'"]),
        ("You have **7** quotes.", ["'You have **7** quotes'"]),
        ("I've moved it to Closed-Won.", ["Closed-Won", "that it is Closed-Won now"]),
        ("I've moved it to Proposal.", ["that it is Proposal now"]),
        ("The stage is Proposal now.", ["that it is Proposal now"]),
        ("It is now in Qualification.", ["that it is Qualification now"]),
        ("I've raised the amount to $84,000.", ["that it is 84,000 now"]),
        ("Its status is Approved.", ["Approved"]),
        ("I've updated the deal Globex.", ["Globex"]),
        ("It has been changed for Umbrella.", ["Umbrella"]),
        ("I've told the contact Mira Smith.", ["Smith"]),
        ("Jane O'Brien was told.", ["Jane"]),
        ("I've updated Dock automation.", ["Dock automation"]),
    ],
)
def test_what_contradicts_is_told(text: str, expected: list[str]) -> None:
    """A count, a stage, a status, an amount, a name, another row."""
    assert expected == against(text)


def test_what_was_chosen_just_now_is_so() -> None:
    """Who tells of the old stage, and neither of the new one nor of a deed, has not seen it."""
    assert ["that it is Proposal now"] == stale(read("The deal is in Proposal, at 55 percent."), "Negotiation")
    assert not stale(read("It is still in Proposal; Negotiation comes next."), "Negotiation")
    assert not stale(read("Done. The other one is in Proposal."), "Negotiation")
    assert not stale(read("The deal is in Proposal."), None)


def test_as_many_as_are_named_may_be_counted() -> None:
    """Who chooses some of many rows knows how many he has chosen."""
    rows = [{**FLEET, "opportunity_id": uid(name), "name": name} for name in ("Ada", "Bob", "Cy", "Dee", "Eve")]
    turn = (user_says("Which are large?"), crm_says([found(rows)]))

    assert [] == against("There are 3 large deals: Ada, Cy and Eve.", turn)
    assert ["'There are 4 large deals'"] == against("There are 4 large deals: Ada, Cy and Eve.", turn)


def test_what_is_found_is_found_now() -> None:
    """What earlier turns have found can still be counted, but not as found."""
    turn = (
        user_says("And Dock?"),
        agent_says(calls(call("opportunity_search", name="dock"))),
        crm_says([found([DOCK])]),
    )

    assert ["'found 2 opportunities'"] == against("I found 2 opportunities: Dock automation.", turn)
    assert [] == against("I found 1 opportunity, Dock automation; in all you have 2 deals.", turn)


def test_a_number_of_something_else_is_no_count() -> None:
    """A probability of 3 does not make three deals; what an overview or the user counts does."""
    odd = crm_says([found([{**FLEET, "probability": 3}])])

    assert ["'There are 3 deals'"] == against("There are 3 deals.", (user_says("How many?"), odd))
    assert ["'There are 3 quotes'"] == against("There are 3 quotes.", (user_says("How many?"), crm_says([found([])])))
    assert [] == against("There are 3 deals.", (user_says("Those three?"), odd))
    assert [] == against("There are 3 deals.", (user_says("How many?"), crm_says([found({"total_count": 3})])))


def test_the_old_name_of_another_row_is_another_row() -> None:
    """Though it is called otherwise by now."""
    renamed = (crm_says([found({**DOCK, "name": "Pier automation"})]), *NOW)

    assert ["Dock automation"] == against("I've updated Dock automation.", renamed)
    assert ["Pier automation"] == against("I've updated Pier automation.", renamed)
    assert [] == against("I've updated Fleet tracking rollout.", renamed)


def test_what_was_not_chosen_is_not_so_though_the_user_has_named_it() -> None:
    """Who says that it is done, and tells the stage that it had before, is wrong."""
    assert ["that it is Proposal now"] == list(stale(read("Done: the stage is Proposal now."), "Closed-Won"))
    assert [] == list(stale(read("Done, it is won."), "Closed-Won"))
    assert [] == list(stale(read("Done: moved from Proposal to Closed-Won."), "Closed-Won"))


def test_a_row_that_was_never_shown_is_not_another_one() -> None:
    """What was copied is known only by its id; the copy, which is shown, may be named."""
    source, copy = uid("hall"), {**FLEET, "opportunity_id": uid("copy"), "name": "Hall lighting (Clone)"}
    turn = (
        user_says("Copy the lighting deal."),
        agent_says(calls(call("clone_opportunity", opportunity_id=source))),
        crm_says([found(copy)]),
    )

    assert [] == against("Done: created Hall lighting (Clone).", turn)
    assert ["Dock automation"] == against("Done for Dock automation.", turn)
