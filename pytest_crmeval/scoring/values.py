"""The values that a reply states, and the records that it states them of."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pytest_crmeval.domain.state import Row
from pytest_crmeval.scoring.clauses import Clause, Sentence, sentences_of
from pytest_crmeval.scoring.lexicon import (
    CHOICES,
    COLUMN_WORDS,
    COLUMNS,
    KINDS,
    LEADS,
    NOUNS,
    OWN,
    PLAIN,
    STAGES,
    TOTALS,
)
from pytest_crmeval.scoring.mentions import LOCAL, Figure, Located, located, read, same_day, same_phone
from pytest_crmeval.scoring.records import Key, Named, Word, named_in
from pytest_crmeval.scoring.scene import Scene

_CURRENCY = re.compile(r"[$\u20ac\u00a3]\s?$|\b(?:USD|EUR|GBP|CHF)\s?$")
_CURRENCY_AFTER = re.compile(r"^\s?(?:[$\u20ac\u00a3]|(?:USD|EUR|GBP|CHF|dollars?|euros?|pounds?|francs?)\b)")
_TO_PERCENT = re.compile(r"[\s*_]+to[\s*_]+\d+(?:\.\d+)?\s?(?:%|per\s?cent)")
_VERSION = re.compile(
    r"\b(?:version|ver\.?|v\.?)\s?(\d+(?:\.\d+)*)\b|\bversion\W+(?:\w+\W+){1,3}?(\d+\.\d+)\b", re.IGNORECASE
)
_PREFIX = re.compile(r"\b[A-Z]{2,5}-\d{2,5}\b")
_QUOTED = re.compile(r"[\"\u201c]([^\"\u201c\u201d\n]{3,400})[\"\u201d]|^\s*>\s?(.+)$", re.MULTILINE)
_LIKE = re.compile(r"[\s*_]*(?:for|on|of|at|with|in|from|to)\s+(?:\w+['\u2019]?s?\s+){0,3}[*_\"'`\u201c]*")
_FIELD = r"(close date|start date|owner|phone|e-mail|email|title|industry|probability|prefix|version)"
_BLANK = re.compile(
    rf"\b(?:no|without an?)\s+{_FIELD}(?!\s+(?:has\s+)?(?:was|were|change))|\b{_FIELD}(?:\s+(?:number|field|address))?"
    r"\s+(?:is|are)\s+(?:still\s+|currently\s+)?"
    r"(?:empty|blank|missing|not\s+set|unset)\b",
    re.IGNORECASE,
)
LARGE = 1000
FEW = 400
SOME = 30
SEVERAL = 3
"""So many stages or statuses in one sentence are a list of what there is to choose from."""
NEAR = 60
"""Letters between a value and the name of its record."""
YEARS = range(1900, 2101)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A value that a reply states, and of which records it may be said."""

    sort: str
    value: object
    words: str
    """As the reply has it."""
    start: int
    end: int
    sense: str
    named: bool
    """Whether the sentence names a record of a kind that has such values."""
    records: Sequence[Key] = field(default=())
    clause: Clause
    columns: Sequence[str] = ()
    """Of a column that is said to be empty, or a text: the columns that are meant."""

    def is_in(self, row: Row) -> bool:
        """Whether a row bears it out."""
        if self.sort == "blank":
            return any(column in row and row[column] is None for column in self.columns)
        return any(same(self.value, row.get(column)) for column in COLUMNS[self.sort] if row.get(column) is not None)


def same(value: object, cell: object) -> bool:
    """Whether a value is what a cell holds."""
    if isinstance(value, Figure):
        return isinstance(cell, int | float) and value.means(cell)
    if isinstance(value, frozenset):
        days = read(str(cell)).dates
        return any(same_day(one, other) for one in value for other in (day for each in days for day in each))
    if isinstance(value, tuple):
        return str(cell) in value
    text, own = str(value).casefold(), str(cell).casefold()
    return text == own or (text.isdigit() and len(text) >= LOCAL and same_phone(text, re.sub(r"\D", "", own)))


