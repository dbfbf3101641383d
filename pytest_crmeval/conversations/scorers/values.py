"""Whether the table of facts bears out the values that a reply states."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

from pytest_crmeval.conversations.scorers.lexicon import (
    COLUMNS,
    DEEDS,
    DENIALS,
    LOOSE,
    NOUNS,
    OPEN,
    OTHERS,
    STATUS_KINDS,
    WORKED_OUT,
    listed,
)
from pytest_crmeval.conversations.scorers.mentions import Figure, read, same_day, words_of
from pytest_crmeval.conversations.scorers.records import Key
from pytest_crmeval.conversations.scorers.statements import Clause, Mention, Sentence
from pytest_crmeval.conversations.scorers.turn_facts import KINDS, PERSONS, TurnFacts, columns_of, holds, same, subjects
from pytest_crmeval.domain.state import Row

_NUMBERS = ("amount", "percent", "date", "email", "phone", "count")
_CHOICES = ("type", "stage", "status")
_DESCRIBING = ("amount", "status", "date", "version", "prefix")
"""Kinds of values that distinguish records without a name."""
_VALUED = ("opportunity_id", "quote_id", "contract_id")
_NAMELESS = frozenset({"quote_id", "contract_id"})
_FROM = re.compile(r"\b(?:from|was|were|previously|formerly)\s(?:\w+\s)?[$\u20ac\u00a3]?$", re.IGNORECASE)
_COMPARED = re.compile(r"\b(?:over|above|below|than|from|what)\s+$")
_ROUGHLY = listed("about roughly around nearly almost approximately")
_KEPT = listed("remains stays still keeps kept remain unchanged untouched touched also")
_SPANS = listed("days weeks months day")
_UNDONE = OPEN | DENIALS | listed("instead still target planned pending locked remains stays editing")
"""Words beside which a value may be that of a call that the CRM has refused."""
_SIGN = r"[\u00d7*+\u2212/\u2013-]"
_BEFORE_SIGN = re.compile(rf"\s?{_SIGN}\s?[$\u20ac\u00a3]?\d|,?\s(?:plus|minus|less|times|multiplied by)\s")
_EQUATION = re.compile(r"[=\u2248\u2192]")
_AFTER_SIGN = re.compile(rf"[\d)%]\s?{_SIGN}\s?[$\u20ac\u00a3]?$")
SMALL = 31
"""Up to here a number may count or order things."""
RULES = (1.0, 99.0, 10_000_000.0)
"""The bounds that the tools state: of a probability, of an amount."""
LARGE = 100
"""Above it a number is an amount; below, a percentage or a rate."""
FEW = 12
"""Of more amounts than this, no differences are worked out."""
UNKNOWN = "no record or message has it"


@dataclass(frozen=True, eq=False)
class StatedValue:
    """A value that a sentence states, and the records that it may be said of."""

    mention: Mention
    sentence: Sentence
    facts: TurnFacts

    @cached_property
    def clause(self) -> Clause:
        """The clause that it is in."""
        return self.sentence.clause(self.mention.start)

    @cached_property
    def sense(self) -> str:
        """In what sense it is said."""
        return self.sentence.sense(self.mention)

    @cached_property
    def columns(self) -> Sequence[str]:
        """The columns that may hold it."""
        return columns_of(self.mention)

    @cached_property
    def found(self) -> Sequence[Key]:
        """The records that it may be said of; deleted ones only as they were, or if the turn has deleted them."""
        gone, written = self.facts.records.gone, self.facts.written
        keys = subjects(self.mention, self.sentence, self.facts)
        return [key for key in keys if self.sense == "old" or key not in gone or key in written]

    @cached_property
    def changed(self) -> Sequence[Key]:
        """The records in which the turn has written over such a value."""
        return [w.key for w in self.facts.records.written if {*self.columns} & w.columns and w.old]

    def is_of(self, key: Key) -> bool:
        """Whether a record has the value now."""
        return holds(self.facts.records.rows[key], self.columns, self.mention)

    def was_of(self, key: Key) -> bool:
        """Whether a record has the value, or had it once."""
        return any(holds(row, self.columns, self.mention) for row in self.facts.records.past[key])

    def contradicted_by(self, key: Key) -> str:
        """Return what a record has, or had before the turn, instead."""
        records, old = self.facts.records, self.sense == "old"
        row = records.before.get(key, records.rows[key]) if old else records.rows[key]
        column = next((column for column in self.columns if column in row), self.columns[0])
        has = row.get(column)
        shown = f"no {column}" if has is None else f"{has:g}" if isinstance(has, float) else has
        return f"{records.label(key)} {'had' if old else 'has'} {shown}"


def untrue_values(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield each value of a sentence that nothing supports, with the row that it was compared with."""
    only = sentence.mentions[0].sort if len(sentence.mentions) == 1 and not sentence.words else ""
    heading = only in _CHOICES and sentence.text[-1:] != "." and len(facts.said) > 1
    for mention in sentence.mentions if not heading else ():
        statement = StatedValue(mention, sentence, facts)
        if statement.sense in ("fact", "old") and mention.sort in COLUMNS:
            reason = _fault(statement)
        else:
            reason = UNKNOWN if statement.sense != "open" and _is_unknown(statement) else ""
        if reason:
            before = [word.start for word in sentence.words if word.end <= mention.start][-2:]
            yield f'"{sentence.text[(before or [mention.start])[0] : mention.end].strip()}": {reason}'


