"""Whether the table of facts bears out the values that a reply states."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from pytest_crmeval.conversations.scorers.lexicon import COLUMNS, LOOSE, WORKED_OUT
from pytest_crmeval.conversations.scorers.mentions import Figure, read, same_day, words_of
from pytest_crmeval.conversations.scorers.records import Key, Records
from pytest_crmeval.conversations.scorers.statements import Mention, Sentence
from pytest_crmeval.conversations.scorers.subjects import KINDS, PERSONS, is_loose, others, subjects
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts, holds, same
from pytest_crmeval.domain.state import Row

DATES = {
    **dict.fromkeys(("valid", "expires", "expire", "validity", "expiry"), ("valid_until", "end_date")),
    **dict.fromkeys(("close", "closes", "closing"), ("close_date",)),
    **dict.fromkeys(("start", "starts", "starting"), ("start_date",)),
    **dict.fromkeys(("ends", "ending", "end"), ("end_date", "valid_until")),
}
"""Word before a date -> the columns that it may be of."""
_DIFFERENCE = re.compile(
    r"\s+(?:less|more|lower|higher|above|below|off|cheaper|apart|increase|reduction|discount|raise|cut)\b(?!\s+\W?\d)"
)
KINDS_OF_NUMBERS = ("amount", "percent", "date", "email", "phone")
DESCRIBING = ("amount", "status", "date", "version", "prefix")
"""Sorts of values by which quotes and contracts are told apart."""
KEPT = frozenset({"remains", "stays", "still", "keeps", "kept", "remain", "also", "sibling"})
SMALL = 31
"""Up to here a number may count or order things."""
RULES = (1.0, 99.0, 10_000_000.0)
"""The bounds that tools tell of themselves: of a probability, of an amount."""
FEW = 12
"""Of more amounts than this, no differences are worked out."""


def untrue_values(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield each value of a sentence that nothing bears out, with the row that it was compared with."""
    only = sentence.mentions[0].sort if len(sentence.mentions) == 1 and not sentence.words else ""
    heading = len(facts.said) > 1 and only in ("type", "stage", "status") and sentence.text[-1:] != "."
    for mention in sentence.mentions if not heading else ():
        if mention.sort == "id" and not _is_known_id(str(mention.value), facts):
            yield f'"{mention.value}": no record or message has it'
        if mention.sort in ("amount", "date", "email", "phone") and sentence.sense(mention) == "denied":
            known = any(_holders(COLUMNS[mention.sort], mention, facts.records))
            if not known and not _is_granted(mention, sentence, facts):
                yield f'"{quoted(mention, sentence)}": no record or message has it'
        if mention.sort == "count" and _is_unheard(mention, sentence, facts):
            yield f'"{quoted(mention, sentence)}": no record or message has it'
        stated = mention.sort in COLUMNS and mention.sort != "id" and sentence.sense(mention) in ("fact", "old")
        if stated and (reason := _fault(mention, sentence, facts)):
            yield reason
    yield from _untied(sentence, facts)


def _is_unheard(mention: Mention, sentence: Sentence, facts: TurnFacts) -> bool:
    """Whether a number is neither a small one nor in any record or message: of a house, for example."""
    value = mention.value
    if not isinstance(value, Figure) or value.value <= SMALL or sentence.sense(mention) == "open":
        return False
    spans = {"day", "days", "week", "weeks", "month", "months"} & {
        *sentence.words_between(mention.end, mention.end + 8)
    }
    cells = (cell for rows in facts.records.past.values() for row in rows for cell in row.values())
    known = facts.knows_word(f"{value.value:.0f}") or any(
        isinstance(cell, int | float) and value.means(cell) for cell in cells
    )
    return not (spans or known or _is_granted(mention, sentence, facts))


def _is_known_id(said: str, facts: TurnFacts) -> bool:
    rows = (row for versions in facts.records.past.values() for row in versions)
    cells = (str(cell) for row in rows for name, cell in row.items() if name.endswith("_id"))
    return any(cell.startswith(said) for cell in cells) or any(said in text.lower() for text in facts.heard)


