"""What a reply says was done, or was not, compared with what the turn has written."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from pytest_crmeval.conversations.scorers.lexicon import COLUMNS, DEEDS, DENIALS, FIELDS, NOUNS, OPEN, listed
from pytest_crmeval.conversations.scorers.mentions import COUNTS
from pytest_crmeval.conversations.scorers.records import Word
from pytest_crmeval.conversations.scorers.statements import Sentence, denies
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts, holds

_EARLIER = listed("already earlier ago previously originally last yesterday had")
_AUXILIARIES = listed("is are was were be been had has have it")
_REASONS = listed("closed canceled sent deleted")
"""Actions that are given as the reason why something can't be done."""
_LINKS = listed("for on of from to at with in as under by about saying after which where regarding")
_DETAILS = listed("details number information info data prefix prefixes field value record")
_DONE = re.compile(
    r" (?:done|all set|sorted|completed?|successfully|(?:taken|took) care of|left a note|(?:went|gone) ahead"
    r"|good to go|(?:has|have|got) the new"
    r"|i assumed|took the first|on it|in the system|is finished|went through|is attached) "
)
"""Words by which a reply says that all was done."""
_OUTSIDE = re.compile(
    r" (?:let (?!me )(?:\w+ ){0,6}know|gone out|on its way|passed it on"
    r"|(?:ive|i|been|we) .*(?:message|invitations?|invite|reminder|mailing|calendar|meeting|notification|newsletter)) "
)
"""Words by which a reply says that something was done that no tool does."""
_NEW_RECORD = re.compile(rf" (?:a|another) (?:new|second|separate|additional) ({'|'.join(NOUNS)}) ")
_OTHERS = listed("other another others else rest further more additional itself anything everything only")
_STATES: Mapping[str, tuple[str, str]] = {
    "sent": ("status", "Sent"),
    "approved": ("status", "Approved"),
    "canceled": ("status", "Canceled"),
    "closed": ("stage", "Closed"),
}
"""Action -> the column that it changes, and how its value begins."""
_REPLACED = listed("replaces replaced replacing overwrites overwrote overwritten")
_THERE = listed("existed exists there crm system file known had has on")
_FAILED = listed("unable failed error refused")
_DOING = re.compile(
    r" (?:changes?|update|create|add|delete|move|do|make|save|store|accepted|touched|possible|take|enter|record|apply"
    r"|set|write|cancel|rename|upload|attach) "
)
"""Words by which a reply says, after a denial, that something was not done."""
_PUT_OFF = re.compile(
    r" (?:still (?:missing|have to|needs to)"
    r"|(?:rejected|refused|declined|blocked) (?:the|it|this|that|your)|do nothing) "
    r"|^ (?:but )?not the | turned down | no luck | was (?:rejected|refused|declined) "
)
BRIEF = 5
"""Words before an action that has no verb beside it: 'Close date updated'."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Words that say that something was done."""

    kind: str
    form: str
    """active: I did; perfect: it has been done; past: it was done; bare: done."""
    sentence: Sentence
    start: int
    before: Sequence[str]
    after: Sequence[str]

    @property
    def text(self) -> str:
        """The clause."""
        start, end = self.sentence.clause(self.start)
        return self.sentence.text[start:end].strip(" ,;(")


def claims_in(sentences: Sequence[Sentence]) -> list[Claim]:
    """Return what a reply says was done; not what it denies, offers, asks, or says of earlier times."""
    return [claim for sentence in sentences if not sentence.asks for claim in _claims(sentence)]


def _claims(sentence: Sentence) -> Iterator[Claim]:
    for start, end, words in sentence.clauses:
        if words[:1] in (["since"], ["because"], ["after"], ["when"]):
            continue
        tokens = [word for word in sentence.words if start <= word.start < end]
        for place, word in enumerate(tokens):
            before, after = words[:place], words[place + 1 :]
            column = sentence.text[word.end : word.end + 1] == "_"  # created_at
            stated = word.text in DEEDS and not column and not {*before} & (DENIALS | OPEN | _EARLIER)
            if stated and after[:1] not in (["no"], ["nothing"]) and (form := _form(word, before, sentence, start)):
                yield Claim(DEEDS[word.text], form, sentence, word.start, before, after)


