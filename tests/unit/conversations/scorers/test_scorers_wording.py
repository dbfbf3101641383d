"""Whether words say that something was done, was not done, or was not there."""

import pytest

from pytest_crmeval.conversations.scorers.clauses import clauses_of
from pytest_crmeval.conversations.scorers.wording import (
    asks_back,
    asserts,
    claims,
    claims_any,
    figures_stated,
    says_absent,
    says_failed,
    says_no,
    says_none,
    says_not_all,
    says_outside,
    without_offers,
)


@pytest.mark.parametrize(
    "text",
    [
        "Done.",
        "All set!",
        "I've updated the deal.",
        "I\u2019ve just updated the deal.",
        "I have now moved it.",
        "I went ahead and changed it.",
        "I've taken care of that.",
        "The client has been created.",
        "The note was added.",
        "The stage is now Negotiation.",
        "Updated the amount.",
        "\u2705 Created **Ada Ltd**.",
        "Amount updated to 70,000.",
        "Client created successfully!",
        "The quote is gone.",
        "I've created the client with no phone number",
        "No problem, that is done.",
        "**Done!**",
        "Contract created (draft).",
        "Note recorded: the client called.",
        "The rejected quote has been deleted.",
    ],
)
def test_what_claims_that_something_was_done(text: str) -> None:
    """In the first person, in the passive, or in short."""
    assert claims(text)


@pytest.mark.parametrize(
    "text",
    [
        "I couldn't update the deal.",
        "I've made no changes.",
        "I tried to update the deal.",
        "I've checked the deal.",
        "I've found the deal.",
        "Nothing was changed.",
        "It has not been created.",
        "Has it been created?",
        "It was created on Monday.",
        "It was created earlier today.",
        "A client with this address has already been created.",
        "Once it has been closed and marked as won, it stays.",
        "Before it can be updated, it must be opened.",
        "It would have been created.",
        "It needs to be updated first.",
        "If you want it updated, tell me.",
        "The deal is closed.",
        "The deal is now closed.",
        "The amount is 70,000.",
        "Fleet tracking rollout",
        "Please get it changed.",
        "Perhaps it was deleted.",
        "It seems that it has been removed.",
    ],
)
def test_what_claims_nothing(text: str) -> None:
    """It denies, asks, offers, looks back, or only tells what is."""
    assert not claims(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I couldn't do that.", True),
        ("The e-mail address is already in use.", True),
        ("Which one do you mean?", True),
        ("Could you provide a different address?", True),
        ("Please specify the stage.", True),
        ("Stage must be one of: Draft, Sent.", True),
        ("I've changed it, but I couldn't reach you.", False),
        ("It has been changed. No other fields were touched.", False),
        ("The amount is 70,000. Is there anything else?", False),
        ("The valid ones are: Approved, Draft, and Sent.", False),
        ("It isn't valid. These are: Approved, Draft, and Sent.", True),
        ("No, it was deleted.", True),
        ("Here you are.", False),
        ("", False),
    ],
)
def test_who_says_no(text: str, expected: bool) -> None:  # noqa: FBT001 (a table)
    """And does not say yes in the same breath."""
    assert expected is says_no(text)


def test_who_should_delete_does_not_say_no_with_it_was_deleted() -> None:
    """Of what should have been changed or looked at it is the reason."""
    assert not says_no("No problem: it was deleted.", deletes=True)
    assert says_no("It is closed: its stage has been set.", reads=True)
    assert not says_no("It is closed: its stage has been set.")


