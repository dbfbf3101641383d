"""Which record is said to be the largest or the smaller one, compared with the rows."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from pytest_crmeval.conversations.scorers.lexicon import COLUMNS, NOUNS, listed
from pytest_crmeval.conversations.scorers.records import Key, Word
from pytest_crmeval.conversations.scorers.statements import Clause, Sentence
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts, columns_of, holds
from pytest_crmeval.domain.state import Row

_UP = listed("largest biggest highest priciest bigger larger higher dearer")
_DOWN = listed("smallest lowest cheapest smaller lower cheaper")
_MOST = listed("largest biggest highest priciest smallest lowest cheapest")
_OTHER_SCALES = listed("probability chance percent version stage possible allowed value limit")
_SCALED = ("opportunity_id", "quote_id", "contract_id")
Rows = Mapping[Key, Row]


def misranked(sentence: Sentence, facts: TurnFacts) -> Iterator[str]:
    """Yield records that are said to be the largest or the smaller one of several, and are not."""
    for place, word in enumerate(sentence.words if not sentence.asks and sentence.spelled & (_UP | _DOWN) else ()):
        if word.text not in _UP | _DOWN:
            continue
        clause = sentence.clause(word.start)
        after = [each.text for each in sentence.words[place + 1 : place + 3]]
        led = place and sentence.words[place - 1].text in ("second", "third", "not")
        led = led or any(0 <= word.start - m.end <= 1 for m in sentence.mentions)  # '25,000 lower'
        than = after[:1] == ["than"]
        if {*after} & _OTHER_SCALES or clause.denies or led or (than and not clause.names):
            continue
        kinds = {NOUNS[each] for each in after if each in NOUNS} or {*_SCALED}
        compared = clause.names[-1].keys if than and clause.names else frozenset()
        ranked = [
            _is_ranked(word.text, _amount(rows[key]), _amounts(word.text, key, compared, rows, facts))
            for rows in _times(facts, only_open="open" in clause.said)
            for key in _meant(word, clause, rows, facts)
            if key[0] in kinds and key in rows
        ]
        if ranked and not any(ranked):
            yield f'"{clause.text}": it is not the {word.text} one'


def _times(facts: TurnFacts, *, only_open: bool) -> Sequence[Rows]:
    """Return the records that there are after the turn, and those that there were before it."""
    deleted = {write.key for write in facts.records.written if write.new is None}
    gone = facts.records.gone
    times = ((facts.records.rows, gone), (facts.records.before, gone - deleted))
    return [
        {
            key: row
            for key, row in rows.items()
            if key not in left_out and not (only_open and str(row.get("stage")).startswith("Closed"))
        }
        for rows, left_out in times
    ]


def _meant(word: Word, clause: Clause, rows: Rows, facts: TurnFacts) -> Collection[Key]:
    """Return the records of which a clause says how large they are."""
    sorts = ("amount", "version", "status")
    said = [m for m in clause.mentions if m.sort in sorts and clause.sentence.sense(m) == "fact"]
    nearest = min(said, key=lambda m: (m.sort == "status", abs(m.start - word.start)), default=None)
    if nearest:
        near = [key for key in facts.family(facts.base) if key in rows and key[0] in _SCALED]
        near = [key for key in near if holds(rows[key], columns_of(nearest), nearest)]
        return clause.keys.intersection(near) or near
    named = [key for name in clause.names for key in name.keys if key[0] == "opportunity_id"]
    own = [key for key in facts.base if key[0] in _SCALED and "it" in clause.said]
    return named[:1] or (own if len(own) == 1 else [])


def _amounts(word: str, key: Key, compared: Collection[Key], rows: Rows, facts: TurnFacts) -> Iterator[Sequence[float]]:
    """Yield the amounts of groups of records that one may be compared with; of all records only for 'the largest'."""
    records = facts.records
    alike = [each for each in rows if each[0] == key[0]]
    groups = [[each for each in alike if owner in records.up(each)] for owner in records.up(key)]
    groups += [[each for each in keys if each in alike] for keys in records.shown]
    groups = [[key, *compared]] if compared else [*groups, *([alike] if word in _MOST else [])]
    return (sorted({_amount(rows[each]) for each in group if each in rows} - {0.0}) for group in groups)


def _is_ranked(word: str, own: float, groups: Iterator[Sequence[float]]) -> bool:
    """Whether an amount is the first of a group, or at least not the last; groups of one say nothing."""
    several = [amounts for amounts in groups if len(amounts) > 1]
    for amounts in several if own else ():
        best, worst = (amounts[-1], amounts[0]) if word in _UP else (amounts[0], amounts[-1])
        if own == best or (own != worst and word not in _MOST):
            return True
    return not several or not own


def _amount(row: Row) -> float:
    found = (row.get(column) for column in COLUMNS["amount"])
    return next((float(value) for value in found if isinstance(value, int | float)), 0.0)
