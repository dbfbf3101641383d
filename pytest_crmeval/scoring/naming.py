"""Whom and what a reply names: names nobody has, records that it is not about, texts and counts that are not so."""

import re
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from itertools import pairwise

from pytest_crmeval.scoring.clauses import Sentence, denies, spelled
from pytest_crmeval.scoring.deeds import claims_in
from pytest_crmeval.scoring.facts import names_of
from pytest_crmeval.scoring.lexicon import CHOICES, COLUMN_WORDS, CONTRASTS, KIND_OF, NOUNS, OPEN, ORDINARY, PICKS
from pytest_crmeval.scoring.mentions import COUNTS, Figure, read, words_of
from pytest_crmeval.scoring.records import Key, Named, Word, named_in
from pytest_crmeval.scoring.scene import Scene
from pytest_crmeval.scoring.values import Told

_START = re.compile(r"(?:^|[.:!?|\u2014\u2013(\[\"\u201c/>#\u2022\u2192-]|\d\.|\*\*|__|`)[\s*_`\"\u201c(]*$")
_LABEL = re.compile(r"^[\s*_]*[:|]")
_FILE = re.compile(r"\b[\w-]+(?:\.[\w-]+)*\.(?:csv|docx?|key|pdf|pptx?|txt|xlsx|zip|rar)\b")
OWNED = ({"contact_id"}, {"opportunity_id"}, {"document_id"})
"""Kinds of records that belong to others, and are known by their names."""
ALIKE = 0.7
"""Share of the letters of two names that differ only in their spelling."""
SMALL = 3
"""Words of a quotation that are not checked."""


def unknown_names(told: Sequence[Told], scene: Scene) -> Iterator[str]:
    """Yield words written as names that neither the dialogue nor any record has."""
    for each in told:
        sentence = each.sentence
        for place, word in enumerate(sentence.words):
            known = word.text in scene.vocabulary or word.text.removesuffix("s") in scene.vocabulary
            if known or not _is_name(sentence, place) or _in_label(sentence, word):
                continue
            sides = sentence.words[max(0, place - 1) : place + 2]
            led = place and sentence.words[place - 1].text in {*NOUNS, "for", "at", "with"}
            if not led and not any(_joined(sentence, one, other) for one, other in pairwise(sides)):
                continue
            if sentence.clause_at(word.start).sense(word.start, word.end) not in ("open", "denied"):
                yield f'"{_around(sentence, place)}": no record or message has {word.raw!r}'


def _is_name(sentence: Sentence, place: int) -> bool:
    """Whether a word is written with a capital where only names are."""
    word = sentence.words[place]
    raw, name = word.raw, word.text
    if (
        not raw[:1].isupper()
        or raw.isupper()
        or raw[:2] in ("I'", "I\u2019")
        or len(raw) < SMALL
        or any(c.isdigit() for c in raw)
    ):
        return False
    if name in ORDINARY or name in CHOICES or name in NOUNS or name in KIND_OF or name in COUNTS:
        return False
    before = sentence.text[: word.start - sentence.start]
    return bool(re.search(r"[\w,)'\u2019]\s+$", before)) and not _START.search(before)


def _in_label(sentence: Sentence, word: Word) -> bool:
    """Whether a word belongs to a label, a heading, or a sentence in capitals."""
    rest = sentence.text[word.end - sentence.start :]
    if _LABEL.match(re.sub(r"^(?:\s[A-Z][\w-]*)*", "", rest)):
        return True
    others = [each for each in sentence.words if each.raw[:1].isalpha()]
    return sentence.text.lstrip().startswith("#") or all(each.raw[:1].isupper() for each in others)


def _around(sentence: Sentence, place: int) -> str:
    first = sentence.words[max(0, place - 1)]
    return sentence.text[first.start - sentence.start : sentence.words[place].end - sentence.start].replace("*", "")


