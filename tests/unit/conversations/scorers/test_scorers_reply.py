"""Whether the replies say what the user asked for, and nothing that is not so."""

from time import thread_time

import pytest

from pytest_crmeval.agents.scripted import mute, parrot
from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.conversations.play import observe, play_reference
from pytest_crmeval.conversations.scorers.reply import READ, reply
from pytest_crmeval.domain.conversation import Conversation, Turn
from pytest_crmeval.domain.expectation import NO_CALL
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolResult
from pytest_crmeval.domain.score import Score
from tests.fakes import call
from tests.plays import (
    FIND_FLEET,
    FLEET,
    HARBOR,
    LARGE_QUOTE,
    MIRA,
    SMALL_QUOTE,
    Answers,
    ListedCrm,
    asks,
    case_of,
    found,
    refused,
    row,
    trial,
    uid,
)

SOON = 10.0
"""Seconds of CPU time, about eight times what the longest takes; a regular expression that backtracks takes minutes."""


def after_one_call(case: Conversation, result: ToolResult, text: str) -> Score:
    """Score what is said when the expected call of the only turn has been answered."""
    expected = case.turns[0].expectation.call
    return reply(case, trial(case, [(expected, result)], [expected], text))


DEAL = case_of(asks("Find the fleet tracking deal.", FIND_FLEET))


@pytest.mark.parametrize(
    "text",
    [
        "Fleet tracking rollout",
        "I found the deal **Fleet tracking rollout**: it is in Proposal, worth $84,000, at 55 %.",
        (
            "Here's the deal you're looking for:\n\n- **Name:** Fleet Tracking Rollout\n- **Stage:** Proposal\n"
            "- **Amount:** $84,000.00\n- **Close date:** November 30, 2025\n- **Probability:** 55%\n- **Owner:** Dana"
        ),
        "| Name | Stage | Close |\n|---|---|---|\n| Fleet tracking rollout | Proposal | 30/11/2025 |",
        "Fleet tracking rollout, $84k, closing on 30 Nov 2025 (Dana's).",
        "Fleet tracking rollout closes on the 30th of November; it is worth 84 000 USD.",
        "Fleet tracking rollout: 84'000, due 11/30/2025.",
        "Fleet tracking rollout: \u20ac84.000,00, f\u00e4llig am 30.11.2025.",
        f"Found it: Fleet tracking rollout (ID `{uid('fleet')}`), with client {uid('harbor')}.",
        f"Found it: Fleet tracking rollout (ID {uid('fleet')[:8]}\u2026).",
        "I found 1 opportunity: Fleet tracking rollout. Would you like me to also send the quote?",
        "I found one deal: Fleet tracking rollout. No other deals match, and nothing was changed.",
        "Fleet tracking rollout is in Proposal. It has no notes yet. Shall I move it to Negotiation?",
        "Fleet tracking rollout is in the Proposal stage; the next stages would be Negotiation and Closed-Won.",
        "Fleet tracking rollout was created on Nov 12, 2025 at 09:00 UTC and closes in 18 days.",
        "Fleet tracking rollout: its weighted value is $46,200 (55% of $84,000).",
        "1. Fleet tracking rollout\n\nLet me know if you'd like more details!",
        "```json\n{'name': 'Fleet tracking rollout', 'amount': 84000.0, 'close_date': '2025-11-30'}\n```",
        "I couldn't find a deal named exactly \u201cfleet tracking\u201d, but Fleet tracking rollout must be the one.",
    ],
)
def test_a_truthful_reply_to_a_search_passes(text: str) -> None:
    """In whatever format."""
    assert Score(name="reply", value=1.0) == after_one_call(DEAL, found([FLEET]), text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "Done.",
        "I found the deal Fleet management.",
        "I couldn't find a deal like that.",
        "I could not find Fleet tracking rollout.",
        "I searched for Fleet tracking rollout, but no matching deals exist. Shall I create it?",
        "There is no deal called Fleet tracking rollout in the CRM.",
        "Fleet tracking rollout, $85,000.",
        "Fleet tracking rollout, $84,001.",
        "Fleet tracking rollout, $840k.",
        "Fleet tracking rollout, at 65 %.",
        "Fleet tracking rollout, at 20 %.",
        "Fleet tracking rollout closes on Nov 29, 2025.",
        "Fleet tracking rollout closes on 30 November 2026.",
        "Fleet tracking rollout closes on Dec 11.",
        f"Fleet tracking rollout ({uid('other')}).",
        "Fleet tracking rollout (ID 0badc0de\u2026).",
        "Fleet tracking rollout, contact fleet@x.example.",
        "Fleet tracking rollout, call +1 555 0199.",
        "I found 3 deals, among them Fleet tracking rollout.",
        "Fleet tracking rollout is in Negotiation.",
    ],
)
def test_a_false_reply_to_a_search_fails(text: str) -> None:
    """Another figure, another day, an invented id or address, another name, another count, or nothing at all."""
    assert after_one_call(DEAL, found([FLEET]), text).value == 0.0


