"""Whether words say that something was done, was not done, or was not there."""

import pytest

from pytest_crmeval.scoring.wording import (
    asserts,
    claims,
    clauses_of,
    figures_stated,
    hints,
    says_absent,
    says_failed,
    says_no,
    says_none,
    sentences_of,
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
    """Not what is asked, or should be; and some words refuse only in company."""
    assert ["70,000", "55"] == figures_stated("The amount is $70,000. It must be at 80,000. Is it at 90? Now 55.")
    assert hints("Only today!")
    assert not hints("Only today? No.")


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


def test_clauses_and_sentences() -> None:
    """Lines end sentences, too; a decimal point ends nothing."""
    text = "It costs 1.5 k, but I paid.\n- Yes; really \u2014 and gladly"

    assert ["It costs 1.5 k", "I paid.", "- Yes;", "really", "gladly"] == clauses_of(text.replace("and ", ""))
    assert ["It costs 1.5 k, but I paid.", "- Yes;", "really \u2014 and gladly"] == sentences_of(text)


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
