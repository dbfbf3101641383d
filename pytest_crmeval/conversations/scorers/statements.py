"""A sentence of a reply, with the values and names in it, and in what sense it says them."""

import itertools
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pytest_crmeval.conversations.scorers.lexicon import (
    DEEDS,
    DENIALS,
    HARMLESS,
    NEW,
    NOUNS,
    OLD,
    OPEN,
    OWNERS,
)
from pytest_crmeval.conversations.scorers.mentions import COUNTS
from pytest_crmeval.conversations.scorers.records import Key, Word

_CLAUSE = re.compile(
    r"\s+[\u2014\u2013-]\s+|(?<=\w)\u2014(?=\w)|[()]|;\s|,?\s+(?:but|however|though|although|yet|while|whereas|because|since)\s+"
    r"|,?\s+(?:and|so)\s+(?=(?:I|I['\u2019]ve|it|its|the|has|have|is|was|were|are|also|now|then|no|nothing|there|that|let|sent|put|set|made|told|wrote|gave|left|took|kept|[a-z]+ed)\b)"
    r"|,\s+(?=(?:which|it|its|I|I['\u2019]ve|not|only|no|nothing|with|so)\b)|,?\s+and\s+(?=(?:[A-Z][\w'\u2019-]*\s+){1,6}(?:is|are|has|was|were|now)\b)"
)
_WAS = re.compile(
    r"[\s\"\u201d%,]*(?:\u2192|->|=>|(?:before|previously|earlier|until|became)\b|(?:was|were|has|is)\s(?:\w+\s){0,3}"
    r"(?:before|previously|gone|overwritten|replaced|history|superseded)\b)"
)
_LED = re.compile(
    r"\b(?:of|on|for|from|at|with|under|to|in|by)\s+(?:(?:the|this|that|its|their|your|our|an?|same)\s+)?"
    r"(?:\x00[\x00'\u2019s ]*)?(?:\w+\s+)?$",
    re.IGNORECASE,
)
_LABEL = re.compile(r"(?<!name):\s*$", re.IGNORECASE)
"""What stands before a name that only says where something belongs: 'Client: '."""
_NONE = re.compile(r"\s*:\s*(?:none|no|nothing|0|-|\u2013|\u2014)(?!\w|\d)", re.IGNORECASE)
REACH = 7
"""Words between one that says that something is past, and what is."""
_MAY = frozenset(("can", "could", "will"))
_REACHED = frozenset(["be", "reach", "call", "find", "contact", "get", "see"])


