"""What an agent can know when its turn comes: what was said, what was seen, what it can look up.

In doubt it can: a good case that is taken for a bad one is lost, a bad one that is taken for good is found in play.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from pytest_crmeval.datasets.entities import CHOICES, DEFAULTS, TOOLS, makes_new
from pytest_crmeval.datasets.records import ConversationRecord, SeedData, TurnRecord
from pytest_crmeval.domain.calls import canonical
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.references import REFERENCE
from pytest_crmeval.domain.state import TABLES
from pytest_crmeval.scoring.mentions import Reading, read

ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ].*)?")
_WORD = re.compile(r"\w+")
_WHEN = re.compile(
    r"\b(?:today|tomorrow|tonight|yesterday|now|days?|weeks?|fortnight|months?|quarters?|years?|annual|q[1-4]"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec"
    r"|january|february|march|april|august|september|october|november|december|christmas|easter|\d+/\d+)\b"
)
"""Words of days that nobody has written out: in thirty days, by the end of May, on 3/31."""
_RECKONING = re.compile(
    r"\b(?:half|halve|double|triple|twice|dozen|hundred|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teen|total|sum|average|combined|together|difference|rest|remaining"
    r"|minus|plus|less|more|discount|same)\b|(?<!\d )(?<!\d)\b(?:thousand|million)\b"
)
"""Words of numbers that have to be understood or worked out, which is not for us to do."""
_FORMS = {
    "sent": ("send", "sends", "sending"),
    "won": ("win", "wins", "winning"),
    "lost": ("lose", "loses", "losing", "loss"),
    "inactive": ("deactivate", "deactivated", "deactivating"),
}
STEM = 4
"""Letters that forms of a word have in common: cancel and Canceled, negotiating and Negotiation."""
ENDING = 4
"""Letters by which they may differ, in texts."""
LONG = 5
"""Words of a text that may be told in other words, in part."""
MOST = 0.8

Row = Mapping[str, Any]


class Knowledge:
    """What can be known at one point of a conversation."""

    def __init__(self, seed: SeedData) -> None:
        """Know nothing yet of the rows that the CRM starts with."""
        self._seed = seed
        self._text = ""
        self._readings: list[Reading] = []
        self._unread: list[str] = []
        self._seen: list[Row] = []
        self._reached: list[Row] | None = None

    @cached_property
    def rows(self) -> Mapping[str, Mapping[str, Row]]:
        """The rows that the CRM starts with: entity -> id -> row, its id included."""
        tables = msgspec.structs.asdict(self._seed)
        return {
            entity: {str(name): {key: str(name), **row} for name, row in tables[entity.lower()].items()}
            for entity, (_, key) in TABLES.items()
        }

    def hear(self, utterance: str) -> None:
        """Take in what the user says."""
        self._text += f"{utterance.casefold()}\n"
        self._unread.append(utterance)
        self._reached = None

    def see(self, call: ToolCall) -> None:
        """Take in what a call brings to light: its own arguments, and rows of the entity that it is about."""
        if isinstance(call.arguments, Mapping):
            self._seen.append(call.arguments)
        if call.tool.startswith("summarize_"):
            self._text += "total\n"
        if not makes_new(call.tool) and (entity := TOOLS.get(call.tool)):
            self._seen += (row for row in self.rows[entity].values() if row not in self._seen)
        self._reached = None

    def tells(self, name: str, value: object, *, lookups: bool = True) -> bool:
        """Whether the value of an argument can be known; ``lookups``: also by looking up what nobody asked for."""
        if isinstance(value, Mapping):
            return all(self.tells(key, item, lookups=lookups) for key, item in value.items())
        if isinstance(value, Sequence) and not isinstance(value, str):
            return all(self.tells(name, item, lookups=lookups) for item in value)
        if isinstance(value, bool) or value is None or name == "entity_type":
            return True  # whoever knows a record knows what it is
        rows = (lambda: self.reached) if lookups else (lambda: self._seen)
        if isinstance(value, int | float):
            return self._tells_number(value) or value in (known := _numbers(rows())) or self._reckons(value, known)
        text = REFERENCE.sub(" ", str(value)).strip()
        if not text or text.casefold() in self._text:
            return True
        if name in CHOICES:
            return self._tells_choice(text)
        if ID.fullmatch(text):
            return any(text.lower() in map(str, row.values()) for row in self.reached)
        return self._tells_text(text) or _in_rows(text, rows())

    @property
    def reached(self) -> Sequence[Row]:
        """The rows that were seen or can be looked up: by a word or a number of theirs, or by a row they belong to."""
        if self._reached is None:
            self._reached = [*self._seen, *self._found()]
        return self._reached

    def _found(self) -> Iterator[Row]:
        words = self._words | {word for row in self._seen for word in _row_words(row)}
        left = [row for rows in self.rows.values() for row in rows.values()]
        alone = {id(row) for rows in self.rows.values() if len(rows) == 1 for row in rows.values()}
        found = [row for row in left if id(row) in alone or row in self._seen or self._tells_of(row, words)]
        ids: set[str] = set()
        while found:
            yield from found
            ids |= {value for row in found for value in _ids(row)}
            left = [row for row in left if row not in found]
            found = [row for row in left if not ids.isdisjoint(_ids(row))]

    def _tells_of(self, row: Row, words: set[str]) -> bool:
        return not words.isdisjoint(_row_words(row)) or any(self._tells_number(number) for number in _numbers([row]))

    @property
    def _words(self) -> set[str]:
        return set(_words(self._text))

    def _heard(self) -> list[Reading]:
        self._readings += map(read, self._unread)
        self._unread.clear()
        return self._readings

    def _tells_number(self, number: float) -> bool:
        return any(reading.says(number) for reading in self._heard())

    def _reckons(self, number: float, known: set[float]) -> bool:
        """Whether a number can be worked out of two that are known, one of them said: 10 % more, 5,000 less."""
        if _RECKONING.search(self._text):
            return True
        said = {figure.value for reading in self._heard() for figure in reading.figures}
        return any(abs(number - result) < 1 for a in said | known for b in said for result in _results(a, b))

    def _tells_choice(self, choice: str) -> bool:
        if any(choice == value for row in self._seen for value in row.values()):
            return True
        said = self._words
        parts = _words(choice.casefold())
        return any(_stem(part, word) >= STEM for part in parts for word in said) or any(
            form in said for part in parts for form in (part, *_FORMS.get(part, ()))
        )

    def _tells_text(self, text: str) -> bool:
        if _EMAIL.fullmatch(text):
            return False  # to the letter, and those have been looked for
        if _ISO.fullmatch(text):
            return bool(_WHEN.search(self._text)) or any(reading.says(text) for reading in self._heard())
        if any(reading.says(text) for reading in self._heard()):
            return True
        plain = _squeezed(text)
        if len(plain) > STEM and plain in _squeezed(self._text):
            return True
        said = self._words | {word for row in self._seen for word in _row_words(row)}
        words = _words(text.casefold())
        told = sum(word in said or any(_alike(word, other) for other in said) for word in words)
        return told == len(words) or (len(words) >= LONG and told >= MOST * len(words))


def walk(record: ConversationRecord) -> Iterator[tuple[TurnRecord, ToolCall, Knowledge]]:
    """Yield each turn, its call in the one form, and what can be known when it is to be made."""
    knowledge = Knowledge(record.initial_entities.seed_data)
    for turn in record.turns:
        knowledge.hear(turn.user_utterance)
        call = canonical(ToolCall(tool=turn.expected_tool, arguments=turn.expected_args))
        yield turn, call, knowledge
        if turn.expect_success:
            knowledge.see(call)


def untold(turn: TurnRecord, call: ToolCall, knowledge: Knowledge, *, lookups: bool) -> Iterator[tuple[str, Any]]:
    """Yield the arguments of a turn that nobody can know, and that are not implied."""
    for name, value in call.arguments.items():
        known = name in turn.implied_args or DEFAULTS.get((call.tool, name)) == value
        if not known and not knowledge.tells(name, value, lookups=lookups):
            yield name, value


def _words(text: str) -> list[str]:
    return _WORD.findall(text.replace("'", "").replace("\u2019", "").replace("_", " "))


def _squeezed(text: str) -> str:
    """Return nothing but letters and digits: healthcare is health care, +1 (555) 0100 is 15550100."""
    return "".join(_words(text.casefold()))


def _stem(one: str, other: str) -> int:
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))


def _alike(one: str, other: str) -> bool:
    same = _stem(one, other)
    return same >= STEM and (same == min(len(one), len(other)) or max(len(one), len(other)) - same <= ENDING)


def _results(a: float, b: float) -> Iterator[float]:
    yield from (a + b, a - b, a * b, a * (1 + b / 100), a * (1 - b / 100), a * b / 100)
    if b:
        yield a / b


def _numbers(rows: Iterable[Row]) -> set[float]:
    return {
        float(value)
        for row in rows
        for value in row.values()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _ids(row: Row) -> set[str]:
    return {value.lower() for value in row.values() if isinstance(value, str) and ID.fullmatch(value)}


def _row_words(row: Row) -> Iterator[str]:
    for value in row.values():
        if isinstance(value, str):
            yield from _words(value.casefold())


def _in_rows(text: str, rows: Iterable[Row]) -> bool:
    wanted = text.casefold()
    return any(isinstance(value, str) and wanted in value.casefold() for row in rows for value in row.values())
