"""The records of a trial turn by turn: as they were before each turn, as they are after it, and what was written."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from pytest_crmeval.domain.calls import writes
from pytest_crmeval.domain.messages import ToolCall, ToolResult
from pytest_crmeval.domain.references import Answered
from pytest_crmeval.domain.state import CLOCKS, TABLES, Row, State
from pytest_crmeval.scoring.grounds import kind_of, rows_in

Key = tuple[str, str]
"""Name of a record's id column, and the id."""
Rows = Mapping[Key, Row]

ENTITY_KEYS: Mapping[str, str] = {entity: key for entity, (_, key) in TABLES.items()}
NAMED = frozenset({"client_id", "company_id", "contact_id", "opportunity_id", "document_id"})
"""Kinds of records that have names; the others are known by their values."""
_WORD = re.compile(r"[\w\u0300-\u036f]+(?:['\u2018\u2019\u02bb\u02bc.&-][\w\u0300-\u036f]+)*")
LONG = 120
"""Letters of a text that is not worth remembering."""
SHORTEST = 4
"""Letters of a first word that may stand for a whole name: 'Paperboy' for 'Paperboy Press'."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One successful call that may have changed a record."""

    tool: str
    key: Key
    old: Row | None
    new: Row | None
    arguments: Row = field(default_factory=dict)

    @property
    def changed(self) -> Row:
        """The columns that have another value now, with it; of a new record all that have one."""
        if self.new is None:
            return {}
        if self.old is None and not self.created:
            return {
                name: value for name, value in self.new.items() if name in self.arguments and not name.endswith("_id")
            }
        old = self.old or {}
        pairs = ((name, value) for name, value in self.new.items() if name not in CLOCKS)
        return {name: value for name, value in pairs if value is not None and old.get(name) != value}

    @property
    def created(self) -> bool:
        """Whether the record is new."""
        return self.old is None and self.tool.startswith(("create_", "add_", "upload_", "clone_", "ensure_"))

    @property
    def deeds(self) -> Iterator[str]:
        """Yield what kinds of deed this was."""
        if self.new is None:
            yield "deleted"
        elif self.created:
            yield "created"
        elif changed := self.changed:
            yield "changed"
            stage, status = str(changed.get("stage", "")), changed.get("status")
            if stage.startswith("Closed"):
                yield "closed"
            if status in ("Sent", "Canceled", "Approved"):
                yield str(status).lower()
            if status == "Active" or (stage and str((self.old or {}).get("stage", "")).startswith("Closed")):
                yield "reopened"


@dataclass(slots=True)
class Records:
    """The records as they are known after each turn in turn: call ``play`` once per turn."""

    rows: dict[Key, Row] = field(default_factory=dict)
    """As they are now; one that was deleted is as it was last."""
    before: Rows = field(default_factory=dict)
    """As they were before the turn."""
    past: dict[Key, list[Row]] = field(default_factory=dict)
    """Every version that there was."""
    gone: set[Key] = field(default_factory=set)
    written: list[Write] = field(default_factory=list)
    """What the turn has written; a call that left everything as it was is not among it."""
    shown: list[Sequence[Key]] = field(default_factory=list)
    """The records that each call of the turn has returned."""
    known: frozenset[str] = frozenset()
    parents: dict[Key, list[Key]] = field(default_factory=dict)
    earlier: set[Key] = field(default_factory=set)
    """Records that earlier turns have shown or written."""

    @classmethod
    def seeded(cls, state: State, ids: Collection[str] = ()) -> "Records":
        """Return the records that a trial starts with; ``ids`` are known to be there, whatever they say."""
        records = cls(known=frozenset(ids))
        for rows in state.values():
            for row in rows:
                records._keep(key_of(row), row)
        return records

    def play(self, calls: Answered) -> None:
        """Take in what the calls of the next turn returned."""
        self.before = dict(self.rows)
        self.earlier |= {*self.own()}
        self.written, self.shown = [], []
        for call, result in calls:
            if result.refused:
                ids = set(map(str, call.arguments.values()))
                self.shown.append([key for key in self.rows if key[1] in ids])
                continue
            keys = []
            for row in rows_in(result.value):
                key = key_of(row)
                keys.append(key)
                write = Write(tool=call.tool, key=key, old=self.rows.get(key), new=row, arguments=call.arguments)
                found = call.tool.startswith("ensure_") and key[1] in self.known
                if writes(call.tool) and write.changed and not found:
                    self.written.append(write)
                self._keep(key, row)
            self.shown.append(keys)
            if call.tool.startswith("delete_"):
                self._delete(call, result)

    def own(self) -> list[Key]:
        """Return the records that the turn has written, or else shown."""
        written = [write.key for write in self.written]
        return written or [key for keys in self.shown for key in keys]

    def involved(self, keys: Collection[Key] = ()) -> set[Key]:
        """Return the records that the turn has written, or ``keys``, and those that they belong to."""
        found = {*keys} or {write.key for write in self.written}
        while more := {parent for key in found for parent in self.above(key)} - found:
            found |= more
        return found

    def related(self, key: Key) -> Iterator[Key]:
        """Yield a record, those it belongs to, and those that belong to it; of the latter also theirs."""
        above = [*self.above(key)]
        for parent in [*above]:
            above += [each for each in self.above(parent) if each not in above]
        below = [each for each in self.rows if each != key and key in self.above(each)]
        below += [each for each in self.rows if any(link in below for link in self.above(each))]
        beside = [each for each in self.rows if each[0] not in NAMED and {*above}.intersection(self.above(each))]
        yield from dict.fromkeys([key, *above, *below, *beside])

    def above(self, key: Key) -> Sequence[Key]:
        """Return the records that one belongs to."""
        if key not in self.parents:
            self.parents[key] = list(self._above(self.rows[key]))
        return self.parents[key]

    def versions(self, key: Key) -> Sequence[Row]:
        """Return a record as it was at any time before now, the latest first."""
        return self.past[key][::-1]

    def _above(self, row: Row) -> Iterator[Key]:
        own = kind_of(row)
        for name, value in row.items():
            if name.endswith("_id") and name not in (own, "entity_id") and (name, value) in self.rows:
                yield name, str(value)
        key = ENTITY_KEYS.get(str(row.get("entity_type")), "")
        if (key, row.get("entity_id")) in self.rows:
            yield key, str(row["entity_id"])

    def _keep(self, key: Key, row: Row) -> None:
        if self.rows.get(key) != row:
            self.parents.clear()
            self.past.setdefault(key, []).append(row)
        self.rows[key] = row

    def _delete(self, call: ToolCall, result: ToolResult) -> None:
        del result
        ids = set(map(str, call.arguments.values()))
        for key in [key for key in self.rows if key[1] in ids]:
            self.written.append(Write(tool=call.tool, key=key, old=self.rows[key], new=None))
            self.gone.add(key)
            self.gone |= {each for each in self.rows if each[0] == "quote_id" and key in self.above(each)}


