"""The table of facts: every record as it is, as it was before each turn, and what the turn has written."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from pytest_crmeval.conversations.columns import CLOCKS
from pytest_crmeval.conversations.scorers.groundedness import kind_of, rows_in
from pytest_crmeval.conversations.scorers.lexicon import COLUMNS, NOUNS
from pytest_crmeval.domain.state import TABLES, Row, State
from pytest_crmeval.domain.transcript import Answered
from pytest_crmeval.ports.crm_calls import writes

Key = tuple[str, str]
"""The column of a record's id, and the id."""
_ENTITIES: Mapping[str, str] = {entity: key for entity, (_, key) in TABLES.items()}
_LINKS = ("client_id", "opportunity_id", "entity_type", "entity_id")
_WORD = re.compile(r"[^\W_][\w\u0300-\u036f]*(?:['\u2018\u2019\u02bb\u02bc][\w\u0300-\u036f]+)*|&")
_APOSTROPHE = re.compile(r"['\u2018\u2019\u02bb\u02bc]")
_ENDINGS = {"ll": "will", "d": "would"}
SHORT = 3
"""Letters of the shortest word that may stand for a whole name."""


_WORDED = ("name", "file_name", "first_name", "last_name", *COLUMNS["text"])
"""The columns whose words may be spoken of."""


class Word(NamedTuple):
    """A word in small letters without accents and apostrophes, and where it stands."""

    text: str
    start: int
    end: int
    capital: bool


@lru_cache(8192)
def words_in(text: str) -> Sequence[Word]:
    """Return the words of a text; whose something is, is left out of them."""
    return [
        Word(plain(match[0]), match.start(), match.end(), match[0][0].isupper() or match[0][0].isdigit())
        for match in _WORD.finditer(text.replace("_", " "))
    ]


@lru_cache(8192)
def plain(word: str) -> str:
    """Return a word in small letters, without accents and apostrophes; 'I'll' is 'will', "'s" is left out."""
    if not word.isascii():
        word = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    word, *rest = _APOSTROPHE.split(word.casefold())
    if rest and len(rest) == 1 and rest[0] in _ENDINGS:
        return _ENDINGS[rest[0]]
    return "and" if word == "&" else word + "".join(rest if rest != ["s"] else ())


@dataclass(frozen=True, kw_only=True)
class Write:
    """What a turn has made of one record."""

    key: Key
    old: Row | None
    new: Row | None

    @cached_property
    def changed(self) -> Row:
        """The columns that have another value now, with it."""
        old = self.old or {}
        return {n: v for n, v in (self.new or {}).items() if n not in CLOCKS and v is not None and old.get(n) != v}

    @cached_property
    def columns(self) -> frozenset[str]:
        """The columns that have another value now, or none."""
        names = {*(self.old or ()), *(self.new or ())} - CLOCKS
        return frozenset(n for n in names if (self.old or {}).get(n) != (self.new or {}).get(n))

    @cached_property
    def deeds(self) -> frozenset[str]:
        """The kinds of deed that this was."""
        if self.new is None or self.old is None:
            return frozenset({"deleted" if self.new is None else "created"})
        stage, status = str(self.changed.get("stage", "")), self.changed.get("status")
        was = (self.old.get("stage") or "", self.old.get("status"))
        found = {"changed", *({"closed"} if stage.startswith("Closed") else ())}
        found |= {str(status).lower()} if status in ("Sent", "Canceled", "Approved") else set()
        reopened = status == "Active" or (stage and str(was[0]).startswith("Closed")) or was[1] == "Canceled"
        return frozenset(found | ({"reopened"} if reopened else set()))


class Phrase(NamedTuple):
    """Words that a record is called by, or that one of its columns holds."""

    words: tuple[str, ...]
    column: str = ""
    """The column that holds them; empty if they name the record."""
    whole: bool = True
    """Whether this is all of a name."""


