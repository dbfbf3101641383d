"""Deeds that a reply claims or denies, compared with what the turn has written."""

import pytest

from pytest_crmeval.conversations.scorers.deeds import claims_in, denied, false_deeds, says_done
from pytest_crmeval.conversations.scorers.lexicon import DEEDS
from pytest_crmeval.conversations.scorers.reading import sentences_of
from pytest_crmeval.conversations.scorers.records import Records
from pytest_crmeval.conversations.scorers.statements import Sentence
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts
from pytest_crmeval.domain.messages import ToolCall, ToolResult
from pytest_crmeval.domain.state import Row

DEAL: Row = {"opportunity_id": "o1", "name": "Sensor rollout", "stage": "Proposal", "probability": 33, "notes": None}
QUOTE: Row = {"quote_id": "q1", "opportunity_id": "o1", "amount": 4000, "status": "Draft"}


def facts_after(tool: str, row: Row, **arguments: str | int) -> TurnFacts:
    """Return what is known after one write of a turn."""
    records = Records.seeded({"opportunities": [DEAL], "quotes": [QUOTE]})
    records.play([(ToolCall(tool=tool, arguments=arguments), ToolResult(value=dict(row)))])
    base = [write.key for write in records.written]
    return TurnFacts(records=records, user="Please do it.", answers="", heard=[], base=base)


CANCELED = ("cancel_quote", {**QUOTE, "status": "Canceled"})
RAISED = ("modify_opportunity", {**DEAL, "probability": 60})
NOTED = ("add_note", {"note_id": "n1", "entity_type": "Opportunity", "entity_id": "o1", "content": "Call back."})


def said(text: str, facts: TurnFacts) -> list[Sentence]:
    """Return the sentences of a reply."""
    return sentences_of(text, facts.records.phrases)


@pytest.mark.parametrize(("word", "kind"), sorted(DEEDS.items()))
def test_each_deed_is_a_claim_unless_it_is_denied_or_offered(word: str, kind: str) -> None:
    """In the first person, in the passive, and on its own."""
    facts = facts_after(*RAISED)

    assert [kind] == [claim.kind for claim in claims_in(said(f"I've {word} it.", facts))]
    assert [kind] == [claim.kind for claim in claims_in(said(f"It has been {word}.", facts))]
    assert [] == claims_in(said(f"I haven't {word} it.", facts))
    assert [] == claims_in(said(f"It could be {word}.", facts))
    assert [] == claims_in(said(f"It has been {word}?", facts))


@pytest.mark.parametrize(
    ("text", "written", "false"),
    [
        ("The quote has been canceled.", CANCELED, False),
        ("The quote has been deleted.", CANCELED, True),
        ("I've sent the quote.", CANCELED, True),
        ("I've raised the probability.", RAISED, False),
        ("I've created a deal.", RAISED, True),
        ("The deal has been closed.", RAISED, True),
        ("I've also e-mailed the client.", RAISED, True),
        ("I've let the owner know.", RAISED, True),
        ("I've frobbed the quote.", RAISED, True),
        ("I looked it up first.", RAISED, False),
        ("I've sent the quote to the client.", CANCELED, True),
        ("I've saved it as a second address.", RAISED, True),
        ("I've updated the contract.", RAISED, True),
        ("I've set it up as a new deal.", RAISED, True),
        ("The note has been added.", NOTED, False),
        ("I've uploaded the agreement.", NOTED, True),
        ("The note replaces the earlier one.", NOTED, True),
        ("The note was there already.", NOTED, True),
    ],
)
def test_a_deed_must_be_what_the_turn_has_written(text: str, written: tuple[str, Row], *, false: bool) -> None:
    """Created, changed, deleted, canceled, closed, sent, uploaded, or outside of the CRM."""
    facts = facts_after(*written)

    assert false is bool(list(false_deeds(said(text, facts), facts)))


@pytest.mark.parametrize(
    ("text", "denial"),
    [
        ("I couldn't change the probability.", True),
        ("The probability could not be updated.", True),
        ("Nothing was changed.", True),
        ("The CRM rejected the change.", True),
        ("I'll change the probability later.", True),
        ("Done. I haven't changed the stage.", False),
        ("Nothing else was changed.", False),
        ("I haven't e-mailed it to anyone.", False),
        ("Done. Its quotes were not updated.", False),
        ("No problem, it is at 60 % now.", False),
    ],
)
def test_a_denial_counts_only_for_what_was_asked(text: str, *, denial: bool) -> None:
    """What was not asked for may be left undone."""
    facts = facts_after(*RAISED)

    assert denial is bool(denied(said(text, facts), facts))


@pytest.mark.parametrize(
    ("text", "done"), [("All set.", True), ("That is done.", True), ("It is not done.", False), ("Is it done?", False)]
)
def test_all_may_be_said_to_be_done(text: str, *, done: bool) -> None:
    """In words that name no deed."""
    assert done is bool(says_done(said(text, facts_after(*RAISED))))
