"""What the user asked for and a reply does not say, or denies."""

import re
from collections.abc import Sequence

from pytest_crmeval.conversations.references import rows_of
from pytest_crmeval.conversations.scorers.facts import MANY, NOTHING, facts_of, names_of
from pytest_crmeval.conversations.scorers.lexicon import DENIALS, FIELDS, LOOSE, OPEN, listed
from pytest_crmeval.conversations.scorers.mentions import Reading, read, words_of
from pytest_crmeval.conversations.scorers.records import words_in
from pytest_crmeval.conversations.scorers.statements import Sentence, denies
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts
from pytest_crmeval.conversations.scorers.turns import Played
from pytest_crmeval.domain.json import Json

_EMPTY = listed("empty zero 0")
_NOT_THERE = DENIALS | OPEN | LOOSE | _EMPTY | listed("searched looked checked search only unknown new missing absent")
_NOT_FIELDS = frozenset({*FIELDS, "date", "fields"})
_DENIED = re.compile(
    r"\bnot\s+(?:on\s+|for\s+)?[$\u20ac\u00a3]?\d[\d,.-]*(?:\s+[A-Z][a-z]+(?:\s+\d{4})?)?"
    r"|(?:n['\u2019]t|not|unable to)\s+(?:find|locate|see)\b[^.,;:\n]*|\bno\s+\w+\s+(?:called|named)\b[^.,;:\n]*"
    r"|\b[Tt]here (?:is|are) no\s+\w+\s[^\n]{0,200}?in the CRM"
    r"|\b(?:searched|looked)\s+for\b[^.;:\n]*?(?=\bno\b|\bnothing\b)"
)


def missing_facts(text: str, said: Sequence[Sentence], turn: Played, facts: TurnFacts) -> str:
    """Return what was asked for and is not said."""
    if [*facts.facts] == [NOTHING] and (clause := _says_found(said, facts)):
        return f'the reply says that there is something ("{clause}"), but there is not'
    meant = read(_DENIED.sub(" ", text))
    for part in turn.parts if facts.facts else ():
        missing = [fact for fact in asked_facts(part) if not _says(meant, said, fact, facts)]
        if missing and not _says_all(read(text), part):
            quoted = ("that there is nothing" if fact == NOTHING else repr(fact) for fact in missing)
            return f"the reply does not say {', '.join(quoted)}"
    return ""


def asked_facts(turn: Played) -> Sequence[Json]:
    """Return what the user asked for in a turn."""
    return facts_of(turn.expectation, turn.expected.tool, turn.wanted, turn.outputs)


def _says_found(said: Sequence[Sentence], facts: TurnFacts) -> str:
    """Return the clause that says that there is what the user asked for: by a name that no record has."""
    asked = {word.text for word in words_in(facts.user) if word.capital} - {"i", "any", "such"}
    for sentence in said:
        for start, end, words in sentence.clauses if not sentence.asks else ():
            strange = {w.text for w in sentence.words if w.capital and start < w.end <= end} & asked & {*words[:4]}
            named = any(start <= name.start < end and name.keys & facts.involved for name in sentence.names)
            there = {"is", "are", "have", "listed"} & {*words} and not {*words} & _NOT_THERE
            if strange and there and not named:
                return sentence.text[start:end].strip()
    return ""


def _says(reading: Reading, said: Sequence[Sentence], fact: Json, facts: TurnFacts) -> bool:
    if fact in (NOTHING, 0):
        return reading.says(0) or any(_says_none(words) for sentence in said for _, _, words in sentence.clauses)
    if not isinstance(fact, str):
        return reading.says(fact)
    if reading.says(f"{fact}s"):
        return True
    others = [other for other in facts.facts if isinstance(other, str) and other != fact]
    if fact in facts.user and any(other not in facts.user and reading.says(other) for other in others):
        return True  # the user knows it
    shared = any(fact not in other and other.split()[:1] == fact.split()[:1] for other in others)
    parts = shared and {*words_of(fact).split()} <= {*reading.words.split()}  # 'Acme Direct and Pacific'
    return parts or reading.says_beside(fact, others)


def _says_none(words: Sequence[str]) -> bool:
    """Whether a clause says that there is nothing; that a column is empty is another thing."""
    fields = [n for n, word in enumerate(words) if word == "no" and _NOT_FIELDS.intersection(words[n + 1 : n + 3])]
    return bool(_EMPTY & {*words}) or denies([word for n, word in enumerate(words) if n not in fields])


def _says_all(said: Reading, turn: Played) -> bool:
    """Whether a reply does not count many rows because it names all of them, or counts those that were cut off."""
    if turn.expectation.facts is not None or len(rows := rows_of(turn.wanted)) <= MANY:
        return False
    notes = [result.note for _, result in turn.calls if result.note]
    totals = [figure.value for note in notes for figure in read(note).numbers if figure.value >= len(rows)]
    return any(map(said.says, totals)) or all(map(said.says, names_of(rows)))
