"""Whether the replies say what the user asked for, and nothing that the CRM does not bear out."""

from collections.abc import Iterator, Sequence

from pytest_crmeval.conversations.scorers.counts import miscounts
from pytest_crmeval.conversations.scorers.deeds import false_deeds
from pytest_crmeval.conversations.scorers.names import misplaced, unasked, wrong_names
from pytest_crmeval.conversations.scorers.number_words import in_digits
from pytest_crmeval.conversations.scorers.outcome import missing_facts, wrong_outcome
from pytest_crmeval.conversations.scorers.reading import sentences_of
from pytest_crmeval.conversations.scorers.records import Records
from pytest_crmeval.conversations.scorers.statements import Sentence
from pytest_crmeval.conversations.scorers.texts import untrue_texts
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts, facts_after
from pytest_crmeval.conversations.scorers.turns import Played, Remembered, reason_of, turns_of
from pytest_crmeval.conversations.scorers.values import untrue_values
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.cutting import redacted_quotes
from pytest_crmeval.domain.score import Score
from pytest_crmeval.ports.scorer import Evidence

READ = 20_000
"""Characters of a reply that are read."""


def reply(case: Conversation, evidence: Evidence) -> Score:
    """Score the share of turns whose reply is right; all of them must be."""
    faults = reply_faults(case, evidence)
    return Score(name="reply", value=faults.count("") / len(faults), reason=reason_of(faults))


@Remembered
def reply_faults(case: Conversation, evidence: Evidence) -> Iterator[str]:
    """Yield for each turn what is wrong with its reply; empty if nothing is."""
    return (fault_of(turn, facts) for turn, facts in turn_facts(case, evidence))


def turn_facts(case: Conversation, evidence: Evidence) -> Iterator[tuple[Played, TurnFacts]]:
    """Yield each turn with what its reply can be judged by; judge it before you ask for the next."""
    records = Records.seeded(evidence.reference.before, {row_id for rows in case.seed.values() for row_id in rows})
    heard = [case.policy] if case.policy else []
    for turn in turns_of(case, evidence):
        records.play(turn.calls)
        yield turn, facts_after(turn, records, heard, case.now.date().isoformat(), case.policy)


def fault_of(turn: Played, facts: TurnFacts) -> str:
    """Return what is wrong with the reply of a turn; empty if nothing is."""
    text = in_digits(turn.exchange.reply[:READ])
    if not text.strip():
        return (
            "there is no reply, because the agent reached the maximum number of steps"
            if turn.exchange.cut
            else "the reply is empty"
        )
    said = facts.said = sentences_of(text, facts.records.phrases, facts.subject)
    fault = wrong_outcome(said, turn, facts) or missing_facts(text, said, turn, facts)
    return redacted_quotes(fault or next(_untrue(said, turn, facts), ""), turn.exchange.reply)


def _untrue(said: Sequence[Sentence], turn: Played, facts: TurnFacts) -> Iterator[str]:
    """Yield what a reply says that is not so."""
    for sentence in said:
        for rule in (untrue_values, untrue_texts, misplaced, miscounts, unasked):
            yield from rule(sentence, facts)
    yield from false_deeds(said, facts)
    if turn.expectation.succeeds and not turn.expectation.asks:
        yield from wrong_names(said, facts)
