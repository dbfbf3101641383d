"""The records that a reply names: others than those it is about, in wrong places, and how many there are."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from pytest_crmeval.conversations.scorers.deeds import claims_in
from pytest_crmeval.conversations.scorers.lexicon import COLUMNS, CONTRASTS, LOOSE, NOUNS, OPEN, listed
from pytest_crmeval.conversations.scorers.mentions import Figure, words_of
from pytest_crmeval.conversations.scorers.records import Key
from pytest_crmeval.conversations.scorers.statements import Mention, Sentence, denies
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts, holds

_MILD = listed(
    "also both too well next only left alone first second same each apart cheaper higher lower bigger smaller larger"
)
_BESIDES = LOOSE | listed("together still untouched unchanged stays remains also keep keeps kept stay remain similarly")
_AT = re.compile(
    r"(?:(?!\b(?:and|or|but|while|plus|who|own\w*)\b)[^.;!?]){0,60}?(?:\b(?:at|with|for|of|from|under|client)\s+(?:the\s+)?|[,(\u2013\u2014]\s*)"
)
_WHOSE = re.compile(
    r"(?:['\u2019]s?)?\s+(?:(?:new|biggest|smallest|largest|only|open|own)\s)?(?:(?:deal|contact|opportunity|document|file)s?[\s,:(]+)?"
)
PLACED = frozenset({"note_id", "document_id"})
"""Kinds of records that are put on others."""
_ITEMS = listed("it note remark comment document text sentence")
_ONTO = listed("on to onto under")
OWNED = frozenset({"contact_id", "opportunity_id", "document_id"})
"""Kinds of records that belong to others, and are known by their names."""


def wrong_records(sentences: Sequence[Sentence], facts: TurnFacts) -> Iterator[str]:
    """Yield sentences that say of a record what was done to another one."""
    if not facts.records.written or not any(sentence.names for sentence in sentences):
        return
    written = facts.written
    seen = {key for sentence in sentences for name in sentence.names for key in name.keys} & written
    for sentence in sentences:
        if not sentence.names or sentence.asks or sentence.spelled & (CONTRASTS - _MILD):
            continue
        mine = claims_in([sentence])
        for claim in mine:
            start, end = sentence.clause(claim.start)
            before = claim.form in ("perfect", "past")
            there = [
                n for n in sentence.names if (start <= n.start < claim.start if before else claim.start < n.start < end)
            ]
            yield from _wrong(sentence, there, facts)
        if not facts.reads and (mine or "now" in sentence.spelled or not seen):
            for kind in sorted({kind for kind, _ in written}):
                yield from _wrong(sentence, [n for n in sentence.names if {own for own, _ in n.keys} == {kind}], facts)


def unnamed(sentences: Sequence[Sentence], facts: TurnFacts) -> Iterator[str]:
    """Yield names of a kind of record, if the turn is about records of that kind, and none of them is named."""
    right = facts.written if facts.written and not facts.reads else facts.involved
    for kind in sorted({kind for kind, _ in right}):
        said = [(name, sentence) for sentence in sentences for name in sentence.names if name.keys]
        names = [
            (name, sentence)
            for name, sentence in said
            if {own for own, _ in name.keys} == {kind}
            and name.whole
            and sentence.sense(name) != "open"
            and not _BESIDES.intersection(sentence.words_between(*sentence.clause(name.start)))
        ]
        if not facts.records.written and sum(key[0] == kind for key in right) > 1:
            continue
        if names and not any(name.keys & right and kind in {k for k, _ in name.keys} for name, _ in said):
            name, _ = names[0]
            it = min(key for key in right if key[0] == kind)
            yield f'"{name.value}": it was {facts.records.label(it)}'


def strangers(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield a name beside that of a client which it does not belong to: 'Ada King at Acme', "Acme's deal Fleet"."""
    for one, other in pairwise(sentence.names if not sentence.asks else ()):
        between = sentence.text[one.end : other.start]
        pairs = ((one, other, _AT.fullmatch(between)), (other, one, _WHOSE.fullmatch(between)))
        for child, parent, tied in pairs:
            related = {kind for kind, _ in parent.keys} == {"client_id"} and {kind for kind, _ in child.keys} <= OWNED
            above = {key for own in child.keys for key in facts.records.up(own) if key[0] == "client_id"}
            facts_only = {sentence.sense(child), sentence.sense(parent)} == {"fact"}
            if tied and related and facts_only and above and not above & parent.keys:
                yield f'"{sentence.text.strip()}": {child.value} belongs to {facts.records.label(min(above))}'


