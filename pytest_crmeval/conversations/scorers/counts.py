"""How many records there are said to be, compared with the rows."""

import re
from collections.abc import Iterable, Iterator, Sequence

from pytest_crmeval.conversations.scorers.lexicon import NOUNS, STATUS_KINDS, listed
from pytest_crmeval.conversations.scorers.mentions import Figure
from pytest_crmeval.conversations.scorers.records import Key
from pytest_crmeval.conversations.scorers.statements import Mention, Sentence
from pytest_crmeval.conversations.scorers.turn_facts import KINDS, PERSONS, TurnFacts, columns_of, holds
from pytest_crmeval.domain.state import Row

_OURS = re.compile(r"\b(?:we|you)(?: have|['\u2019]ve)(?: \w+){0,2} $", re.IGNORECASE)
_MORE = listed("other more further remaining others")
_GAP = re.compile(r"(?:\s|-|(?!(?:of|days?|on|for|in)\b)\w+)*")
_NEAR = re.compile(r"(?:(?!\b(?:is|are|was|were|and)\b)[^,:;.()\d\u2013\u2014]){0,40}")
_THAT = re.compile(
    r"(?:\s(?:of (?:them|these|those|the \w+)|is|are|were|was|has|have|been|in|at|still|now|an?|already|also|currently"
    r"|marked|as|both))*\s"
)
"""What stands between a number and what so many records are: 'two of them are still'."""
_LISTED = re.compile(r"(?:^|[,:;(\u2013\u2014\n-]\s?|\band\s|\bwith\s|\bonly\s)$", re.IGNORECASE)
_FILTERS = ("stage", "status", "type")
_COLUMNS = ("stage", "status", "owner", "client_id", "opportunity_id", "type", "industry", "entity_id")


def miscounts(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield numbers of records that there are not."""
    if not (sentence.spelled & NOUNS.keys() or any(m.sort in _FILTERS for m in sentence.mentions)):
        return
    people = any(m.column in PERSONS for m in sentence.mentions)
    for mention in (m for m in sentence.mentions if m.sort == "count" and sentence.sense(m) in ("fact", "old")):
        number = mention.value.value if isinstance(mention.value, Figure) else int(str(mention.value))
        if any(figure.means(number) for figure in facts.asked.figures) or not number:
            continue
        kinds, end, filters = _counted(mention, sentence, number)
        owners = _owners(mention, end, sentence, facts) if kinds else frozenset()
        if not kinds or (people and not owners):  # 'Ada King, who has four deals'
            continue
        possible = _possible(kinds, owners, filters, facts)
        if _MORE & sentence.spelled:
            possible |= {count - 1 for count in possible}
        if possible - {0.0} and number not in possible:
            yield f'"{sentence.text[mention.start : end]}": the count is wrong'


def _counted(mention: Mention, sentence: Sentence, number: float) -> tuple[Iterable[str], int, Sequence[Mention]]:
    """Return the kinds of the records that a number counts, where they stand, and what they must be."""
    text, start = sentence.text, mention.end
    later = [word for word in sentence.words if word.start >= start][:3]
    noun = next((word for word in later if word.text in NOUNS), None)
    if noun and not any(start <= name.start < noun.start for name in sentence.names):
        plural = (number > 1) == (noun.text.endswith("s") or noun.text == "people")
        if plural and _GAP.fullmatch(text[start : noun.start]):
            return (NOUNS[noun.text],), noun.end, _filters(sentence, start, noun.end)
    said = next((m for m in sentence.mentions if m.sort in _FILTERS and m.start >= start), None)
    said = said if said and _THAT.fullmatch(text[start : said.start]) else None
    said = None if text[: mention.start].casefold().endswith(("the ", "a ")) else said
    if said and (number > 1 or _LISTED.search(text[: mention.start])):
        return KINDS[said.sort] & STATUS_KINDS.get(str(said.value), KINDS[said.sort]), said.end, [said]
    return (), start, ()


def _filters(sentence: Sentence, start: int, end: int) -> Sequence[Mention]:
    """Return the values beside a noun which say what records are counted: 'two draft quotes', 'deals in Proposal'."""
    said = [m for m in sentence.mentions if m.sort in (*_FILTERS, "text") and m.start >= start]
    return [m for m in said if _NEAR.fullmatch(sentence.text[end : max(end, m.start)])]


def _possible(kinds: Iterable[str], owners: frozenset[Key], filters: Sequence[Mention], facts: TurnFacts) -> set[float]:
    """Return how many records of these kinds there may be said to be."""
    records = facts.records
    found: set[float] = set()
    for kind in kinds:
        live = [key for key in records.rows if key[0] == kind and key not in records.gone]
        shown = [[key for key in keys if key[0] == kind] for keys in records.shown]
        shown += [
            [*{key for keys in shown for key in keys}],
            [write.key for write in records.written if write.key[0] == kind],
        ]
        found_all = any(shown) and not (filters or records.gone or records.written)
        wholes = [[key for key in live if owner in records.up(key)] for owner in facts.involved]
        wholes += [live] if not found_all else []  # a reply to a search counts what was found
        if owners:
            wholes = [[key for key in live if owner in records.up(key)] for owner in owners]
            wholes.append([key for key in live if records.up(key) & owners])
            shown = [[key for key in keys if records.up(key) & owners] for keys in shown]
        for group in (*wholes, *shown):
            for rows in _parts([records.rows[key] for key in group]):
                found.add(float(sum(all(holds(row, columns_of(m), m) for m in filters) for row in rows)))
    return found | {float(fact) for fact in facts.facts if isinstance(fact, int | float)}


def _parts(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Yield all rows, those that are open, and those that have the same in a column."""
    yield from (rows, [row for row in rows if not str(row.get("stage")).startswith("Closed")])
    for column in _COLUMNS:
        for value in {row[column] for row in rows if row.get(column) is not None}:
            yield [row for row in rows if row.get(column) == value]


def _owners(mention: Mention, end: int, sentence: Sentence, facts: TurnFacts) -> frozenset[Key]:
    """Return the records that are named as those which the counted ones belong to; none if it is all of ours."""
    if _OURS.search(sentence.text[: mention.start]) or {"altogether", "total", "overall"} & sentence.spelled:
        return frozenset()
    before = [n for n in sentence.names if n.start < mention.start][-1:]
    after = [n for n in sentence.names if n.start > end and _NEAR.fullmatch(sentence.text[end : n.start])][:1]
    for names in (before, after):
        if owning := frozenset(key for name in names for key in name.keys if any(facts.records.down(key))):
            return owning
    said = sentence.topic if {"it", "they", "its", "their"} & sentence.spelled and not sentence.names else ()
    return frozenset(key for key in said if any(facts.records.down(key)))