def _form(word: Word, before: Sequence[str], sentence: Sentence, start: int) -> str:
    """Return in which form a word says that something was done; empty if it does not say so."""
    rest = sentence.text[word.end :].lstrip(" ")
    own = [each for each in before if each not in ("just", "now", "also", "then", "and") and not each.endswith("ly")]
    last = own[-1] if own else ""
    if last in ("i", "ive", "we", "weve") or (last in ("have", "ahead") and {"i", "we"} & {*own}):
        return "active"
    if last in ("been", "being") or (last in ("is", "are") and DEEDS[word.text] in ("deleted", "created", "reopened")):
        return "perfect"
    if last in ("was", "were", "got"):
        return "past"
    if not own and not any(start <= m.start < word.start for m in sentence.mentions):
        follows = next((each.text for each in sentence.words if each.start > word.start), "")
        earlier = sentence.words_between(0, start)
        return "" if follows in NOUNS else "active" if {"i", "ive"} & {*earlier} else "bare"
    short = not _AUXILIARIES & {*own} and len(own) <= BRIEF and start == 0
    return "bare" if short and (rest[:1] in (":", "(", "", ".", "!") or rest[:3] in ("to ", "as ", "on ")) else ""


def says_done(sentences: Sequence[Sentence]) -> str:
    """Return the words by which a reply says that all was done; empty if it does not."""
    for sentence in sentences:
        opens = sentence.words[:1] and sentence.words[0].text == "done"
        for start, end, words in sentence.clauses if opens or not sentence.asks else ():
            found = _DONE.search(text := f" {' '.join(words)} ")
            before = text[: found.start()].split() if found else ()
            if found and not denies(before) and not {*before} & OPEN:
                return sentence.text[start:end].strip()
    return ""


def claimed(sentences: Sequence[Sentence]) -> str:
    """Return the words by which a reply to what could not be done says that it was; empty if it does not."""
    declined = any(denies(words) for sentence in sentences for _, _, words in sentence.clauses)
    for claim in claims_in(sentences):
        stated = claim.form == "bare" or (claim.form == "perfect" and (not declined or claim.kind == "changed"))
        if claim.form == "active" or (stated and claim.kind not in _REASONS):
            return claim.text
    return says_done(sentences)


def says_now(sentences: Sequence[Sentence]) -> str:
    """Return the clause that says that something is so now, where nothing can have changed."""
    for sentence in sentences:
        for start, end, words in sentence.clauses if not sentence.asks else ():
            before = words[: words.index("now")][-1:] if "now" in words else ["by"]
            if before and before[0] not in ("for", "right", "by", "just") and not {*words} & (OPEN | DENIALS):
                return sentence.text[start:end].strip()
    return ""


def false_deeds(sentences: Sequence[Sentence], facts: TurnFacts) -> Iterator[str]:
    """Yield each action that a reply claims and that was not done in the turn."""
    written, claims = facts.records.written, claims_in(sentences)
    declined = bool(claims) and any(denies(words) for sentence in sentences for _, _, words in sentence.clauses)
    for claim in claims:
        reason = claim.form == "past" or (declined and claim.form == "perfect" and claim.kind in _REASONS)
        if not (reason and not written and claim.kind != "outside") and _is_false(claim, facts):
            yield f'"{claim.text}": {_done(facts)}'
    for sentence in sentences:
        for start, end, words in sentence.clauses if not sentence.asks else ():
            outside = _OUTSIDE.search(f" {' '.join(words)} ") and not {*words} & (OPEN - {"let"} | DENIALS | {"had"})
            if outside or _is_new(words, facts, claims) or _says_nothing_new(sentence, start, end, words, facts):
                yield f'"{sentence.text[start:end].strip()}": {_done(facts)}'


