"""The clauses of a reply, and in what sense each of its words is said: as a fact, as past, denied, or only offered."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from pytest_crmeval.scoring.lexicon import DENIALS, HARMLESS, NEW, OLD, OPEN, SETS
from pytest_crmeval.scoring.records import Word, words_in

_SENTENCE = re.compile(
    r"(?<=[.!?;])(?<!\be\.g\.)(?<!\bNo\.)(?<!\bInc\.)(?<!\bapprox\.)[\s*_\"\u201d)]+(?=\S)|\n+"
    r"|(?<=[\u2600-\u27bf\U0001f300-\U0001faff\ufe0f])\s+(?=[A-Z])"
)
_CLAUSE = re.compile(
    r"\s+[\u2014\u2013]\s*|(?<=\w)[\u2014]|,?\s+(?:but|however|though|although|yet|while|whereas|so|because|since)\s+|\s+\(|\)"
    r"|,?\s+and\s+(?=(?:[A-Z][\w'\u2019-]*\s+){1,6}(?:is|are|has|was|were|now)\b)|,\s+(?=not\b)"
    r"|,?\s+and\s+(?=(?:I|I['\u2019]ve|it|its|the|so|has|have|is|was|were|are|moved|set|also|now|then|won['\u2019]t|will|can|sent|put|left|made|let|gave|told|wrote|[a-z]\w*ed)\b)|,\s+(?=which\b|it\b|I\b|only\b)"
)
_ROW = re.compile(r"^\s*\|(.*)\|\s*$")
_RULE = re.compile(r"^[\s|:-]+$")
_QUESTION = re.compile(r"\?[\s*_\"')\u201d]*$")
_GONE = frozenset({"overwritten", "replaced", "superseded"})
_ONCE = frozenset({"before", "previously", "formerly", "originally"})
LOOK = 80
"""Letters that are looked at after a value."""
FAR = 60
"""Words of a clause that are looked at before a value."""
REACH = 7
"""Words between one that says that something is past, and what is."""


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A sentence, an item of a list, or a row of a table."""

    text: str
    start: int
    words: Sequence[Word]
    """With places in the whole reply."""
    marks: Sequence[int]
    """Where its clauses begin."""
    asks: bool
    quotes: Sequence[tuple[int, int]] = field(default=())
    """What is quoted in it: other people's words."""
    old: Sequence[tuple[int, int]] = field(default=())
    """Cells of a table under a heading such as 'before'."""
    is_row: bool = False

    @property
    def end(self) -> int:
        """Where it ends in the reply."""
        return self.start + len(self.text)

    @cached_property
    def plain(self) -> frozenset[str]:
        """Its words, without what it quotes."""
        inside = self.quotes
        return frozenset(w.text for w in self.words if not any(start <= w.start < end for start, end in inside))

    @cached_property
    def clauses(self) -> Sequence["Clause"]:
        """Its clauses."""
        ends = [*self.marks[1:], self.end]
        return [Clause(sentence=self, start=start, end=end) for start, end in zip(self.marks, ends, strict=True)]

    def piece(self, start: int, end: int) -> str:
        """Return what it says between two places of the reply."""
        return self.text[start - self.start : end - self.start]

    def clause_at(self, place: int) -> "Clause":
        """Return the clause that has a place of the reply."""
        return self.clauses[max(0, bisect_right(self.marks, place) - 1)]


