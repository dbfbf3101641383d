"""How many records a reply says there are, and what it says of all of them."""

import re
from collections.abc import Iterator, Sequence

from pytest_crmeval.domain.state import Row
from pytest_crmeval.scoring.clauses import denies, spelled
from pytest_crmeval.scoring.lexicon import NOUNS
from pytest_crmeval.scoring.mentions import COUNTS
from pytest_crmeval.scoring.records import Key, Word
from pytest_crmeval.scoring.scene import Scene
from pytest_crmeval.scoring.values import Told

DIGITS = 3
"""Digits of a number that may count records."""


def miscounts(told: Sequence[Told], scene: Scene, heard: set[float]) -> Iterator[str]:
    """Yield numbers of records that there are not."""
    seen: dict[tuple[int, str, int], bool] = {}
    for each in told:
        for place, word in enumerate(each.sentence.words if not each.sentence.asks else ()):
            number, later = _number(word.text), each.sentence.words[place + 1 : place + 4]
            noun = next((other for other in later if other.text in NOUNS), None)
            if noun and number > 1 and not noun.text.endswith(("s", "people")):
                continue  # '480 below the deal', 'three quote prefixes'
            if not number or noun is None or number in heard:
                continue
            less = _is_count(each, place, noun)
            if less < 0:
                continue
            kind = NOUNS[noun.text]
            known = (number, kind, id(each) if each.named else 0)
            if known not in seen:
                possible = _counts(kind, each, scene, told)
                seen[known] = bool(possible) and number not in possible and not (less and number + 1 in possible)
            if seen[known]:
                yield f'"{each.sentence.piece(word.start, noun.end)}": there are not so many'


def _number(word: str) -> int:
    return COUNTS.get(word, int(word) if word.isdigit() and len(word) <= DIGITS else 0)


def _is_count(told: Told, place: int, noun: Word) -> int:
    """Return whether a number counts records: 1 if of the others, 0 if of all, -1 if it does not."""
    words, start = told.sentence.words, told.sentence.start
    word = words[place]
    before = {earlier.text for earlier in words[max(0, place - 2) : place]}
    gap = told.sentence.text[word.end - start : noun.start - start]
    between = {*gap.casefold().split()}
    alone = not re.search(
        r"[\d,.$\u20ac\u00a3#]$", told.sentence.text[max(0, word.start - start - 2) : word.start - start]
    )
    opens = told.sentence.clause_at(word.start).sense(word.start, word.end) == "open"
    singular = word.text == "one" and noun.text.endswith("s")
    if (
        not alone
        or singular
        or opens
        or not re.fullmatch(r"[\s*_\w-]*", gap)
        or before & {"version", "v"}
        or between & {"of", "day", "days"}
    ):
        return -1
    return int(bool({"other", "remaining"} & before or {"other", "remaining", "more", "further"} & between))


def false_totals(told: Sequence[Told], scene: Scene) -> Iterator[str]:
    """Yield what is said of all records of a kind, or of none, and is not so."""
    for each in told:
        words = [word.text for word in each.sentence.words]
        for place, word in enumerate(each.sentence.words):
            kind, noun = NOUNS.get(word.text), word.text.endswith(("s", "people"))
            if kind is None or not noun or each.sentence.asks:
                continue
            before = words[max(0, place - 3) : place]
            number = next((COUNTS[one] for one in before if one in COUNTS and one != "both"), None)
            groups = [group for group in _groups(kind, each, scene) if group and number in (None, len(group))]
            if {"all", "both"} & {*before}:
                for said in each.statements:
                    if (
                        said.sort in ("stage", "status", "text")
                        and said.sense in ("fact", "new")
                        and groups
                        and all(not all(said.is_in(scene.records.rows[key]) for key in group) for group in groups)
                        and any(
                            kind == key[0] and _has(said.columns or (said.sort,), scene.records.rows[key])
                            for group in groups
                            for key in group
                        )
                    ):
                        yield f'"{each.sentence.text.strip()}": not all of them have {said.words}'
            elif (
                before[-1:] in (["no"], ["any"])
                and denies([spelled(w) for w in each.sentence.words[:place]])
                and each.named
            ):
                rest = each.sentence.text[word.end - each.sentence.start :]
                if (
                    any(groups)
                    and not each.statements
                    and re.match(r"\W*$|\s+(?:yet|there|at the moment|right now|so far)", rest)
                ):
                    yield f'"{each.sentence.text.strip()}": there are {len(groups[-1])}'


def _has(columns: Sequence[str], row: Row) -> bool:
    return any(column in row for column in columns)


def _groups(kind: str, told: Told, scene: Scene) -> list[list[Key]]:
    shown = [key for keys in scene.records.shown for key in keys if key[0] == kind and key not in scene.records.gone]
    linked = [
        [key for key in scene.related(anchor) if key[0] == kind and key not in scene.records.gone]
        for name in told.named
        for anchor in name.keys
    ]
    return linked if any(linked) else [shown]


def _counts(kind: str, told: Told, scene: Scene, all_told: Sequence[Told]) -> set[int]:
    """Return how many records of a kind there may be said to be."""
    records = scene.records
    live = [key for key in records.rows if key[0] == kind and key not in records.gone]
    groups: list[list[Key]] = [[key for key in keys if key[0] == kind] for keys in records.shown]
    groups.append(list({key for keys in groups for key in keys}))
    names = told.named or [name for each in all_told for name in each.named]
    groups += [[key for key in scene.related(anchor) if key in live] for name in names for anchor in name.keys]
    groups.append([write.key for write in records.written if write.key[0] == kind])
    near = {*scene.own}
    if told.sentence.plain & {"their", "there", "they"}:
        near |= {key for own in scene.own for key in records.above(own)}
    groups += [[key for key in scene.related(own) if key in live] for own in near]
    if not any(groups):
        groups.append(live)
    parted = bool(told.statements) or told.sentence.plain & {
        "open",
        "closed",
        "won",
        "lost",
        "owned",
        "linked",
        "attached",
    }
    found = {len(group) for group in groups if group}
    for group in groups if parted else ():
        for column in ("stage", "status", "owner", "client_id", "opportunity_id", "type", "industry", "entity_id"):
            values = [records.rows[key].get(column) for key in group]
            found |= {values.count(value) for value in values if value is not None}
        closed = [str(records.rows[key].get("stage", "")).startswith("Closed") for key in group]
        found |= {sum(closed), len(closed) - sum(closed)}
    named = {key for each in all_told for name in each.named for key in name.keys if key[0] == kind}
    named &= {key for keys in records.shown for key in keys if key[0] == kind} or named
    shown = any(key[0] == kind for keys in records.shown for key in keys)
    return {*found, len(named), *(() if shown else (len(live),))} - {0}