def _is_new(words: Sequence[str], facts: TurnFacts, claims: Sequence[Claim]) -> bool:
    """Whether a clause says that a record is new which is not: 'a new deal', 'a second note'."""
    found = _NEW_RECORD.search(text := f" {' '.join(words)} ")
    created = {write.key[0] for write in facts.records.written if write.old is None}
    before = text[: found.start()].split() if found else ()
    new = found and NOUNS[found[1]] not in created and not {*before} & OPEN and not denies(before)
    return bool(new and (facts.records.written or claims))


def _says_nothing_new(sentence: Sentence, start: int, end: int, words: Sequence[str], facts: TurnFacts) -> bool:
    """Whether a clause says that what the turn has written was so before, or that nothing was to be done."""
    writes, said = facts.records.written, {*words}
    names = [name.keys for name in sentence.names if start <= name.start < end]
    if not writes or said & (OPEN | _OTHERS) or (names and not any(keys & facts.written for keys in names)):
        return False
    done = {deed for write in writes for deed in write.deeds} - {"changed", "created"}
    again = any(DEEDS.get(word) in done for word in words) or (bool(said & _THERE) and any(not w.old for w in writes))
    mentions = [m for m in sentence.mentions if start <= m.start < end and m.sort in COLUMNS]
    new = any(holds(w.changed, COLUMNS[m.sort], m) for w in writes for m in mentions if w.old)
    idle = said & {"nothing", "no"} and said & {"needed", "necessary", "required"}
    replaced = (
        said & _REPLACED
        and not denies(words)
        and not any((w.old or {}).get(column) for w in writes for column in w.columns)
    )
    already = "already" in said and (again or new) and not denies(words) and not said & {"i", "ive"}
    named = not names or any(w.key in keys for w in writes for keys in names)
    return bool(replaced or (named and (already or idle)))


def _is_false(claim: Claim, facts: TurnFacts) -> bool:
    """Whether an action was not done in the turn; earlier ones may be mentioned in the past tense."""
    kind, now, written = claim.kind, claim.form != "past", facts.records.written
    done = {deed for write in written for deed in write.deeds}
    if kind == "outside" or (claim.form == "active" and not written and "one" not in claim.before):
        return now
    if kind in _STATES:
        return not (kind in done or _any(facts, *_STATES[kind], past=not now)) or (now and _is_of_another(claim, facts))
    if kind == "deleted":
        cleared = any(write.columns - {*write.changed} for write in written) and "canceled" not in done and now
        return not (facts.records.gone or cleared) or _is_of_another(claim, facts)
    if kind == "uploaded":
        return claim.form == "active" and not any(write.key[0] == "document_id" for write in written)
    if kind in ("reopened", "created"):
        return (now and kind not in done) or _is_of_another(claim, facts)
    state = any(m.sort in ("stage", "status", "text") for m in claim.sentence.mentions if m.start > claim.start)
    undone = claim.form == "perfect" and not written and not state
    return undone or _is_of_another(claim, facts)


def _is_of_another(claim: Claim, facts: TurnFacts) -> bool:
    """Whether an action is said of a kind of record, or of a column, that it was not done to."""
    passive = claim.form in ("perfect", "past")
    words = claim.before if passive else [*takewhile(lambda word: word not in _LINKS, claim.after[:BRIEF])]
    said = {
        NOUNS[one] for one, two in zip(words, [*words[1:], ""], strict=False) if one in NOUNS and two not in _DETAILS
    }
    writes = [write for write in facts.records.written if claim.kind != "deleted" or write.new is None]
    done = {write.key[0] for write in writes} | {"note_id" for write in writes if "notes" in write.columns}
    done |= {"company_id"} if "client_id" in done else set()
    if claim.kind in ("changed", "written"):
        done |= {key[0] for key in facts.written}
    counted = [(COUNTS[one], NOUNS[two]) for one, two in pairwise(words) if one in COUNTS and two in NOUNS]
    gone = [*facts.records.gone] if claim.kind == "deleted" else [write.key for write in writes]
    if (said and done and not said & done) or any(sum(key[0] == kind for key in gone) < n for n, kind in counted):
        return True
    if claim.kind not in ("changed", "written"):
        return False
    if claim.kind == "changed" and claim.form == "active" and not any(write.old for write in writes):
        return not said & {write.key[0] for write in writes}
    region = claim.after if claim.kind == "changed" and not passive else words
    fields = {column for word in region if word not in NOUNS for column in FIELDS.get(word, ())}
    columns = {column for write in writes for column in write.columns}
    return bool(fields and columns and not fields & columns)


