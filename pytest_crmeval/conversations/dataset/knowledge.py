"""Values that an agent can know in a turn: from the user, from earlier results, or from a search.

When in doubt, a value counts as known: a valid case that is rejected is lost, an invalid one that is accepted is found
when it is played.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, TypeGuard

import msgspec

from pytest_crmeval.conversations.dataset.crm_schema import CHOICES, DEFAULTS, TOOLS, makes_new
from pytest_crmeval.conversations.dataset.records import ConversationRecord, SeedData, TurnRecord
from pytest_crmeval.conversations.references import REFERENCE
from pytest_crmeval.conversations.scorers.mentions import Reading, read
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.state import TABLES
from pytest_crmeval.domain.trouble import Change
from pytest_crmeval.ports.crm_calls import canonical, writes

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
"""Words for dates that are not written out: in thirty days, by the end of May, on 3/31."""
_CALCULATION = re.compile(
    r"\b(?:half|halve|double|triple|twice|dozen|hundred|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teen|total|sum|average|combined|difference|remaining|rest|grand|thirds?|quarters?|fifths?|tenths?|mil|each|apiece)\b"
    r"|(?<!\d)(?<!\d )\b(?:thousand|million)\b"
)
"""Words for numbers that have to be computed, which we don't attempt."""
_STEP = re.compile(r"\b(?:nearest|next|multiple of|full) (?P<step>\d{1,4})\b|\bnearest unit\b")
"""What an amount is rounded to."""
_COPY = re.compile(r"\b(?:same|like|copy|duplicate|identical)\b")
_NUMERAL = re.compile(r"\d{1,15}(?:\.\d{1,15})?")
_PHONE = re.compile(r"[\d\s()+./-]{7,}")
_AT = re.compile(r"\s+at\s+")
_DOT = re.compile(r"\s+dot\s+")
OPERANDS = 8
"""The most numbers whose sums are compared with a value."""
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
"""Letters that forms of a word share: cancel and Canceled, negotiating and Negotiation."""
ENDING = 4
"""Letters by which such forms may differ, in texts."""
LONG_TEXT = 5
"""Words of a text from which on only a part of them has to be known."""
ENOUGH_WORDS = 0.8
"""That part."""
CENT = 0.01
LOCAL = 7
"""Digits of a telephone number without country and area code."""
HUGE = 10**15

Row = Mapping[str, Any]
Rows = Callable[[], Sequence[Row]]
Leaf = str | int | float | bool | None


