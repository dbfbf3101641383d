"""What an agent can know when its turn comes: what was said, what was seen, what it can look up.

In doubt it can: a good case that is taken for a bad one is lost, a bad one that is taken for good is found in play.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, TypeGuard

import msgspec

from pytest_crmeval.conversations.dataset.entities import CHOICES, DEFAULTS, TOOLS, makes_new
from pytest_crmeval.conversations.dataset.records import ConversationRecord, SeedData, TurnRecord
from pytest_crmeval.conversations.scorers.mentions import Reading, read
from pytest_crmeval.domain.calls import canonical, writes
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.references import REFERENCE
from pytest_crmeval.domain.state import TABLES

ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ].*)?")
_WORD = re.compile(r"\w+")
_GENITIVE = re.compile(r"(?<=\w)'s\b")
_WHEN = re.compile(
    r"\b(?:today|tomorrow|tonight|yesterday|days?|weeks?|fortnight|months?|quarters?|years?|annual|q[1-4]"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|tues?|wed|thur?s?|fri|sat|sun)\.|eo[mqy]|h[12]|\d+(?:st|nd|rd|th)"
    r"|jan|feb|mar|apr|(?:by|in|of|early|mid|late|end) may|june?|july?|aug|sept?|oct|nov|dec"
    r"|january|february|march|april|august|september|october|november|december|christmas|easter|\d+/\d+)\b"
)
"""Words of days that nobody has written out: in thirty days, by the end of May, on 3/31."""
_RECKONING = re.compile(
    r"\b(?:half|halve|double|triple|twice|dozen|hundred|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teen|total|sum|average|combined|difference|remaining|rest|grand|thirds?|quarters?|fifths?|tenths?|mil|each|apiece)\b"
    r"|(?<!\d)(?<!\d )\b(?:thousand|million)\b"
)
"""Words of numbers that have to be understood or worked out, which is not for us to do."""
_LIKENESS = re.compile(r"\b(?:same|like|copy|duplicate|identical)\b")
_NUMERAL = re.compile(r"\d{1,15}(?:\.\d{1,15})?")
_PHONE = re.compile(r"[\d\s()+./-]{7,}")
_AT = re.compile(r"\s+at\s+")
_DOT = re.compile(r"\s+dot\s+")
OPERANDS = 8
"""So many numbers are added up, to see whether they make another one."""
_FORMS = {
    "active": ("reactivate", "reactivated", "reactivating"),
    "approved": ("accept", "accepted", "accepts", "signed", "ok", "okay"),
    "rejected": ("declined", "declines", "refused", "down"),
    "canceled": ("void", "voided", "withdraw", "withdrawn"),
    "sent": ("send", "sends", "sending"),
    "won": ("win", "wins", "winning"),
    "lost": ("lose", "loses", "losing", "loss"),
    "inactive": ("active", "deactivate", "deactivated", "deactivating"),
}
STEM = 4
"""Letters that forms of a word have in common: cancel and Canceled, negotiating and Negotiation."""
ENDING = 4
"""Letters by which they may differ, in texts."""
LONG = 5
"""Words of a text that may be told in other words, in part."""
MOST = 0.8
CENT = 0.01
LOCAL = 7
"""Digits of a telephone number by which it is known to those who live there."""
HUGE = 10**15

Row = Mapping[str, Any]
Rows = Callable[[], Sequence[Row]]
Leaf = str | int | float | bool | None


class Knowledge:
    """What can be known at one point of a conversation."""

    def __init__(self, seed: SeedData) -> None:
        """Know nothing yet of the rows that the CRM starts with."""
        self._seed = seed
        self._text = ""
        self._last = self._lately = ""
        """What was said in this turn, and in this one and the one before."""
        self._said: set[str] = set()
        self._shown: set[str] = set()
        self._readings: list[Reading] = []
        self._unread: list[str] = []
        self._seen: list[Row] = []
        self._entities: set[str] = set()
        self._reckoned = False
        self._looked_up: Mapping[str, Sequence[Row]] | None = None

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
        text = utterance.casefold()
        self._lately = f"{self._last}\n{text}"
        self._last = text
        self._text += f"{text}\n{_AT.sub('@', _DOT.sub('.', text))}\n"
        self._said.update(_words(text))
        self._unread.append(utterance)
        self._looked_up = None

    def see(self, call: ToolCall) -> None:
        """Take in what a call brings to light: what it writes, and rows of the entity that it is about."""
        brought = [call.arguments] if writes(call.tool) else []  # what is looked for, only the label knows
        self._reckoned |= call.tool.startswith("summarize_")
        entity = TOOLS.get(call.tool, "")
        if entity and entity not in self._entities and not makes_new(call.tool):
            self._entities.add(entity)
            brought += self.rows[entity].values()
        self._seen += brought
        self._shown |= _words_of(brought)
        self._looked_up = None

    def seen(self) -> Sequence[Row]:
        """Return what earlier turns brought to light."""
        return self._seen

    def at_hand(self, *, but: str = "") -> Sequence[Row]:
        """Return what was seen and what can be looked up, ``but`` not that of one entity."""
        if self._looked_up is None:
            self._looked_up = self._look_up()
        return [*self._seen, *(row for entity, rows in self._looked_up.items() if entity != but for row in rows)]

    def likens(self) -> bool:
        """Whether the user wants something to be as something else is."""
        return bool(_LIKENESS.search(self._text))

    def tells(self, name: str, value: Any, rows: Rows) -> bool:  # noqa: ANN401 (JSON)
        """Whether the value of an argument can be known: it was said, or it can be made of what is in ``rows``."""
        return all(self._tells(name, leaf, rows) for name, leaf in leaves(name, value))

    def _tells(self, name: str, value: Leaf, rows: Rows) -> bool:
        if isinstance(value, bool) or value is None or name == "entity_type":
            return True  # whoever knows a record knows what it is
        if _is_number(value):
            return self._tells_number(value) or self._reckons(value, _numbers(rows()))
        text = REFERENCE.sub(" ", str(value)).strip()
        if not text or text.casefold() in self._text:
            return True
        if ID.fullmatch(text):
            return self._finds(text.lower())
        if name in CHOICES:
            return self._tells_choice(text, rows() if self.likens() else self._seen)
        return self._tells_text(text) or _in_rows(text, rows())

    def _finds(self, identity: str) -> bool:
        stems = self._stems()
        for rows in self.rows.values():
            if (row := rows.get(identity)) and (len(rows) == 1 or self._tells_of(row, stems)):
                return True  # the common case, without a look at all the others
        return any(identity in _ids(row) for row in self.at_hand())

    def _stems(self) -> set[str]:
        return {word[:STEM] for word in self._said | self._shown}

    def _look_up(self) -> Mapping[str, Sequence[Row]]:
        """Return the rows that can be found: by a word or a number, by a row they belong to, or as the only ones."""
        stems = self._stems()
        left = [
            (entity, row) for entity, rows in self.rows.items() if entity not in self._entities for row in rows.values()
        ]
        ids = {text for row in self._seen for text in _ids(row)}
        reached: dict[str, list[Row]] = {}
        count = -1
        while count != len(left):
            count = len(left)
            rest = []
            for entity, row in left:
                if len(self.rows[entity]) == 1 or not ids.isdisjoint(_ids(row)) or self._tells_of(row, stems):
                    reached.setdefault(entity, []).append(row)
                    ids |= _ids(row)
                else:
                    rest.append((entity, row))
            left = rest
        return reached

    def _tells_of(self, row: Row, stems: set[str]) -> bool:
        by_word = any(word[:STEM] in stems for word in _words_of([row]))
        return by_word or any(map(self._tells_number, _numbers([row]))) or any(each in self._text for each in _ids(row))

    def _heard(self) -> list[Reading]:
        self._readings += map(read, self._unread)
        self._unread.clear()
        return self._readings

    def _tells_number(self, number: float) -> bool:
        return any(reading.says(number) for reading in self._heard())

    def _reckons(self, number: float, known: set[float]) -> bool:
        """Whether a number is known or can be worked out of two, one of them said: 10 % more, 5,000 less."""
        if number in known or self._reckoned or _RECKONING.search(self._lately):
            return True
        said = {figure.value for reading in self._heard() for figure in reading.figures}
        if number in _sums(sorted(said)[:OPERANDS]):
            return True
        return any(abs(number - result) < CENT for a in said | known for b in said for result in _results(a, b))

    def _tells_choice(self, choice: str, rows: Sequence[Row]) -> bool:
        if any(choice == value for row in rows for value in row.values()):
            return True
        parts = _words(choice.casefold())
        forms = {form for part in parts for form in (part, *_FORMS.get(part, ()))}
        return not forms.isdisjoint(self._said) or any(
            _stem(part, word) >= STEM for part in parts for word in self._said
        )

    def _tells_text(self, text: str) -> bool:
        if _EMAIL.fullmatch(text):
            return False  # to the letter, and those have been looked for
        if _ISO.fullmatch(text):
            return bool(_WHEN.search(self._lately)) or any(reading.says(text) for reading in self._heard())
        plain = _squeezed(text)[-LOCAL if _PHONE.fullmatch(text) else 0 :]
        if len(plain) > STEM and plain in _squeezed(self._text):
            return True
        if _NUMERAL.fullmatch(text) and self._tells_number(float(text)):
            return True
        said = self._said | self._shown
        words = _words(text.casefold())
        told = sum(word in said or self._tells_word(word, said) for word in words)
        return told == len(words) or (len(words) >= LONG and told >= MOST * len(words))

    def _tells_word(self, word: str, said: set[str]) -> bool:
        return any(_alike(word, other) for other in said) or bool(
            _NUMERAL.fullmatch(word) and self._tells_number(float(word))
        )


def walk(record: ConversationRecord) -> Iterator[tuple[TurnRecord, ToolCall, Knowledge]]:
    """Yield each call that a turn expects, in the one form, and what can be known when it is to be made."""
    knowledge = Knowledge(record.initial_entities.seed_data)
    for turn in record.turns:
        knowledge.hear(turn.user_utterance)
        for place, call in enumerate(map(canonical, turn.calls)):
            yield turn, call, knowledge
            if turn.expect_success or place:
                knowledge.see(call)


def untold(turn: TurnRecord, call: ToolCall, knowledge: Knowledge) -> Iterator[tuple[str, Any]]:
    """Yield the arguments of a turn that nobody can know, and that are not implied.

    What is to be written may be looked up, but nobody looks at other people's e-mail addresses to make a new contact.
    """
    rows = knowledge.seen
    if writes(call.tool):
        entity = TOOLS.get(call.tool, "") if makes_new(call.tool) and not knowledge.likens() else ""
        rows = partial(knowledge.at_hand, but=entity)
    for name, value in call.arguments.items():
        known = name in turn.implied_args or DEFAULTS.get((call.tool, name)) == value
        if not known and not knowledge.tells(name, value, rows):
            yield name, value


def leaves(name: str, value: Any) -> Iterator[tuple[str, Leaf]]:  # noqa: ANN401 (JSON)
    """Yield what an argument is made of, each with its nearest name, however deep it is."""
    left = [(name, value)]
    while left:
        name, value = left.pop()
        if isinstance(value, dict):  # it comes from a JSON file: nothing else is a mapping, or a list
            left += reversed(value.items())
        elif isinstance(value, list):
            left += ((name, item) for item in reversed(value))
        else:
            yield name, value


def _words(text: str) -> list[str]:
    """Return the words of a text in small letters; Lumen's is Lumen, O'Brien is obrien."""
    return _WORD.findall(_GENITIVE.sub("", text.replace("\u2019", "'")).replace("'", "").replace("_", " "))


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


def _sums(numbers: Sequence[float]) -> set[float]:
    """Return what any of the numbers add up to."""
    sums = {0.0}
    for number in numbers:
        sums |= {round(total + number, 2) for total in sums}
    return sums


def _results(a: float, b: float) -> Iterator[float]:
    yield from (a + b, a - b, a * b, a * (1 + b / 100), a * (1 - b / 100), a * b / 100)
    if b:
        yield from (a / b, 100 * a / b)


def _numbers(rows: Iterable[Row]) -> set[float]:
    return {float(value) for row in rows for value in row.values() if _is_number(value)}


def _is_number(value: object) -> TypeGuard[float]:
    """Whether it is a number that one may say; what no float can hold is only a text."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < HUGE


def _ids(row: Row) -> set[str]:
    return {value.lower() for value in row.values() if isinstance(value, str) and ID.fullmatch(value)}


def _words_of(rows: Iterable[Row]) -> set[str]:
    texts = (value for row in rows for value in row.values() if isinstance(value, str) and not ID.fullmatch(value))
    return {word for text in texts for word in _words(text.casefold())}


def _in_rows(text: str, rows: Iterable[Row]) -> bool:
    wanted = text.casefold()
    return any(isinstance(value, str) and wanted in value.casefold() for row in rows for value in row.values())
