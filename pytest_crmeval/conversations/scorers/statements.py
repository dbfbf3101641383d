"""A reply as it is judged: sentences, their clauses, and what each mentions in which sense."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from pytest_crmeval.conversations.scorers.lexicon import NEW, NOUNS, OLD, OPEN, OWNERS, denies
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
    r"(?:\b(?:of|on|for|from|at|with|under|to|in|by)\s+(?:(?:the|this|that|its|their|your|our|an?|same)\s+)?"
    r"(?:\x00[\x00'\u2019s ]*)?(?:\w+\s+)?|(?<!name):\s*)$",
    re.IGNORECASE,
)
"""What stands before a name or noun that only says where something belongs: 'on the', 'Client: '."""
_NONE = re.compile(r"\s*(?::|\s[\u2013\u2014-])\s*(?:none|no|nothing|0|-|\u2013|\u2014)(?!\w|\d)", re.IGNORECASE)
_REACHED = frozenset({"be", "reach", "call", "find", "contact", "get", "see"})
"""What can or will be so, is so: 'can be reached at'."""
_INSTRUCTIONS = frozenset({"instruction", "instructions"})
"""After these words, a sentence says what a text in the CRM asks for."""
REACH = 7
"""Words between one that says that something is past, and what is."""


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
class Clause:
    """A part of a sentence that says one thing."""

    sentence: "Sentence"
    start: int
    end: int
    words: Sequence[str]
    """Without those of names, values and quotations."""

    def __post_init__(self) -> None:
        """Find what lies in it."""
        self.said = frozenset(self.words)
        self.text = self.sentence.text[self.start : self.end].strip(" ,;(")
        self.mentions = [m for m in self.sentence.mentions if self.start <= m.start < self.end]
        self.names = [m for m in self.mentions if m.sort == "name"]
        self.keys = frozenset(key for name in self.names for key in name.keys)
        self.denies = denies(self.words)


@dataclass(kw_only=True)
class Sentence:
    """A sentence, an item of a list, or a row of a table."""

    text: str
    mentions: list[Mention] = field(default_factory=list)
    words: Sequence[Word] = ()
    """Its words, without those of names, values and quotations."""
    topic: frozenset[Key] = frozenset()
    """The records that were named last before it."""
    subject: str = ""
    """The kind of record that the sentence before was about."""

    @cached_property
    def spelled(self) -> frozenset[str]:
        """Its words as a set."""
        return frozenset(word.text for word in self.words)

    @cached_property
    def names(self) -> list[Mention]:
        """The records that it names."""
        return [each for each in self.mentions if each.sort == "name"]

    @cached_property
    def keys(self) -> frozenset[Key]:
        """The records that it may name."""
        return frozenset(key for name in self.names for key in name.keys)

    @cached_property
    def asks(self) -> bool:
        """Whether it is a question."""
        return self.text.rstrip("\"')\u201d ").endswith("?")

    def words_between(self, start: int, end: int) -> list[str]:
        """Return the words between two places."""
        return [word.text for word in self.words if start <= word.start < end]

    @cached_property
    def clauses(self) -> Sequence[Clause]:
        """Its clauses; no name and no value is split."""
        ends = (match.end() for match in _CLAUSE.finditer(self.text))
        marks = [end for end in ends if not any(m.start < end < m.end for m in self.mentions)]
        spans = pairwise([0, *marks, len(self.text)])
        return [Clause(sentence=self, start=a, end=b, words=self.words_between(a, b)) for a, b in spans]

    @property
    def stated(self) -> Sequence[Clause]:
        """Its clauses, unless it is a question."""
        return self.clauses if not self.asks else ()

    def clause(self, place: int) -> Clause:
        """Return the clause of a place."""
        return next((c for c in self.clauses if c.start <= place < c.end), self.clauses[-1])

    @cached_property
    def anchors(self) -> Sequence[tuple[int, str, bool]]:
        """The kinds of records that it speaks of: where, which, and whether a preposition leads to it."""
        masked, anchors, end = self.text, list[tuple[int, str, bool]](), 0
        for name in self.names:
            masked = masked[: name.start] + "\0" * (name.end - name.start) + masked[name.end :]
        nouns = [w for w in self.words if w.text in NOUNS and masked[w.end : w.end + 1] != ":"]
        found = [(noun.start, noun.end, NOUNS[noun.text]) for noun in nouns]
        found += [(m.start, m.end, "quote_id") for m in self.mentions if m.sort in ("version", "prefix")]
        found += [(name.start, name.end, min(name.kinds)) for name in self.names if len(name.kinds) == 1]
        for start, stop, kind in sorted(found):
            last, led = anchors[-1][1:] if anchors else ("", False)
            beside = last and not self.words_between(end, start)  # 'Ada King (Acme Works)'
            goes_on = beside and (led if kind == last else kind in OWNERS[last])
            anchors.append((start, kind, bool(goes_on or _LED.search(masked[:start]))))
            end = stop
        return anchors

    def is_told(self, place: int) -> bool:
        """Whether a place is in what a text in the CRM asks for."""
        return not _INSTRUCTIONS.isdisjoint(self.words_between(0, place))

    def sense(self, mention: Mention) -> str:
        """Return in what sense something is said: as a fact, as old, denied, or open (asked, offered, possible)."""
        before = self.words_between(self.clause(mention.start).start, mention.start)
        if self.asks or (self.words and self.words[0].text in ("if", "should", "would", "unless", "whether", "once")):
            return "open"
        if _NONE.match(self.text, mention.end):
            return "denied"
        if _is_old(before, self.text[mention.end :]) or "would have" in " ".join(before):
            return "old"
        sure = {word for word, after in pairwise(before) if word in ("can", "could", "will") and after in _REACHED}
        if (
            self.is_told(mention.start)
            or OPEN.intersection(before) - sure
            or re.match(r"\s+would\b", self.text[mention.end :])
        ):
            return "open"
        return "denied" if denies(before) else "fact"


def _is_old(before: Sequence[str], after: str) -> bool:
    """Whether words before something, or after it, say that it was so and is no more."""
    if _WAS.match(after):
        return True
    for place, word in enumerate(reversed(before[-REACH:])):
        if word in NEW and (word not in ("to", "at", "is", "has", "new") or place <= (word != "to")):
            return False
        if word in OLD:
            return True
    return False