class Knowledge:
    """All values that can be known at one point of a conversation."""

    def __init__(self, seed: SeedData) -> None:
        """Start with no utterance and no call, on a CRM with the rows of ``seed``."""
        self._seed = seed
        self._text = ""
        self._rules = ""
        self._last = self._lately = ""
        """The user's words in this turn, and in this one and the one before."""
        self._said: set[str] = set()
        self._said_stems: set[str] = set()
        self._shown_words: set[str] = set()
        self._shown_unread: list[Row] = []
        """Rows whose words are not among ``_shown_words`` yet."""
        self._readings: list[Reading] = []
        self._unread: list[str] = []
        self._seen: list[Row] = []
        self._written: list[Row] = []
        """The arguments of earlier writes."""
        self._entities: set[str] = set()
        self._summarized = False
        self._reachable: Mapping[str, Sequence[Row]] | None = None

    @cached_property
    def rows(self) -> Mapping[str, Mapping[str, Row]]:
        """The rows that the CRM starts with: entity -> id -> row, its id included."""
        tables = msgspec.structs.asdict(self._seed)
        return {
            entity: {str(name): {key: str(name), **row} for name, row in tables[entity.lower()].items()}
            for entity, (_, key) in TABLES.items()
        }

    def add_rules(self, rules: str) -> None:
        """Add the rules of the company."""
        self.add_utterance(rules)
        self._rules = rules.casefold()

    def add_utterance(self, utterance: str) -> None:
        """Add an utterance of the user."""
        text = utterance.casefold()
        self._lately = f"{self._last}\n{text}"
        self._last = text
        self._text += f"{text}\n{_AT.sub('@', _DOT.sub('.', text))}\n"
        words = _words(text)
        self._said.update(words)
        self._said_stems.update(word[:STEM] for word in words)
        self._unread.append(utterance)
        self._reachable = None

    def add_call(self, call: ToolCall) -> None:
        """Add the values that a call writes, and the rows of its entity."""
        brought = [call.arguments] if writes(call.tool) else []  # the filters of a search are part of the label
        self._written += brought
        self._summarized |= call.tool.startswith("summarize_")
        entity = TOOLS.get(call.tool, "")
        if entity and entity not in self._entities and not makes_new(call.tool):
            self._entities.add(entity)
            brought += self.rows[entity].values()
        self._seen += brought
        self._shown_unread += brought
        self._reachable = None

    def seen_rows(self) -> Sequence[Row]:
        """Return the rows that earlier calls showed."""
        return self._seen

    def reachable_rows(self, *, without: str = "") -> Sequence[Row]:
        """Return the rows that were shown or can be looked up; of the latter, ``without`` those of one entity."""
        if self._reachable is None:
            self._reachable = self._find_reachable()
        return [*self._seen, *(row for entity, rows in self._reachable.items() if entity != without for row in rows)]

    def rows_with_ids(self, call: ToolCall) -> Sequence[Row]:
        """Return the rows that a call names by their ids; these ids have to be known as well."""
        ids = {value for value in call.arguments.values() if isinstance(value, str)}
        seeded = [rows[each] for rows in self.rows.values() for each in sorted(ids & rows.keys())]
        return seeded + [row for row in self._written if not ids.isdisjoint(map(str, row.values()))]

    def asks_for_copy(self) -> bool:
        """Whether the user wants a record to be like another one."""
        return bool(_COPY.search(self._text))

    def includes(self, name: str, value: Any, rows: Rows) -> bool:  # noqa: ANN401 (JSON)
        """Whether the value of an argument can be known: the user said it, or it can be derived from ``rows``."""
        return all(self._includes(name, leaf, rows) for name, leaf in leaves(name, value))

    def _includes(self, name: str, value: Leaf, rows: Rows) -> bool:
        if isinstance(value, bool) or value is None or name == "entity_type":
            return True  # an agent that knows a record also knows its entity
        if _is_number(value):
            return self._says_number(value) or self._can_compute(value, _numbers(rows()))
        text = REFERENCE.sub(" ", str(value)).strip()
        if not text or text.casefold() in self._text:
            return True
        if ID.fullmatch(text):
            return self._finds_id(text.lower())
        if name in CHOICES:
            return self._says_choice(text, rows() if self.asks_for_copy() else self._seen)
        wanted = text.casefold()
        return self._says_text(text) or any(
            isinstance(value, str) and wanted in value.casefold() for row in rows() for value in row.values()
        )

    def _finds_id(self, identity: str) -> bool:
        for rows in self.rows.values():
            if (row := rows.get(identity)) and (len(rows) == 1 or self._is_said(row)):
                return True  # the common case, which needs no other rows
        return any(identity in _ids(row) for row in self.reachable_rows())

    def _is_said(self, row: Row) -> bool:
        """Whether the user has mentioned a row, or one that it belongs to."""
        if self._mentions(row, self._said_stems):
            return True
        owners = (rows[each] for each in _ids(row) for rows in self.rows.values() if each in rows)
        return any(self._mentions(owner, self._said_stems) for owner in owners if owner is not row)

    def _shown(self) -> set[str]:
        self._shown_words |= _words_of(self._shown_unread)
        self._shown_unread.clear()
        return self._shown_words

    def _find_reachable(self) -> Mapping[str, Sequence[Row]]:
        """Return the rows that can be found: by a word or a number, by a row they belong to, or as the only row."""
        stems = self._said_stems | {word[:STEM] for word in self._shown()}
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
                if len(self.rows[entity]) == 1 or not ids.isdisjoint(_ids(row)) or self._mentions(row, stems):
                    reached.setdefault(entity, []).append(row)
                    ids |= _ids(row)
                else:
                    rest.append((entity, row))
            left = rest
        return reached

    def _mentions(self, row: Row, stems: set[str]) -> bool:
        by_word = any(word[:STEM] in stems for word in _words_of([row]))
        return by_word or any(map(self._says_number, _numbers([row]))) or any(each in self._text for each in _ids(row))

    def _readings_so_far(self) -> list[Reading]:
        self._readings += map(read, self._unread)
        self._unread.clear()
        return self._readings

    def _says_number(self, number: float) -> bool:
        return any(reading.says(number) for reading in self._readings_so_far())

    def _can_compute(self, number: float, known: set[float]) -> bool:
        """Whether a number is known or can be computed from two, one of which the user said: 10 % more, 5,000 less."""
        if number in known or self._summarized or _CALCULATION.search(self._lately):
            return True
        said = {figure.value for reading in self._readings_so_far() for figure in reading.figures}
        sums = {0.0}
        for operand in sorted(said)[:OPERANDS]:
            sums |= {round(total + operand, 2) for total in sums}
        if number in sums:
            return True
        steps = [int(match["step"] or 1) for match in _STEP.finditer(self._text)]
        near = max(steps, default=CENT)
        return any(abs(number - result) < near for a in said | known for b in said for result in _results(a, b))

    def _says_choice(self, choice: str, rows: Sequence[Row]) -> bool:
        if any(choice == value for row in rows for value in row.values()):
            return True
        parts = _words(choice.casefold())
        forms = {form for part in parts for form in (part, *_FORMS.get(part, ()))}
        return not forms.isdisjoint(self._said) or any(
            _stem(part, word) >= STEM for part in parts for word in self._said
        )

    def _says_text(self, text: str) -> bool:
        if _EMAIL.fullmatch(text):
            return False  # must be said exactly, which was checked before
        if _ISO.fullmatch(text):
            about_days = _WHEN.search(f"{self._rules}\n{self._lately}")
            return bool(about_days) or any(reading.says(text) for reading in self._readings_so_far())
        plain = _squeezed(text)[-LOCAL if _PHONE.fullmatch(text) else 0 :]
        if len(plain) > STEM and plain in _squeezed(self._text):
            return True
        if _NUMERAL.fullmatch(text) and self._says_number(float(text)):
            return True
        said = self._said | self._shown()
        words = _words(text.casefold())
        known = sum(
            word in said
            or any(_alike(word, other) for other in said)
            or bool(_NUMERAL.fullmatch(word) and self._says_number(float(word)))
            for word in words
        )
        return known == len(words) or (len(words) >= LONG_TEXT and known >= ENOUGH_WORDS * len(words))