@dataclass(kw_only=True)
class Told:
    """A sentence with the names and the values in it."""

    sentence: Sentence
    named: Sequence[Named]
    statements: list[Statement] = field(default_factory=list)

    def has(self, sort: str) -> bool:
        """Whether it states a value of a sort."""
        return any(each.sort == sort for each in self.statements)

    @property
    def quotes(self) -> Sequence[tuple[int, int]]:
        """What is quoted in it."""
        return self.sentence.quotes


def told_in(text: str, scene: Scene) -> list[Told]:
    """Return what a reply states, sentence by sentence."""
    found: list[Told] = []
    values = sorted(located(text), key=_start_of)
    quotes = [match.span(1 if match[1] else 2) for match in _QUOTED.finditer(text)]
    topic: dict[str, frozenset[Key]] = {}
    for sentence in sentences_of(text, quotes):
        named = named_in(sentence.words, scene.names)
        told = Told(sentence=sentence, named=named)
        spans = [(each.start, each.end) for each in named]
        for sort, value, start, end in _values(sentence, values, scene, spans, text):
            told.statements.append(_statement(sort, value, (start, end), told, topic, scene, text))
        for each in named:
            for kind in {key[0] for key in each.keys}:
                topic[kind] = frozenset(key for key in each.keys if key[0] == kind)
        found.append(told)
    return found


def _values(
    sentence: Sentence, values: Sequence[Located], scene: Scene, names: Sequence[tuple[int, int]], text: str
) -> Iterator[tuple[str, object, int, int]]:
    """Yield sort, value and place of everything in a sentence that a column may hold."""

    def free(start: int, end: int) -> bool:
        there = bisect_left(names, (start, start))
        return not any(one < end and start < other for one, other in names[max(0, there - 1) : there + 2])

    versions = [
        (match[1] or match[2], match.start() + sentence.start, match.end() + sentence.start)
        for match in _VERSION.finditer(sentence.text)
    ]
    prefixes = [
        (match[0], match.start() + sentence.start, match.end() + sentence.start)
        for match in _PREFIX.finditer(sentence.text)
    ]
    taken = [(start, end) for _, start, end in (*versions, *prefixes)]
    yield from (
        ("version", value if "." in value else (value, f"{value}.0"), start, end) for value, start, end in versions
    )
    yield from (("prefix", value, start, end) for value, start, end in prefixes)
    for one in values[
        bisect_left(values, sentence.start, key=_start_of) : bisect_left(values, sentence.end, key=_start_of)
    ]:
        if free(one.start, one.end):
            if any(start <= one.start < end for start, end in taken):
                continue
            if sort := _sort(one, text):
                yield sort, one.value, one.start, one.end
    yield from _blanks(sentence)
    yield from (choice for choice in _choices(sentence) if free(choice[2], choice[3]))
    for each in named_in(sentence.words, scene.texts):
        if free(each.start, each.end):
            yield "text", text[each.start : each.end], each.start, each.end


def _blanks(sentence: Sentence) -> Iterator[tuple[str, object, int, int]]:
    """Yield the columns that a sentence says to be empty."""
    for match in _BLANK.finditer(sentence.text):
        word = (match[1] or match[2]).casefold()
        columns = (
            ("close_date",)
            if "close" in word
            else ("start_date",)
            if "start" in word
            else COLUMN_WORDS.get(word.split()[0], ())
        )
        if columns:
            yield "blank", tuple(columns), match.start() + sentence.start, match.end() + sentence.start


def _start_of(one: Located) -> int:
    return one.start


def _sort(one: Located, text: str) -> str:
    if one.sort != "number":
        return one.sort if one.sort in COLUMNS else ""
    if not isinstance(one.value, Figure) or one.value.percent or _TO_PERCENT.match(text[one.end : one.end + NEAR]):
        return "percent"
    money = _CURRENCY.search(text[max(0, one.start - 5) : one.start]) or _CURRENCY_AFTER.match(
        text[one.end : one.end + 9]
    )
    money = money or re.search(r"\d[.,]\d\d$", text[one.start : one.end])
    year = one.value.value in YEARS and "," not in text[one.start : one.end]
    return "amount" if money or (one.value.value >= LARGE and not year) else ""