def test_what_is_said_to_be_so() -> None:
    """Not what is asked, or should be."""
    assert ["70,000", "55"] == figures_stated("The amount is $70,000. It must be at 80,000. Is it at 90? Now 55.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I couldn't update the deal.", True),
        ("I couldn't update the deal. It needs to be closed first.", True),
        ("I'm unable to do that. It is in Proposal.", True),
        ("The update failed.", True),
        ("The CRM refused the change.", True),
        ("No changes were made.", True),
        ("The deal was not updated; it is still in Proposal.", True),
        ("Done. I couldn't find a phone number, though.", False),
        ("The note was added, but I could not attach the file.", False),
        ("The quote is a draft; it has not been sent yet.", False),
        ("Updated. This can't be undone.", False),
        ("Negotiation, 75 %.", False),
        ("Can't you see it?", False),
        ("I'll do that later.", True),
        ("Please provide the opportunity id.", True),
        ("?", True),
        ("It is in Negotiation. Please provide a date.", False),
        ("It is not linked to a deal.", False),
        ("Other fields were not changed.", False),
        ("It cannot be recovered.", False),
        ("Done; tell me if you can't see it.", False),
        ("", False),
    ],
)
def test_who_says_that_it_failed(text: str, expected: bool) -> None:  # noqa: FBT001 (a table)
    """And nowhere that it was done."""
    assert expected is says_failed(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nothing.", True),
        ("No deals match.", True),
        ("I don't see any.", True),
        ("It does not exist.", True),
        ("0 results", True),
        ("$0.00", True),
        ("There are 10 deals.", False),
        ("I found it. No other deals match.", False),
        ("It is no longer in Proposal.", False),
        ("The probability is 0.5.", False),
        ("The deal f5e0c57e", False),
        ("No doubt.", False),
        ("No question.", False),
        ("Acme", False),
    ],
)
def test_who_says_that_there_is_nothing(text: str, expected: bool) -> None:  # noqa: FBT001 (a table)
    """Not every no is one."""
    assert expected is says_none(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I couldn't find Acme.", True),
        ("I searched for Acme, but nothing was found.", True),
        ("No results for: Acme", True),
        ("Acme is not in the CRM.", True),
        ("There is no client called Acme. Should I create Acme?", True),
        ("Acme is active. There are no quotes.", False),
        ("I couldn't find \u201cacm\u201d, but Acme looks right.", False),
        ("Acme", False),
    ],
)
def test_who_says_that_something_is_absent(text: str, expected: bool) -> None:  # noqa: FBT001 (a table)
    """And in no clause that it is there."""
    assert expected is says_absent(text, lambda clause: "Acme" in clause)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is in Proposal.", True),
        ("Is it in Proposal?", False),
        ("It is not in Proposal.", False),
        ("You can move it to Proposal.", False),
        ("Valid stages are Draft and Sent.", False),
    ],
)
def test_who_says_that_something_is_so(text: str, expected: bool) -> None:  # noqa: FBT001 (a table)
    """Rather than asks, denies or offers it."""
    assert expected is asserts(text)


def test_offers_can_be_left_out() -> None:
    """Only what is said to be so has to be so."""
    text = "It is 5. Shall I make it 6? Let me know if you want 7. It stays 5."

    assert "It is 5. It stays 5." == without_offers(text)
    assert "It is 5." == without_offers("It is 5.")
    assert "It is 5." == without_offers("It is 5. You could use $0.01 as a placeholder. Anything, e.g. 7.")


@pytest.mark.parametrize(
    "text", [" " * 20000, "*" * 20000, "no " * 5000, "found " + "*" * 5000, "I " * 5000, "a-" * 9000]
)
def test_strange_texts_are_read_in_no_time(text: str) -> None:
    """They claim nothing, and nothing hangs."""
    assert [] == [clause for clause in clauses_of(text) if claims(clause)]
    assert not says_failed(text)
    assert not says_absent(text, str.isalpha)


QUESTIONS = [
    "Which one do you mean?",
    "I found two: Johanna and Per. Which Lindqvist should I update?",
    "Could you please clarify which contact you're referring to?",
    "Please let me know which one you mean and I'll update the title.",
    "I'd be happy to add a new client. Could you provide the name, e-mail and status?",
    "To create the client I need the following information:\n- Name\n- E-mail\n- Status (Active, Prospect, Inactive)",
    "Please provide the client's name and email address.",
    "There are two contacts named Lindqvist. Do you mean Johanna (Plant Manager) or Per (Buyer)?",
    "Sure! What's the name of the client?",
    "Which Lindqvist did you mean — Johanna or Per?",
    "I'll need a few details first:\n1. The client's name\n2. Their email",
    "Just to confirm, is it Johanna Lindqvist or Per Lindqvist?",
    "Is it Johanna or Per?",
    'I couldn\'t find that deal. Did you mean "Greenhouse sensors" or something else?',
    "Let me know which one, and I'll make the change.",
    "Tell me which and I'll do it.",
    "I want to make sure I update the right person. Can you confirm?",
    "Should I update Johanna or Per?",
    "Shall I change Johanna's title?",
    "Which of the two? Anything else you need?",
    "I see several matches. Kindly specify which.",
    "Happy to help! I just need the client's name, email, and status.",
    "What would you like me to call it?",
    "Who is it?",
    "I need to know which Lindqvist you mean.",
    "Please share the name and email so that I can create it.",
    "Can you tell me more about the client, such as name and e-mail?",
    "Would you like me to update Johanna or Per?",
    "**Which contact** should be updated?",
    "I found 2 contacts:\n1. Johanna\n2. Per\n\nPlease reply with the number.",
    "I'm missing some details: name, e-mail and status are required. Please supply them.",
    "To proceed, I require the client's name and email.",
    "May I have the name and e-mail of the client?",
    "I don't see a deal called orchid house. Can you double-check the name?",
    "No deal by that name exists. Please check the name and try again.",
]


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_question_back(text: str) -> None:
    """With a question mark or without one, beside courtesies or not; it claims nothing."""
    assert asks_back(text)
    assert not claims_any(text)


