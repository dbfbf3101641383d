"""What a reply says was done, or was not, compared with what the turn has written."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from pytest_crmeval.conversations.scorers.lexicon import (
    COLUMNS,
    DEEDS,
    DENIALS,
    FIELDS,
    NOUNS,
    OPEN,
    denies,
    listed,
)
from pytest_crmeval.conversations.scorers.mentions import Figure
from pytest_crmeval.conversations.scorers.records import Key
from pytest_crmeval.conversations.scorers.statements import Clause, Sentence
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts, columns_of, holds, same

_EARLIER = listed("already earlier ago previously originally last yesterday had one")
_LINKS = listed("for on of from to at with in as under by about saying after which where regarding")
_DONE = re.compile(
    r" (?:done|all set|sorted|completed?|successfully|(?:taken|took) care of|left a note|(?:went|gone) ahead"
    r"|good to go|(?:has|have|got) the new|in the system|is finished|went through|is attached|on it|i assumed"
    r"|took the first) "
)
"""Words by which a reply says that all was done."""
_OUTSIDE = re.compile(
    r" (?:let (?!me )(?:\w+ ){0,6}know|gone out|on its way|passed it on"
    r"|sent (?:\w+ ){0,5}(?:by email|to the client|to them)"
    r"|(?:ive|i|been) .*(?:second|alternative|secondary|backup) (?:email|address|phone|number|owner)"
    r"|(?:ive|i|been|we) .*(?:message|invitations?|invite|reminder|mailing|calendar|meeting|notification|newsletter)) "
)
"""Words by which a reply says that something was done that no tool does."""
_NEW_RECORD = re.compile(rf" (?:a|another) (?:new|second|separate|additional) ({'|'.join(NOUNS)}) ")
_OTHERS = listed("other another others else rest further more additional itself anything everything only")
_ASKED = OPEN - listed("could can will let either or")
_REPLACED = listed("replaces replaced replacing overwrites overwrote overwritten")
_THERE = listed("existed exists there crm system file known had has on")
_FAILED = listed("unable failed error refused")
_DOING = listed(
    "change changes update create add delete move do make save store accepted touched possible take enter record apply "
    "set write cancel rename upload attach"
)
"""Words by which a reply says, after a denial, that something was not done."""
_PUT_OFF = re.compile(
    r" (?:still (?:missing|have to|needs to)|(?:rejected|refused|declined|blocked) (?:the|it|this|that|your)) "
    r"|^ (?:but )?not the | turned down | no luck | do nothing | was (?:rejected|refused|declined) "
    r"| will (?!keep|remember|have|need|use).*(?:later|soon|tomorrow) "
)
_PAST = re.compile(
    r"(?!(?:ne|quot|spott|match|decid|plann|look|search|check|tri|notic|us|assum|stopp|work|ask|compar|count|list|review"
    r"|verifi|confirm|consider|receiv|interpret|mention|calculat|comput|round|want|talk|hop|includ|nam|sort|summari[sz]"
    r"|limit|group|order|rank|mark|highlight|skipp|omitt|ignor|exclud|filter|pull|open|retriev|spell|miss|fail|convert"
    r"|pick|select|stat|show|present|display|deriv|total|combin|separat|gather|scann|consult|inspect|fetch|locat"
    r"|identifi|discover|learn|reali[sz]|recall|prefer|lik|thank|apologi[sz]|offer|suggest|recommend|stay|bas|read"
    r"|suspect|figur|misread|refus|reject|declin)ed)(?:\w+ed|took|put|sent|told|brought|dealt|wrote|drew|rang)"
)
"""What one has done, beside looking, trying and understanding."""
BRIEF = 5
"""Words after an action that may name what it was done to."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Words that say that something was done."""

    kind: str
    form: str
    """active: I did; perfect: it has been done; past: it was done; bare: done."""
    clause: Clause
    before: Sequence[str]
    after: Sequence[str]


def claims_in(sentences: Sequence[Sentence]) -> list[Claim]:
    """Return what a reply says was done; not what it denies, offers, asks, or says of earlier times."""
    return [claim for sentence in sentences for clause in sentence.stated for claim in _claims(clause)]


def _claims(clause: Clause) -> Iterator[Claim]:
    words = clause.words
    for place, word in enumerate(words if words[:1] not in (["since"], ["because"], ["after"], ["when"]) else ()):
        before, after = words[:place], words[place + 1 :]
        kind = DEEDS.get(word) or ("other" if _PAST.fullmatch(word) else "")
        stated = (
            kind
            and "mental" not in after
            and not {*before} & (DENIALS | OPEN | _EARLIER)
            and after[:1] not in (["no"], ["nothing"])
        )
        form = _form(clause, word, before, after) if stated else ""
        if (form == "active" or (form and kind != "other")) and not clause.sentence.is_told(clause.start):
            yield Claim(kind, form, clause, before, after)


