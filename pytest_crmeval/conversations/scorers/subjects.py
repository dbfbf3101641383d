"""Which records a value is said of: narrowed down by the words around it, the names beside it, and the turn."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from pytest_crmeval.conversations.scorers.lexicon import COLUMNS, CONTRASTS, LOOSE, NOUNS, OTHERS, OWNERS, STATUS_KINDS
from pytest_crmeval.conversations.scorers.records import Key
from pytest_crmeval.conversations.scorers.statements import Mention, Sentence
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts, holds

PERSONS = ("owner", "created_by", "uploaded_by")
KINDS: Mapping[str, frozenset[str]] = {
    "amount": frozenset({"opportunity_id", "quote_id", "contract_id"}),
    "percent": frozenset({"opportunity_id"}),
    "date": frozenset({"opportunity_id", "quote_id", "contract_id"}),
    "email": frozenset({"client_id", "contact_id"}),
    "phone": frozenset({"client_id", "contact_id"}),
    "stage": frozenset({"opportunity_id"}),
    "status": frozenset({"client_id", "quote_id", "contract_id"}),
    "type": frozenset({"company_id"}),
    "version": frozenset({"quote_id"}),
    "prefix": frozenset({"quote_id"}),
    "title": frozenset({"contact_id"}),
    **dict.fromkeys(PERSONS, frozenset({"client_id", "opportunity_id", "note_id", "document_id"})),
    "industry": frozenset({"client_id", "company_id"}),
    "address": frozenset({"client_id", "company_id"}),
    "notes": frozenset({"client_id", "contact_id", "opportunity_id"}),
}
"""Sort of value, or column -> the kinds of records that have it."""
_AFTER = re.compile(r"\s*\(?(?:(?:with|for|at|on|from|of)\s+(?:the\s+)?)?", re.IGNORECASE)
_PICKED = re.compile(r"\s*(?:\(|(?:in|for|as|of)\s(?:the\s)?)\s*")
_PICKING = re.compile(r"\bone (?:over|of|for|at|worth) (?:[$\u20ac\u00a3]|[A-Z]{3} )?$")
_PICKS = re.compile(r"\b(?:the|other|newer|older|that) (?:\w+ )?(?:[$\u20ac\u00a3]|[A-Z]{3} )?$", re.IGNORECASE)
_COMPARED = re.compile(r"\b(?:over|above|below|than|from)\s+$")
_PICKED_NOUN = re.compile(r" (?:quote|one|contract|deal)\b")
_AUTHORS = frozenset({"by", "uploader", "author"})
_OWNING = frozenset({"owner", "owned", "owns"})
_AUTHORED = frozenset({"note_id", "document_id"})


def subjects(mention: Mention, sentence: Sentence, facts: TurnFacts) -> list[Key]:
    """Return the records that a value may be said of."""
    kinds = _kinds(mention, sentence, facts)
    names = [name for name in sentence.names if name.keys]
    found: set[Key] = set()
    for kind in kinds:
        direct = [name for name in names if any(key[0] == kind for key in name.keys)]
        around = {key for name in _nearest(mention, sentence, direct or names) for key in name.keys}
        below = _below(around, {kind}, facts)
        if direct:
            found |= {key for key in around if key[0] == kind}
        elif around and (below or _may_hold(around, {kind})):
            found |= below & facts.involved or below
        else:
            found |= _focus({kind}, facts)
    found = _picked(mention, sentence, found, facts) if "quote_id" in kinds else found
    return sorted(found)


def is_loose(mention: Mention, sentence: Sentence) -> bool:
    """Whether a sentence also speaks of other records than those that it is about."""
    start, end = sentence.clause(mention.start)
    apart = CONTRASTS.intersection(sentence.words_between(start, end)) if is_pick(mention, sentence) else ()
    compared = mention.sort == "version" and _COMPARED.search(sentence.text[: mention.start])
    return bool(
        sentence.spelled & OTHERS or LOOSE.intersection(sentence.words_between(start, end)) or apart or compared
    )


def is_pick(mention: Mention, sentence: Sentence) -> bool:
    """Whether a value says which of several quotes is meant: 'version 2.0', 'the 4,000 quote', 'the one over 4,000'."""
    if mention.sort in ("version", "prefix"):
        return True
    before, after = sentence.text[: mention.start], sentence.text[mention.end :]
    picks = _PICKING.search(before) or (_PICKS.search(before) and _PICKED_NOUN.match(after))
    return mention.sort == "amount" and bool(picks)


def _kinds(mention: Mention, sentence: Sentence, facts: TurnFacts) -> Collection[str]:
    """Return the kinds of records that a value may be of, as far as the words around it say so."""
    kinds = KINDS[mention.column or mention.sort]
    start, end = sentence.clause(mention.start)
    beside = {m.sort for m in sentence.mentions if start <= m.start < end}
    nouns = {kind for _, kind, _ in sentence.anchors} & {"quote_id", "contract_id"}
    if mention.sort in ("amount", "date") and {"stage", "percent"} & beside and not nouns:
        return {"opportunity_id"}
    if mention.column in PERSONS:
        before = sentence.words_between(0, mention.start)[-2:]
        noted = before[:1] != ["owned"] and _AUTHORED & {kind for kind, _ in facts.base}
        kinds = (
            _AUTHORED if noted and {*before[-1:]} & _AUTHORS else kinds - _AUTHORED if {*before} & _OWNING else kinds
        )
    if len(kinds) == 1:
        return kinds
    based = {kind for kind, _ in facts.base}
    own = STATUS_KINDS[str(mention.value)] if mention.sort == "status" else kinds
    if said := _said_kinds(mention, sentence, own, based) or _said_kinds(mention, sentence, kinds, based):
        valued = mention.sort == "status" and any(m.sort == "amount" for m in sentence.mentions)
        return (based & kinds & KINDS["amount"] if valued and said == {"client_id"} else ()) or said
    if facts.subject in kinds and not sentence.names:
        return {facts.subject}
    written = {write.key[0] for write in facts.records.written} & own if not facts.reads else set()
    return written or own


def _said_kinds(mention: Mention, sentence: Sentence, kinds: Collection[str], based: set[str]) -> Collection[str]:
    """Return the kind that the words beside a value name, or else those before it."""
    after = [word for word in sentence.words if word.start >= mention.end][:1]
    if after and NOUNS.get(after[0].text) in kinds and not sentence.text[mention.end : after[0].start].strip():
        return {NOUNS[after[0].text]}
    start, _ = sentence.clause(mention.start)
    for since in (start, 0):
        anchors = [anchor for anchor in sentence.anchors if since <= anchor[0] < mention.start]
        for led in (False, True):
            said = [kind for _, kind, is_led in anchors if is_led is led and kind in kinds]
            if said:
                return {said[-1], *(based & {*kinds} if led else ())}
    return ()


def _nearest(mention: Mention, sentence: Sentence, names: Sequence[Mention]) -> Sequence[Mention]:
    """Return the name that a value goes with: right after it ('437,500 with Acme'), or else before it."""
    after = [name for name in names if name.start >= mention.end][:1]
    before = [name for name in names if name.start < mention.start][-1:]
    between = sentence.text[mention.end : after[0].start] if after else ""
    if after and (not before or _AFTER.fullmatch(between) or (mention.sort == "type" and not between.strip(" ,:("))):
        return after
    return before


def _below(keys: Iterable[Key], kinds: Collection[str], facts: TurnFacts) -> set[Key]:
    """Return the records of some kinds that belong to others, or that these belong to."""
    records = facts.records
    found = {below for key in keys for below in records.down(key)}
    return {key for key in found.union(*map(records.up, keys)) if key[0] in kinds}


def _may_hold(keys: Iterable[Key], kinds: Collection[str]) -> bool:
    """Whether records of some kinds could belong to these."""
    return any(key[0] in OWNERS[kind] for key in keys for kind in kinds)


def _focus(kinds: Collection[str], facts: TurnFacts) -> set[Key]:
    """Return the records that the turn is about: its own, those that they belong to, or that belong to them."""
    for keys in (facts.topic, facts.base, facts.involved):
        if found := {key for key in keys if key[0] in kinds}:
            return found
    return _below([*facts.topic, *facts.base], kinds, facts)


def _picked(mention: Mention, sentence: Sentence, found: set[Key], facts: TurnFacts) -> set[Key]:
    """Return those quotes that a version or a prefix picks: right after the value, in the clause, or before it."""
    if is_pick(mention, sentence):
        others = [m for m in sentence.mentions if m.sort in ("amount", "status", "date")] if facts.reads else ()
        family = _others({"quote_id"}, found, facts) if others else set()
        return found | {
            key for key in family if any(holds(facts.records.rows[key], COLUMNS[m.sort], m) for m in others)
        }
    picks = [m for m in sentence.mentions if is_pick(m, sentence)]
    start, _ = sentence.clause(mention.start)
    after = [m for m in picks if m.start >= mention.end and _PICKED.fullmatch(sentence.text[mention.end : m.start])]
    before = [m for m in picks if m.start < mention.start]
    picks = after or [m for m in before if m.start >= start] or before[-1:]
    family = _others({"quote_id"}, found, facts) if picks else set()
    for chosen in (picks, picks[-1:]):
        fit = {key for key in family if all(holds(facts.records.rows[key], COLUMNS[m.sort], m) for m in chosen)}
        if fit and chosen:
            return fit & found or fit
    return found


def others(mention: Mention, keys: Iterable[Key], facts: TurnFacts) -> set[Key]:
    """Return the records of the same client that a value may be of, if it is said of another one."""
    return _others(KINDS[mention.column or mention.sort], keys, facts)


def _others(kinds: Collection[str], keys: Iterable[Key], facts: TurnFacts) -> set[Key]:
    """Return the records of some kinds of the same client, and those that the turn is about."""
    return {key for key in facts.family([*keys, *facts.base]) if key[0] in kinds}
