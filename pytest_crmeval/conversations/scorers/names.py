"""The records that a reply names: others than those it is about, or in wrong places."""

import re
from collections.abc import Iterator, Sequence

from pytest_crmeval.conversations.scorers.deeds import claims_in
from pytest_crmeval.conversations.scorers.lexicon import CONTRASTS, NOUNS, OPEN, listed
from pytest_crmeval.conversations.scorers.mentions import words_of
from pytest_crmeval.conversations.scorers.records import Key
from pytest_crmeval.conversations.scorers.statements import Sentence
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts

_MILD = listed(
    "also both too well next only left alone first second same each apart cheaper higher lower bigger smaller larger"
)
_APART = CONTRASTS - _MILD
_AT = re.compile(
    r"(?:(?!\b(?:and|or|but|while|plus|who|own\w*)\b)[^.;!?]){0,60}?(?:\b(?:at|with|for|of|from|under)\s+(?:the\s+)?|[,(\u2013\u2014]\s*)"
)
_AS = re.compile(r"\b(?:as|than|like)\s(?:the\s)?$")
_PLACED = frozenset({"note_id", "document_id"})
"""Kinds of records that are put on others."""
_ITEMS = listed("it note remark comment document text sentence")


def wrong_names(said: Sequence[Sentence], facts: TurnFacts) -> Iterator[str]:
    """Yield names of other records than those that the turn is about."""
    right = facts.written if facts.written and not facts.reads else facts.involved
    named = {key for sentence in said for key in sentence.keys}
    for sentence in said:
        names = [n for n in sentence.names if sentence.sense(n) in ("fact", "old")]
        names = [
            n for n in names if not sentence.clause(n.start).said & _APART and not _AS.search(sentence.text[: n.start])
        ]
        done = (
            facts.written
            and not facts.reads
            and all(sentence.sense(n) == "fact" for n in names)
            and (claims_in([sentence]) or "now" in sentence.spelled)
        )
        if done and names and not sentence.keys & right:
            yield f'"{sentence.text.strip()}": it was {facts.records.label(min(w.key for w in facts.records.written))}'
        for kind in sorted({kind for kind, _ in right}):
            mine = {key for key in right if key[0] == kind}
            wrong = [n for n in names if n.kinds == {kind}]
            alone = not named & mine and (facts.written or len(mine) == 1) and all(n.whole for n in wrong)
            alone = alone and not sentence.spelled & (CONTRASTS | {"together"})
            if wrong and not sentence.keys & mine and (done or alone):
                yield f'"{sentence.text.strip()}": it was {facts.records.label(min(mine))}'


def misplaced(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield sentences that put a note or a file on another record than the one that has it."""
    records = facts.records
    items = {k for n in sentence.names if n.kinds == {"document_id"} for k in n.keys}
    quotes = [words_of(str(m.value)) for m in sentence.mentions if m.sort == "quote"]
    written = {w.key for w in records.written if w.key[0] in _PLACED or "notes" in w.columns}
    for key, row in records.rows.items() if quotes else ():
        text = words_of(f"{row.get('content', '')} {row.get('notes', '')}")
        items |= {key} if any(quote in text for quote in quotes) else set()
    if len(records.written) == 1 and sentence.spelled & (_ITEMS - {"it"} if facts.reads else _ITEMS):
        items = items & written or items or written
    homes = {_home(key, facts) for key in items}
    if len(homes) != 1 or sentence.asks:
        return
    (home,) = homes
    above = {home, *items, *(facts.written if len(records.written) > 1 else ())}
    if any(home in each.keys or home[0] in {NOUNS.get(word) for word in each.spelled} for each in facts.said):
        above |= records.up(home)
    apart = [n for n in sentence.names if sentence.clause(n.start).said & _APART]
    names = [n for n in sentence.names if sentence.sense(n) == "fact" and n not in apart]
    if home in sentence.keys:
        names = [n for n in names if home in sentence.clause(n.start).keys]
    nouns = {NOUNS[word] for c in sentence.clauses if not c.denies for word in c.said if word in NOUNS} - _PLACED
    other = any(not n.keys & above for n in names)
    if other or (not apart and home not in sentence.keys and nouns and home[0] not in nouns):
        yield f'"{sentence.text.strip()}": it was {records.label(home)}'


def _home(key: Key, facts: TurnFacts) -> Key:
    """Return the record that a note or a file is on; the record itself, if the note is in its own column."""
    entity = facts.records.rows[key].get("entity_id")
    return next((above for above in facts.records.up(key) if above[1] == entity), key)


def unasked(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield records that are listed as found, and are not among those that were asked for."""
    kinds = {kind for kind, _ in facts.asked_for}
    for clause in sentence.stated if len(kinds) == 1 else ():
        for name in clause.names if not clause.said & (CONTRASTS | OPEN) and not clause.denies else ():
            other = name.kinds == kinds and not name.keys & facts.asked_for
            if other and words_of(str(name.value)) not in words_of(facts.user):
                yield f'"{name.value}": not among what was asked for'
