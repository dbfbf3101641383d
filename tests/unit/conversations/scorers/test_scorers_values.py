"""The values, names and texts of a reply, compared with the table of facts."""

import pytest

from pytest_crmeval.conversations.scorers.counts import miscounts
from pytest_crmeval.conversations.scorers.names import misplaced, wrong_names
from pytest_crmeval.conversations.scorers.reading import sentences_of
from pytest_crmeval.conversations.scorers.records import Records
from pytest_crmeval.conversations.scorers.texts import untrue_texts
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts
from pytest_crmeval.conversations.scorers.values import untrue_values
from pytest_crmeval.domain.messages import ToolCall, ToolResult
from pytest_crmeval.domain.state import Row, State

ACME: Row = {
    "client_id": "c1",
    "name": "Acme Works",
    "status": "Active",
    "email": "mail@acme.example",
    "owner": "Ada King",
}
BOLT: Row = {
    "client_id": "c2",
    "name": "Bolt Mining",
    "status": "Prospect",
    "email": "mail@bolt.example",
    "owner": None,
}
MIRA: Row = {"contact_id": "p1", "client_id": "c1", "first_name": "Mira", "last_name": "Holt", "title": "Lab Manager"}
DEAL: Row = {
    "opportunity_id": "o1",
    "client_id": "c1",
    "name": "Sensor rollout",
    "stage": "Proposal",
    "amount": 4000.0,
    "probability": 33,
    "close_date": "2026-12-19",
    "owner": None,
}
OTHER: Row = {
    **DEAL,
    "opportunity_id": "o2",
    "client_id": "c2",
    "name": "Crane lease",
    "amount": 9000.0,
    "probability": 50,
}
FIRST: Row = {"quote_id": "q1", "opportunity_id": "o1", "amount": 3500.0, "status": "Draft", "version": "1.0"}
SECOND: Row = {"quote_id": "q2", "opportunity_id": "o1", "amount": 3900.0, "status": "Sent", "version": "2.0"}
STATE: State = {
    "clients": [ACME, BOLT],
    "contacts": [MIRA],
    "opportunities": [DEAL, OTHER],
    "quotes": [FIRST, SECOND],
}
WRITE = ("modify_opportunity", {**DEAL, "probability": 60})
READ = ("quote_search", [FIRST, SECOND])


def faults(text: str, call: tuple[str, object]) -> list[str]:
    """Return what is wrong with a reply after one call."""
    tool, value = call
    records = Records.seeded(STATE)
    records.play([(ToolCall(tool=tool), ToolResult(value=value))])  # type: ignore[arg-type]
    shown = [key for keys in records.shown for key in keys]
    base = [write.key for write in records.written] or shown
    facts = TurnFacts(
        records=records, user="Go on.", answers="", heard=["Go on."], base=base, reads=not records.written
    )
    facts.said = sentences_of(text, facts.records.phrases, facts.subject)
    rules = (untrue_values, untrue_texts, misplaced, miscounts)
    found = [fault for sentence in facts.said for rule in rules for fault in rule(sentence, facts)]
    return [*found, *wrong_names(facts.said, facts)]


@pytest.mark.parametrize(
    "text",
    [
        "I've set the probability of Sensor rollout to 60 % (it was 33 %).",
        "The probability went from 33 to 60 percent.",
        "| Field | Value |\n|---|---|\n| Deal | Sensor rollout |\n| Probability | 60 % |\n| Amount | $4,000.00 |",
        "\u2705 **Sensor rollout**: 33 % \u2192 60 %, still in Proposal at 4k",
        "Sensor rollout (Acme Works) is now at 60 %, that is 27 points more. Crane lease stays at 50 %, not at 60 %.",
        "Should I also set it to 70 %?",
        "I've raised the probability by 27 points to 60 %.",
        "The probability is 27 points higher than before.",
    ],
)
def test_a_true_reply_to_a_change_has_no_faults(text: str) -> None:
    """In whatever style: old values beside new ones, tables, emojis, other records for contrast, offers."""
    assert [] == faults(text, WRITE)


def test_the_reason_quotes_the_words_and_the_row() -> None:
    """So that a reader sees what was judged, and against what."""
    assert ['"probability to 33%": Sensor rollout has 60'] == faults("I've reset the probability to 33%.", WRITE)


@pytest.mark.parametrize(
    "text",
    [
        "The probability is 66 % now.",
        "The probability went from 50 to 60 percent.",
        "Crane lease is now at 60 %.",
        "I've raised the probability by 20 points to 60 %.",
        "Sensor rollout is at 60 % and closes on 20 December 2026.",
        "Sensor rollout, a deal with Bolt Mining, is at 60 %.",
        "Sensor rollout is at 60 % and in Negotiation.",
        "Sensor rollout is at 60 %, owned by Ada King.",
        "Done, 60 %. Mira Holt, Plant Director at Acme Works, is glad.",
        "The note says \u201cThey never pay on time\u201d, and the probability is 60 %.",
    ],
)
def test_a_false_reply_to_a_change_has_faults(text: str) -> None:
    """Another value, another old value, another record, client, stage, owner or title, an invented quotation."""
    assert faults(text, WRITE)


@pytest.mark.parametrize(
    ("text", "true"),
    [
        ("There are two quotes: 3,500 (v1.0, Draft) and 3,900 (v2.0, Sent). Together 7,400.", True),
        ("There are three quotes.", False),
        ("Version 1.0 comes to 3,900.", False),
        ("Version 2.0 is Sent, and version 1.0 is a draft.", True),
        ("Together they make 7,450.", False),
        ("Both quotes are drafts.", False),
        ("The quote over 3,900 is Approved.", False),
        ("There is one of 3,500, a draft, and one of 3,900, which was sent.", True),
        ("Version 2.0 is 400 over v1.0.", True),
        ("Both of them are sent.", False),
        ("Two quotes: one draft, one sent.", True),
        ("Of the quotes, two are drafts.", False),
        ("There is one draft on Sensor rollout.", True),
        ("There are two draft quotes on Sensor rollout.", False),
        ("Sensor rollout is the only deal of Acme Works.", True),
        ("Acme Works has no contracts.", True),
        ("Version 2.0 is the more expensive one, at 3,900; the cheaper one, v1.0, is at 3,500.", True),
        ("The draft is the cheaper of the two.", True),
    ],
)
def test_values_are_said_of_the_record_that_the_words_pick(text: str, *, true: bool) -> None:
    """By version, by amount, by number, or all of them."""
    assert true is (faults(text, READ) == [])