def _form(clause: Clause, word: str, before: Sequence[str], after: Sequence[str]) -> str:
    """Return in which form a word says that something was done; empty if it does not say so."""
    own = [each for each in before if each not in ("just", "now", "also", "then", "and") and not each.endswith("ly")]
    last = own[-1] if own else ""
    if last in ("i", "ive", "we", "weve") or (last in ("have", "ahead") and {"i", "we"} & {*own}):
        return "active"
    if last == "been" or (last in ("is", "are") and DEEDS.get(word) in ("deleted", "created", "reopened")):
        return "perfect"
    if last in ("was", "were", "got"):
        return "past"
    if (
        own
        or {*after[:1]} & {*NOUNS}
        or not clause.sentence.text[clause.start :].casefold().startswith((word, *before))
    ):
        return ""
    return "active" if {"i", "ive"}.intersection(clause.sentence.words_between(0, clause.start)) else "bare"


def says_done(sentences: Sequence[Sentence]) -> str:
    """Return the words by which a reply says that all was done; empty if it does not."""
    for clause in (clause for sentence in sentences for clause in sentence.clauses):
        found = _DONE.search(text := f" {' '.join(clause.words)} ")
        before = text[: found.start()].split() if found else ()
        if found and not denies(before) and not {*before} & OPEN and (not before or not clause.sentence.asks):
            return clause.text
    return ""


def false_deeds(sentences: Sequence[Sentence], facts: TurnFacts) -> Iterator[str]:
    """Yield each action that a reply claims and that was not done in the turn."""
    written, claims = facts.records.written, claims_in(sentences)
    created = {write.key[0] for write in written if write.old is None}
    false = [claim.clause for claim in claims if _is_false(claim, facts)]
    for clause in (clause for sentence in sentences for clause in sentence.stated):
        text = f" {' '.join(clause.words)} "
        outside = _OUTSIDE.search(text) and not clause.said & (OPEN - {"let"} | DENIALS | {"had"})
        new = [NOUNS[noun] for noun in _NEW_RECORD.findall(text) if not clause.said & OPEN and not clause.denies]
        if outside or ((written or claims) and {*new} - created) or _says_nothing_new(clause, facts):
            false.append(clause)
    done = [f"{facts.records.label(write.key)} was {', '.join(sorted(write.deeds))}" for write in written]
    for clause in false:
        yield f'"{clause.text}": {", ".join(done) or "nothing was written"}'


def _says_nothing_new(clause: Clause, facts: TurnFacts) -> bool:
    """Whether a clause says that what the turn has written was so before, or that it replaced what was not there."""
    writes, said = facts.records.written, clause.said
    if not writes or said & (OPEN | _OTHERS) or clause.denies or (clause.keys and not clause.keys & facts.written):
        return False
    done = {deed for write in writes for deed in write.deeds} - {"changed", "created"}
    again = any(DEEDS.get(word) in done for word in said) or (bool(said & _THERE) and any(not w.old for w in writes))
    values = [m for m in clause.mentions if m.sort in COLUMNS]
    new = any(holds(w.changed, COLUMNS[m.sort], m) for w in writes for m in values if w.old)
    empty = not any((w.old or {}).get(column) for w in writes for column in w.columns)
    return bool(said & _REPLACED and empty) or ("already" in said and (again or new) and not said & {"i", "ive", "one"})


def _is_false(claim: Claim, facts: TurnFacts) -> bool:
    """Whether an action was not done in the turn; earlier ones may be mentioned in the past tense."""
    kind, form, written = claim.kind, claim.form, facts.records.written
    done = {deed for write in written for deed in write.deeds}
    done |= {"uploaded" for write in written if write.key[0] == "document_id"}
    if form == "past" and (not written or kind == "outside"):
        return False
    if kind == "outside" or (form == "active" and not written):
        return True
    if kind in ("sent", "approved", "canceled", "closed") and kind not in done:
        rows = [facts.records.rows[key] for key in described_by(claim.clause, facts) or facts.base]
        stated = any(str(row.get("status")).casefold() == kind for row in rows)
        return form == "active" or (bool(written) and form == "perfect" and not stated)
    if kind in ("reopened", "created", "uploaded") and kind not in done:
        return form in ("active", "perfect" if kind != "uploaded" else "")
    cleared = any(write.columns - {*write.changed} for write in written) and "canceled" not in done
    state = any(m.sort in ("stage", "status", "text") for m in claim.clause.mentions)
    undone = kind in ("changed", "written") and form == "perfect" and not written and not state
    undone |= kind == "deleted" and not (facts.records.gone or cleared)
    return undone or _is_of_another(claim, facts)


def described_by(clause: Clause, facts: TurnFacts) -> set[Key]:
    """Return the quotes and contracts that a clause describes by what they have, or had before the turn."""
    said = [m for m in clause.mentions if m.sort in ("amount", "version", "prefix")]
    near = [key for key in facts.family(facts.base) if key[0] in ("quote_id", "contract_id")]
    rows = facts.records.past
    return {key for key in near if any(holds(row, columns_of(m), m) for m in said for row in rows[key])}