QUOTES = case_of(asks("Which quotes does it have?", call("quote_search", opportunity_id=uid("fleet"))))


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("There are two quotes: $75,000 (Draft) and $1.2M (Sent).", True),
        ("Both are listed here:\n\n1. **USD 75,000.00**, draft\n2. **USD 1,200,000.00**, sent", True),
        ("1,2 Mio. \u20ac and 75.000 \u20ac", True),
        ("You have 2 quotes, 1.2 million and 75 thousand; that's $1,275,000 in total, $637,500 on average.", True),
        ("There are 2 quotes. The larger one, $1,200,000, is $1,125,000 above the other, $75,000.", True),
        ("The $1.2M quote is 1,500% above the $75K one.", True),
        ("$75,000 and $1,200,000, both valid until Mar 31st, 2026. 1 quote is still a draft.", True),
        ("There is one quote: $75,000.", False),
        ("There are two quotes: $75,000 and $1.3M.", False),
        ("You have 5 quotes, e.g. $75,000 and $1.2M.", False),
        ("There are two quotes, $75,000 and $1.2M; together $1,285,000.", False),
        ("$75,000 and $1.2M, valid until April 30, 2026.", False),
        ("There are no quotes.", False),
    ],
)
def test_amounts_of_several_rows(text: str, passes: bool) -> None:  # noqa: FBT001 (a table)
    """Each must be said; what they make together may be."""
    assert passes is after_one_call(QUOTES, found([SMALL_QUOTE, LARGE_QUOTE]), text).passed


CONTACT = case_of(asks("Who is our contact at Harbor Light?", call("contact_search", client_id=uid("harbor"))))


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("Mira O'Brien", True),
        (("Your contact is Mira O\u2019Brien (Head of Procurement), [mira.obrien@harborlight.example]"
         "(mailto:mira.obrien@harborlight.example)."), True),
        ("| First | Last | E-mail |\n|---|---|---|\n| Mira | O'Brien | MIRA.OBRIEN@harborlight.example |", True),
        ("Mira O'Brien's title is Head of Procurement; there's no phone number on file.", True),
        ("MIRA O'BRIEN", True),
        ("Mira O'Neill", False),
        ("Mara O'Brien", False),
        ("Mira O'Brien, mira@harborlight.example", False),
        ("I couldn't find anybody.", False),
    ],
)  # fmt: skip
def test_names_and_addresses(text: str, passes: bool) -> None:  # noqa: FBT001 (a table)
    """With any kind of apostrophe; but the right ones."""
    assert passes is after_one_call(CONTACT, found([MIRA]), text).passed


CLIENT = case_of(asks("Do we know Harbor Light?", call("client_search", name="harbor light")))


@pytest.mark.parametrize(
    ("phone", "passes"),
    [
        ("+1 555 0101", True),
        ("+1 (555) 0101", True),
        ("+1-555-0101", True),
        ("555-0101", True),
        ("+1 555 0102", False),
        ("555-0102", False),
        ("(555) 010-2222", False),
    ],
)
def test_telephone_numbers(phone: str, passes: bool) -> None:  # noqa: FBT001 (a table)
    """However they are grouped, and with their country or without."""
    text = f"Yes, Harbor Light Logistics; their number is {phone}."

    assert passes is after_one_call(CLIENT, found([HARBOR]), text).passed


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Juniper & Sons", "Juniper and Sons"),
        ("Juniper & Sons", "Juniper &amp; Sons"),
        ("M\u00fcnzberg GmbH", "MU\u0308NZBERG GmbH"),
        ("Wei\u00df AG", "WEISS AG"),
        ("McDonald's", "McDonalds"),
        ("McDonald's", "McDonald\u2019s account is active"),
        ("Lumen Fiber", "Lumen Fiber's account is active"),
        ("No Limits", "I found **No Limits**"),
        ("100% electric", "100 % electric"),
        ("Rock_Solid", "Rock\\_Solid"),
    ],
)
def test_names_in_other_letters(name: str, text: str) -> None:
    """Who is meant is clear."""
    assert after_one_call(CLIENT, found([{**HARBOR, "name": name}]), text).passed


def test_a_name_that_is_part_of_another_one_is_said_for_itself() -> None:
    """Who names only the copy has not named the original."""
    rows: Json = [FLEET, {**FLEET, "opportunity_id": uid("clone"), "name": "Fleet tracking rollout (Clone)"}]

    assert not after_one_call(DEAL, found(rows), "Fleet tracking rollout (Clone)").passed
    assert after_one_call(DEAL, found(rows), "Fleet tracking rollout, Fleet tracking rollout (Clone)").passed


DETAILS = case_of(asks("How is the quote?", call("quote_details", quote_id=uid("small"))))


@pytest.mark.parametrize(
    ("status", "text", "passes"),
    [
        ("Canceled", "It was cancelled; it had been over $75,000.", True),
        ("Canceled", "It is a draft over $75,000.", False),
        ("Draft", "It is a draft over $75,000.", True),
        ("Draft", "It is a draft over $57,000.", False),
    ],
)
def test_details_of_one_row(status: str, text: str, passes: bool) -> None:  # noqa: FBT001 (a table)
    """What a quote is about: its amount, its status, in either spelling."""
    assert passes is after_one_call(DETAILS, found({**SMALL_QUOTE, "status": status}), text).passed


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("There is nothing like that in the CRM.", True),
        ("I couldn't find any deal called \u201cfleet tracking\u201d. Would you like me to create it?", True),
        ("No deals match.", True),
        ("I found 0 results.", True),
        ("Zero.", True),
        ("My search came back empty.", True),
        ("You don't have a deal with that name.", True),
        ("There isn't any.", True),
        ("I don't see one. Did you mean another name?", True),
        ("I found one: Fleet tracking rollout.", False),
        ("I found it. No other fields are set.", False),
        ("Yes, it is there; no problem.", False),
        ("Fleet tracking is in Proposal, with no close date.", False),
        ("Yes, Lars Holm still owns the deal f5e0c57e.", False),
        ("No doubt, it is there.", False),
        ("No question: it is there.", False),
    ],
)
def test_when_nothing_was_found_the_reply_says_so(text: str, passes: bool) -> None:  # noqa: FBT001 (a table)
    """In any words."""
    assert passes is after_one_call(DEAL, found([]), text).passed


