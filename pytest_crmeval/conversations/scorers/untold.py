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

_SOUGHT = listed("find found see locate located exist exists return returned match matches matching any such know have")
_NONE = listed("nothing nobody none no")
_EMPTY_CELL = re.compile(r"\w['\"]?\s*:\s*none\b", re.IGNORECASE)
_LOOKED = listed("searched looked checked search")
_BEING = listed("is are have listed")
_EMPTY = listed("empty zero 0")
_NOT_BEING = DENIALS | OPEN | LOOSE | _EMPTY | _LOOKED | listed("only unknown new missing absent")
_NOT_FIELDS = frozenset({*FIELDS, "date", "fields"})
_DENIED_VALUE = re.compile(r"\bnot\s+(?:on\s+|for\s+)?[$\u20ac\u00a3]?\d[\d,.-]*(?:\s+[A-Z][a-z]+(?:\s+\d{4})?)?")


def untold(text: str, said: Sequence[Sentence], turn: Played, facts: TurnFacts) -> str:
    """Return what was asked for and is not said."""
    if not facts.facts:
        return ""
    if [*facts.facts] == [NOTHING] and (clause := _says_found(said, facts)):
        return f'the reply says that there is something ("{clause}"), and there is not'
    meant = read(_DENIED_VALUE.sub(" ", text))
    for part in turn.parts:
        missing = [fact for fact in asked_facts(part) if not _says(meant, said, fact, facts.facts, facts.user)]
        if missing and not _tells_all(read(text), part):
            return f"the reply does not say {', '.join(map(_quoted, missing))}"
    found = [fact for fact in facts.facts if fact not in (NOTHING, 0)]
    if found and turn.expectation.succeeds and (clause := _says_absent(said, found)):
        return f'the reply says that there is nothing ("{clause}"), and there is'
    return ""


def _says_absent(said: Sequence[Sentence], found: Sequence[Json]) -> str:
    """Return the clause that says that nothing was found, if no other one mentions what was."""
    absent, others = [], []
    for sentence in said:
        for start, end, words in sentence.clauses:
            clause = sentence.text[start:end].strip()
            empty = bool(_EMPTY_CELL.search(clause))
            if denies([word for word in words if not (empty and word == "none")]):
                absent += [clause] if {*words} & (_SOUGHT | _NONE) and not sentence.asks else []
            elif not {*words} & _LOOKED:
                others.append(clause)
    if not absent or any(read(clause).says(fact) for clause in others for fact in found):
        return ""
    return absent[0]


def _says_found(said: Sequence[Sentence], facts: TurnFacts) -> str:
    """Return the clause that says that there is what the user asked for: by a name that no record has."""
    asked = {word.text for word in words_in(facts.user) if word.capital}
    for sentence in said:
        for start, end, words in sentence.clauses if not sentence.asks else ():
            strange = {w.text for w in sentence.words if w.capital and start < w.end <= end} & asked - {*_SOUGHT, "i"}
            named = any(start <= name.start < end and name.keys & facts.involved for name in sentence.names)
            if strange & {*words[:4]} and {*words} & _BEING and not named and not {*words} & _NOT_BEING:
                return sentence.text[start:end].strip()
    return ""


def asked_facts(turn: Played) -> Sequence[Json]:
    """Return what the user asked for in a turn."""
    return facts_of(turn.expectation, turn.expected.tool, turn.wanted, turn.outputs)


def _says(reading: Reading, said: Sequence[Sentence], fact: Json, facts: Sequence[Json], heard: str) -> bool:
    if fact in (NOTHING, 0):
        return reading.says(0) or any(_says_none(words) for sentence in said for _, _, words in sentence.clauses)
    if isinstance(fact, str) and len(facts) > 1:
        others = [other for other in facts if isinstance(other, str)]
        shared = any(fact not in other and other.split()[:1] == fact.split()[:1] for other in others)
        person = fact in heard and any(other not in heard and reading.says(other) for other in others)
        if person or reading.says(f"{fact}s"):
            return True
        parts = shared and {*words_of(fact).split()} <= {*reading.words.split()}  # 'Acme Direct and Pacific'
        return parts or reading.says_beside(fact, others) or (fact.isalpha() and reading.says(f"{fact}s"))
    return reading.says(fact) or (isinstance(fact, str) and fact.isalpha() and reading.says(f"{fact}s"))


def _says_none(words: Sequence[str]) -> bool:
    """Whether a clause says that there is nothing; that a column is empty is another thing."""
    fields = [n for n, word in enumerate(words) if word == "no" and _NOT_FIELDS.intersection(words[n + 1 : n + 3])]
    return bool(_EMPTY & {*words}) or denies([word for n, word in enumerate(words) if n not in fields])


def _tells_all(said: Reading, turn: Played) -> bool:
    """Whether a reply does not count many rows because it names all of them, or counts those that were cut off, too."""
    if turn.expectation.facts is not None or len(rows := rows_of(turn.wanted)) <= MANY:
        return False
    notes = [result.note for _, result in turn.calls if result.note]
    totals = [figure.value for note in notes for figure in read(note).numbers if figure.value >= len(rows)]
    return any(map(said.says, totals)) or all(map(said.says, names_of(rows)))


def _quoted(fact: Json) -> str:
    return "that there is nothing" if fact == NOTHING else repr(fact)