def expected_calls(record: ConversationRecord) -> Iterator[tuple[TurnRecord, ToolCall, Knowledge]]:
    """Yield each expected call in canonical form, with its turn and what an agent knows when it makes it."""
    knowledge = Knowledge(record.initial_entities.seed_data)
    if record.policy:
        knowledge.add_rules(record.policy)
    for turn in record.turns:
        for change in record.trouble:
            if isinstance(change, Change) and change.turn == turn.turn_id:
                knowledge.add_call(ToolCall(tool=change.tool, arguments=change.arguments))
        knowledge.add_utterance(turn.user_utterance)
        for place, call in enumerate(map(canonical, turn.calls)):
            yield turn, call, knowledge
            if turn.expect_success or place:
                knowledge.add_call(call)


def unknown_arguments(turn: TurnRecord, call: ToolCall, knowledge: Knowledge) -> Iterator[tuple[str, Any]]:
    """Yield the arguments of a call that an agent can't know and that are not implied.

    Values to be written may be looked up, but not in other rows of the same entity if the call creates one: the e-mail
    address of a new contact does not come from another contact.
    """
    rows = knowledge.seen_rows
    own = knowledge.rows_with_ids(call) if writes(call.tool) else []
    if writes(call.tool):
        entity = TOOLS.get(call.tool, "") if makes_new(call.tool) and not knowledge.asks_for_copy() else ""
        rows = partial(knowledge.reachable_rows, without=entity)
    for name, value in call.arguments.items():
        known = name in turn.implied_args or DEFAULTS.get((call.tool, name)) == value
        if not known and not knowledge.includes(name, value, lambda: own) and not knowledge.includes(name, value, rows):
            yield name, value


def leaves(name: str, value: Any) -> Iterator[tuple[str, Leaf]]:  # noqa: ANN401 (JSON)
    """Yield the scalars in an argument at any depth, each with its nearest name."""
    left = [(name, value)]
    while left:
        name, value = left.pop()
        if isinstance(value, dict):  # values from JSON files: every mapping is a dict, every sequence a list
            left += reversed(value.items())
        elif isinstance(value, list):
            left += ((name, item) for item in reversed(value))
        else:
            yield name, value


def _words(text: str) -> list[str]:
    """Return the words of a text in lower case; Lumen's is Lumen, O'Brien is obrien."""
    return _WORD.findall(_GENITIVE.sub("", text.replace("\u2019", "'")).replace("'", "").replace("_", " "))


def _squeezed(text: str) -> str:
    """Return only the letters and digits: healthcare is health care, +1 (555) 0100 is 15550100."""
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
        yield from (a / b, 100 * a / b)


def _numbers(rows: Iterable[Row]) -> set[float]:
    found = set[float]()
    for row in rows:
        found.update(float(value) for value in row.values() if _is_number(value))
        if text := row.get("notes") or row.get("content"):
            found.update(figure.value for figure in read(str(text)).figures)
    return found


def _is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a number of a size that people say; larger ones are treated as text."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < HUGE


def _ids(row: Row) -> set[str]:
    return {value.lower() for value in row.values() if isinstance(value, str) and ID.fullmatch(value)}


def _words_of(rows: Iterable[Row]) -> set[str]:
    texts = (value for row in rows for value in row.values() if isinstance(value, str) and not ID.fullmatch(value))
    return {word for text in texts for word in _words(text.casefold())}