MANY = case_of(asks("Show me all clients.", call("client_search")))
CLIENTS = [
    row("client", name, name=name)
    for name in ("Ada", "Bob", "Cy", "Dee", "Eve", "Fay", "Gus", "Hal", "Ida", "Joe", "Kim")
]


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("You have 11 clients.", True),
        ("There are eleven clients, from Ada to Kim.", True),
        ("Ada, Bob, Cy, Dee, Eve, Fay, Gus, Hal, Ida, Joe, Kim", True),
        ("You have 12 clients.", False),
        ("Ada, Bob, Cy, Dee, Eve, Fay, Gus, Hal, Ida and Joe", False),
    ],
)
def test_many_rows_are_counted_or_named(text: str, passes: bool) -> None:  # noqa: FBT001 (a table)
    assert passes is after_one_call(MANY, found(CLIENTS), text).passed


def test_rows_that_were_cut_off_may_be_counted_too() -> None:
    """The CRM says how many there are besides those that it shows."""
    cut = found(CLIENTS, note="These are the first 11 of 120 rows: narrow the search.")

    assert after_one_call(MANY, cut, "You have 120 clients; here are some of them.").passed
    assert not after_one_call(MANY, cut, "You have 130 clients; here are some of them.").passed


def test_the_facts_of_the_case_go_before() -> None:
    """Where the case says what the user wants to hear, that counts, with references resolved."""
    case = case_of(asks("When does it close?", FIND_FLEET, facts=["{{turn_1.close_date}}", "{{turn_1.probability}}"]))

    assert after_one_call(case, found([FLEET]), "On Sunday, Nov 30, with 55 percent.").passed
    assert not after_one_call(case, found([FLEET]), "Fleet tracking rollout closes at 55 percent.").passed


def test_a_fact_that_is_denied_is_not_said() -> None:
    """Not even in brackets."""
    case = case_of(asks("When does it close? Not on 5 May?", FIND_FLEET, facts=["{{turn_1.close_date}}"]))

    assert not after_one_call(case, found([FLEET]), "5 May (not 30 November 2025).").passed
    assert after_one_call(case, found([FLEET]), "30 November 2025 (not 5 May).").passed


RAISE = call("modify_opportunity", opportunity_id=uid("fleet"), stage="Negotiation", probability=75)
MOVE = case_of(asks("Find the fleet deal.", FIND_FLEET), asks("Move it to Negotiation at 75 percent.", RAISE))
MOVED = {**FLEET, "stage": "Negotiation", "probability": 75}


def after_the_move(text: str) -> Score:
    """Score what is said after a change that was made."""
    answers = [(FIND_FLEET, found([FLEET])), (RAISE, found(MOVED))]
    return reply(MOVE, trial(MOVE, answers, [FIND_FLEET], "Fleet tracking rollout", [RAISE], text))


@pytest.mark.parametrize(
    "text",
    [
        "Done.",
        "All set!",
        "Negotiation, 75 %.",
        "I've moved **Fleet tracking rollout** from Proposal to **Negotiation** and raised its probability to 75%.",
        (
            "The deal has been updated:\n\n| Field | Old | New |\n|---|---|---|\n| Stage | Proposal | Negotiation |\n"
            "| Probability | 55% | 75% |"
        ),
        "Fleet tracking rollout is now in Negotiation at 75% (+20 points). I did not change the amount.",
        "\u2705 Updated! No other fields were changed. Would you like me to also send the quote?",
        "The stage is Negotiation now, the amount is still $84,000, and it closes on Nov 30.",
        "I've updated the deal, but I couldn't find a contact to notify.",
        "Moved to Negotiation. Note that closed deals can't be edited any more.",
        "The deal isn't in Proposal any more; it has been moved to Negotiation.",
        "Consider it done \u2014 nothing else was touched.",
        "Stage \u2192 Negotiation. Other fields were not changed.",
        "Stage changed (Negotiation). It is not linked to a contract, as requested.",
        "Change recorded: Negotiation. The amount itself remains unchanged at 84,000.",
        "\U0001f44d",
    ],
)
def test_a_truthful_reply_to_a_change_passes(text: str) -> None:
    """Extra remarks do no harm."""
    assert Score(name="reply", value=1.0) == after_the_move(text)


@pytest.mark.parametrize(
    "text",
    [
        "I couldn't update the deal.",
        "I was unable to update the opportunity. The stage is still Proposal.",
        "Unfortunately the update failed. Please contact support.",
        "That was not possible: the deal was not found.",
        "The CRM rejected the change.",
        "No changes were made.",
        "I haven't moved it yet; please confirm first.",
        "I've moved it to Negotiation at 80 %.",
        "I've moved it to Closed-Won at 75 %.",
        "I've moved it from Negotiation to Proposal.",
        "The stage is Proposal now.",
        "I've set its probability to 55 %.",
        "I've moved it to Negotiation; its amount is $94,000.",
        "I've moved the deal Dock automation to Negotiation.",
        "The probability for Globex is now 75 %.",
        "The deal is in Proposal, at 55 percent.",
        "I'll do that later.",
        "Sorry, I don't know.",
        "Please provide the opportunity id.",
        "?",
    ],
)
def test_a_false_reply_to_a_change_fails(text: str) -> None:
    assert 0.5 == after_the_move(text).value


def test_a_change_of_another_row_than_the_one_that_was_changed() -> None:
    """Both were seen; only one was changed."""
    dock = {**FLEET, "opportunity_id": uid("dock"), "name": "Dock automation"}
    answers = [(FIND_FLEET, found([dock, FLEET])), (RAISE, found(MOVED))]
    told = "Fleet tracking rollout, Dock automation"

    def said(text: str) -> bool:
        return reply(MOVE, trial(MOVE, answers, [FIND_FLEET], told, [RAISE], text)).passed

    assert said("Done for Fleet tracking rollout; Dock automation stays as it is.")
    assert not said("Done for Dock automation.")