@dataclass(frozen=True, kw_only=True)
class Clause:
    """A part of a sentence that says one thing."""

    sentence: Sentence
    start: int
    end: int

    @cached_property
    def words(self) -> Sequence[Word]:
        """Its words, without what it quotes."""
        words = self.sentence.words
        first = bisect_left(words, self.start, key=_start_of)
        own = words[first : bisect_left(words, self.end, lo=first, key=_start_of)]
        return [word for word in own if not any(start <= word.start < end for start, end in self.sentence.quotes)]

    @cached_property
    def spelled(self) -> Sequence[str]:
        """Its words in small letters."""
        return [spelled(word) for word in self.words]

    @property
    def text(self) -> str:
        """Its letters."""
        return self.sentence.text[self.start - self.sentence.start : self.end - self.sentence.start]

    @cached_property
    def _all(self) -> frozenset[str]:
        return frozenset(self.spelled)

    def has(self, *sets: frozenset[str]) -> bool:
        """Whether one of its words is in one of the sets."""
        return any(self._all & each for each in sets)

    def sense(self, place: int, end: int) -> str:  # noqa: C901, PLR0911 (one line for each sense)
        """Return in what sense something from one place to another is said: fact, new, old, denied or open."""
        if self.sentence.asks or _opens(self.sentence.words):
            return "open"
        if any(start <= place < end for start, end in self.sentence.old):
            return "old"
        there = bisect_right(self.words, place, key=_end_of)
        before = self.spelled[max(0, there - FAR) : there]
        after = self.sentence.text[end - self.sentence.start :][:LOOK]
        if not before and self.sentence.text[: self.start - self.sentence.start].endswith("("):
            there = bisect_right(self.sentence.words, place, key=_end_of)
            before = [spelled(word) for word in self.sentence.words[max(0, there - 2) : there]]
        if not {*before} & (NEW | OLD) and self.sentence.words[:1] and self.sentence.words[0].text in _ONCE:
            return "old"
        if _is_past(before, after):
            return "old"
        if self.has(_GONE):
            return "old"
        if before[-6:] and "would" in before[-6:] and "have" in before[-6:]:
            return "old"
        if OPEN.intersection(before):
            return "open"
        if denies(before):
            return "denied"
        if re.match(r"[\s*_%]*\bnow\b", after):
            return "new"
        return "new" if SETS.intersection(before[-2:]) or "now" in before else "fact"


def _end_of(word: Word) -> int:
    return word.end


def _start_of(word: Word) -> int:
    return word.start


def spelled(word: Word) -> str:
    """Return a word in small letters with its apostrophe; the month is not the verb."""
    return word.raw if word.raw == "May" else word.raw.replace("\u2019", "'").casefold()


def denies(words: Sequence[str]) -> bool:
    """Whether words deny something; 'no problem' does not."""
    return any(
        word in DENIALS and not HARMLESS.intersection(words[place + 1 : place + 3]) for place, word in enumerate(words)
    )


def _opens(words: Sequence[Word]) -> bool:
    return bool(words) and words[0].text in ("if", "should", "would", "unless", "whether", "once")


def _is_past(before: Sequence[str], after: str) -> bool:
    """Whether words before something, or signs after it, say that it was so, and is no more."""
    if re.match(
        r"[\s*_\"\u201d%]*(?:\u2192|->|=>|\s(?:before|previously|earlier)\b|became\b|(?:was|were)\s(?:\w+\s){0,3}(?:before|previously)\b)",
        after,
    ):
        return True
    for place, word in enumerate(reversed(before[-REACH:])):
        if (word in NEW) or (word == "to" and place == 0):
            return False
        if word in OLD:
            return True
    return False


def sentences_of(text: str, quotes: Sequence[tuple[int, int]] = ()) -> list[Sentence]:
    """Return the sentences of a reply, its list items, and the rows of its tables."""
    found: list[Sentence] = []
    heads: list[str] = []
    start = 0
    for match in [*filter(partial(_splits, text), _SENTENCE.finditer(text)), None]:
        end = match.start() if match else len(text)
        piece = text[start:end]
        if _RULE.match(piece) and "|" in piece and found:
            heads = [cell.strip(" *_").casefold() for cell in found.pop().text.strip().strip("|").split("|")]
        elif piece.strip():
            row = _ROW.match(piece)
            heads = heads if row else []
            own = [each for each in quotes if start <= each[0] < end]
            found.append(_sentence(piece, start, heads, own))
        start = match.end() if match else end
    return found


def _splits(text: str, match: re.Match[str]) -> bool:
    """Whether a new sentence begins after a stop; after one in a quotation the old one may go on."""
    return "\n" in match[0] or text[match.start() - 1] == ";" or not text[match.end()].islower()


def _sentence(piece: str, start: int, heads: Sequence[str], quotes: Sequence[tuple[int, int]]) -> Sentence:
    words = [
        Word(text=word.text, start=word.start + start, end=word.end + start, raw=word.raw) for word in words_in(piece)
    ]
    marks = [start, *(start + match.end() for match in _CLAUSE.finditer(piece))] if not heads else [start]
    return Sentence(
        text=piece,
        start=start,
        words=words,
        marks=marks,
        asks=bool(_QUESTION.search(piece)),
        quotes=quotes,
        old=list(_old_cells(piece, start, heads)),
        is_row=bool(_ROW.match(piece)),
    )


def _old_cells(piece: str, start: int, heads: Sequence[str]) -> Iterator[tuple[int, int]]:
    place = piece.find("|") + 1
    for head, cell in zip(heads, piece.strip().strip("|").split("|"), strict=False):
        if OLD.intersection(head.split()):
            yield start + place, start + place + len(cell)
        place += len(cell) + 1