def key_of(row: Row) -> Key:
    """Return what a row is known by."""
    kind = kind_of(row)
    return kind, str(row[kind])


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word of a text in small letters without accents, and where it stands."""

    text: str
    start: int
    end: int
    raw: str


def words_in(text: str) -> Sequence[Word]:
    """Return the words of a text; whose something is, is left out of them."""
    return _remembered(text) if len(text) < LONG else _words(text)


def _words(text: str) -> Sequence[Word]:
    found = []
    for match in _WORD.finditer(text):
        raw = re.sub(r"['\u2019]s$", "", match[0])
        found.append(Word(text=plain(raw), start=match.start(), end=match.start() + len(raw), raw=raw))
    return found


_remembered = lru_cache(8192)(_words)


def plain(text: str) -> str:
    """Return a word in small letters, without accents and apostrophes."""
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return re.sub(r"['\u2018\u2019\u02bb\u02bc]", "", text).casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A name in a text, and the records that are called so."""

    keys: frozenset[Key]
    start: int
    end: int
    first: int
    """Which word of the text it begins with."""
    last: int


Names = Mapping[str, Sequence[tuple[tuple[str, ...], frozenset[Key]]]]
"""First word -> the names that begin with it, the longest first, and whose they are."""


def names_of_records(records: Records) -> Names:
    """Return what the records are called, or were; also by the beginnings of names that mean only few."""
    found: dict[tuple[str, ...], set[Key]] = {}
    for key, rows in records.past.items():
        for row in rows:
            for name in _called(row):
                found.setdefault(tuple(word.text for word in words_in(name)), set()).add(key)
    by_first: dict[str, list[tuple[tuple[str, ...], frozenset[Key]]]] = {}
    for words, keys in found.items():
        if words and sum(map(len, words)) >= SHORTEST:
            by_first.setdefault(words[0], []).append((words, frozenset(keys)))
    return {first: sorted(names, key=lambda name: -len(name[0])) for first, names in by_first.items()}


def _called(row: Row) -> Iterator[str]:
    if row.get("first_name") and row.get("last_name"):
        yield f"{row['first_name']} {row['last_name']}"
        yield from (str(row["first_name"]), str(row["last_name"]))
    name = str(row.get("name") or row.get("file_name") or "")
    if name:
        yield name
    words = name.split()
    if row.get("client_id") and "name" in row:
        yield from (" ".join(words[:length]) for length in range(2, len(words)))
    if len(words) > 1 and "opportunity_id" not in row:
        yield from (" ".join(words[:length]) for length in range(1, len(words)) if len(words[0]) >= SHORTEST)


def named_in(words: Sequence[Word], names: Names) -> list[Named]:
    """Return the names in a text, the longest where there are several."""
    found, place = [], 0
    while place < len(words):
        for name, keys in names.get(words[place].text, ()):
            last = place + len(name)
            spelled = last - place > 1 or "." in name[0] or not words[place].raw[:1].islower()
            if spelled and tuple(word.text for word in words[place:last]) == name:
                found.append(
                    Named(keys=keys, start=words[place].start, end=words[last - 1].end, first=place, last=last - 1)
                )
                place = last - 1
                break
        place += 1
    return found


def texts_of(rows: Iterable[Row]) -> Iterator[str]:
    """Yield everything that rows say in words."""
    for row in rows:
        for name, value in row.items():
            if isinstance(value, str) and not name.endswith("_id"):
                yield value
            elif isinstance(value, Sequence) and not isinstance(value, str):
                yield from map(str, value)