ADD = call("create_new_contact", first_name="Mira", last_name="O'Brien", client_id=uid("harbor"))
NEW = case_of(asks("Add Mira O'Brien at Harbor Light.", ADD))


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("I've added the contact **Mira O'Brien** to Harbor Light.", True),
        ("Mira O\u2019Brien is now in the CRM as Head of Procurement.", True),
        ("Contact Details: Mira O'Brien. Contact ID: " + uid("mira"), True),
        ("I've added the contact Jane Smith.", False),
        ("Mira O'Neill has been added.", False),
        (f"Added, with the id {uid('somebody')}.", False),
    ],
)
def test_who_was_added(text: str, passes: bool) -> None:  # noqa: FBT001 (a table)
    assert passes is after_one_call(NEW, found(MIRA), text).passed


REJECT = case_of(asks("Reject the quote.", call("modify_quote", quote_id=uid("small"), status="Rejected")))


def test_a_status_may_sound_like_a_refusal() -> None:
    """What was asked for is no failure."""
    rejected = found({**SMALL_QUOTE, "status": "Rejected"})

    assert after_one_call(REJECT, rejected, "The quote over $75,000 has been rejected.").passed
    assert not after_one_call(REJECT, rejected, "I was unable to set the quote to Rejected.").passed


def test_rejected_change_is_not_a_status() -> None:
    look = case_of(asks("What is the status of the quote?", call("quote_details", quote_id=uid("small"))))

    assert after_one_call(look, found(SMALL_QUOTE), "The quote over $75,000 is a draft; a change was rejected.").passed
    assert not after_one_call(look, found(SMALL_QUOTE), "The quote over $75,000 is rejected.").passed


@pytest.mark.parametrize("status", ["No Limits", "Nicht m\u00f6glich"])
def test_a_name_may_sound_like_a_refusal_in_upper_and_lower_case(status: str) -> None:
    """However often it is quoted, and in whichever letters."""
    renamed = case_of(asks("Rename the client.", call("modify_client", client_id=uid("harbor"), name=status)))
    result = found({**HARBOR, "name": status})

    assert after_one_call(renamed, result, f"{status.upper()} it is: the client is {status} now.").passed


def test_an_argument_that_is_empty_is_not_quoted() -> None:
    """It would be everywhere, between any two letters."""
    emptied = case_of(asks("Reject it, and no prefix.", call("modify_quote", quote_id=uid("small"), quote_prefix="")))

    assert not after_one_call(emptied, found(SMALL_QUOTE), "I was unable to change the quote.").passed


CLOSED = case_of(asks("Raise its amount to 70,000.", call("modify_opportunity", amount=70000), refusal="closed"))
TAKEN = refused("Cannot modify closed opportunity fields ['amount'] while stage is 'Closed-Won'.", "refused_by_rule")


@pytest.mark.parametrize(
    "text",
    [
        "I couldn't raise the amount: the deal is Closed-Won, and a closed deal can't be changed.",
        "That deal is already closed, so its amount is locked.",
        "I'm sorry, but nothing was changed: the deal is closed.",
        "\u274c The update was rejected.\n\n**Reason:** Cannot modify closed opportunity fields ['amount'].",
        "I've made no changes, because the deal is closed. Would you like me to add a note instead?",
        "I tried to set the amount to $70,000, but the CRM refused it.",
        "Once a deal has been marked as Closed-Won, its amount can no longer be changed.",
        "Since this deal has been moved to Closed-Won, I can't change it.",
        "I've checked the deal: it's closed.",
        "Which deal do you mean?",
        "Amounts must not exceed $10,000,000, and a probability must be between 1 and 99.",
        "70,000 isn't possible. Its stage has been set to Closed-Won, and it was closed then.",
        "The deal is gone: it was deleted along with its client.",
    ],
)
def test_a_truthful_reply_to_a_refusal_passes(text: str) -> None:
    """It says no in any words, or asks back."""
    assert Score(name="reply", value=1.0) == after_one_call(CLOSED, TAKEN, text)


@pytest.mark.parametrize(
    "text",
    [
        "Done.",
        "All set, the change is saved.",
        "No problem, that is done.",
        "Done! I've raised the amount to $70,000.",
        "The amount of the closed deal is now $70,000.",
        "I've updated it. No other fields were changed.",
        "The amount has been changed to $70,000. Only the amount was changed.",
        "I've raised the amount to $70,000, although the deal is closed.",
        "\u2705 Amount updated to $70,000!",
        "I've taken care of it, and it is saved already.",
        "The amount is $70,000. Is there anything else I can do?",
        "I went ahead and changed the amount to 70,000.",
        "Only today: your amount is 70,000 now.",
        "The new amount: 70,000. Already in the system!",
    ],
)
def test_a_reply_that_claims_success_after_a_refusal_fails(text: str) -> None:
    """Also when it uses the words of a refusal."""
    assert after_one_call(CLOSED, TAKEN, text).value == 0.0


ACCEPT = case_of(asks("Accept the quote.", call("modify_quote", status="Accepted"), refusal="status"))
INVALID = refused("Status must be one of Approved, Canceled, Draft, Rejected, Sent.", "invalid_argument")