def _fault(mention: Mention, sentence: Sentence, facts: TurnFacts) -> str:
    """Return why a value is not true; empty if it may be."""
    records, old = facts.records, sentence.sense(mention) == "old"
    columns = columns_of(mention, sentence)
    found = [
        key for key in subjects(mention, sentence, facts) if old or key not in records.gone or key in facts.written
    ]
    changed = [write.key for write in records.written if {*columns} & write.columns and write.old]
    if old and changed and not sentence.spelled & LOOSE:
        found = [key for key in found if key in changed] or found
    found = [] if _is_difference(mention, sentence) else found
    versions = {key: records.past[key] if old or key in records.gone else (records.rows[key],) for key in found}
    held = [key for key, rows in versions.items() if any(holds(row, columns, mention) for row in rows)]
    unlike = [key for key in found if key not in held and key[0] in {kind for kind, _ in held}]
    said = quoted(mention, sentence)
    if held:
        of_all = unlike and _is_of_all(mention, sentence)
        return f'"{said}": {_has(unlike[0], columns, facts, old=old)}' if of_all else ""
    was = next((key for key in found if any(holds(row, columns, mention) for row in records.past[key])), None)
    if _is_of_another(mention, sentence, found, facts) or _is_excused(mention, sentence, was, changed, facts):
        return ""
    if not found and (not _must_be_known(mention, facts) or any(_holders(columns, mention, records))):
        return ""
    it = was or next(iter(found), None)
    return f'"{said}": {_has(it, columns, facts, old=old) if it else "no record or message has it"}'


def _holders(columns: Sequence[str], mention: Mention, records: Records) -> Iterator[Row]:
    """Yield the versions of any record that have a value."""
    return (row for rows in records.past.values() for row in rows if holds(row, columns, mention))


def _is_of_another(mention: Mention, sentence: Sentence, found: Sequence[Key], facts: TurnFacts) -> bool:
    """Whether a value is that of another record of the client, and the words set that one apart."""
    rows, columns = facts.records.rows, columns_of(mention, sentence)
    near = others(mention, found, facts)
    loose = is_loose(mention, sentence) and any(holds(rows[key], columns, mention) for key in near)
    return loose or _is_of_sibling(mention, sentence, found, facts)


def _is_excused(
    mention: Mention, sentence: Sentence, was: Key | None, changed: Sequence[Key], facts: TurnFacts
) -> bool:
    """Whether a value that no record has now may be said: beside the new one, or because it was asked for."""
    columns = columns_of(mention, sentence)
    if was and _is_beside_new(was, columns, facts.said, facts.records) and not _is_kept(mention, sentence):
        return True
    if was in changed and any(same(mention.value, fact) for fact in facts.facts):
        return True  # the user asked for the old value as well
    written_over = was in changed and not sentence.spelled & WORKED_OUT
    return not written_over and _is_granted(mention, sentence, facts)


def _must_be_known(mention: Mention, facts: TurnFacts) -> bool:
    """Whether a value has to be that of a record, although it is not said of one."""
    if mention.sort in KINDS_OF_NUMBERS:
        return True
    kinds = KINDS[mention.column or mention.sort]
    return bool(facts.base) and mention.sort not in ("type", "text") and any(k[0] in kinds for k in facts.records.rows)


def _is_of_sibling(mention: Mention, sentence: Sentence, found: Sequence[Key], facts: TurnFacts) -> bool:
    """Whether a value is that of another quote or contract that the clause says more of, or sets apart."""
    kinds = {kind for kind, _ in found}
    if not kinds or not kinds <= {"quote_id", "contract_id"}:
        return False
    rows = facts.records.rows
    start, end = sentence.clause(mention.start)
    columns = columns_of(mention, sentence)
    beside = [
        m for m in sentence.mentions if start <= m.start < end and m.sort in DESCRIBING and sentence.sense(m) == "fact"
    ]
    near = [key for key in others(mention, found, facts) if key[0] in kinds and holds(rows[key], columns, mention)]
    own = any(
        holds(rows[key], columns, m)
        for key in found
        for m in sentence.mentions
        if m.sort == mention.sort and m != mention
    )
    apart = KEPT & {*sentence.words_between(start, end)} or (own and {"one", "two", "sibling"} & sentence.spelled)
    if apart and mention.sort == "amount" and sentence.sense(mention) == "fact":
        return any(key not in facts.written for key in near)
    return len({m.sort for m in beside}) > 1 and any(
        all(holds(rows[key], columns_of(m, sentence), m) for m in beside) for key in near
    )