def unasked(told: Sequence[Told], asked: Sequence[Key], scene: Scene) -> Iterator[str]:
    """Yield records that are listed as found, and are not among those that were asked for."""
    kinds = {kind for kind, _ in asked}
    for each in told if len(kinds) == 1 else ():
        words = [spelled(word) for word in each.sentence.words]
        if each.sentence.asks or each.sentence.plain & (CONTRASTS | PICKS) or denies(words) or OPEN.intersection(words):
            continue
        for name in each.named:
            own = {kind for kind, _ in name.keys}
            full = any(
                read(scene.text_of(name, each.sentence)).says(fact)
                for key in name.keys
                for fact in names_of([scene.records.rows[key]])[:1]
            )
            heard = scene.ask.says(scene.text_of(name, each.sentence))
            if (
                own == kinds
                and full
                and not name.keys & {*asked}
                and not heard
                and not _is_past(each.sentence.clause_at(name.start), name)
            ):
                yield f'"{scene.text_of(name, each.sentence)}": not among what was asked for'
        rows = scene.records.rows
        others = {key for keys in scene.records.shown for key in keys if key[0] in kinds} - {*asked}
        for said in each.statements if kinds & {"quote_id", "contract_id"} else ():
            fits = (
                said.sort != "amount"
                or said.sense != "fact"
                or any(said.is_in(rows[key]) for key in asked if key in rows)
            )
            if (
                not fits
                and any(said.is_in(rows[key]) for key in others)
                and not (isinstance(said.value, Figure) and scene.ask.says(said.value.value))
            ):
                yield f'"{said.words}": not among what was asked for'


def unknown_phrases(told: Sequence[Told], scene: Scene) -> Iterator[str]:
    """Yield names and titles put together of words that are known, but not side by side."""
    for each in told:
        words, place = each.sentence.words, 0
        spans = [(name.start, name.end) for name in (*each.named, *named_in(words, scene.texts))]
        while place < len(words):
            end = place + 1
            while end < len(words) and _joined(each.sentence, words[end - 1], words[end]):
                end += 1
            run = words[place:end]
            if (
                len(run) > 1
                and not _in_label(each.sentence, run[-1])
                and each.sentence.clause_at(run[0].start).sense(run[0].start, run[0].start) != "open"
            ):
                first = bool(_START.search(each.sentence.text[: run[0].start - each.sentence.start]))
                known = [any(start <= word.start < end for start, end in spans) for word in run]
                if wrong := _broken(run, scene, known, first=first):
                    yield f'"{each.sentence.piece(run[0].start, run[-1].end)}": no record or message has {wrong!r}'
            place = end


def _joined(sentence: Sentence, one: Word, other: Word) -> bool:
    """Whether two words in capitals stand side by side."""
    between = sentence.text[one.end - sentence.start : other.start - sentence.start]
    return between == " " and all(
        word.raw[:1].isupper() and not word.raw.isupper() and word.raw[:2] not in ("I'", "I\u2019")
        for word in (one, other)
    )


def _broken(run: Sequence[Word], scene: Scene, known: Sequence[bool], *, first: bool) -> str:
    """Return the word of a run that belongs to no known phrase; empty if each does."""
    place = 0
    while place < len(run):
        length = next((n for n in range(len(run) - place, 0, -1) if _is_phrase(run[place : place + n], scene)), 0)
        if not length:
            if not known[place] and not (first and place == 0):
                return run[place].raw
            length = 1
        place += length
    return ""


def _is_phrase(run: Sequence[Word], scene: Scene) -> bool:
    text = " ".join(word.text for word in run)
    if text in scene.units:
        return True
    if len(run) == 1:
        name = run[0].text
        return (
            name in ORDINARY
            or name in CHOICES
            or name in NOUNS
            or name in KIND_OF
            or name in COUNTS
            or name in COLUMN_WORDS
        )
    said = words_of(text)
    return any(said in heard for heard in scene.heard_words)


def mixed_people(told: Sequence[Told], scene: Scene) -> Iterator[str]:
    """Yield a first name beside the last name of somebody else."""
    people = {
        (words_of(str(row["first_name"])).strip(), words_of(str(row["last_name"])).strip())
        for rows in scene.records.past.values()
        for row in rows
        if row.get("first_name") and row.get("last_name")
    }
    firsts, lasts = {first for first, _ in people}, {last for _, last in people}
    for each in told:
        for one, other in zip(each.sentence.words, each.sentence.words[1:], strict=False):
            beside = each.sentence.text[one.end - each.sentence.start : other.start - each.sentence.start] == " "
            misspelt = (
                one.raw[:1].isupper() and one.text not in scene.vocabulary and _is_like_another(one, other, people)
            )
            apart = one.text in firsts and other.text in lasts and (one.text, other.text) not in people
            if (
                beside
                and (apart or misspelt)
                and not any(words_of(f"{one.raw} {other.raw}") in text for text in scene.heard_words)
            ):
                yield f'"{one.raw} {other.raw}": no record has this name'


def unknown_files(told: Sequence[Told], scene: Scene) -> Iterator[str]:
    """Yield names of files that neither the dialogue nor any record has."""
    for each in told if scene.own else ():
        for match in _FILE.finditer(each.sentence.text if not each.sentence.asks else ""):
            if not any(words_of(match[0]) in heard for heard in scene.heard_words):
                yield f'"{match[0]}": no record or message has this file'