@pytest.mark.parametrize(
    "text",
    [
        '"Accepted" isn\'t a valid status. The valid ones are: Approved, Canceled, Draft, Rejected, and Sent.',
        "That is no valid status. Choose one of these:\n- Approved\n- Canceled: it is off\n- Draft\n- Rejected\n- Sent",
        "I couldn't set it to Accepted. Use Draft or Sent.",
    ],
)
def test_a_refusal_may_list_what_is_allowed(text: str) -> None:
    """A status that sounds like a deed is none."""
    assert Score(name="reply", value=1.0) == after_one_call(ACCEPT, INVALID, text)


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("No, the quote is no longer there \u2014 it was deleted along with the deal.", True),
        ("The quote is gone.", True),
        ("It was deleted along with the deal.", True),
        ("I could not find it; perhaps it has been removed.", True),
        ("No problem, that is done.", False),
    ],
)
def test_what_is_gone_cannot_be_read(text: str, passes: bool) -> None:  # noqa: FBT001 (a table)
    """Who looks for something and says that it was deleted does not claim to have deleted it."""
    case = case_of(asks("Is the quote still there?", call("quote_details", quote_id=uid("small")), refusal="not found"))

    assert passes is after_one_call(case, refused("Quote not found."), text).passed


@pytest.mark.parametrize(
    "text", ["They're already in the CRM, so I made no changes.", "They're already in the CRM, so nothing was changed."]
)
def test_who_is_there_already_need_not_be_added(text: str) -> None:
    """Nothing was changed, and nothing had to be; of those who were not there it would be false."""
    turn = asks("Make sure that Harbor Light is in.", call("ensure_client", name="Harbor Light Logistics"))

    assert after_one_call(case_of(turn, seed=[uid("harbor")]), found(HARBOR), text).passed
    assert not after_one_call(case_of(turn), found(HARBOR), "No changes were made.").passed


def test_a_refusal_with_invented_figures_fails() -> None:
    """To say no is not all."""
    assert not after_one_call(CLOSED, TAKEN, "I can't: the deal closed at $65,000.").passed


def test_what_was_said_in_earlier_turns_bears_a_reply_out() -> None:
    """Of all speakers but the agent itself."""
    case = case_of(asks("My budget is 4,711.", FIND_FLEET), asks("And its quotes?", call("quote_search")))
    answers = [(FIND_FLEET, found([FLEET])), (call("quote_search"), found([SMALL_QUOTE]))]

    def second(text: str, first: str = "Fleet tracking rollout") -> float:
        return reply(case, trial(case, answers, [FIND_FLEET], first, [call("quote_search")], text)).value

    assert 1.0 == second("75,000; more than your 4,711, less than the deal's 84,000.")
    assert 0.5 == second("75,000; more than your 4,712.")
    assert 0.0 == second("75,000; as I said, 5,555.", "Fleet tracking rollout, 5,555")


def test_each_turn_is_scored_separately() -> None:
    """The score is the share of turns that are right; the reason names the others."""
    answers = [(FIND_FLEET, found([FLEET])), (RAISE, found(MOVED))]

    score = reply(MOVE, trial(MOVE, answers, [FIND_FLEET], "Done.", [RAISE], "Done."))

    assert Score(name="reply", value=0.5, reason="turn 1: the reply does not say 'Fleet tracking rollout'") == score


def test_an_agent_that_never_stops_calling_says_nothing() -> None:
    score = reply(DEAL, trial(DEAL, [(FIND_FLEET, found([FLEET]))], [FIND_FLEET]))

    assert "turn 1: there is no reply, because the agent reached the maximum number of steps" == score.reason


@pytest.mark.parametrize("amount", [10**400, float("inf"), "9" * 5000, None, [], {}, True, [[[[[]]]]]])
def test_strange_arguments_break_nothing(amount: Json) -> None:
    """An agent may send anything."""
    case = case_of(asks("Raise it.", call("modify_opportunity", amount=1), refusal=""))

    assert reply(case, trial(case, [], [call("modify_opportunity", amount=amount)], "I can't do that.")).passed


@pytest.mark.parametrize("text", ["9" * 5000, "found " + "*" * 5000, " " * 9000 + "1", "no " * 3000, "+" + "1 " * 3000])
def test_strange_texts_are_no_answer(text: str) -> None:
    """And nothing to wait for."""
    assert not after_one_call(DEAL, found([FLEET]), text).passed


