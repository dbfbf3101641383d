"""Whether the table of facts bears out the values that a reply states."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from pytest_crmeval.conversations.scorers.lexicon import COLUMNS, LOOSE, NOUNS, WORKED_OUT, listed
from pytest_crmeval.conversations.scorers.mentions import Figure, read, same_day, words_of
from pytest_crmeval.conversations.scorers.records import Key, Records
from pytest_crmeval.conversations.scorers.statements import Mention, Sentence
from pytest_crmeval.conversations.scorers.subjects import KINDS, PERSONS, is_loose, others, subjects
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts, holds, same
from pytest_crmeval.domain.state import Row

_NUMBERS = ("amount", "percent", "date", "email", "phone")
_DESCRIBING = ("amount", "status", "date", "version", "prefix")
"""Kinds of values that distinguish quotes and contracts."""
_NOW = re.compile(r"\b(?<!not )now(?:\s\w+){0,3}\s[$\u20ac\u00a3]?$", re.IGNORECASE)
_NOW_AFTER = re.compile(r"\s(?!and\b)(?:\w+\s)?now\b", re.IGNORECASE)
_FROM = re.compile(r"\b(?:from|was|were|previously|formerly)\s(?:\w+\s)?[$\u20ac\u00a3]?$", re.IGNORECASE)
_MORE = re.compile(r"\s(?:more|less|higher|lower)\b(?: than (?:before|it was|a moment))?(?:[.,;!]|$)")
_BY = re.compile(r"\s(?:more|less|higher|lower|above|below|longer|shorter|over|under|up|down)\b")
_AND = re.compile(r",?\s+and\s+")
_ROUGHLY = listed("about roughly around nearly almost approximately")
_KEPT = listed("remains stays still keeps kept remain")
SMALL = 31
"""Up to here a number may count or order things."""
RULES = (1.0, 99.0, 10_000_000.0)
"""The bounds that the tools state: of a probability, of an amount."""
FEW = 12
"""Of more amounts than this, no differences are worked out."""


def untrue_values(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield each value of a sentence that nothing supports, with the row that it was compared with."""
    only = sentence.mentions[0].sort if len(sentence.mentions) == 1 and not sentence.words else ""
    heading = len(facts.said) > 1 and only in ("type", "stage", "status") and sentence.text[-1:] != "."
    for mention in sentence.mentions if not heading else ():
        if mention.sort == "id" and not facts.knows_id(str(mention.value)):
            yield f'"{mention.value}": no record or message has it'
        sense = sentence.sense(mention)
        if sense in ("fact", "old") and mention.sort in COLUMNS and (reason := _fault(mention, sentence, facts)):
            yield reason
        if sense != "open" and (sense == "denied" or mention.sort == "count") and _is_unknown(mention, sentence, facts):
            yield f'"{quoted(mention, sentence)}": no record or message has it'
    yield from _untied(sentence, facts)


def _is_unknown(mention: Mention, sentence: Sentence, facts: TurnFacts) -> bool:
    """Whether no record and no message has a number, a date or an address: of a house, for example."""
    value, after = mention.value, sentence.words_between(mention.end, mention.end + 8)
    large = mention.sort != "count" or (isinstance(value, Figure) and value.value > SMALL)
    if not large or mention.sort not in (*_NUMBERS, "count") or {"days", "weeks", "months", "day"} & {*after}:
        return False
    cells = (cell for rows in facts.records.past.values() for row in rows for cell in row.values())
    known = isinstance(value, Figure) and facts.knows_word(f"{value.value:.0f}")
    return not known and not any(same(value, cell) for cell in cells) and not _is_granted(mention, sentence, facts)


