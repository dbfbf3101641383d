"""Everything that the reply of one turn can be judged by."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pytest_crmeval.conversations.scorers.mentions import LOCAL, Figure, Reading, read, same_day, same_phone, words_of
from pytest_crmeval.conversations.scorers.records import Key, Records, spelled
from pytest_crmeval.conversations.scorers.statements import Mention, Sentence
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolError
from pytest_crmeval.domain.state import Row


@dataclass(kw_only=True)
class TurnFacts:
    """Everything that the reply of one turn can be judged by."""

    records: Records
    user: str
    """What the user says in the turn."""
    answers: str
    """What the CRM says in words: why it refuses something, what it cut off."""
    heard: Sequence[str]
    """What the user and the CRM have said in the dialogue."""
    base: Sequence[Key]
    """The records that the turn is about: those it has written, or else shown."""
    facts: Sequence[Json] = ()
    """What the user asked for, as the CRM has it."""
    today: str = ""
    errors: Sequence[ToolError] = ()
    """How the CRM refused calls of the turn."""
    several: bool = False
    """Whether the user wants several things at once."""
    reads: bool = False
    """Whether the user wants to know something."""
    topic: frozenset[Key] = field(default=frozenset())
    """The records that were named last."""
    said: Sequence[Sentence] = ()
    """The sentences of the reply."""
    subject: str = ""
    """The kind of record that the sentence before was about."""

    def follow(self, sentence: Sentence) -> None:
        """Remember what a sentence was about, for the next one."""
        if sentence.names:
            self.topic = frozenset().union(*(name.keys for name in sentence.names))
        heads = [kind for _, kind, led in sentence.anchors if not led]
        self.subject = heads[-1] if heads else self.subject

    def __post_init__(self) -> None:
        """Start with the kind of record that the turn is about."""
        kinds = {kind for kind, _ in self.base}
        self.subject = self.subject or (min(kinds) if len(kinds) == 1 else "")

    @cached_property
    def asked(self) -> Reading:
        """What can be read in the words of the user, of the CRM, and on the calendar."""
        return read(f"{self.user} {self.answers} {self.today}")

    @cached_property
    def _texts(self) -> Sequence[str]:
        rows = (row for versions in self.records.past.values() for row in versions)
        cells = {
            cell for row in rows for name, cell in row.items() if isinstance(cell, str) and not name.endswith("_id")
        }
        return [*self.heard, *cells]

    @cached_property
    def _words(self) -> Sequence[str]:
        return [words_of(text) for text in self._texts]

    @cached_property
    def _vocabulary(self) -> set[str]:
        return {word for text in self._texts for word in spelled(text)}

    def has_heard(self, said: str) -> bool:
        """Whether the dialogue or a record has these words side by side."""
        sought = words_of(said)
        return any(sought in words for words in self._words)

    def knows_word(self, word: str) -> bool:
        """Whether the dialogue or a record has a word."""
        return word in self._vocabulary or word.removesuffix("s") in self._vocabulary

    def knows_id(self, said: str) -> bool:
        """Whether a record has an id that begins so, or the dialogue has it."""
        rows = (row for versions in self.records.past.values() for row in versions)
        ids = (str(cell) for row in rows for name, cell in row.items() if name.endswith("_id"))
        return any(each.startswith(said) for each in ids) or any(said in text.lower() for text in self.heard)

    @cached_property
    def involved(self) -> frozenset[Key]:
        """The records that the turn is about, and those that they belong to."""
        return frozenset(self.base).union(*map(self.records.up, self.base))

    @cached_property
    def written(self) -> frozenset[Key]:
        """The records that the turn has written, and those that they belong to."""
        keys = [write.key for write in self.records.written]
        return frozenset(keys).union(*map(self.records.up, keys))

    def family(self, keys: Iterable[Key]) -> set[Key]:
        """Return records, those that they belong to, and everything that belongs to any of these."""
        found = {*keys}
        if not found:
            return found
        found |= {parent for key in keys for parent in self.records.up(key)}
        return found | {each for each in self.records.rows if self.records.up(each) & found}


def holds(row: Row, columns: Sequence[str], mention: Mention) -> bool:
    """Whether a row has a value in one of the columns."""
    return any(same(mention.value, row.get(column)) for column in columns if row.get(column) is not None)


def same(value: object, cell: object) -> bool:
    """Whether a value is what a cell holds."""
    if isinstance(value, Figure):
        return isinstance(cell, int | float) and value.means(cell)
    if isinstance(value, frozenset):
        return any(same_day(one, day) for one in value for days in read(str(cell)).dates for day in days)
    text, own = str(value).casefold(), str(cell).casefold()
    if text.isdigit() and len(text) >= LOCAL:
        return same_phone(text, re.sub(r"\D", "", own))
    return own in (text, f"{text}.0") or words_of(text) == words_of(own)