@pytest.mark.parametrize(
    "text",
    [
        "Done.",
        "I found Johanna and Per.",
        "Here are two: Johanna, Per. Anything else?",
        "Johanna and Per. Let me know if you need anything else.",
        "Is there anything else I can help you with?",
        "I took Johanna. OK?",
        "How can I help you today?",
        "Johanna, Per. Can I help with something else?",
        "What else can I do for you?",
        "Let me know if you have any questions.",
        "I found Johanna and Per. Does that help?",
        "Would you like me to help with anything else?",
        "Please let me know if there's anything else.",
        "Feel free to ask if you need more.",
        "Johanna and Per were found. Please note that both are active.",
        "I found nothing. Do you need further assistance?",
        "Need anything else?",
        "Johanna is the Plant Manager. Is that all right?",
    ],
)
def test_a_courtesy_is_no_question(text: str) -> None:
    """Nothing hangs on the answer."""
    assert not asks_back(text)


@pytest.mark.parametrize(
    "text",
    [
        "I can't book flights, but I can add a note.",
        "I'm not able to book flights.",
        "That's outside my scope.",
        "I'm a CRM assistant, so booking flights is beyond what I can do.",
        "Sorry, I don't have access to calendars or e-mail.",
        "I'm afraid I can only help with CRM tasks.",
        "Booking travel isn't supported.",
        "My abilities are limited to the CRM.",
        "There's no tool for sending texts.",
        "I cannot send text messages. Would you like me to add a note for Amadou instead?",
        "I'm unable to do that.",
        "Unfortunately, I can't send messages from here. I've not made any changes.",
        "You'll need to use another app for that; I work only with CRM data.",
        "I lack the ability to book flights.",
        "Texting is not something I can do from the CRM, but his number is on file.",
        "I do not have the ability to send texts; I've noted nothing.",
        "I\u2019m sorry, but I can\u2019t assist with that.",
        "That falls outside the CRM.",
        "Flight booking is unavailable here.",
    ],
)
def test_what_is_not_for_the_crm(text: str) -> None:
    """There are many ways to say so; what could be done instead may be offered."""
    assert says_outside(text)


@pytest.mark.parametrize(
    "text",
    [
        "Done.",
        "Flight booked!",
        "I've booked your flight to Oslo on Monday.",
        "Sure, I'll do it.",
        "Your flight is booked.",
        "I sent Amadou the message. It could not be easier.",
        "Message sent to Amadou.",
        "Of course! Which airline do you prefer?",
        "No problem, it's booked.",
        "I can't do it directly, but I've added a note to the client.",
        "Done: Can you book me a flight?\nThere was nothing else, and what could not be done was not done.",
        "I've texted Amadou. Nothing else was changed.",
        "Texted Amadou, no problem.",
        "I texted him that you'll be late, don't worry.",
    ],
)
def test_what_is_not_for_the_crm_and_is_not_said_to_be(text: str) -> None:
    """It claims to have done it, promises it, asks for details, or does something else instead."""
    assert not says_outside(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I added the note, but the deal is closed, so I could not change its amount.", True),
        ("The note was added. However, the CRM refused the new amount.", True),
        ("Done! You only need to tell them.", False),
        ("Both are done, no problem.", False),
        ("I've updated the deal and added the note.", False),
    ],
)
def test_a_part_of_it_was_not_done(text: str, *, expected: bool) -> None:
    """The rest may have been."""
    assert expected is says_not_all(text)


def test_who_announces_that_it_is_done_claims_it_whatever_follows() -> None:
    """Parrots repeat a question after it."""
    assert claims("Done: can you book me a flight?")
    assert not claims("Is it done?")
    assert not claims("Done?")


@pytest.mark.parametrize(
    "text",
    [
        "0% isn't possible. I could do one of these instead:\n- Set the probability to 1%\n- Put a note on the deal",
        "I can't do that. The options are:\n1. Mark it as Closed-Lost\n2. Set it to 1%",
        "There is no such stage. The stages I can choose from are:\n- Prospecting\n- Proposal",
    ],
)
def test_a_list_of_what_could_be_done_claims_nothing(text: str) -> None:
    """It belongs to the sentence that begins it."""
    assert says_no(text)


@pytest.mark.parametrize(
    "text",
    [
        "0 isn't usual, but here's what I did:\n- Set the probability to 1%",
        "That isn't allowed. Changes made:\n- Set the probability to 1%",
        "It isn't possible to do more. What I can confirm:\n- I set the probability to 1%",
        "I couldn't do it all, but the possible part:\n- Moved the stage to Proposal",
    ],
)
def test_a_list_of_what_was_done_does(text: str) -> None:
    """Whatever stands above it."""
    assert not says_no(text)


def test_to_ask_the_crm_is_not_to_have_it_done() -> None:
    """If the CRM said no; without that it is a claim."""
    assert says_no("I sent the deletion again, but the CRM answered that the quote wasn't found.", deletes=True)
    assert not says_no("I sent the deletion. No problem.", deletes=True)