def _fault(mention: Mention, sentence: Sentence, facts: TurnFacts) -> str:
    """Return why a value is not true; empty if it may be."""
    records, old = facts.records, sentence.sense(mention) == "old"
    columns, said = columns_of(mention), quoted(mention, sentence)
    found = [
        key for key in subjects(mention, sentence, facts) if old or key not in records.gone or key in facts.written
    ]
    changed = [write.key for write in records.written if {*columns} & write.columns and write.old]
    if old and not sentence.spelled & LOOSE:
        found = [key for key in found if key in changed] or found
    just = old and _FROM.search(sentence.text[: mention.start]) and not sentence.spelled & LOOSE
    versions = {key: records.past[key] if old or key in records.gone else (records.rows[key],) for key in found}
    versions |= {key: (records.before[key],) for key in found if just and key in changed and key in records.before}
    held = [key for key, rows in versions.items() if any(holds(row, columns, mention) for row in rows)]
    if held:
        all_of = [key for key in found if _is_of_all(mention, sentence)] + _enumerated(sentence, held)
        unlike = [key for key in all_of if key[0] == held[0][0] and not holds(records.rows[key], columns, mention)]
        return f'"{said}": {_has(unlike[0], columns, facts, old=old)}' if unlike and not old else ""
    past = (key for key in found if any(holds(row, columns, mention) for row in records.past[key]))
    was = next(past, None) if not (just and changed) else None
    if _is_elsewhere(mention, sentence, found, facts) and not sentence.spelled & LOOSE:
        return f'"{said}": {_has(found[0], columns, facts, old=old)}'
    if _is_of_another(mention, sentence, found, facts) or _is_excused(mention, sentence, was, changed, facts):
        return ""
    if not found and (not _must_be_known(mention, facts) or any(_holders(columns, mention, records))):
        return ""
    it = was or next(iter(found), None)
    return f'"{said}": {_has(it, columns, facts, old=old) if it else "no record or message has it"}'


def _is_of_all(mention: Mention, sentence: Sentence) -> bool:
    """Whether a stage or a status is said of both or of all records."""
    words = {*sentence.words_between(*sentence.clause(mention.start))}
    return mention.sort in ("stage", "status") and bool({"both", "all"} & words) and not words & LOOSE - {"both"}


def _enumerated(sentence: Sentence, keys: Sequence[Key]) -> list[Key]:
    """Return the records that are named in one enumeration with some: 'Acme and Bolt are active'."""
    for one, other in pairwise(sentence.names if sentence.spelled & {"both", "are", "were", "all"} else ()):
        if _AND.fullmatch(sentence.text[one.end : other.start]) and (one.keys | other.keys) & {*keys}:
            return [key for name in (one, other) if len(name.keys) == 1 for key in name.keys]
    return []


def _must_be_known(mention: Mention, facts: TurnFacts) -> bool:
    """Whether a value has to be that of a record, although it is not said of one."""
    choice = mention.sort not in ("type", "text") and any(key[0] in KINDS[mention.sort] for key in facts.records.rows)
    return mention.sort in _NUMBERS or bool(facts.base and choice)


def _holders(columns: Sequence[str], mention: Mention, records: Records) -> Iterator[Row]:
    """Yield the versions of any record that have a value."""
    return (row for rows in records.past.values() for row in rows if holds(row, columns, mention))


def _is_of_another(mention: Mention, sentence: Sentence, found: Sequence[Key], facts: TurnFacts) -> bool:
    """Whether a value is that of another record of the client, and the words set that one apart."""
    rows, columns = facts.records.rows, columns_of(mention)
    near = others(mention, found, facts)
    named = {kind for name in sentence.names for kind in name.kinds}
    fits = (key for key in facts.base if key[0] not in named and holds(rows[key], columns, mention))
    if mention.column in PERSONS and not {"client", "account"} & sentence.spelled and any(fits):
        return True
    loose = is_loose(mention, sentence) and any(holds(rows[key], columns, mention) for key in near)
    return loose or _is_of_sibling(mention, sentence, found, facts)


def _is_elsewhere(mention: Mention, sentence: Sentence, found: Sequence[Key], facts: TurnFacts) -> bool:
    """Whether a value was written in the turn, but to other records than those that it is said of."""
    keys = {write.key for write in facts.records.written if holds(write.changed, columns_of(mention), mention)}
    kinds = {kind for kind, _ in keys} | {NOUNS[word] for word in sentence.spelled if word in NOUNS}
    sorts = ("email", "phone", "text", "percent")
    return bool(keys and found and not keys & {*found} and mention.sort in sorts and found[0][0] in kinds)