def _is_unknown(statement: StatedValue) -> bool:
    """Whether no record and no message has an id, a number, a date or an address."""
    mention, facts, value = statement.mention, statement.facts, statement.mention.value
    if mention.sort == "id":
        return not facts.knows_id(str(value))
    small = mention.sort == "count" and not (isinstance(value, Figure) and value.value > SMALL)
    spans = _SPANS.intersection(statement.sentence.words_between(mention.end, mention.end + 8))
    if small or spans or mention.sort not in _NUMBERS:
        return False
    cells = (cell for rows in facts.records.past.values() for row in rows for cell in row.values())
    known = isinstance(value, Figure) and facts.knows_word(f"{value.value:.0f}")
    return not known and not any(same(value, cell) for cell in cells) and not _is_granted(statement)


def _fault(statement: StatedValue) -> str:
    """Return why a value is not true: out of date, of another record, or unknown; empty if it is borne out."""
    mention, facts, found = statement.mention, statement.facts, statement.found
    past = [key for key in found if statement.was_of(key)]
    if statement.sense == "old" and past:
        return ""
    held = [key for key in past if key in facts.records.gone or statement.is_of(key)]
    if held:
        return _unlike(statement, held)
    if _is_of_another(statement) or _is_excused(statement, past):
        return ""
    if found:
        return statement.contradicted_by([*past, *found][0])
    named = statement.sentence.keys
    holders = {key for key in facts.base if statement.is_of(key)}
    if holders and named and not holders & facts.family(named):
        return statement.contradicted_by(min(named))
    there = bool(facts.base) and any(key[0] in KINDS[mention.column or mention.sort] for key in facts.records.rows)
    common = mention.sort == "status" and statement.sentence.text[mention.start].islower()
    there &= not common or bool(STATUS_KINDS[str(mention.value)] & {kind for kind, _ in facts.involved})
    free = mention.sort in ("type", "text") or (mention.sort not in _NUMBERS and not there)
    return "" if free or any(map(statement.was_of, facts.records.rows)) else UNKNOWN


def _unlike(statement: StatedValue, held: Sequence[Key]) -> str:
    """Return where a value is said of more records than have it, or beside values that only others have."""
    sentence, words = statement.sentence, statement.clause.said
    every: Sequence[Key] = ()
    if statement.mention.sort in ("stage", "status") and {"both", "all"} & words and not words & LOOSE - {"both"}:
        every = [key for key in statement.found if key not in statement.facts.records.gone]
    for one, other in pairwise(sentence.names if sentence.spelled & {"both", "are", "were", "all"} else ()):
        joined = re.fullmatch(r",?\s+and\s+", sentence.text[one.end : other.start])
        if joined and (one.keys | other.keys) & {*held}:
            every = [key for name in (one, other) if len(name.keys) == 1 for key in name.keys]
    for key in every:
        if key[0] == held[0][0] and not statement.is_of(key):
            return statement.contradicted_by(key)
    group, kind = _group(statement), held[0][0]
    if kind in _NAMELESS and len(group) > 1 and not sentence.spelled & (LOOSE | {"one"}):
        fits = [{k for k in s.found if s.is_of(k)} for s in group]
        fits = [fit for fit in fits if {key[0] for key in fit} == {kind}]
        if fits and not set.intersection(*fits):
            return f"no {kind.removesuffix('_id')} has all of this"
    return ""