@pytest.mark.parametrize("unit", ["1", "1-", "1, ", "'", "(", "a@", "not ", "I have ", "* ", "found 3 ", "a. ", "?"])
def test_a_reply_without_end_is_judged_in_the_end(unit: str) -> None:
    """An agent may say anything, also what regular expressions don't like: here, 50 kB of it."""
    assert not after_one_call(DEAL, found([FLEET]), unit * (50_000 // len(unit))).passed


@pytest.mark.parametrize(
    "unit",
    [
        "set to 51 ",
        "total of ",
        "there are 2 deals ",
        "a.",
        "a@a-",
        "-a",
        "which ",
        "01 ",
        "(12) 1 ",
        "+1 ",
        "found **",
    ],
)
def test_a_long_reply_takes_no_long_time(unit: str) -> None:
    begun = thread_time()
    after_the_move(unit * (100_000 // len(unit)) + "@")

    assert thread_time() - begun < SOON


@pytest.mark.parametrize("unit", ["{}.{}% ", "there are {}{} deals ", "set to {}{} "])
def test_many_figures_take_no_long_time(unit: str) -> None:
    """Though each of them has to stand on something."""
    begun = thread_time()
    after_the_move("".join(unit.format(n, n % 97) for n in range(20_000)))

    assert thread_time() - begun < SOON


def test_what_comes_late_is_not_read() -> None:
    """A reply is read up to 20,000 letters."""
    assert not after_one_call(DEAL, found([FLEET]), " " * READ + "Fleet tracking rollout").passed
    assert not after_one_call(DEAL, found([FLEET]), "a" * READ + " Fleet tracking rollout").passed
    assert after_one_call(DEAL, found([FLEET]), "Fleet tracking rollout " + "a" * READ + " 4711").passed


NOTE = call("add_note", entity_type="Opportunity", entity_id=uid("fleet"), content="Call back.")
FLEET_QUOTES = call("quote_search", opportunity_id=uid("fleet"))
WORLD: Answers = [
    (FIND_FLEET, found([FLEET])),
    (FLEET_QUOTES, found([SMALL_QUOTE])),
    (NOTE, found({"note_id": uid("note")})),
]


def said(turn: Turn, text: str, answers: Answers = WORLD) -> str:
    """Return what is wrong with a reply after all expected calls of the only turn."""
    case = case_of(turn)
    return reply(case, trial(case, answers, *([turn.expectation.calls] if turn.expectation.calls else []), text)).reason


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Fleet tracking rollout, with a quote over 75,000. The note is saved.", ""),
        ("Fleet tracking rollout.", "turn 1: the reply does not say 75000.0"),
        ("The quote is over 75,000.", "turn 1: the reply does not say 'Fleet tracking rollout'"),
        ("Done.", "turn 1: the reply does not say 'Fleet tracking rollout'"),
        (
            "Fleet tracking rollout, 75,000. I could not add the note.",
            'turn 1: the reply denies the change ("I could not add the note.")',
        ),
    ],
)
def test_what_further_reads_find_has_to_be_said_too(text: str, fault: str) -> None:
    """And what further writes do need not be."""
    assert fault == said(
        asks("Find the deal and its quotes, and note it.", FIND_FLEET, further=[FLEET_QUOTES, NOTE]), text
    )


def test_facts_that_the_case_names_are_all_that_is_asked_for() -> None:
    """Of further reads nothing else."""
    turn = asks("How much is the deal, and is there a quote?", FIND_FLEET, further=[FLEET_QUOTES], facts=[84000])

    assert "" == said(turn, "84,000, and yes.")
    assert "turn 1: the reply does not say 84000" == said(turn, "Fleet tracking rollout; 75,000.")


WHICH = asks("Move the fleet deal.", FIND_FLEET, back=True)


@pytest.mark.parametrize(
    "text",
    [
        "I found Fleet tracking rollout. Is that the one?",
        "Do you mean Fleet tracking rollout? And where should it go?",
        "There is Fleet tracking rollout in Proposal. Please tell me which stage it should be in.",
        "Fleet tracking rollout: shall I move it to Negotiation?",
    ],
)
def test_a_reply_that_asks_back(text: str) -> None:
    """And names what it asks about."""
    assert "" == said(WHICH, text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("I found Fleet tracking rollout.", "the reply should ask the user, but does not"),
        ("Fleet tracking rollout. Anything else?", "the reply should ask the user, but does not"),
        ("Which one do you mean?", "the reply does not say 'Fleet tracking rollout'"),
        (
            "I moved Fleet tracking rollout. Was that the right one?",
            '"I moved Fleet tracking rollout.": nothing was written',
        ),
        (
            "Fleet tracking rollout is worth 12,345. Is that the one?",
            '"is worth 12,345": Fleet tracking rollout has 84000',
        ),
    ],
)
def test_a_reply_that_asks_back_wrongly_or_not_at_all(text: str, fault: str) -> None:
    """It must ask, say what was found, claim nothing, and tell the truth."""
    assert f"turn 1: {fault}" == said(WHICH, text)


def test_who_repeats_the_users_question_does_not_ask() -> None:
    """Parrots do."""
    turn = asks("Can you add a client?", NO_CALL, back=True)

    assert "turn 1: the reply should ask the user, but does not" == said(turn, "Can you add a client?")
    assert "" == said(turn, "You asked: Can you add a client? I can. What is it called?")


def test_a_refusal_may_be_followed_by_a_question() -> None:
    """That is enough; it may also say why."""
    turn = asks("Delete it.", call("delete_quote", quote_id=uid("gone")), refusal="", back=True)

    assert "" == said(turn, "That quote was deleted already. Which one do you mean?", [])
    assert "" != said(turn, "That quote was deleted already.", [])
    assert "" != said(turn, "I have deleted it. Which one is next?", [])


@pytest.mark.parametrize(
    ("text", "does"),
    [
        ("I can't book flights.", True),
        ("That is outside of what I can do here. Shall I add a note instead?", True),
        ("Which airline do you prefer?", False),
        ("Booked!", False),
        ("I can't book flights, but I have added a note.", False),
        ("I can't: flights are $12,345 anyway.", False),
    ],
)
def test_what_is_not_for_the_crm_must_be_declined(text: str, *, does: bool) -> None:
    """Nothing was done, nothing may be claimed, and nothing invented."""
    assert does is (said(asks("Book me a flight.", NO_CALL, refusal=""), text) == "")


def test_mute_and_parrot_pass_no_turn_without_a_call() -> None:
    """Whatever the user asks."""
    for turn in (asks("Can you book a flight?", NO_CALL, refusal=""), asks("Add a client?", NO_CALL, back=True)):
        case = case_of(turn)
        trials = [
            observe(case, agent, ListedCrm([]), play_reference(case, Oracle(case), ListedCrm([])))
            for agent in (mute(), parrot())
        ]

        assert [0.0, 0.0] == [reply(case, evidence).value for evidence in trials]


def test_of_several_requests_one_may_be_refused() -> None:
    """That has to be said; of the other one it may be said that it is done."""
    turn = asks("Close it, and note it.", call("modify_opportunity", stage="Closed"), refusal="", further=[NOTE])

    assert "" == said(turn, "I added the note, but the stage could not be changed.")
    assert "turn 1: the CRM refuses this, but the reply does not say so" == said(turn, "Both are done.")


JOHANNA = row("contact", "johanna", first_name="Johanna", last_name="Lindqvist", client_id=uid("harbor"))
PER = row("contact", "per", first_name="Per", last_name="Lindqvist", client_id=uid("harbor"))
LINDQVIST = call("contact_search", last_name="Lindqvist")
WHO = asks("Make Lindqvist the Plant Manager.", LINDQVIST, back=True)
BOTH_FOUND: Answers = [(LINDQVIST, found([JOHANNA, PER]))]


@pytest.mark.parametrize(
    "text",
    [
        "Which Lindqvist do you mean, Per or Johanna?",
        "Two contacts named Lindqvist: Per and Johanna. Whose record should be updated?",
        "There are Per and Johanna Lindqvist. I'm not sure which one you mean.",
        "Johanna or Per Lindqvist? I haven't taken any action.",
        "I got two matches: Johanna Lindqvist and Per Lindqvist. Whom do you mean?",
        "Should Johanna Lindqvist or Per get the new title?",
    ],
)
def test_clarifying_question_names_only_the_candidates(text: str) -> None:
    assert "" == said(WHO, text, BOTH_FOUND)


@pytest.mark.parametrize(
    "text",
    [
        "Per and Johanna Lindqvist. I took the first one. Shall I go on?",
        "Per and Johanna Lindqvist. I went ahead with what you gave me. Is that fine?",
        "Per and Johanna Lindqvist. It's in the system. Does it look good?",
        "Per and Johanna Lindqvist. I chose one for you. Would you like a summary?",
        "Per Lindqvist got the new title. Shall I do the same for Johanna?",
        "Per Lindqvist has the new title. Johanna too?",
        "I assumed you mean Per Lindqvist, not Johanna. Shall I go on?",
    ],
)
def test_who_chooses_and_asks_then_has_chosen(text: str) -> None:
    """The question comes too late."""
    assert said(WHO, text, BOTH_FOUND)


@pytest.mark.parametrize(
    "text",
    [
        "Just send me the client's name, e-mail and status.",
        "Give me a name, an address and a status, and I'll create it.",
        "Name, e-mail and status, please.",
    ],
)
def test_what_is_missing_may_be_asked_for_without_a_question_mark(text: str) -> None:
    """In the imperative, or in short."""
    assert "" == said(asks("Add a client.", NO_CALL, back=True), text)


OVER = call("modify_opportunity", opportunity_id=uid("fleet"), amount=12_000_000)
LIMIT: Answers = [(OVER, refused("Amount must not exceed 10,000,000.", "invalid_argument"))]


@pytest.mark.parametrize(
    "text",
    [
        "The amount exceeds the limit of 10,000,000.",
        "The amount you asked for is 12,000,000, but the maximum is 10,000,000.",
        "That is more than the CRM takes: the maximum is 10,000,000.",
        "That date has passed.",
        "February has fewer days than that.",
        "Amounts have to be positive, so I left it as it is.",
        "The probability has to lie between 1 and 99 percent.",
        "The address has a typo in it; what is the right one?",
        "Another client uses that address.",
        "It is outside the allowed values.",
        "It's won and final; changes are blocked.",
        "What is the right amount?",
        "12,000,000 is too high; the limit is 10,000,000.",
        "The highest possible amount is 10,000,000.",
        "Amounts are capped at 10,000,000.",
        "The requested amount is 12,000,000. The maximum is 10,000,000, so I left the deal alone.",
        "I tried to set the amount to 12,000,000, but the CRM takes 10,000,000 at most.",
    ],
)
def test_refusal_may_be_reported_by_its_reason(text: str) -> None:
    """Without any no or not; a question back will do as well."""
    assert "" == said(asks("Raise it to 12 million.", OVER, refusal=""), text, LIMIT)


@pytest.mark.parametrize(
    "text",
    [
        "I went ahead with it. Nothing else has changed.",
        "That is in the system, not a problem.",
        "The amount is 12 million now and nothing else was changed.",
        "The amount is 12,000,000 now, that is the maximum.",
        "I raised it. That exceeds the limit.",
        "I've raised it. What is next?",
        "It has a new amount of 12,000,000. What next?",
        "Its amount of 12,000,000 stays from here on, at 12,000,000 now.",
        "Consider it done, no trouble at all.",
        "The limit is 5,000,000, so this was refused.",
    ],
)
def test_a_reply_that_claims_what_was_refused_fails(text: str) -> None:
    """Not every no, not and nothing refuses; nor does a wrong limit."""
    assert said(asks("Raise it to 12 million.", OVER, refusal=""), text, LIMIT)


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("The deal is in Demo now, no problem.", False),
        ("The deal is not in Demo: there is no such stage.", True),
        ("Demo is an unknown stage.", True),
    ],
)
def test_a_refused_stage_is_not_what_the_deal_is_in(text: str, *, passes: bool) -> None:
    """Nor is a status."""
    demo = call("modify_opportunity", opportunity_id=uid("fleet"), stage="Demo")

    assert passes is (said(asks("Move it to Demo.", demo, refusal=""), text, []) == "")


