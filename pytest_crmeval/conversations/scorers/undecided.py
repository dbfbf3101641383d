"""The statements of a reply that the rules of `reply` leave open; a judge may decide them."""

from collections.abc import Iterator

from pytest_crmeval.conversations.columns import CLOCKS
from pytest_crmeval.conversations.scorers.deeds import Claim, claims_in
from pytest_crmeval.conversations.scorers.groundedness import rows_in
from pytest_crmeval.conversations.scorers.lexicon import COLUMNS, NOUNS, listed
from pytest_crmeval.conversations.scorers.number_words import in_digits
from pytest_crmeval.conversations.scorers.reading import sentences_of
from pytest_crmeval.conversations.scorers.records import Key, Records
from pytest_crmeval.conversations.scorers.reply import READ, reply_faults, turn_facts
from pytest_crmeval.conversations.scorers.statements import Mention, Sentence
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts, columns_of, holds, subjects
from pytest_crmeval.conversations.scorers.turns import Played
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.cutting import cut, redacted
from pytest_crmeval.domain.records import Record
from pytest_crmeval.domain.state import Row
from pytest_crmeval.ports.scorer import Evidence

SHORTEST = 4
"""Words of a clause that can be a statement without a value, a name or an action."""
_NO_ROW = "No row of the turn has"
SCOPE = listed("all both each every only first last sole already another other others also none same still instead")
"""Words that say how far a statement reaches; the rules compare values one by one."""
LONGEST, MOST_ROWS, MOST_CALLS = 600, 14, 12
"""Characters of a text, rows and calls that are shown with a statement."""


class Undecided(Record, frozen=True, kw_only=True):
    """A statement that the rules could not decide, with what is known of its turn."""

    turn: int
    """Number of the turn, from 1."""
    today: str
    user: str
    """The request that the reply answers."""
    calls: tuple[str, ...] = ()
    """The calls of the turn, and what came of each."""
    rows: tuple[str, ...] = ()
    """The rows that it may refer to; a row that the turn has changed is also shown as it was before."""
    reply: str
    """The words around it."""
    quote: str
    """The clause, as the reply has it."""
    question: str
    """What could not be decided."""

    @property
    def states_value(self) -> bool:
        """Whether it states a value that no row of the turn has."""
        return self.question.startswith(_NO_ROW)


def undecided_statements(case: Conversation, evidence: Evidence) -> list[Undecided]:
    """Return what the rules could not decide, in the order of the dialogue; nothing of turns that they fail."""
    found = []
    for fault, (turn, facts) in zip(reply_faults(case, evidence), turn_facts(case, evidence), strict=True):
        text = in_digits(redacted(turn.exchange.reply[:READ])) if not fault else ""
        for sentence in sentences_of(text, facts.records.phrases, facts.subject):
            for quote, question in _open(sentence, facts):
                place = max(0, text.find(quote) - LONGEST // 2)
                found.append(
                    Undecided(
                        turn=turn.number,
                        today=facts.today,
                        user=cut(facts.user, LONGEST),
                        calls=tuple(_calls(turn))[:MOST_CALLS],
                        rows=tuple(_rows(sentence, facts, f"{facts.user} {text}"))[:MOST_ROWS],
                        reply=cut(text[place:], LONGEST),
                        quote=cut(" ".join(quote.split()), LONGEST),  # one line: it is part of a reason
                        question=question,
                    )
                )
    return found


def _open(sentence: Sentence, facts: TurnFacts) -> Iterator[tuple[str, str]]:
    claims = claims_in([sentence])
    for clause in sentence.stated:
        stated = [m for m in clause.mentions if sentence.sense(m) in ("fact", "old")]
        unknown = [m for m in stated if not _is_known(m, sentence, facts)]
        if unknown:
            said = sentence.text[unknown[0].start : unknown[0].end]
            yield clause.text, f"{_NO_ROW} {said!r}. Is it right all the same?"
        elif any(claim.clause is clause and not _is_tied(claim, facts) for claim in claims):
            yield clause.text, "It names no record. Was this done in this turn?"
        elif clause.said & SCOPE or any(m.sort == "count" for m in clause.mentions):
            yield clause.text, "It says how many or which records it holds for. Is it true of exactly these?"
        elif not clause.mentions and len(clause.words) >= SHORTEST:
            yield clause.text, "It states no value that can be compared. Is it true?"


def _is_known(mention: Mention, sentence: Sentence, facts: TurnFacts) -> bool:
    """Whether a value is one of a record that it may be said of; names and counts are not values."""
    if mention.sort == "quote":
        return facts.has_heard(str(mention.value))
    if mention.sort not in COLUMNS:
        return True
    return any(
        holds(row, columns_of(mention), mention)
        for key in subjects(mention, sentence, facts)
        for row in facts.records.past[key]
    )


def _is_tied(claim: Claim, facts: TurnFacts) -> bool:
    """Whether a claim names a record or a kind of record that the turn has written."""
    kinds = {NOUNS[word] for word in (*claim.before, *claim.after) if word in NOUNS}
    return bool(claim.clause.keys & facts.written or kinds & {kind for kind, _ in facts.written})


def _calls(turn: Played) -> Iterator[str]:
    """Yield each call of a turn with what came of it, without ids, which differ from trial to trial."""
    for call, result in turn.calls:
        count = len(list(rows_in(result.value)))
        found = cut(str(result.value), LONGEST) if not count and result.value else f"{count} rows"
        yield f"{call.tool}: " + (cut(f"refused: {result.error.message}", LONGEST) if result.error else found)


def _rows(sentence: Sentence, facts: TurnFacts, said: str) -> Iterator[str]:
    """Yield the rows of the turn, those that a sentence names or counts, and those that belong to any of them."""
    records = facts.records
    near = [*facts.base, *sorted(sentence.keys), *sorted(facts.involved)]
    kinds = {NOUNS[word] for word in sentence.spelled if word in NOUNS}
    family = facts.family(near)
    others = sorted(records.rows, key=lambda key: (key not in family, key[0] not in kinds))
    for key in dict.fromkeys([*near, *(key for key in others if key in family or key[0] in kinds)]):
        yield from _versions(key, records, said)


def _versions(key: Key, records: Records, said: str) -> Iterator[str]:
    kind = key[0].removesuffix("_id")
    write = next((write for write in records.written if write.key == key), None)
    if write and write.old:
        yield f"{kind} before the turn: {_cells(key, write.old, records, said)}"
    since = "" if not write else " after the turn" if write.old else " created in the turn"
    if key in records.gone:
        since = " deleted in the turn" if write else " deleted"
    yield f"{kind}{since}: {_cells(key, records.rows[key], records, said)}"


def _cells(key: Key, row: Row, records: Records, said: str) -> str:
    """Return the values of a row; other rows by name, and its own id only if it was said."""
    cells: dict[str, object] = {}
    for name, value in row.items():
        if value is None or name in CLOCKS or (name == key[0] and str(value) not in said):
            continue
        if name.endswith("_id") and name != key[0]:
            other = next((each for each in records.rows if each[1] == value), None)
            cells[name.removesuffix("_id")] = records.label(other) if other else value
        else:
            cells[name] = value
    return cut(", ".join(f"{name}={value!r}" for name, value in cells.items()), LONGEST)