def _group(statement: StatedValue) -> list[StatedValue]:
    """Return the values that describe the same record as one: side by side, one of each sort."""
    group: list[StatedValue] = []
    for mention in statement.sentence.mentions:
        each = StatedValue(mention, statement.sentence, statement.facts)
        if mention.sort in _DESCRIBING and each.sense == "fact":
            between = statement.sentence.text[group[-1].mention.end : mention.start] if group else ""
            if any(mention.sort == s.mention.sort for s in group) or re.search("total|together", between):
                if any(s.mention is statement.mention for s in group):
                    break
                group = []
            group.append(each)
    return group if any(s.mention is statement.mention for s in group) else [statement]


def _is_of_another(statement: StatedValue) -> bool:
    """Whether a value is that of another record of the client, and the words set that one apart."""
    mention, sentence, facts, found = statement.mention, statement.sentence, statement.facts, statement.found
    named = {kind for kind, _ in sentence.keys}
    holds_it = statement.was_of if statement.sense == "old" else statement.is_of
    above, nouns = sentence.keys or sentence.topic, {NOUNS.get(word) for word in statement.clause.said} - {None}
    below = [key for key in facts.base if facts.records.up(key) & above and key[0] in (nouns or _VALUED)]
    its_own = mention.sort == "amount" and (facts.records.written or statement.sense == "old")
    if its_own and not {kind for kind, _ in above} & nouns and any(map(holds_it, below)):
        return True  # the quote of the deal that is named
    if not sentence.names and _EQUATION.search(sentence.text) and any(map(statement.is_of, facts.base)):
        return True
    if mention.column in PERSONS and not {"client", "account"} & sentence.spelled:
        return any(key[0] not in named and statement.is_of(key) for key in facts.base)
    family = facts.family([*found, *facts.base])
    near = [key for key in family if key[0] in KINDS[mention.column or mention.sort] and statement.is_of(key)]
    alike = [m for m in sentence.mentions if m.sort == mention.sort and {"one", "two"} & sentence.spelled]
    beside = any(holds(facts.records.rows[key], statement.columns, m) for m in alike for key in found)
    words = _KEPT - {"also"} if mention.sort == "date" else _KEPT
    kept = mention.sort in ("amount", "version", "date") and words & statement.clause.said and {*near} - facts.written
    compared = mention.sort == "version" and _COMPARED.search(sentence.text[: mention.start])
    if near and (sentence.spelled & OTHERS or statement.clause.said & LOOSE or kept or compared or beside):
        return True
    group, kinds = _group(statement), _NAMELESS & {key[0] for key in found}
    done = facts.records.written and not facts.reads and any(word in (*DEEDS, "now") for word in sentence.spelled)
    described = any(key[0] in kinds and all(each.is_of(key) for each in group) for key in near)
    return len(group) > 1 and described and not done


def _is_excused(statement: StatedValue, past: Sequence[Key]) -> bool:
    """Whether a value that no record has now may be said: beside the new one, or because it was asked for."""
    facts, changed, sentence = statement.facts, statement.changed, statement.sentence
    text, mention = sentence.text, statement.mention
    number = isinstance(mention.value, Figure)
    if number and (_BEFORE_SIGN.match(text[mention.end :]) or _AFTER_SIGN.search(text[: mention.start])):
        return any(map(statement.was_of, facts.involved | facts.locked)) or _is_granted(statement)
    said = [StatedValue(each, s, facts) for s in facts.said for each in s.mentions if each.sort in COLUMNS]
    row = facts.records.rows[past[0]] if past else {}
    new = any(holds(row, statement.columns, each.mention) and each.sense != "old" for each in said)
    if past and new and not _KEPT & statement.clause.said:
        return True  # 'half of 100 is 50', 'swapped A for B'
    if past and any(same(statement.mention.value, fact) for fact in facts.facts):
        return True  # the user asked for the old value
    result = re.search(r"[=\u2248]\s?[$\u20ac\u00a3]?$", text[: mention.start])
    now = (changed or facts.errors) and "now" in statement.clause.said and not result
    written_over = (now or {*past[:1]} & {*changed}) and not sentence.spelled & WORKED_OUT
    was_so = changed and statement.sense == "old" and _FROM.search(sentence.text[: statement.mention.start])
    return not written_over and not was_so and _is_granted(statement)


