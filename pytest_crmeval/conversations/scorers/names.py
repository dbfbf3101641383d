"""The records that a reply names: others than those it is about, in wrong places, and how many there are."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from pytest_crmeval.conversations.scorers.deeds import claims_in
from pytest_crmeval.conversations.scorers.lexicon import CONTRASTS, NOUNS, OPEN, listed
from pytest_crmeval.conversations.scorers.mentions import Figure, words_of
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
_WHOSE = re.compile(r"(?:['\u2019]s?)?\s+(?:\w+\s)?(?:(?:deal|contact|opportunity|document|file)s?[\s,:(]+)?")
_OWNED = frozenset({"contact_id", "opportunity_id", "document_id"})
"""Kinds of records that belong to others, and have names."""
_PLACED = frozenset({"note_id", "document_id"})
"""Kinds of records that are put on others."""
_ITEMS = listed("it note remark comment document text sentence")
_MORE = listed("other more further remaining others")


def wrong_names(said: Sequence[Sentence], facts: TurnFacts) -> Iterator[str]:
    """Yield names of other records than those that the turn is about."""
    right = facts.written if facts.written and not facts.reads else facts.involved
    named = {key for sentence in said for key in sentence.keys}
    labels = " ".join(words_of(facts.records.label(key)) for key in right)
    for sentence in said:
        names = [
            n
            for n in sentence.names
            if sentence.sense(n) in ("fact", "old") and words_of(f"{n.value} (Clone)") not in labels
        ]
        names = [n for n in names if not sentence.clause(n.start).said & _APART]
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
    above = {home, *items, *records.up(home), *(facts.written if len(records.written) > 1 else ())}
    apart = [n for n in sentence.names if sentence.clause(n.start).said & _APART]
    names = [n for n in sentence.names if sentence.sense(n) == "fact" and n not in apart]
    if home in sentence.keys:
        names = [n for n in names if home in sentence.clause(n.start).keys]
    nouns = {NOUNS[word] for word in sentence.spelled if word in NOUNS} - _PLACED
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


def strangers(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield a name beside that of a client which it does not belong to: 'Ada King at Acme', "Acme's deal Fleet"."""
    for one, other in pairwise(sentence.names if not sentence.asks else ()):
        between = sentence.text[one.end : other.start]
        for child, parent, tied in ((one, other, _AT.fullmatch(between)), (other, one, _WHOSE.fullmatch(between))):
            above = {key for own in child.keys for key in facts.records.up(own) if key[0] == "client_id"}
            related = tied and parent.kinds == {"client_id"} and child.kinds <= _OWNED and not above & parent.keys
            if related and above and {sentence.sense(child), sentence.sense(parent)} == {"fact"}:
                yield f'"{sentence.text.strip()}": {child.value} belongs to {facts.records.label(min(above))}'


def miscounts(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield numbers of records that there are not."""
    for mention in (m for m in sentence.mentions if m.sort == "count" and sentence.sense(m) in ("fact", "old")):
        number = mention.value.value if isinstance(mention.value, Figure) else int(str(mention.value))
        later = [word for word in sentence.words if word.start >= mention.end][:3]
        noun = next((word for word in later if word.text in NOUNS), None)
        gap = sentence.text[mention.end : noun.start] if noun else "."
        named = noun and any(mention.end <= name.start < noun.start for name in sentence.names)
        if noun is None or named or not re.fullmatch(r"(?:\s|-|(?!(?:of|days?|on|for|in)\b)\w+)*", gap):
            continue
        plural = (number > 1) == (noun.text.endswith("s") or noun.text == "people")
        possible = _counts(NOUNS[noun.text], facts)
        if _MORE & sentence.spelled:
            possible |= {count - 1 for count in possible}
        if plural and possible and number not in possible and not any(f.means(number) for f in facts.asked.figures):
            yield f'"{sentence.text[mention.start : noun.end]}": there are not so many'


def _counts(kind: str, facts: TurnFacts) -> set[float]:
    """Return how many records of a kind there may be said to be: in all, of one record, or with one value in common."""
    records = facts.records
    live = [key for key in records.rows if key[0] == kind and key not in records.gone]
    shown = [[key for key in keys if key[0] == kind] for keys in records.shown]
    named = {key for each in facts.said for key in each.keys}
    everything = live if not any(shown) or not facts.base or records.gone or records.written else []
    groups = [*shown, everything, [write.key for write in records.written if write.key[0] == kind]]
    groups.append([*{key for keys in shown for key in keys}])
    groups += [[key for key in live if anchor in records.up(key)] for anchor in named | facts.involved]
    found = {float(fact) for fact in facts.facts if isinstance(fact, int | float)}
    for group in groups:
        rows = [records.rows[key] for key in group]
        for column in ("stage", "status", "owner", "client_id", "opportunity_id", "type", "industry", "entity_id"):
            values = [row[column] for row in rows if row.get(column) is not None]
            found |= {float(values.count(value)) for value in values}
        found.add(float(len(rows)))
    return found - {0.0}