@dataclass(frozen=True, slots=True)
class Mention:
    """A value, a name or a quotation in a sentence."""

    sort: str
    """A sort of value of the lexicon's COLUMNS, or name, quote, count."""
    value: object
    start: int
    end: int
    keys: frozenset[Key] = frozenset()
    """Of a name, the records that are called so; of a text, those that have it."""
    column: str = ""
    whole: bool = True

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of the records that it may name."""
        return frozenset(kind for kind, _ in self.keys)


@dataclass(kw_only=True)
class Sentence:
    """A sentence, an item of a list, or a row of a table."""

    text: str
    mentions: list[Mention] = field(default_factory=list)
    words: Sequence[Word] = ()
    """Its words, without those of names, values and quotations."""

    @cached_property
    def spelled(self) -> frozenset[str]:
        """Its words as a set."""
        return frozenset(word.text for word in self.words)

    @cached_property
    def names(self) -> list[Mention]:
        """The records that it names."""
        return [each for each in self.mentions if each.sort == "name"]

    @cached_property
    def asks(self) -> bool:
        """Whether it is a question."""
        return self.text.rstrip("\"')\u201d ").endswith("?")

    @cached_property
    def marks(self) -> Sequence[int]:
        """Where its clauses begin."""
        inside = [(each.start, each.end) for each in self.mentions]
        marks = (match.end() for match in _CLAUSE.finditer(self.text))
        return [0, *(mark for mark in marks if not any(start < mark < end for start, end in inside))]

    def clause(self, place: int) -> tuple[int, int]:
        """Return where the clause of a place begins and ends."""
        after = bisect_right(self.marks, place)
        return self.marks[after - 1], self.marks[after] if after < len(self.marks) else len(self.text)

    def words_between(self, start: int, end: int) -> list[str]:
        """Return the words between two places."""
        return [word.text for word in self.words if start <= word.start < end]

    @cached_property
    def clauses(self) -> Sequence[tuple[int, int, Sequence[str]]]:
        """Where each clause begins and ends, and its words."""
        spans = itertools.pairwise([*self.marks, len(self.text)])
        return [(start, end, self.words_between(start, end)) for start, end in spans]

    @cached_property
    def anchors(self) -> Sequence[tuple[int, str, bool]]:
        """The kinds of records that it speaks of: where, which, and whether a preposition leads to it."""
        return _anchors(self)

    def sense(self, mention: Mention) -> str:
        """Return in what sense something is said: as a fact, as old, denied, or open (asked, offered, possible)."""
        if self.asks:
            return "open"
        start, _ = self.clause(mention.start)
        if self.words and self.words[0].text in ("if", "should", "would", "unless", "whether", "once"):
            comma = self.text.rfind(", ", 0, mention.start)
            if comma < 0 or not {"is", "are", "has"} & {*self.words_between(comma, mention.start)}:
                return "open"
            start = max(start, comma)
        before = self.words_between(start, mention.start)
        if not before and start and self.text[start - 1] == "(":
            before = [word for word in self.words_between(0, start)[-2:] if word in OLD]
        if _NONE.match(self.text, mention.end):
            return "denied"
        if _is_old(before, self.text[mention.end :]) or "would have" in " ".join(before):
            return "old"
        sure = {word for word, after in itertools.pairwise(before) if after in _REACHED and word in _MAY}
        if OPEN.intersection(before) - sure and "now" not in before:
            return "open"
        return "denied" if denies(before) else "fact"


def _anchors(sentence: Sentence) -> list[tuple[int, str, bool]]:
    """Return the kinds of records that a sentence speaks of: where, which, and whether a preposition leads to it."""
    masked = sentence.text
    for name in sentence.names:
        masked = masked[: name.start] + "\0" * (name.end - name.start) + masked[name.end :]
    found = [(w.start, w.end, NOUNS[w.text]) for w in sentence.words if w.text in NOUNS and not _is_label(masked, w)]
    found += [(m.start, m.end, "quote_id") for m in sentence.mentions if m.sort in ("version", "prefix")]
    for name in sentence.names:
        own = {kind for kind, _ in name.keys}
        after = next((word for word in sentence.words if 0 <= word.start - name.end <= 1), None)
        if len(own) == 1 and not (after and after.text in NOUNS):
            found.append((name.start, name.end, min(own)))
    anchors: list[tuple[int, str, bool]] = []
    end, last, led = 0, "", False
    for start, stop, kind in sorted(found):
        alone = not last or sentence.words_between(end, start)
        counted = masked[:start].rstrip().rpartition(" ")[2].casefold() in COUNTS
        if alone or not (led if kind == last else kind in OWNERS[last]):  # 'Ada King (Acme Works)'
            led = not counted and bool(_LED.search(masked[:start]) or _LABEL.search(masked[:start]))
        else:
            led = True
        anchors.append((start, kind, led))
        end, last = stop, kind
    return anchors


def _is_label(text: str, word: Word) -> bool:
    """Whether a word is a label, as in 'Client: Acme, Quote: 4,000'."""
    before = text[: word.start].rstrip()
    return text[word.end : word.end + 1] == ":" and (not before or before[-1] in ",;|")


def _is_old(before: Sequence[str], after: str) -> bool:
    """Whether words before something, or after it, say that it was so and is no more."""
    if _WAS.match(after) or "no longer" in " ".join(before):
        return True
    for place, word in enumerate(reversed(before[-REACH:])):
        if word in ("was", "were") and place and before[-place] in DEEDS:
            continue
        if word in NEW and (word not in ("to", "at", "is", "has", "new") or place <= (word != "to")):
            return False
        if word in OLD:
            return True
    return False


def denies(words: Sequence[str]) -> bool:
    """Whether words deny something; 'no problem' does not."""
    return any(
        word in DENIALS and not HARMLESS.intersection(words[place + 1 : place + 3]) for place, word in enumerate(words)
    )