def _is_excused(
    mention: Mention, sentence: Sentence, was: Key | None, changed: Sequence[Key], facts: TurnFacts
) -> bool:
    """Whether a value that no record has now may be said: beside the new one, or because it was asked for."""
    columns = columns_of(mention)
    if was and _is_beside_new(was, columns, facts.said, facts.records) and not _is_kept(mention, sentence):
        return True
    if was in changed and any(same(mention.value, fact) for fact in facts.facts):
        return True  # the user asked for the old value as well
    written_over = was in changed and not sentence.spelled & WORKED_OUT
    before, after = sentence.text[: mention.start], sentence.text[mention.end :]
    as_new = (facts.errors or changed) and not _BY.match(after) and (_NOW.search(before) or _NOW_AFTER.match(after))
    was_so = changed and sentence.sense(mention) == "old" and _FROM.search(before)
    return not written_over and not as_new and not was_so and _is_granted(mention, sentence, facts)


def _is_of_sibling(mention: Mention, sentence: Sentence, found: Sequence[Key], facts: TurnFacts) -> bool:
    """Whether a value is that of another quote or contract that the clause says more of, or sets apart."""
    kinds = {kind for kind, _ in found}
    if not kinds or not kinds <= {"quote_id", "contract_id"}:
        return False
    rows, (start, end) = facts.records.rows, sentence.clause(mention.start)
    near = [
        key
        for key in others(mention, found, facts)
        if key[0] in kinds and holds(rows[key], columns_of(mention), mention)
    ]
    alike = [m for m in sentence.mentions if m.sort == mention.sort and {"one", "two"} & sentence.spelled]
    own = any(holds(rows[key], columns_of(m), m) for key in found for m in alike)
    if mention.sort == "amount" and (own or (_KEPT | {"also"}).intersection(sentence.words_between(start, end))):
        return any(key not in facts.written for key in near)
    beside = [m for m in sentence.mentions if start <= m.start < end and m.sort in _DESCRIBING]
    beside = [m for m in beside if sentence.sense(m) == "fact"]
    return len({m.sort for m in beside}) > 1 and any(
        all(holds(rows[key], columns_of(m), m) for m in beside) for key in near
    )


def _is_kept(mention: Mention, sentence: Sentence) -> bool:
    """Whether a clause says that a value is still there."""
    return bool(_KEPT.intersection(sentence.words_between(*sentence.clause(mention.start))))


def columns_of(mention: Mention) -> Sequence[str]:
    """Return the columns that a value may be of."""
    if mention.column:
        return PERSONS if mention.column in PERSONS else (mention.column,)
    return COLUMNS.get(mention.sort, ())


def _is_granted(  # noqa: PLR0911 (one for each sort of value)
    mention: Mention, sentence: Sentence, facts: TurnFacts
) -> bool:
    """Whether a value may be said although no record has it: the user or the CRM said it, or it is worked out."""
    value = mention.value
    if isinstance(value, Figure) and value.value in RULES:
        return True
    if any(same(value, fact) for fact in facts.facts):
        columns = columns_of(mention)
        holders = [key for key in facts.base if holds(facts.records.rows[key], columns, mention)]
        named = {key for name in sentence.names for key in name.keys}
        said = read(sentence.text)
        listed = len(facts.facts) > 1 and all(map(said.says, facts.facts))
        near = named.union(*map(facts.records.up, named), *(facts.records.down(key) for key in named)) or {*facts.base}
        return listed or not holders or bool({*holders} & near)
    if isinstance(value, Figure):
        asked = facts.asked if not sentence.spelled & WORKED_OUT else read(" ".join(facts.heard))
        if any(value.means(figure.value) for figure in (*facts.asked.figures, *asked.figures)):
            return True
        led = sentence.words_between(0, mention.start)[-4:]
        stated = {"reads", "shows", "says", "probability"} & {*led}
        return not stated and _is_worked_out(mention, value, sentence, facts)
    if isinstance(value, frozenset):
        return any(same_day(one, day) for one in value for days in facts.asked.dates for day in days)
    if mention.sort in ("email", "phone"):
        return any(same(value, each) for each in (*facts.asked.emails, *facts.asked.phones))
    if mention.sort in ("version", "prefix"):
        return str(value).casefold() in facts.user.casefold()
    sought = (facts.reads and mention.column in PERSONS) or not facts.records.written
    return mention.sort == "text" and sought and words_of(str(value)) in facts.asked.words