def _wrong(sentence: Sentence, names: Sequence[Mention], facts: TurnFacts) -> Iterator[str]:
    kinds = {kind for name in names for kind, _ in name.keys}
    right = [key for key in facts.written if key[0] in kinds] or [write.key for write in facts.records.written]
    if any(name.keys & facts.written for name in names):
        return
    labels = " ".join(words_of(facts.records.label(write.key)) for write in facts.records.written)
    names = [n for n in names if not (facts.reads and n.keys & {*facts.base}) and words_of(str(n.value)) not in labels]
    senses = {sentence.sense(name) for name in names}
    if names and not senses & {"old", "open", "denied"}:
        yield f'"{sentence.text.strip()}": it was {facts.records.label(min(right))}'


def misplaced(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield sentences that put a note or a file on another record than the one that has it."""
    items = _placed(sentence, facts)
    if len(items) != 1 or sentence.asks or sentence.spelled & (CONTRASTS - _MILD) or "by" in sentence.spelled:
        return
    homes = {_home(key, facts) for key in items[0]} - {None}
    names = [name for name in sentence.names if not name.keys & items[0] or not PLACED & {k for k, _ in name.keys}]
    nouns = {NOUNS[word] for word in sentence.spelled if word in NOUNS} - PLACED
    if len(homes) != 1 or any(sentence.sense(name) != "fact" for name in names):
        return
    (home,) = homes
    said = {key for name in names for key in name.keys}
    near = {home, *facts.records.up(home)} if home else set()
    beside = nouns and home and home[0] not in nouns and (names or sentence.spelled & _ONTO)
    other = home and home[0] in {kind for kind, _ in said}
    below = any(home in facts.records.up(key) and key[0] == "opportunity_id" for key in said)
    if home and (below or (home not in said and ((said and not said & near) or beside or other))):
        yield f'"{sentence.text.strip()}": it was {facts.records.label(home)}'


def _placed(sentence: Sentence, facts: TurnFacts) -> list[frozenset[Key]]:
    """Return the notes and files that a sentence speaks of; if it names none, those that the turn has written."""
    notes = {k: row for k, row in facts.records.rows.items() if row.get("content") or row.get("notes")}
    found = [name.keys for name in sentence.names if {kind for kind, _ in name.keys} == {"document_id"}]
    for quote in (words_of(str(m.value)) for m in sentence.mentions if m.sort == "quote"):
        keys = [k for k, row in notes.items() if quote in words_of(f"{row.get('content', '')} {row.get('notes', '')}")]
        written = [write.key for write in facts.records.written if write.key in keys]
        found += [frozenset(written or keys)] if keys else []
    if (
        not found
        and sentence.spelled & (_ITEMS - {"it"} if facts.reads else _ITEMS)
        and len(facts.records.written) == 1
    ):
        written = [w.key for w in facts.records.written if w.key[0] in PLACED or "notes" in w.columns]
        found = [frozenset(written)] if written else []
    return found


def _home(key: Key, facts: TurnFacts) -> Key | None:
    """Return the record that a note or a file is on; the record itself, if the note is in its own column."""
    if key[0] not in PLACED:
        return key
    row = facts.records.rows[key]
    kind = next((kind for kind, _ in facts.records.up(key) if (kind, row.get("entity_id")) in facts.records.rows), "")
    return (kind, str(row["entity_id"])) if kind else None


def unasked(sentence: Sentence, asked: Sequence[Key], facts: TurnFacts) -> Iterator[str]:
    """Yield records that are listed as found, and are not among those that were asked for."""
    kinds = {kind for kind, _ in asked}
    words = [word.text for word in sentence.words]
    if len(kinds) != 1 or sentence.asks or sentence.spelled & CONTRASTS or denies(words) or OPEN & {*words}:
        return
    shown = {key for keys in facts.records.shown for key in keys if key[0] in kinds} - {*asked}
    for mention in sentence.mentions if kinds & {"quote_id", "contract_id"} else ():
        rows = [facts.records.rows[key] for key in asked if key in facts.records.rows]
        fact = mention.sort == "amount" and sentence.sense(mention) == "fact"
        others = any(holds(facts.records.rows[key], COLUMNS["amount"], mention) for key in shown)
        if fact and others and not any(holds(row, COLUMNS["amount"], mention) for row in rows):
            yield f'"{sentence.text[mention.start : mention.end]}": not among what was asked for'
    for name in sentence.names:
        own = {kind for kind, _ in name.keys}
        whole = name.whole or (own == {"contact_id"} and len(name.keys) == 1)
        if (
            own == kinds
            and whole
            and not name.keys & {*asked}
            and words_of(str(name.value)) not in words_of(facts.user)
        ):
            yield f'"{name.value}": not among what was asked for'


def miscounts(sentence: Sentence, facts: TurnFacts, sentences: Sequence[Sentence]) -> Iterator[str]:
    """Yield numbers of records that there are not."""
    for mention in sentence.mentions:
        if mention.sort != "count" or sentence.asks or sentence.sense(mention) in ("open", "denied"):
            continue
        number = mention.value.value if isinstance(mention.value, Figure) else int(str(mention.value))
        later = [word for word in sentence.words if word.start >= mention.end][:3]
        noun = next((word for word in later if word.text in NOUNS), None)
        gap = sentence.text[mention.end : noun.start] if noun else "."
        if (
            noun is None
            or not re.fullmatch(r"[\s\w-]*", gap)
            or {*gap.split()} & {"of", "day", "days", "on", "for", "in"}
        ):
            continue
        if (number > 1) != (noun.text.endswith("s") or noun.text == "people"):
            continue
        possible = _counts(NOUNS[noun.text], facts, sentences)
        if {"other", "more", "further", "remaining", "others"} & {
            *gap.split(),
            *sentence.words_between(mention.start - 12, mention.start),
        }:
            possible |= {count - 1 for count in possible}
        if possible and number not in possible and not any(f.means(number) for f in facts.asked.figures):
            yield f'"{sentence.text[mention.start : noun.end]}": there are not so many'


def _counts(kind: str, facts: TurnFacts, sentences: Sequence[Sentence]) -> set[float]:
    """Return how many records of a kind there may be said to be."""
    records = facts.records
    live = [key for key in records.rows if key[0] == kind and key not in records.gone]
    groups = [[key for key in keys if key[0] == kind] for keys in records.shown]
    groups += [[*{key for keys in groups for key in keys}], [w.key for w in records.written if w.key[0] == kind]]
    named = {key for each in sentences for name in each.names for key in name.keys}
    groups += [[key for key in live if anchor in records.up(key)] for anchor in named | facts.involved]
    groups += [live] if not any(groups[:-1]) or not facts.base or records.gone else []
    groups += [[*{key for key in named if key[0] == kind}]]
    found = {float(len(group)) for group in groups if group} | {
        float(f) for f in facts.facts if isinstance(f, int | float)
    }
    for group in groups:
        rows = [records.rows[key] for key in group]
        for column in ("stage", "status", "owner", "client_id", "opportunity_id", "type", "industry", "entity_id"):
            values = [row[column] for row in rows if row.get(column) is not None]
            found |= {float(values.count(value)) for value in values}
        closed = sum(str(row.get("stage", "")).startswith("Closed") for row in rows)
        found |= {float(closed), float(len(rows) - closed)}
    return found - {0.0}
