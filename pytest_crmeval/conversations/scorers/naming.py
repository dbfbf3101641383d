"""The records that a reply names: others than those it is about, in wrong places, and how many there are."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from pytest_crmeval.conversations.scorers.deeds import claims_in
from pytest_crmeval.conversations.scorers.lexicon import COLUMNS, CONTRASTS, NOUNS, OPEN, listed
from pytest_crmeval.conversations.scorers.mentions import Figure, words_of
from pytest_crmeval.conversations.scorers.records import Key
from pytest_crmeval.conversations.scorers.statements import Mention, Sentence, denies
from pytest_crmeval.conversations.scorers.subjects import is_pick, subjects
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts, holds

_MILD = listed(
    "also both too well next only left alone first second same each apart cheaper higher lower bigger smaller larger"
)
_BESIDES = (CONTRASTS | {"together"}) - listed("instead not rather only too")
_AT = re.compile(
    r"(?:(?!\b(?:and|or|but|while|plus|who|own\w*)\b)[^.;!?]){0,60}?(?:\b(?:at|with|for|of|from|under)\s+(?:the\s+)?|[,(\u2013\u2014]\s*)"
)
_WHOSE = re.compile(r"(?:['\u2019]s?)?\s+(?:\w+\s)?(?:(?:deal|contact|opportunity|document|file)s?[\s,:(]+)?")
_NO_MORE = re.compile(r"\s*(?:$|[.,;!)]|(?:with us )?(?:at all|any ?more|yet|left|on file|so far|in the CRM)\b)")
_RENAMED = re.compile(r"(?: \w+){0,2} (?:is|are) now |\s*\u2192")
_PLACED = frozenset({"note_id", "document_id"})
"""Kinds of records that are put on others."""
_OWNED = frozenset({"contact_id", "opportunity_id", "document_id"})
"""Kinds of records that belong to others, and have names."""
_ITEMS = listed("it note remark comment document text sentence")


def wrong_records(sentences: Sequence[Sentence], facts: TurnFacts) -> Iterator[str]:
    """Yield sentences that say of a record what was done to another one."""
    written = facts.written
    seen = {key for sentence in sentences for name in sentence.names for key in name.keys} & written
    for sentence in sentences if facts.records.written else ():
        if not sentence.names or sentence.asks or sentence.spelled & (CONTRASTS - _MILD):
            continue
        claims = claims_in([sentence])
        for claim in claims:
            start, end = sentence.clause(claim.start)
            before = claim.form in ("perfect", "past")
            span = (start, claim.start) if before else (claim.start, end)
            yield from _wrong(sentence, [n for n in sentence.names if span[0] <= n.start < span[1]], facts)
            quotes = {write.key for write in facts.records.written if write.key[0] == "quote_id"}
            for pick in (m for m in sentence.mentions if quotes and start <= m.start < end and is_pick(m, sentence)):
                keys = {key for key in subjects(pick, sentence, facts) if _has_value(key, pick, facts)}
                if keys and not keys & quotes and sentence.sense(pick) == "fact":
                    yield f'"{sentence.text.strip()}": it was {facts.records.label(min(quotes))}'
        renamed = _RENAMED.match(sentence.text, sentence.names[0].end)
        if renamed and sentence.names[0].kinds <= {kind for kind, _ in written}:
            yield from _wrong(sentence, sentence.names[:1], facts)
        if not facts.reads and (claims or "now" in sentence.spelled or not seen):
            for kind in sorted({kind for kind, _ in written}):
                yield from _wrong(sentence, [n for n in sentence.names if n.kinds == {kind}], facts)


def _wrong(sentence: Sentence, names: Sequence[Mention], facts: TurnFacts) -> Iterator[str]:
    if any(name.keys & facts.written for name in names):
        return
    kinds = {kind for name in names for kind in name.kinds}
    right = [key for key in facts.written if key[0] in kinds] or [write.key for write in facts.records.written]
    labels = " ".join(words_of(facts.records.label(write.key)) for write in facts.records.written)
    names = [n for n in names if not (facts.reads and n.keys & {*facts.base}) and words_of(str(n.value)) not in labels]
    if names and {sentence.sense(name) for name in names} == {"fact"}:
        yield f'"{sentence.text.strip()}": it was {facts.records.label(min(right))}'


def _has_value(key: Key, mention: Mention, facts: TurnFacts) -> bool:
    return holds(facts.records.rows[key], COLUMNS[mention.sort], mention)


def unnamed(sentences: Sequence[Sentence], facts: TurnFacts) -> Iterator[str]:
    """Yield names of a kind of record, if the turn is about records of that kind, and none of them is named."""
    right = facts.written if facts.written and not facts.reads else facts.involved
    said = [(name, sentence) for sentence in sentences for name in sentence.names]
    for kind in sorted({kind for kind, _ in right}):
        if not facts.records.written and sum(key[0] == kind for key in right) > 1:
            continue
        names = [
            name
            for name, sentence in said
            if name.kinds == {kind}
            and name.whole
            and sentence.sense(name) not in ("open", "denied")
            and not _BESIDES.intersection(sentence.words_between(*sentence.clause(name.start)))
        ]
        it = min(key for key in right if key[0] == kind)
        names = [name for name in names if facts.records.label(it) != f"{name.value} (Clone)"]
        if names and not any(kind in name.kinds and name.keys & right for name, _ in said):
            yield f'"{names[0].value}": it was {facts.records.label(it)}'


def strangers(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield a name beside that of a client which it does not belong to: 'Ada King at Acme', "Acme's deal Fleet"."""
    for one, other in pairwise(sentence.names if not sentence.asks else ()):
        between = sentence.text[one.end : other.start]
        for child, parent, tied in ((one, other, _AT.fullmatch(between)), (other, one, _WHOSE.fullmatch(between))):
            above = {key for own in child.keys for key in facts.records.up(own) if key[0] == "client_id"}
            related = tied and parent.kinds == {"client_id"} and child.kinds <= _OWNED and above - parent.keys == above
            if related and above and {sentence.sense(child), sentence.sense(parent)} == {"fact"}:
                yield f'"{sentence.text.strip()}": {child.value} belongs to {facts.records.label(min(above))}'