def _is_of_another(claim: Claim, facts: TurnFacts) -> bool:
    """Whether an action is said of a kind of record, or of a column, that it was not done to."""
    passive, changes = claim.form in ("perfect", "past"), claim.kind in ("changed", "written")
    words = claim.before if passive else [*takewhile(lambda word: word not in _LINKS, claim.after[:BRIEF])]
    said = {NOUNS[word] for word in words if word in NOUNS}
    writes = [write for write in facts.records.written if claim.kind != "deleted" or write.new is None]
    done = {write.key[0] for write in writes} | {"note_id" for write in writes if "notes" in write.columns}
    done |= {"company_id"} if "client_id" in done else set()
    done |= {key[0] for key in facts.written} if changes else set()
    if said and done and not said & done:
        return True
    if claim.kind == "changed" and claim.form == "active" and not any(write.old for write in writes):
        return not said & {write.key[0] for write in writes}
    region = claim.after if claim.kind == "changed" and not passive else words
    fields = {column for word in region if word not in NOUNS for column in FIELDS.get(word, ())}
    columns = {column for write in writes for column in write.columns}
    return changes and bool(fields and columns and not fields & columns)


def denied(sentences: Sequence[Sentence], facts: TurnFacts, *, partly: bool = False) -> str:
    """Return the words by which a reply denies what was written; empty if it does not, or denies something else.

    If the CRM was to refuse a part of the turn, and has refused some of several records of a kind, only a denial that
    names a record which was written counts.
    """
    writes = facts.records.written
    columns = {column for write in writes for column in write.columns}
    kinds = {write.key[0] for write in writes} | ({"note_id"} if "notes" in columns else set())
    done = {deed for write in writes for deed in write.deeds} | {"changed", "written"}
    rejected = any(write.changed.get("status") == "Rejected" for write in writes)
    claims = bool(claims_in(sentences) or says_done(sentences))
    keys = {write.key for write in writes}
    partly = partly and bool({kind for kind, _ in keys} & {kind for kind, _ in facts.locked - keys})
    for clause in (clause for sentence in sentences for clause in sentence.stated):
        words = [word for word in clause.words if word != "rejected" or not rejected]
        said = {*words}
        part = facts.several and said & {"other", "rest", "second", "first"} and not said & {*FIELDS, "fields"}
        others = _OTHERS - {"other", "rest"} if part else _OTHERS
        if not _denies_deed(words) or said & (others | {"had", "hadnt", "before", "you", "until"}):
            continue
        before = [name.keys for name in clause.sentence.names if name.start < clause.end]
        meant = (clause.keys or frozenset().union(*before[-1:]), described_by(clause, facts))
        elsewhere = any(keys and not keys & facts.written for keys in meant) or _is_of_other_values(clause, facts)
        if elsewhere:
            continue
        if (words[:1] == ["nothing"] and not said & {*FIELDS}) or " do nothing " in f" {' '.join(words)} ":
            return clause.text
        if {*map(_deed_of, words)} - done - {""} or said & _ASKED or (partly and not clause.keys & keys):
            continue
        near = words if said & {*FIELDS, *NOUNS} else clause.sentence.words_between(0, clause.end)
        nouns = {NOUNS[word] for word in near if word in NOUNS}
        fields = [FIELDS[word] for word in near if word in FIELDS and NOUNS.get(word) not in kinds]
        if (not nouns or nouns & kinds) and (
            all(columns & {*each} for each in fields) if fields else (nouns or clause.keys or part or not claims)
        ):
            return clause.text
    return ""


def _deed_of(word: str) -> str:
    """Return the kind of deed of a verb, also of 'delete', 'cancel', 'create' and 'approve'; empty if it is none."""
    kind = DEEDS.get(word) or DEEDS.get(f"{word}d") or DEEDS.get(f"{word}ed") or ""
    return kind if word in DEEDS or kind in ("deleted", "canceled", "created", "approved") else ""


def _is_of_other_values(clause: Clause, facts: TurnFacts) -> bool:
    """Whether a denial is of a value that the turn has neither written nor written over."""
    ids = [m for m in clause.sentence.mentions if m.sort == "id"]
    values = ids or [m for m in clause.mentions if m.sort in COLUMNS or isinstance(m.value, Figure)][:1]
    rows = [write.old or {} for write in facts.records.written] + [facts.records.rows[key] for key in facts.written]
    return bool(values) and not any(same(m.value, cell) for m in values for row in rows for cell in row.values())


def _denies_deed(words: Sequence[str]) -> bool:
    """Whether words say that something was not done."""
    doings = [n for n, word in enumerate(words) if word in DEEDS or word in _DOING]
    failed = bool({*words} & _FAILED) and not denies([word for word in words if word not in _FAILED])
    return bool(failed or _PUT_OFF.search(f" {' '.join(words)} ") or (doings and denies(words[: doings[-1]])))