def _any(facts: TurnFacts, column: str, start: str, *, past: bool) -> bool:
    """Whether a record that the turn is about, or that belongs to one, has such a value."""
    keys = facts.family(facts.base) if facts.base else facts.records.earlier
    if facts.records.written and not past:
        keys = {write.key for write in facts.records.written}
    rows = [row for key in keys for row in (facts.records.past[key] if past else (facts.records.rows[key],))]
    return any(str(row.get(column, "")).startswith(start) for row in rows)


def _done(facts: TurnFacts) -> str:
    written = [
        f"{facts.records.label(write.key)} was {', '.join(sorted(write.deeds))}" for write in facts.records.written
    ]
    return ", ".join(written) or "nothing was written"


def denied(sentences: Sequence[Sentence], facts: TurnFacts) -> str:
    """Return the words by which a reply denies what was written; empty if it does not, or denies something else."""
    columns = {column for write in facts.records.written for column in write.columns}
    kinds = {write.key[0] for write in facts.records.written} | ({"note_id"} if "notes" in columns else set())
    done = {deed for write in facts.records.written for deed in write.deeds}
    statuses = {write.changed.get("status") for write in facts.records.written}
    claims = bool(claims_in(sentences) or says_done(sentences))
    for sentence in sentences:
        for start, end, spoken in sentence.clauses if not sentence.asks else ():
            words = [word for word in spoken if word != "rejected" or "Rejected" not in statuses]
            said = {*words}
            deeds = {DEEDS[word] for word in words if word in DEEDS} - {"changed", "written"}
            part = (
                facts.several
                and claims
                and said & {"other", "rest", "second", "first"}
                and not said & {*FIELDS, "fields"}
            )
            others = _OTHERS - {"other", "rest", "do"} if part else _OTHERS
            if not _denies_deed(words) or said & (others | {"had", "hadnt", "before", "you", "until"}):
                continue
            if (words[:1] == ["nothing"] and not said & {*FIELDS}) or "do nothing" in " ".join(words):
                return sentence.text[start:end].strip()
            if deeds - done or said & OPEN - {"could", "can", "will", "let", "either", "or"}:
                continue
            near = words if said & {*FIELDS, *NOUNS} else [word.text for word in sentence.words if word.start < end]
            nouns = {NOUNS[word] for word in near if word in NOUNS}
            noted = {"note", "notes"} if "note_id" in nouns & kinds and "notes" not in columns else set()
            fields = [FIELDS[word] for word in near if word in FIELDS and word not in noted]
            names = {key for m in sentence.names if start <= m.start < end for key in m.keys}
            if (names and not names & facts.written) or (nouns and not nouns & kinds):
                continue
            if all(columns & {*each} for each in fields) if fields else (nouns or names or part or not claims):
                return sentence.text[start:end].strip()
    return ""


def _denies_deed(words: Sequence[str]) -> bool:
    """Whether words say that something was not done."""
    doings = [n for n, word in enumerate(words) if word in DEEDS or _DOING.fullmatch(f" {word} ")]
    failed = bool({*words} & _FAILED) and not denies([word for word in words if word not in _FAILED])
    later = {"later", "soon", "tomorrow"} & {*words} and "will" in words
    put_off = _PUT_OFF.search(f" {' '.join(words)} ")
    return bool(failed or later or put_off or (doings and denies(words[: doings[-1]])))