def misplaced(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield sentences that put a note or a file on another record than the one that has it."""
    items = _placed(sentence, facts)
    homes = {_home(key, facts) for key in items}
    if len(homes) != 1 or sentence.asks or sentence.spelled & (CONTRASTS - _MILD) or "by" in sentence.spelled:
        return
    (home,) = homes
    names = [name for name in sentence.names if not name.keys & items or not name.kinds & _PLACED]
    nouns = {NOUNS[word] for word in sentence.spelled if word in NOUNS} - _PLACED
    said = {key for name in names for key in name.keys}
    if home not in facts.records.rows or any(sentence.sense(name) != "fact" for name in names):
        return
    beside = nouns and home[0] not in nouns and (names or sentence.spelled & {"on", "to", "onto", "under"})
    named = home[0] in ("contact_id", "opportunity_id") and home[0] not in nouns
    other = home[0] in {kind for kind, _ in said} or (said and (named or not said & {home, *facts.records.up(home)}))
    below = any(home in facts.records.up(key) and key[0] == "opportunity_id" for key in said)
    if below or (home not in said and (beside or other)):
        yield f'"{sentence.text.strip()}": it was {facts.records.label(home)}'


def _placed(sentence: Sentence, facts: TurnFacts) -> frozenset[Key]:
    """Return the note or file that a sentence speaks of; if it names none, the one that the turn has written."""
    written = {w.key for w in facts.records.written if w.key[0] in _PLACED or "notes" in w.columns}
    found = [name.keys for name in sentence.names if name.kinds == {"document_id"}]
    for quote in (words_of(str(m.value)) for m in sentence.mentions if m.sort == "quote"):
        texts = {k: f"{row.get('content', '')} {row.get('notes', '')}" for k, row in facts.records.rows.items()}
        keys = {key for key, text in texts.items() if quote in words_of(text)}
        found += [frozenset(written & keys or keys)] if keys else []
    if (
        not found
        and len(facts.records.written) == 1
        and sentence.spelled & (_ITEMS - ({"it"} if facts.reads else set()))
    ):
        return frozenset(written)
    return found[0] if len(found) == 1 else frozenset()


def _home(key: Key, facts: TurnFacts) -> Key:
    """Return the record that a note or a file is on; the record itself, if the note is in its own column."""
    row = facts.records.rows[key]
    homes = [above for above in facts.records.up(key) if above[1] == row.get("entity_id")]
    return key if key[0] not in _PLACED else homes[0] if homes else ("", "")


def unasked(sentence: Sentence, asked: Sequence[Key], facts: TurnFacts) -> Iterator[str]:
    """Yield records that are listed as found, and are not among those that were asked for."""
    kinds = {kind for kind, _ in asked}
    for name in sentence.names if len(kinds) == 1 and not sentence.asks else ():
        words = sentence.words_between(*sentence.clause(name.start))
        whole = name.whole or (name.kinds == {"contact_id"} and len(name.keys) == 1)
        others = name.kinds == kinds and whole and not name.keys & {*asked} and not {*words} & (CONTRASTS | OPEN)
        if others and not denies(words) and words_of(str(name.value)) not in words_of(facts.user):
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
        possible = _counts(NOUNS[noun.text], facts, sentences)
        owned = _owned(NOUNS[noun.text], sentence, mention, facts)
        possible = {float(len(owned))} if owned and not gap.strip() else possible
        if {"other", "more", "further", "remaining", "others"} & sentence.spelled:
            possible |= {count - 1 for count in possible}
        apart = any(mention.end <= name.start < noun.start for name in sentence.names)
        plural = not apart and (number > 1) == (noun.text.endswith("s") or noun.text == "people")
        if plural and possible and number not in possible and not any(f.means(number) for f in facts.asked.figures):
            yield f'"{sentence.text[mention.start : noun.end]}": there are not so many'


def _owned(kind: str, sentence: Sentence, mention: Mention, facts: TurnFacts) -> list[Key]:
    """Return the records of a kind that a named record has, if a clause says how many it has: 'Acme has two deals'."""
    start, _ = sentence.clause(mention.start)
    names = [name for name in sentence.names if start <= name.start < mention.start]
    words = sentence.words_between(start, mention.start)
    has = words[-1:] in (["has"], ["now"], ["no"]) or words[-2:] == ["have", "any"]
    if len(names) != 1 or len(names[0].keys) != 1 or not has:
        return []
    return [key for key in facts.records.down(*names[0].keys) if key[0] == kind and key not in facts.records.gone]


def absent_records(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield clauses that say that a named record has no records of a kind, although it has."""
    for word, noun in pairwise(sentence.words if not sentence.asks else ()):
        rest = sentence.text[noun.end :]
        denied = word.text == "no" or (word.text == "any" and denies(sentence.words_between(0, word.start)))
        if not denied or NOUNS.get(noun.text, "note_id") == "note_id" or not _NO_MORE.match(rest):
            continue
        if found := _owned(NOUNS[noun.text], sentence, Mention("count", 0, noun.start, noun.end), facts):
            yield f'"{sentence.text[word.start : noun.end]}": there is {facts.records.label(found[0])}'


def _counts(kind: str, facts: TurnFacts, sentences: Sequence[Sentence]) -> set[float]:
    """Return how many records of a kind there may be said to be."""
    records = facts.records
    live = [key for key in records.rows if key[0] == kind and key not in records.gone]
    shown = [[key for key in keys if key[0] == kind] for keys in records.shown]
    named = {key for each in sentences for name in each.names for key in name.keys}
    written = [write.key for write in records.written if write.key[0] == kind]
    everything = live if not any(shown) or not facts.base or records.gone or records.written else []
    groups = [*shown, everything, written, [key for key in named if key[0] == kind]]
    groups.append([*{key for keys in shown for key in keys}])
    groups += [[key for key in live if anchor in records.up(key)] for anchor in named | facts.involved]
    found = {float(f) for f in facts.facts if isinstance(f, int | float)}
    for group in groups:
        rows = [records.rows[key] for key in group]
        for column in ("stage", "status", "owner", "client_id", "opportunity_id", "type", "industry", "entity_id"):
            values = [row[column] for row in rows if row.get(column) is not None]
            found |= {float(values.count(value)) for value in values}
        closed = sum(str(row.get("stage", "")).startswith("Closed") for row in rows)
        found |= {float(closed), float(len(rows) - closed), float(len(rows))}
    return found - {0.0}
