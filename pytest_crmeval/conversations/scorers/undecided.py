"""The statements of a reply that the rules of `reply` leave open; a judge may decide them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_crmeval.conversations.scorers.deeds import Claim, claims_in
from pytest_crmeval.conversations.scorers.lexicon import COLUMNS, NOUNS
from pytest_crmeval.conversations.scorers.number_words import in_digits
from pytest_crmeval.conversations.scorers.reading import sentences_of
from pytest_crmeval.conversations.scorers.records import Key, Records
from pytest_crmeval.conversations.scorers.reply import READ, reply_faults, turn_facts
from pytest_crmeval.conversations.scorers.statements import Mention, Sentence
from pytest_crmeval.conversations.scorers.subjects import subjects
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts, holds
from pytest_crmeval.conversations.scorers.values import columns_of
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.evidence import Evidence
from pytest_crmeval.domain.state import Row

SHORTEST = 4
"""Words of a clause that can be a statement without a value, a name or an action."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """A statement that the rules could not decide."""

    turn: int
    """Number of the turn, from 1."""
    quote: str
    """The clause, as the reply has it."""
    rows: str
    """The rows that it may refer to, one per line; a row that the turn has changed is also shown as it was before."""
    question: str
    """What could not be decided."""


def undecided_statements(case: Conversation, evidence: Evidence) -> list[Undecided]:
    """Return what the rules could not decide, in the order of the dialogue; nothing of turns that they fail."""
    found = []
    faults = reply_faults(case, evidence)
    for fault, (turn, facts) in zip(faults, turn_facts(case, evidence), strict=True):
        sentences = sentences_of(in_digits(turn.exchange.reply[:READ]), facts.records.phrases) if not fault else ()
        for sentence in sentences:
            found += [
                Undecided(turn=turn.number, quote=quote, rows=_rows(sentence, facts), question=question)
                for quote, question in _open(sentence, facts)
            ]
            facts.follow(sentence)
    return found


def _open(sentence: Sentence, facts: TurnFacts) -> Iterator[tuple[str, str]]:
    claims = claims_in([sentence])
    for start, end, words in sentence.clauses if not sentence.asks else ():
        quote = sentence.text[start:end].strip(" ,;(")
        mentions = [m for m in sentence.mentions if start <= m.start < end]
        unknown = [m for m in mentions if sentence.sense(m) in ("fact", "old") and not _is_known(m, sentence, facts)]
        loose = [claim for claim in claims if start <= claim.start < end and not _is_tied(claim, facts)]
        if unknown:
            said = sentence.text[unknown[0].start : unknown[0].end]
            yield quote, f"No row of the turn has {said!r}. Is it right all the same?"
        elif loose:
            yield quote, "It names no record. Was this done in this turn?"
        elif not mentions and len(words) >= SHORTEST:
            yield quote, "It states no value that can be compared. Is it true?"


def _is_known(mention: Mention, sentence: Sentence, facts: TurnFacts) -> bool:
    """Whether a value is one of a record that it may be said of; names and counts are not values."""
    if mention.sort == "quote":
        return facts.has_heard(str(mention.value))
    if mention.sort not in COLUMNS or mention.sort == "id":
        return True
    return any(
        holds(row, columns_of(mention, sentence), mention)
        for key in subjects(mention, sentence, facts)
        for row in facts.records.past[key]
    )


def _is_tied(claim: Claim, facts: TurnFacts) -> bool:
    """Whether a claim names a record or a kind of record that the turn has written."""
    start, end = claim.sentence.clause(claim.start)
    named = {key for name in claim.sentence.names if start <= name.start < end for key in name.keys}
    kinds = {NOUNS[word] for word in (*claim.before, *claim.after) if word in NOUNS}
    return bool(named & facts.written or kinds & {kind for kind, _ in facts.written})


def _rows(sentence: Sentence, facts: TurnFacts) -> str:
    named = {key for name in sentence.names for key in name.keys}
    keys: Sequence[Key] = [*dict.fromkeys([*facts.base, *sorted(named), *sorted(facts.involved)])]
    return "\n".join(line for key in keys for line in _lines(key, facts.records))


def _lines(key: Key, records: Records) -> Iterator[str]:
    kind = key[0].removesuffix("_id")
    write = next((write for write in records.written if write.key == key), None)
    if write and write.old:
        yield f"{kind} before the turn: {_cells(write.old)}"
    if write and write.new is None:
        yield f"{kind} deleted in the turn: {_cells(records.rows[key])}"
    else:
        yield f"{kind}{'' if not write else ' after the turn' if write.old else ' created in the turn'}: " + _cells(
            records.rows[key]
        )


def _cells(row: Row) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in row.items() if value is not None)