class PhraseIndex:
    """The names and texts of records by their first word; a record is added when one of its words is looked up."""

    def __init__(self) -> None:
        self.words: set[str] = set()
        """All words of names and texts."""
        self._waiting: dict[str, list[tuple[Key, Row]]] = {}
        """Word -> the records with it that may not be added yet."""
        self._added: set[int] = set()
        self._found: dict[str, dict[Phrase, set[Key]]] = {}
        self._names: dict[str, dict[tuple[str, ...], Key]] = {}
        """The names of clients and companies by their first word."""

    def add(self, key: Key, row: Row) -> None:
        """Let a record wait until one of its words is looked up."""
        texts = (str(row[column]) for column in _WORDED if row.get(column))
        words = {word for text in texts for word in spelled(text)}
        self.words |= words
        for word in words:
            self._waiting.setdefault(word, []).append((key, row))

    def _add_waiting(self, word: str) -> None:
        """Add the records with a word; with clients and companies those whose names begin alike."""
        for key, row in self._waiting.pop(word, ()):
            if id(row) not in self._added:
                self._added.add(id(row))
                self._add_row(key, row)
                if key[0] in ("client_id", "company_id") and (name := spelled(str(row["name"]))):
                    self._add_waiting(name[0])

    def _add_row(self, key: Key, row: Row) -> None:
        """Add what a record is called, and what it says in its columns of words."""
        for phrase in filter(lambda phrase: phrase.words, _phrases(row)):
            self._add(phrase, key)
            if phrase.whole and not phrase.column and key[0] in ("client_id", "company_id"):
                self._add_endings(phrase.words, key)

    def get(self, first: str) -> Iterable[Phrase]:
        """Return the phrases that begin with a word."""
        if first in self._waiting:
            self._add_waiting(first)
        return self._found.get(first, ())

    def match(self, words: Sequence[Word], place: int) -> tuple[Phrase, frozenset[Key]] | None:
        """Return the longest phrase that stands at a place, and its records; a part of a name begins with a capital."""
        fits = [
            phrase for phrase in self.get(words[place].text) if _fits(phrase, words[place : place + len(phrase.words)])
        ]
        if not fits:
            return None
        best = min(fits, key=lambda phrase: (-len(phrase.words), not phrase.whole, phrase.column))
        return best, frozenset(self._found[best.words[0]][best])

    def _add(self, phrase: Phrase, key: Key) -> None:
        self._found.setdefault(phrase.words[0], {}).setdefault(phrase, set()).add(key)

    def _add_endings(self, words: tuple[str, ...], key: Key) -> None:
        """Add words that distinguish records with the same beginning: Metro for Freight Metro beside Freight North."""
        names = self._names.setdefault(words[0], {})
        for other, its in names.items():
            shared = next((n for n, (a, b) in enumerate(zip(words, other, strict=False)) if a != b), 0)
            for length in range(1, shared + 1) if other != words else ():
                for name, whose in ((words, key), (other, its)):
                    if len(name) > length:
                        self._add(Phrase(name[length:], whole=False), whose)
        names[words] = key


def _fits(phrase: Phrase, there: Sequence[Word]) -> bool:
    """Whether words are a name as it is written."""
    if tuple(word.text for word in there) != phrase.words:
        return False
    if len(there) == 1:
        return there[0].capital and there[0].text not in NOUNS
    return there[0].capital or (phrase.whole and not phrase.column)


@lru_cache(8192)
def spelled(text: str) -> tuple[str, ...]:
    """Return the words of a text without their places."""
    return tuple(map(plain, _WORD.findall(text.replace("_", " "))))