def _is_worked_out(mention: Mention, figure: Figure, sentence: Sentence, facts: TurnFacts) -> bool:
    """Whether a number is a sum, a difference or a share of what the turn is about."""
    rows = [facts.records.rows[key] for key in facts.base]
    changes = [(write.old or {}, write.new or {}) for write in facts.records.written]
    numbers = {*_changes(changes)}
    if sentence.spelled & WORKED_OUT and not (numbers and _MORE.match(sentence.text, mention.end)):
        named = {key for name in sentence.names for key in name.keys}
        family = [facts.records.rows[key] for key in facts.family(named or facts.base)]
        numbers |= {*_sums(rows), *_sums(family)}
    rough = 0.05 * figure.value if sentence.spelled & _ROUGHLY else 0.0
    return any(figure.means(number) or abs(number - figure.value) <= rough for number in numbers)


def _changes(changes: Sequence[tuple[Row, Row]]) -> Iterator[float]:
    for old, new in changes:
        for name, value in new.items():
            was = old.get(name)
            if isinstance(value, int | float) and isinstance(was, int | float) and was:
                yield from (abs(value - was), abs(value - was) / was * 100, value / was * 100)


def _sums(rows: Sequence[Row]) -> Iterator[float]:
    """Yield what the amounts of rows add up to, all and those that are alike, and how far they are apart."""
    groups: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        for column in COLUMNS["amount"]:
            if isinstance(amount := row.get(column), int | float):
                for name, cell in row.items():
                    if isinstance(cell, str):
                        groups.setdefault((column + name, cell), []).append(float(amount))
                groups.setdefault((column, ""), []).append(float(amount))
                groups.setdefault(("", ""), []).append(float(amount))
                if isinstance(chance := row.get("probability"), int | float):
                    groups.setdefault(("weighted", ""), []).append(amount * chance / 100)
                    yield amount * chance / 100
    for amounts in (each for each in groups.values() if len(each) > 1):
        yield from (sum(amounts), sum(amounts) / len(amounts))
        for one, other in combinations(sorted({*amounts}), 2) if len(amounts) <= FEW else ():
            yield from (
                other - one,
                one / other * 100 if other else 0.0,
                (other - one) / one * 100 if one else 0.0,
            )


def _is_beside_new(key: Key, columns: Sequence[str], said: Sequence[Sentence], records: Records) -> bool:
    """Whether a reply with an old value also has the new one: 'half of 100 is 50', 'swapped A for B'."""
    new = [
        (each, s)
        for s in said
        for each in s.mentions
        if each.sort in COLUMNS and holds(records.rows[key], columns, each)
    ]
    return any(s.sense(each) != "old" for each, s in new)


def _untied(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield quotes and contracts that have each of a sentence's values, but not one record that has them all."""
    for kind in ("quote_id", "contract_id"):
        mine = [
            m
            for m in sentence.mentions
            if m.sort in ("amount", "status", "date", "version") and sentence.sense(m) == "fact"
        ]
        sorts = [m.sort for m in mine]
        if len(mine) <= 1 or len(set(sorts)) < len(sorts) or sentence.spelled & LOOSE:
            continue
        sets = []
        for m in mine:
            found = subjects(m, sentence, facts)
            fit = {key for key in found if holds(facts.records.rows[key], columns_of(m), m)}
            if fit and {key[0] for key in fit} == {kind}:
                sets.append(fit)
        if len(sets) > 1 and not set.intersection(*sets):
            yield f'"{sentence.text.strip()}": no {kind.removesuffix("_id")} has all of this'


def quoted(mention: Mention, sentence: Sentence) -> str:
    """Return the words that were judged, with a few before them."""
    before = [word.start for word in sentence.words if word.end <= mention.start][-2:]
    start = before[0] if before else mention.start
    return sentence.text[start : mention.end].strip()


def _has(key: Key, columns: Sequence[str], facts: TurnFacts, *, old: bool) -> str:
    """Return what a record has, or had before the turn, in the first of some columns."""
    row = facts.records.before.get(key, facts.records.rows[key]) if old else facts.records.rows[key]
    column = next((column for column in columns if column in row), columns[0])
    has = row.get(column)
    shown = f"no {column}" if has is None else f"{has:g}" if isinstance(has, float) else has
    return f"{facts.records.label(key)} {'had' if old else 'has'} {shown}"
