"""What a reply says was not done, compared with what the turn has written."""

from collections.abc import Sequence

from pytest_crmeval.conversations.scorers.deeds import OTHERS, claims_in, says_done
from pytest_crmeval.conversations.scorers.lexicon import DEEDS, DENIALS, FIELDS, NOUNS, OPEN, listed
from pytest_crmeval.conversations.scorers.statements import Sentence, denies
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts

_DOINGS = listed(
    "change changes update create add delete move do make save store accepted "
    "touched possible take enter record apply set write cancel rename upload attach wouldnt"
)
"""Words by which one says, with a denial, that something was not done."""
_REFUSED = ("rejected", "refused", "declined", "blocked")
_WEAK = listed("could can either or let such will")
_FAILED = listed("unable failed error refused")
_NOTES = listed("note notes remark comment")
_PARTS = listed("other one rest first second")
_PAST = listed("had before until previously")
_DENYING = DENIALS | _FAILED | listed("will still rejected refused declined blocked")
"""Words of which every denial of a deed has one."""


def denied(sentences: Sequence[Sentence], facts: TurnFacts) -> str:
    """Return the words by which a reply denies what was written; empty if it does not, or denies something else."""
    if not any(sentence.spelled & _DENYING for sentence in sentences):
        return ""
    columns = {column for write in facts.records.written for column in write.columns}
    kinds = {write.key[0] for write in facts.records.written} | ({"note_id"} if "notes" in columns else set())
    done = {deed for write in facts.records.written for deed in write.deeds}
    claims = bool(claims_in(sentences) or says_done(sentences))
    for sentence in sentences:
        for start, end, words in sentence.clauses if not sentence.asks else ():
            deeds = {DEEDS[word] for word in words if word in DEEDS} - {"changed", "written"}
            other = facts.several and claims and _PARTS & {*words} and not {*words} & {*FIELDS, "fields"}
            besides = (
                OTHERS - (_PARTS if other else set()) if not {*words} & _FAILED or denies(words[:-1]) else frozenset()
            )
            if not _denies_deed(words) or {*words} & (besides | _PAST | {"you", "hadnt"}) or {*words} & OPEN - _WEAK:
                continue
            if (words[:1] == ["nothing"] and not {*words} & {*FIELDS}) or "do nothing" in " ".join(words):
                return sentence.text[start:end].strip()
            if deeds - done:
                continue
            near = words if {*words} & {*FIELDS, *NOUNS} else [word.text for word in sentence.words if word.start < end]
            nouns = {NOUNS[word] for word in near if word in NOUNS}
            noted = _NOTES if "note_id" in nouns & kinds and "notes" not in columns else frozenset()
            fields = {column for word in near if word not in noted for column in FIELDS.get(word, ())}
            names = {key for m in sentence.names if start <= m.start < end for key in m.keys}
            if (names and not names & facts.written) or (nouns and not nouns & kinds):
                continue
            named = [FIELDS[word] for word in near if word in FIELDS and word not in noted]
            if (fields and all(columns & {*each} for each in named)) or (
                not fields and (nouns or names or other or not claims)
            ):
                return sentence.text[start:end].strip()
    return ""


def _denies_deed(words: Sequence[str]) -> bool:
    """Whether words say that something was not done."""
    doings = [place for place, word in enumerate(words) if word in _DOINGS or word in DEEDS]
    text = f" {' '.join(words)} "
    refused = any(f" {verb} {what} " in text for verb in _REFUSED for what in ("the", "it", "this", "that", "your"))
    later = bool({"later", "soon", "tomorrow"} & {*words} and "will" in words) or " still missing " in text
    later = (
        later
        or " still have to " in text
        or " still needs to " in text
        or text.startswith((" not the ", " but not the "))
    )
    failed = bool({*words} & _FAILED) and not denies([word for word in words if word not in _FAILED])
    return failed or refused or later or " do nothing " in text or (bool(doings) and denies(words[: doings[-1]]))