def _choices(sentence: Sentence) -> Iterator[tuple[str, object, int, int]]:
    found = list(_choice_words(sentence))
    for sort in ("stage", "status", "type"):
        own = [choice for choice in found if choice[0] == sort]
        gaps = [sentence.text[one[3] - sentence.start : other[2] - sentence.start] for one, other in pairwise(own)]
        listed = len(own) >= SEVERAL and all(
            re.fullmatch(r"[\s,/*_|]*(?:or|and)?[\s*_]*(?:closed-?)?", gap, re.IGNORECASE) for gap in gaps
        )
        yield from own if not listed else ()


def _choice_words(sentence: Sentence) -> Iterator[tuple[str, object, int, int]]:
    words = sentence.words
    for place, word in enumerate(words):
        name = word.text
        if name == "open" and _is_open(sentence, word):
            yield "stage", STAGES[:4], word.start, word.end
        if name == "closed" and place + 1 < len(words) and words[place + 1].text in ("won", "lost"):
            continue
        if name in ("won", "lost") and place and words[place - 1].text == "closed":
            pass
        elif (
            name not in CHOICES
            or (word.raw.islower() and not _is_choice(words, place))
            or (place == 0 and name in ("prospect", "proposal"))
        ):
            continue
        sort, value = CHOICES[name]
        yield sort, value, word.start, word.end


def _is_open(sentence: Sentence, word: Word) -> bool:
    """Whether 'open' is said of a deal: as its state, and not 'to open'."""
    before = sentence.text[: word.start - sentence.start]
    return bool(re.search(r"(?:\(|\bis(?:\s(?:still|currently))?)[\s*_]*$", before))


def _is_choice(words: Sequence[Word], place: int) -> bool:
    """Whether a word in small letters is a status: 'it is approved', 'the rejected quote', and not 'a proposal'."""
    if words[place].text not in PLAIN:
        return False
    before = words[place - 1].text if place else ""
    after = words[place + 1].text if place + 1 < len(words) else ""
    if words[place].text == "sent":
        return after in NOUNS
    if words[place].text in ("won", "lost"):
        return before in ("as", "marked", "closed") and after not in ("deals", "deal")
    if CHOICES[words[place].text][0] == "type" or words[place].text == "prospect":
        return before in LEADS or before in ("a", "our")
    return before in LEADS or after in NOUNS or after == "one" or words[place].text in ("draft", "drafts")


def _statement(  # noqa: PLR0913, PLR0917 (what a value is judged by)
    sort: str,
    value: object,
    place: tuple[int, int],
    told: Told,
    topic: Mapping[str, frozenset[Key]],
    scene: Scene,
    text: str,
) -> Statement:
    start, end = place
    clause = told.sentence.clause_at(start)
    sense = clause.sense(start, end)
    if sense == "open" and sort in ("email", "phone") and not told.sentence.asks:
        sense = "fact"
    if sort == "blank":
        past = {"was", "were", "had", "before", "previously", "until"} & {word.text for word in clause.words}
        sense = "open" if past or sense == "open" else "fact"
    if sort in ("stage", "status") and sense in ("fact", "new") and _before_noun(told.sentence, end):
        sense = "old"
    columns = _columns_of(sort, value, scene)
    keys, named = _about(sort, start, end, told, topic, scene, text, columns)
    if sort == "status" and str(value) in KINDS:
        keys = [key for key in keys if key[0] in KINDS[str(value)]]
    return Statement(
        sort=sort,
        value=value,
        words=text[start:end],
        start=start,
        end=end,
        sense=sense,
        named=named,
        records=keys,
        clause=clause,
        columns=columns,
    )


