"""Texts, labels, titles and counts of a reply, compared with the records of the turn."""

import pytest

from pytest_crmeval.conversations.scorers.counts import miscounts
from pytest_crmeval.conversations.scorers.reading import sentences_of
from pytest_crmeval.conversations.scorers.records import Records
from pytest_crmeval.conversations.scorers.texts import untrue_texts
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts
from pytest_crmeval.domain.messages import ToolCall, ToolResult
from pytest_crmeval.domain.state import Row

CLIENT: Row = {"client_id": "c1", "name": "Acme Works", "industry": "Mining", "owner": None}
CONTACT: Row = {
    "contact_id": "p1",
    "client_id": "c1",
    "first_name": "Ada",
    "last_name": "King",
    "title": "Chief Operating Officer",
    "email": None,
    "notes": "Prefers calls in the morning.",
}
WRITTEN: Row = {**CONTACT, "notes": "Speaks for the whole team."}


def facts(**changes: object) -> TurnFacts:
    """Return what is known after the notes of a contact were changed."""
    records = Records.seeded({"clients": [CLIENT], "contacts": [CONTACT]})
    records.play([(ToolCall(tool="modify_contact", arguments={"contact_id": "p1"}), ToolResult(value=dict(WRITTEN)))])
    found = TurnFacts(records=records, user="Please change it.", answers="", heard=[], base=[("contact_id", "p1")])
    for name, value in changes.items():
        setattr(found, name, value)
    return found


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Title: Chief Operating Officer", ""),
        ("Notes: Speaks for the whole team.", ""),
        ('Her notes now say "Speaks for the whole team."', ""),
        ('Her notes now say "Speaks for the board."', '"Speaks for the board.": no record or message has this text'),
        ("Acme Works is in the industry Mining.", ""),
        ("Ada King has no email.", ""),
    ],
)
def test_a_text_must_be_that_of_the_record(text: str, fault: str) -> None:
    """In quotation marks; what a label says is not compared."""
    known = facts()
    found = [fault for sentence in sentences_of(text, known.records.phrases) for fault in untrue_texts(sentence, known)]

    assert ([fault] if fault else []) == [each[: len(fault)] for each in found[:1]]


@pytest.mark.parametrize(
    ("text", "false"),
    [
        ("Acme Works has one contact.", False),
        ("Acme Works has three contacts.", True),
    ],
)
def test_a_count_must_be_that_of_the_records(text: str, *, false: bool) -> None:
    """Of all, or of those that one record has."""
    known = facts()
    known.said = sentences_of(text, known.records.phrases)

    assert false is bool(list(miscounts(known.said[0], known)))