@dataclass(slots=True)
class Records:
    """The records of a trial; call ``play`` once per turn."""

    rows: dict[Key, Row] = field(default_factory=dict)
    """As they are now; one that was deleted is as it was last."""
    past: dict[Key, list[Row]] = field(default_factory=dict)
    """Every version that there was, the latest last."""
    before: dict[Key, Row] = field(default_factory=dict)
    """As they were before the turn has written them."""
    gone: set[Key] = field(default_factory=set)
    written: list[Write] = field(default_factory=list)
    shown: list[Sequence[Key]] = field(default_factory=list)
    """The records that each read of the turn has returned."""
    known: frozenset[str] = frozenset()
    sought: list[Key] = field(default_factory=list)
    """The records by which the reads of the turn have searched."""
    cloned: list[Key] = field(default_factory=list)
    """The records that the turn has copied."""
    phrases: PhraseIndex = field(default_factory=PhraseIndex)
    texts: set[str] = field(default_factory=set)
    """What the cells of all versions say, except numbers."""
    _words: set[str] = field(default_factory=set)
    _unread: set[str] = field(default_factory=set)
    """Texts whose words are not among ``_words`` yet."""
    _links: dict[Key, frozenset[Key]] = field(default_factory=dict)

    @classmethod
    def seeded(cls, state: State, ids: Collection[str] = ()) -> "Records":
        """Return the records that a trial starts with; ``ids`` are known to be there, whatever they say."""
        records = cls(known=frozenset(ids))
        for row in (row for rows in state.values() for row in rows):
            records._keep(row)
        return records

    def play(self, calls: Answered) -> None:
        """Take in what the calls of the next turn returned."""
        self.before, self.written, self.shown, self.sought, self.cloned = dict(self.rows), [], [], [], []
        touched: dict[Key, Row | None] = {}
        for call, result in calls:
            arguments = call.arguments if isinstance(call.arguments, Mapping) else {}
            ids = {value for value in arguments.values() if isinstance(value, str)}
            if result.refused:
                self.shown.append([key for key in self.rows if key[1] in ids])
                continue
            keys = [self._keep(row) for row in rows_in(result.value)]
            if call.tool.startswith("delete_"):
                keys = [key for key in self.rows if key[1] in ids]
                self.gone |= {*keys, *(each for each in self.rows if self.up(each) & {*keys} and each[0] == "quote_id")}
            if call.tool.startswith("clone_"):
                self.cloned += [key for key in self.rows if key[1] in ids]
            if writes(call.tool):
                ensured = {key for key in keys if call.tool.startswith("ensure_") and key[1] in self.known}
                changed = [key for key in keys if key not in touched and (key in self.before or key not in ensured)]
                creates = call.tool.startswith(("create_", "add_", "upload_", "clone_", "ensure_"))
                given = (
                    {}
                    if creates
                    else {n: v for key in changed for n, v in self.rows[key].items() if n not in arguments}
                )
                touched |= {key: self.before.get(key, given or None) for key in changed}
            else:
                self.shown.append(keys)
                self.before |= {key: self.rows[key] for key in keys if key not in touched}  # others may have changed it
                self.sought += [key for key in self.rows if key[1] in ids and key not in keys]
        for key, old in touched.items():
            write = Write(key=key, old=old, new=None if key in self.gone else self.rows[key])
            self.written += [write] if write.columns else []

    def up(self, key: Key) -> frozenset[Key]:
        """Return the records that one belongs to, and those that these belong to."""
        if key not in self._links:
            parents = {*self._parents(self.rows[key])} - {key}
            self._links[key] = frozenset(parents.union(*(self.up(parent) for parent in parents)))
        return self._links[key]

    def down(self, key: Key) -> Iterator[Key]:
        """Yield the records that belong to one."""
        return (each for each in self.rows if key in self.up(each))

    @property
    def vocabulary(self) -> set[str]:
        """All words in cells."""
        while self._unread:
            self._words.update(spelled(self._unread.pop()))
        return self._words

    def label(self, key: Key) -> str:
        """Return what a record is called in a reason."""
        row = self.rows[key]
        name = " ".join(str(row[n]) for n in ("name", "file_name", "first_name", "last_name") if row.get(n))
        return name or f"{key[0].removesuffix('_id')} {row.get('amount') or row.get('value') or key[1]}"

    def _parents(self, row: Row) -> Iterator[Key]:
        for name, value in row.items():
            if name.endswith("_id") and (name, value) in self.rows:
                yield name, str(value)
        if (kind := _ENTITIES.get(str(row.get("entity_type")), "")) and (kind, row.get("entity_id")) in self.rows:
            yield kind, str(row["entity_id"])

    def _keep(self, row: Row) -> Key:
        key = key_of(row)
        known = self.rows.get(key)
        if known != row:
            if known is None or any(known.get(name) != row.get(name) for name in _LINKS):
                self._links.clear()
            self.past.setdefault(key, []).append(row)
            self.phrases.add(key, row)
            said = {str(cell) for cell in row.values() if not isinstance(cell, int | float)} - self.texts
            self.texts |= said
            self._unread |= said
        self.rows[key] = row
        return key


def key_of(row: Row) -> Key:
    """Return the key of a row."""
    kind = kind_of(row)
    return kind, str(row[kind])


def _phrases(row: Row) -> Iterator[Phrase]:
    """Yield what a record is called, in whole and in part, and the texts of its columns."""
    for column in COLUMNS["text"]:
        if isinstance(text := row.get(column), str):
            yield Phrase(spelled(text), column)
    first, last = str(row.get("first_name") or ""), str(row.get("last_name") or "")
    yield Phrase(spelled(f"{first} {last}"))
    yield from (Phrase(spelled(part), whole=False) for part in (first, last) if len(part) >= SHORT)
    name = spelled(str(row.get("name") or row.get("file_name") or ""))
    yield Phrase(name)
    least = 2 if "opportunity_id" in row else len(name) if "file_name" in row else 1
    for length in range(least, len(name)):
        if len(name[0]) >= SHORT and name[length - 1] != "and":
            yield Phrase(name[:length], whole=False)
