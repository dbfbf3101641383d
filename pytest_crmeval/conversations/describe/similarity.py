"""Which conversations are the same except for names and numbers: what comes from the data is masked, the rest compared.

>>> wording("Move Harbor's deal to Proposal, 46.5k.", Values.of(names=["Harbor Light"], texts=["Proposal"]))
"move <text>'s deal to <text>, <number>"
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any

from pytest_crmeval.conversations.dataset.knowledge import leaves
from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.conversations.describe.masks import TEXT, has_own_mask, without_figures, without_literals
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.ports.crm_calls import canonical

NAMES = frozenset({"name", "first_name", "last_name", "owner", "title", "industry", "uploaded_by", "created_by"})
"""Columns and arguments whose values can be named by a part: Harbor for Harbor Light Logistics."""
_SHAPES = frozenset({"entity_type"})
"""Arguments whose values are not masked, because they belong to the kind of request."""
_ORDINARY = frozenset(
    re.findall(
        r"\w+",
        """
        a add all also amount an and any are art as at be bill but by can chase client clients close contact contacts
        contract copy date deal deals delete do document email find for from get give grace grant have he her him his
        how i if in is it its joy list look make mark may me move my name new no not note notes now of old on one open
        or our owner phone please probability put quote quotes rich sales send set she show so stage status sue that
        the their them then there these they this title to up us value version was we what when which who will with won
        you your
        """,
    )
)
"""Words that are hardly ever a name alone, although they occur in names: the in Bank of the North."""

_STROKES = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ħ": "h", "\u0131": "i", "æ": "ae", "œ": "oe"})
"""Letters that Unicode does not decompose."""
_WORD = re.compile(r"(?<![<\w])\w+")  # not the words of a mask
_START = re.compile(r"(?:^|[.!?:]\s+)$")

_TURN = tuple[str, str, tuple[str, ...], bool, tuple[str, ...]]
Signature = tuple[_TURN, ...]
"""A conversation without names and numbers: of each turn the wording, tool, argument names, whether success is
expected, and the further tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A text of the data, split into words."""

    words: tuple[str, ...]
    by_part: bool
    """Whether a part of it is enough to recognize it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """The texts of a conversation's data, by every word at which they can be recognized."""

    by_word: Mapping[str, Sequence[tuple[Value, int]]]

    @classmethod
    def of(cls, *, names: Iterable[str] = (), texts: Iterable[str] = ()) -> "Values":
        """Return names, which a part is enough to recognize, and texts, which are recognized as a whole."""
        by_word: dict[str, list[tuple[Value, int]]] = {}
        values = [Value(words=_folded(text), by_part=True) for text in names]
        values += [Value(words=_folded(text), by_part=False) for text in texts]
        for value in dict.fromkeys(values):
            for place, word in enumerate(value.words if value.by_part else value.words[:1]):
                by_word.setdefault(word, []).append((value, place))
        return cls(by_word=by_word)


def values_of(record: ConversationRecord) -> Values:
    """Return the texts in a conversation's rows, arguments and facts."""
    names: set[str] = set()
    texts: set[str] = set()
    seed = record.initial_entities.seed_data
    trees: list[Any] = [row for field in seed.__struct_fields__ for row in getattr(seed, field).values()]
    for turn in record.turns:
        trees += (turn.expected_args, *(call.expected_args for call in turn.further_calls), turn.reply_facts)
    for tree in trees:
        for column, text in leaves("", tree):
            if isinstance(text, str) and column not in _SHAPES and not has_own_mask(text):
                (names if column in NAMES else texts).add(text)
    return Values.of(names=sorted(names), texts=sorted(texts))


def wording(utterance: str, values: Values) -> str:
    """Return an utterance in lower case, with a mask in place of all that comes from the data."""
    plain = utterance.replace("\u2019", "'")
    text = without_figures(_without(values, without_literals(plain)))
    return " ".join(text.casefold().split()).rstrip(" .!")


def signature(record: ConversationRecord) -> Signature:
    """Return what a conversation has in common with those that are alike."""
    values, turns = values_of(record), []
    for turn in record.turns:
        call = canonical(ToolCall(tool=turn.expected_tool, arguments=turn.expected_args))
        further = tuple(each.expected_tool for each in turn.further_calls)
        said = wording(turn.user_utterance, values)
        turns.append((said, call.tool, tuple(sorted(call.arguments)), turn.expect_success, further))
    return tuple(turns)


@lru_cache(maxsize=1 << 16)
def _folded(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, without accents."""
    small = text.casefold()
    if not small.isascii():
        letters = unicodedata.normalize("NFKD", small.translate(_STROKES))
        small = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return tuple(_WORD.findall(small))


def _without(values: Values, text: str) -> str:
    """Return a text with a mask in place of each sequence of words that comes from the data."""
    matches = list(_WORD.finditer(text))
    words = [next(iter(_folded(match[0])), match[0]) for match in matches]
    parts = []
    place = done = 0
    while place < len(words):
        length = _length(values, words[place:], _weight(text, matches[place]))
        if length:
            parts += [text[done : matches[place].start()], TEXT]
            done = matches[place + length - 1].end()
        place += length or 1
    return "".join([*parts, text[done:]])


class _Weight(IntEnum):
    """How much a word looks like a name."""

    SMALL = 0
    FIRST = 1
    """Capitalized, but so is the first word of every sentence."""
    CAPITAL = 2


def _weight(text: str, match: re.Match[str]) -> _Weight:
    word = match[0]
    if not word[0].isupper():
        return _Weight.SMALL
    starts = _START.search(text, 0, match.start()) and not (word.isupper() and len(word) > 1)
    return _Weight.FIRST if starts else _Weight.CAPITAL


def _length(values: Values, words: Sequence[str], weight: _Weight) -> int:
    """Return how many of the words, from the first one on, come from the data."""
    lengths = [_matching(value, place, words, weight) for value, place in values.by_word.get(words[0], ())]
    if weight and not any(lengths) and words[0].endswith("s"):  # a plural: three Smiths
        singular = words[0][:-1]
        lengths = [value.by_part and singular not in _ORDINARY for value, _ in values.by_word.get(singular, ())]
    return max(lengths, default=0)


def _matching(value: Value, place: int, words: Sequence[str], weight: _Weight) -> int:
    """Return how many words match a value from ``place`` on; 0 if they are too few to recognize it."""
    rest = value.words[place:]
    differs = (number for number, (one, other) in enumerate(zip(rest, words, strict=False)) if one != other)
    length = next(differs, min(len(rest), len(words)))
    if length == len(value.words) and (length > 1 or words[0] not in _ORDINARY or weight is _Weight.CAPITAL):
        return length
    if not value.by_part or words[0] in _ORDINARY or words[length - 1] in _ORDINARY:
        return 0
    return length if length > 1 or weight else 0