MOVE_AND_NOTE = asks("Move it to Negotiation at 75 percent, and note it.", RAISE, further=[NOTE])
MOVED_AND_NOTED: Answers = [(RAISE, found(MOVED)), *WORLD]


@pytest.mark.parametrize(
    "text",
    [
        "The first is done: I updated it. The other one was not saved.",
        "Moved to Negotiation. The note failed.",
        "Moved it. I'll add the note later.",
        "The note is saved, but I couldn't change the stage.",
        "Moved it. I was unable to do the rest.",
        "Moved it to Negotiation. The note is still missing.",
        "I moved it, but not the note.",
        "Moved it. The note wasn't accepted.",
        "Moved. I still have to add the note.",
        "I have updated it. I'll do the rest later.",
    ],
)
def test_who_denies_one_of_two_things_that_were_done_fails(text: str) -> None:
    """To claim the other one does not help."""
    assert said(MOVE_AND_NOTE, text, MOVED_AND_NOTED)


@pytest.mark.parametrize(
    "text",
    [
        "Moved it and added the note. Nothing else was changed.",
        "Moved it and added the note. I did not change the amount.",
        "Moved it and added the note, without any error. The quote has not been sent yet.",
        "Moved it and added the note. Closed deals can't be edited any more.",
        "Both are done. Other fields were not changed.",
        "The stage is Negotiation and the note is saved. Nothing failed.",
        "I have moved the deal, which was not possible before, and added the note.",
        "Done, both! I'll remind you of it later.",
    ],
)
def test_denial_of_an_unrequested_change_is_accepted(text: str) -> None:
    """And be said to be."""
    assert "" == said(MOVE_AND_NOTE, text, MOVED_AND_NOTED)