def _is_of_all(mention: Mention, sentence: Sentence) -> bool:
    """Whether a stage or a status is said of both or of all records."""
    words = sentence.words_between(*sentence.clause(mention.start))
    return mention.sort in ("stage", "status") and bool({"both", "all"} & {*words}) and not {*words} & LOOSE - {"both"}


def _is_difference(mention: Mention, sentence: Sentence) -> bool:
    """Whether a number is said as a difference: '500 more than before', 'raised by 5 %', 'a 5 % discount'."""
    if mention.sort not in ("amount", "percent"):
        return False
    by = sentence.words_between(0, mention.start)[-1:] == ["by"]
    return by or bool(_DIFFERENCE.match(sentence.text, mention.end))


def _is_kept(mention: Mention, sentence: Sentence) -> bool:
    """Whether a clause says that a value is still there."""
    start, end = sentence.clause(mention.start)
    return bool({"remains", "stays", "still", "keeps", "kept", "remain"} & {*sentence.words_between(start, end)})


def columns_of(mention: Mention, sentence: Sentence) -> Sequence[str]:
    """Return the columns that a value may be of; of dates, those that the words before it name."""
    if mention.column:
        return PERSONS if mention.column in PERSONS else (mention.column,)
    if mention.sort == "date":
        start, _ = sentence.clause(mention.start)
        words = sentence.words_between(start, mention.start)
        named = [
            DATES[word] for word, after in zip(words, [*words[1:], ""], strict=False) if word in DATES and after != "of"
        ]
        return named[-1] if named else COLUMNS["date"]
    return COLUMNS.get(mention.sort, ())


def _is_granted(  # noqa: PLR0911 (one for each sort of value)
    mention: Mention, sentence: Sentence, facts: TurnFacts
) -> bool:
    """Whether a value may be said although no record has it: the user or the CRM said it, or it is worked out."""
    value = mention.value
    if isinstance(value, Figure) and value.value in RULES:
        return True
    if any(same(value, fact) for fact in facts.facts):
        columns = columns_of(mention, sentence)
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
        led = sentence.words_between(0, mention.start)[-1:]
        return led not in (["reads"], ["shows"], ["says"]) and _is_worked_out(value, sentence, facts)
    if isinstance(value, frozenset):
        return any(same_day(one, day) for one in value for days in facts.asked.dates for day in days)
    if mention.sort in ("email", "phone"):
        return any(same(value, each) for each in (*facts.asked.emails, *facts.asked.phones))
    if mention.sort in ("version", "prefix"):
        return str(value).casefold() in facts.user.casefold()
    return mention.sort == "text" and not facts.records.written and words_of(str(value)) in facts.asked.words


def _is_worked_out(figure: Figure, sentence: Sentence, facts: TurnFacts) -> bool:
    """Whether a number is a sum, a difference or a share of what the turn is about."""
    rows = [facts.records.rows[key] for key in facts.base]
    changes = [(write.old or {}, write.new or {}) for write in facts.records.written]
    numbers = {*_changes(changes)}
    if sentence.spelled & WORKED_OUT:
        named = {key for name in sentence.names for key in name.keys}
        family = [facts.records.rows[key] for key in facts.family(named or facts.base)]
        numbers |= {*_sums(rows), *_sums(family)}
    return any(map(figure.means, numbers))


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
            fit = {key for key in found if holds(facts.records.rows[key], columns_of(m, sentence), m)}
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