def _columns_of(sort: str, value: object, scene: Scene) -> Sequence[str]:
    """Return the columns that a text stands in anywhere, or that are said to be empty."""
    if sort == "blank" and isinstance(value, tuple):
        return value
    if sort != "text":
        return ()
    rows = [row for versions in scene.records.past.values() for row in versions]
    return [column for column in COLUMNS["text"] if any(same(value, row.get(column)) for row in rows)]


def _before_noun(sentence: Sentence, end: int) -> bool:
    """Whether a status only says which record is meant: 'the draft quote'."""
    there = bisect_left(sentence.words, end, key=lambda word: word.start)
    after = [word.text for word in sentence.words[there : there + 1]]
    before = sentence.words[there - 2].text if there > 1 else ""
    return bool(after) and (after[0] in NOUNS or after[0] == "one") and before not in ("a", "an")


def _about(  # noqa: C901, PLR0913, PLR0917 (what a value is judged by)
    sort: str,
    start: int,
    end: int,
    told: Told,
    topic: Mapping[str, frozenset[Key]],
    scene: Scene,
    text: str,
    columns: Sequence[str] = (),
) -> tuple[list[Key], bool]:
    """Return the records that a value at a place may be said of, and whether the sentence names one of their kind."""
    rows = scene.records.rows
    columns = columns or COLUMNS[sort]
    has = {kind for kind in {key[0] for key in rows} if _holds(kind, columns, rows)}
    kinds: dict[str, frozenset[Key]] = {}
    for each in told.named:
        for kind in {key[0] for key in each.keys}:
            own = frozenset(key for key in each.keys if key[0] == kind)
            gap = text[end : each.start]
            follows = bool(each.start >= end and len(gap) < NEAR and (_LIKE.fullmatch(gap) or not gap.strip(" *_")))
            if each.end <= start or kind not in kinds or follows:
                kinds[kind] = own
    words = told.sentence.plain
    nouns = {NOUNS[word] for word in words if word in NOUNS} & has - {"note_id", "document_id"}
    involved = scene.involved if not words & scene.contrasts else set()
    written = {write.key for write in scene.records.written}
    if nouns & {key[0] for key in scene.own} or (sort == "text" and nouns and not nouns & kinds.keys()):
        has &= nouns
    elif (
        sort in OWN
        and involved
        and (written & {key for keys in kinds.values() for key in keys} or not has & kinds.keys())
    ):
        has &= {key[0] for key in written if key[0] in has} or has
    own = frozenset(key for key in scene.own if key[0] in has)
    if sort == "status" and len({key[0] for key in own}) == 1 and not nouns and told.has("amount"):
        has &= {key[0] for key in own}  # a row of a list of quotes or contracts
    aside = scene.contrasts | TOTALS if sort in ("amount", "version", "prefix") else scene.contrasts
    alone = not nouns and not has & kinds.keys() and not words & aside
    if alone and own:
        has &= {key[0] for key in own}
    if (
        sort in ("email", "phone")
        and {key[0] for key in scene.own} == {"contact_id"}
        and not {"client_id", "company_id"} & nouns
    ):
        near = {key for keys in (*kinds.values(), *topic.values()) for key in keys}
        has = {"contact_id"} if near & {*scene.own} else has
    named = bool(has & (kinds or topic).keys())
    anchors = {key for keys in (kinds or topic).values() for key in keys}
    found = {other for anchor in anchors for other in scene.related(anchor)}
    if not named:
        found |= {other for own in scene.own for other in scene.related(own)}
        found |= {key for keys in topic.values() for key in keys}
        found = found or {*rows}
    bound = {key[0] for key in involved} - kinds.keys()
    if not words & aside and len({*scene.own}) == 1 and not scene.records.written:
        single = scene.own[0]
        found = {key for key in found if key[0] != single[0] or key == single or key[0] in kinds}
    keep = [key for key in found if key[0] in has and (key[0] not in kinds or key in kinds[key[0]])]
    return sorted(key for key in keep if key[0] not in bound or key in involved), named


def _holds(kind: str, columns: Sequence[str], rows: Mapping[Key, Row]) -> bool:
    return any(column in row for key, row in rows.items() if key[0] == kind for column in columns)