def misplaced(told: Sequence[Told], scene: Scene) -> Iterator[str]:
    """Yield sentences that quote a new text beside the name of a record that did not get it."""
    for write in scene.records.written:
        texts = [value for name, value in write.changed.items() if name in ("notes", "content", "file_name")]
        right = scene.records.involved({write.key})
        for each in told:
            inside = read(each.sentence.text)
            names = [name for name in each.named if not any(start <= name.start < end for start, end in each.quotes)]
            names = [name for name in names if "document_id" not in {kind for kind, _ in name.keys}]
            if names and any(map(inside.says, texts)) and not any(name.keys & right for name in names):
                yield f'"{each.sentence.text.strip()}": it was {scene.label(min(right - {write.key} or right))}'


def _is_like_another(first: Word, last: Word, people: Collection[tuple[str, str]]) -> bool:
    """Whether a first name is almost that of somebody with the last name: Mara for Mira."""
    own = [one for one, other in people if other == words_of(last.raw).strip()]
    return bool(get_close_matches(first.text, own, cutoff=ALIKE))


def altered_texts(told: Sequence[Told], scene: Scene, text: str) -> Iterator[str]:
    """Yield quotations of more than a few words that nobody has said or written."""
    for each in told:
        for start, end in each.quotes:
            if each.sentence.asks or _is_open(each.sentence, start):
                continue
            for part in re.split(r"\u2026|\.\.\.", text[start:end]):
                said = words_of(part)
                if len(said.split()) >= SMALL and not any(said in heard for heard in scene.heard_words):
                    yield f'"{part.strip()}": no record or message has this text'


def _is_open(sentence: Sentence, place: int) -> bool:
    words = {spelled(word) for word in sentence.words if word.end <= place}
    return bool(words & OPEN)


def wrong_records(told: Sequence[Told], scene: Scene) -> Iterator[str]:
    """Yield names of records to which nothing was done, where a reply says what was done to one of their kind."""
    claims = claims_in(told)
    for each in told:
        words = [spelled(word) for clause in each.sentence.clauses for word in clause.words]
        if each.sentence.asks:
            continue
        if not each.sentence.plain & CONTRASTS - {"both"}:
            yield from _strangers(each, scene)
        if each.sentence.plain & scene.contrasts:
            continue
        for kind in sorted({kind for kind, _ in scene.involved}):
            names = [name for name in each.named if {own for own, _ in name.keys} == {kind}]
            senses = [each.sentence.clause_at(name.start).sense(name.start, name.start) for name in names]
            elsewhere = any(name.keys & scene.involved for other in told for name in other.named if _is_of(name, kind))
            claimed = "now" in words or any(claim.clause.sentence is each.sentence for claim in claims)
            if (
                names
                and (claimed or not elsewhere)
                and not any(name.keys & scene.involved for name in names)
                and not {"old", "open", "denied"} & {*senses}
            ):
                right = next(key for key in sorted(scene.involved) if key[0] == kind)
                yield f'"{each.sentence.text.strip()}": it was {scene.label(right)}'


def _is_of(name: Named, kind: str) -> bool:
    return {own for own, _ in name.keys} == {kind}


def _is_past(clause: object, name: Named) -> bool:
    return clause.sense(name.start, name.end) in ("old", "open", "denied")  # type: ignore[attr-defined]


def _strangers(told: Told, scene: Scene) -> Iterator[str]:
    """Yield two names side by side of records that don't belong together: a contact at another client."""
    owned = [name for name in told.named if {kind for kind, _ in name.keys} in OWNED]
    above = {parent for name in owned for key in name.keys for parent in scene.records.above(key)}
    for name in told.named if above else ():
        before = told.sentence.text[: name.start - told.sentence.start]
        after = told.sentence.text[name.end - told.sentence.start :]
        tied = re.search(
            r"(?:\(|\bclient\s(?:is|was)\s|\b(?:at|with|for|(?<!owner\s)of|on|from|to)\s+(?:the\s+)?)[*_]*$", before
        ) or re.match(r"['\u2019]s?\s", after)
        own = {kind for kind, _ in name.keys}
        if not own <= {kind for kind, _ in above} or not tied or above & name.keys:
            continue
        if not _is_past(told.sentence.clause_at(name.start), name):
            wrong, right = scene.label(min(owned[0].keys)), scene.label(min(above))
            yield f'"{told.sentence.text.strip()}": {wrong} belongs to {right}'