def _is_granted(statement: StatedValue) -> bool:
    """Whether a value may be said although no record has it: the user or the CRM said it, or it is worked out."""
    mention, sentence, facts, value = statement.mention, statement.sentence, statement.facts, statement.mention.value
    if any(same(value, fact) for fact in facts.facts):
        holders = {key for key in facts.base if statement.is_of(key)}
        near = sentence.keys.union(*map(facts.records.up, sentence.keys), *map(facts.records.down, sentence.keys))
        every = len(facts.facts) > 1 and all(map(read(sentence.text).says, facts.facts))
        return every or not holders or not near or bool(holders & near)
    if isinstance(value, Figure):
        asked = facts.asked if not sentence.spelled & WORKED_OUT else read(" ".join(facts.heard))
        said = any(value.means(figure.value) for figure in (*facts.asked.figures, *asked.figures))
        said |= bool(_UNDONE & sentence.spelled) and any(
            holds(row, statement.columns, mention) for row in facts.refused
        )
        return value.value in RULES or said or _is_worked_out(value, sentence, facts)
    if isinstance(value, frozenset):
        return any(same_day(one, day) for one in value for days in facts.asked.dates for day in days)
    if mention.sort in ("email", "phone"):
        return any(same(value, each) for each in (*facts.asked.emails, *facts.asked.phones))
    sought = mention.sort != "text" or (facts.reads and mention.column in PERSONS) or not facts.records.written
    return mention.sort in ("text", "version", "prefix") and sought and words_of(str(value)) in facts.asked.words


def _is_worked_out(figure: Figure, sentence: Sentence, facts: TurnFacts) -> bool:
    """Whether a number is a sum, a difference or a share of what the turn is about."""
    rows = facts.records.rows
    numbers = {number for write in facts.records.written for number in changes_of(write.old or {}, write.new or {})}
    versions = [pair for key in facts.base for pair in pairwise(facts.records.past[key])]
    numbers |= {*_shares(facts), *(number for old, new in versions for number in changes_of(old, new))}
    if sentence.spelled & WORKED_OUT:
        asked = [fact for fact in facts.facts if isinstance(fact, int | float) and fact]
        numbers |= {one / other for one in asked for other in asked}
        for keys in (facts.base, facts.family(sentence.keys or facts.base)):
            numbers |= {*_sums([rows[key] for key in keys])}
    rough = 0.05 * figure.value if sentence.spelled & _ROUGHLY else 0.0
    return any(figure.means(number) or abs(number - figure.value) <= rough for number in numbers)


def _shares(facts: TurnFacts) -> Iterator[float]:
    """Yield what percentages and rates that were given make of amounts that were given or read."""
    keys = facts.involved | facts.locked
    rows = [facts.records.before[key] for key in keys if key in facts.records.before]
    cells = [row.get(column) for row in rows for column in COLUMNS["amount"]]
    figures = [figure.value for figure in facts.asked.figures]
    rates = [value for value in figures if 0 < value < LARGE]
    for amount in {*(value for value in (*cells, *figures) if isinstance(value, int | float) and value > LARGE)}:
        for rate in rates:
            yield from (amount * share / 100 for share in (rate, 100 + rate, 100 - rate))
            yield from (amount * rate,) if rate % 1 else ()


def changes_of(old: Row, new: Row) -> Iterator[float]:
    """Yield by how much a write has changed numbers, by what share, and to what share."""
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
                cells = [(column + name, cell) for name, cell in row.items() if isinstance(cell, str)]
                for group in (*cells, (column, ""), ("", "")):
                    groups.setdefault(group, []).append(float(amount))
                if isinstance(chance := row.get("probability"), int | float):
                    groups.setdefault(("weighted", ""), []).append(amount * chance / 100)
                    yield amount * chance / 100
    for amounts in (each for each in groups.values() if len(each) > 1):
        yield from (sum(amounts), sum(amounts) / len(amounts))
        for one, other in combinations(sorted({*amounts} - {0.0}), 2) if len(amounts) <= FEW else ():
            yield from (other - one, one / other * 100, (other - one) / one * 100)