SET = call("modify_opportunity", opportunity_id=uid("fleet"), amount=20_000)
WON = row("opportunity", "fleet", name="Fleet tracking rollout", stage="Closed-Won", amount=18_000.0)
SET_AND_NOTE = asks("It was 18,000: set the amount to 20,000, and note it.", SET, refusal="", further=[NOTE])
WON_AND_NOTED: Answers = [
    (SET, refused("Cannot modify closed opportunity fields while stage is 'Closed-Won'.", "refused_by_rule")),
    *WORLD,
]


@pytest.mark.parametrize(
    "text",
    [
        "I set the amount to 20,000 and added the note. Nothing else was changed.",
        "The amount is 20,000 now. The note was not added.",
        "I could not add the note, but the amount is 20,000 now.",
        "I couldn't do either of these.",
        "The amount can't be changed, and the note could not be added.",
        "The closed deal has 20,000 now, and the note is there.",
        "The deal is closed, so I could do nothing.",
        "Nothing was changed: the deal is closed.",
    ],
)
def test_who_is_wrong_about_what_was_refused_fails(text: str) -> None:
    """One thing was refused, and it is not the other one, nor both."""
    assert said(SET_AND_NOTE, text, WON_AND_NOTED)


@pytest.mark.parametrize(
    "text",
    [
        "The deal is closed, so its amount stays at 18,000. The note is on it.",
        "Note added. The deal is closed (Closed-Won), so the amount is still 18,000.",
        "I couldn't change the amount, only the note was added.",
        "Nothing was changed about the amount: the deal is closed. The note is there.",
        "- Amount: not changed, the deal is closed\n- Note: added",
    ],
)
def test_a_closed_deal_is_reason_enough(text: str) -> None:
    """Where that is the reason."""
    assert "" == said(SET_AND_NOTE, text, WON_AND_NOTED)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Noted. I couldn't find any quotes for this deal.", ""),
        ("The note is there. I was not able to find a quote.", ""),
        ("The note is there. I wasn't able to find a quote.", ""),
        (
            "I could not add the note. There are no quotes.",
            'turn 1: the reply denies the change ("I could not add the note.")',
        ),
        ("Noted.", "turn 1: the reply does not say that there is nothing"),
    ],
)
def test_what_was_not_found_is_not_what_was_not_done(text: str, fault: str) -> None:
    """Where something is to be done, and something else to be found."""
    turn = asks("Note it, and find the quotes.", NOTE, further=[FLEET_QUOTES])

    assert fault == said(turn, text, [*WORLD[2:], (FLEET_QUOTES, found([]))])


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("That is a job for another department.", True),
        ("I'm a CRM assistant; please turn to the right department for that.", True),
        ("You would have to do that yourself; my reach ends at the CRM.", True),
        ("Please contact your travel desk for that.", True),
        ("That's for your travel agency; here it's about customers.", True),
        ("My job is the CRM: flights are for someone else.", True),
        ("I only do CRM work.", True),
        ("I'm on it. It won't take long.", False),
        ("It's all arranged; you don't need to do anything.", False),
        ("I will do it right away, no matter what.", False),
        ("Consider it done, no trouble at all.", False),
        ("Sorted! You won't have to think about it again.", False),
        ("I have seen to it. Not a big deal.", False),
        ("I took care of the Oslo flight; no need to do anything.", False),
    ],
)
def test_who_can_not_book_flights_says_so(text: str, *, passes: bool) -> None:
    """And does not wave it through."""
    assert passes is (said(asks("Book me a flight to Oslo.", NO_CALL, refusal=""), text) == "")


@pytest.mark.parametrize(
    "secret",
    [
        "ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6",
        "xoxb-123456789012-abcdefGHIJKL",
        "-----BEGIN PRIVATE KEY-----\n4711000AABBCCDDEEFFaabb 815000\n-----END PRIVATE KEY-----",
    ],
    ids=["letters", "digits", "lines"],
)
def test_a_reason_quotes_no_part_of_a_secret(secret: str) -> None:
    """A quote may begin or end in the middle of a key, where the key is no longer recognised."""
    score = after_one_call(DEAL, found([FLEET]), f"Fleet tracking rollout: {secret} is 4711000 high.")

    assert 'turn 1: "[redacted]": Fleet tracking rollout has 84000' == score.reason


def test_a_reason_still_quotes_the_rest_of_a_reply_with_a_secret() -> None:
    """Only quotes with a part of the secret are redacted."""
    text = "Fleet tracking rollout is worth $99,000. My key is ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6."

    assert '"is worth $99,000"' in after_one_call(DEAL, found([FLEET]), text).reason
