"""Search over the stored dialogues of all runs."""

import os
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from pytest_crmeval.domain.cutting import printable
from pytest_crmeval.domain.wire import parsed
from pytest_crmeval.journal.transcripts import FOLDER
from pytest_crmeval.viewer.index_file import IndexFile

SHOWN = 50
"""Results on a page."""
BATCH = 200
"""Dialogues that are read in one go, so that searches need not wait."""
AROUND = 90
"""Characters shown before and after the words that were found."""
_WORD = re.compile(r"\w+")


class _Message(msgspec.Struct, frozen=True):
    text: str = ""
    thoughts: str = ""
    calls: list[Any] = []
    results: list[Any] = []


class _Turn(msgspec.Struct, frozen=True):
    messages: list[_Message] = []


class _Score(msgspec.Struct, frozen=True):
    reason: str = ""


class _Record(msgspec.Struct, frozen=True):
    verdict: str
    reason: str = ""
    scores: list[_Score] = []


class _Document(msgspec.Struct, frozen=True):
    """A transcript that is not confidential: one that is has no ``record`` and no ``turns``."""

    suite: str
    subject: str
    case: str
    trial: int
    record: _Record
    turns: list[_Turn]

    def texts(self) -> Iterator[str]:
        """Yield everything that was said, called, returned and found wrong."""
        for message in (message for turn in self.turns for message in turn.messages):
            yield from (text for text in (message.text, message.thoughts) if text)
            yield from (" ".join(_words(value)) for value in (*message.calls, *message.results))
        yield from (text for text in (self.record.reason, *(score.reason for score in self.record.scores)) if text)


_DECODER = msgspec.json.Decoder(_Document)


_HIT = "select folder, path, suite, subject, case_name, trial, verdict"
_CHOICES = {
    "suite": "select distinct suite from dialogues order by 1",
    "subject": "select distinct subject from dialogues order by 1",
    "verdict": "select distinct verdict from dialogues order by 1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is searched for."""

    text: str = ""
    suite: str = ""
    subject: str = ""
    verdict: str = ""
    page: int = 0

    @property
    def words(self) -> Sequence[str]:
        """The words of the text; each must occur."""
        return _WORD.findall(self.text)

    @property
    def query(self) -> str:
        """The words as SQLite's full-text search has them; the last one may be the beginning of a word."""
        return " ".join(f'"{word}"' for word in self.words) + "*" if self.words else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A dialogue that was found."""

    run: str
    suite: str
    subject: str
    case: str
    trial: int
    verdict: str
    excerpt: Sequence[tuple[str, bool]]
    """Parts of the dialogue, and whether each was searched for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage:
    """A page of results."""

    hits: Sequence[Hit] = ()
    total: int = 0
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Suites, subjects and verdicts to choose from."""


class Search:
    """The words of all dialogues that are not confidential."""

    def __init__(self, index: IndexFile) -> None:
        self._index = index

    def is_current(self, folder: Path, stamp: str) -> bool:
        """Whether all dialogues of a run can be found."""
        return self._index.rows("select stamp from searched where folder = ?", [str(folder)]) == [(stamp,)]

    def read(self, folder: Path, stamp: str) -> Iterator[int]:
        """Read the new and changed dialogues of a run; yields after each batch how many are left."""
        known = dict(self._index.rows("select path, version from dialogues where folder = ?", [str(folder)]))
        there = dict(_files(folder / FOLDER))
        changed = [path for path, version in there.items() if known.get(path) != version]
        gone = [path for path in known if path not in there]
        for start in range(0, len(changed), BATCH):
            part = changed[start : start + BATCH]
            found = [(path, there[path], document) for path in part if (document := _read(folder / FOLDER / path))]
            with self._index.writing() as connection:
                _forget(connection, folder, part)
                for each in found:
                    _add(connection, folder, *each)
            yield len(changed) - start - len(part)
        with self._index.writing() as connection:
            _forget(connection, folder, gone)
            connection.execute("insert or replace into searched values (?, ?)", [str(folder), stamp])

    def find(self, wanted: Wanted) -> SearchPage:
        """Return a page of the dialogues that have all words, those read last first."""
        choices = {name: [value for (value,) in self._index.rows(query)] for name, query in _CHOICES.items()}
        if not wanted.query:
            return SearchPage(choices=choices)
        filters = {name: getattr(wanted, name) for name in choices if getattr(wanted, name)}
        narrowed = "".join(f" and dialogues.{name} = ?" for name in filters)
        source = f"from words join dialogues on dialogues.id = words.rowid where words match ?{narrowed}"
        values = [wanted.query, *filters.values()]
        ((total,),) = self._index.rows(f"select count(*) {source}", values)
        shown = f"{_HIT} {source} order by id desc limit ? offset ?"
        rows = self._index.rows(shown, [*values, SHOWN, wanted.page * SHOWN])
        return SearchPage(hits=[_hit(row, wanted.words) for row in rows], total=total, choices=choices)


def _hit(row: tuple[Any, ...], words: Sequence[str]) -> Hit:
    folder, path, suite, subject, case, trial, verdict = row
    document = _read(Path(folder) / FOLDER / path)
    return Hit(
        run=Path(folder).name,
        suite=suite,
        subject=subject,
        case=case,
        trial=trial,
        verdict=verdict,
        excerpt=_excerpt(list(document.texts()) if document else [], words),
    )


def _excerpt(texts: Sequence[str], words: Sequence[str]) -> Sequence[tuple[str, bool]]:
    """Return the surroundings of the words in the text that has most of them, in parts."""
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(word)}" for word in words), re.IGNORECASE)
    best = max(texts, key=lambda text: len({found.lower() for found in pattern.findall(text)}), default="")
    found = pattern.search(best)
    if found is None:
        return [(printable(best[: 2 * AROUND]), False)]
    start, end = max(0, found.start() - AROUND), found.end() + AROUND
    shown = f"{'… ' if start else ''}{best[start:end]}{' …' if end < len(best) else ''}"
    parts: list[tuple[str, bool]] = []
    place = 0
    for match in pattern.finditer(shown):
        parts += [(shown[place : match.start()], False), (match.group(), True)]
        place = match.end()
    return [(printable(text), marked) for text, marked in (*parts, (shown[place:], False)) if text]


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the transcripts in a folder: relative path, and a number that changes with the content."""
    pending = [""]
    while pending:
        place = pending.pop()
        try:
            with os.scandir(folder / place) as entries:
                for entry in entries:
                    name = f"{place}/{entry.name}".lstrip("/")
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(name)
                    elif name.endswith(".json") and entry.is_file(follow_symlinks=False):
                        yield name, entry.stat().st_mtime_ns
        except OSError:  # the run has no dialogues, or is being deleted
            continue


def _read(path: Path) -> _Document | None:
    """Return a transcript; None if it is confidential, damaged or gone."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    try:
        return _DECODER.decode(content)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass
    try:
        return msgspec.convert(parsed(content), _Document)  # half a surrogate pair, NaN
    except (ValueError, TypeError, RecursionError):
        return None


def _words(value: object) -> Iterator[str]:
    """Yield the names and values in a call or a result."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield str(name)
            yield from _words(item)
    elif isinstance(value, list):
        for item in value:
            yield from _words(item)
    elif value is not None:
        yield str(value)


def _forget(connection: sqlite3.Connection, folder: Path, paths: Sequence[str]) -> None:
    rows = [(str(folder), path) for path in paths]
    connection.executemany("delete from dialogues where folder = ? and path = ?", rows)


def _add(connection: sqlite3.Connection, folder: Path, path: str, version: int, document: _Document) -> None:
    place = (str(folder), path, version, document.trial)
    names = map(_stored, (document.suite, document.subject, document.case, document.record.verdict))
    added = connection.execute(
        "insert into dialogues (folder, path, version, trial, suite, subject, case_name, verdict) "
        "values (?, ?, ?, ?, ?, ?, ?, ?)",
        [*place, *names],
    )
    text = "\n".join(document.texts())
    connection.execute("insert into words (rowid, text) values (?, ?)", [added.lastrowid, _stored(text)])


def _stored(text: str) -> str:
    """Return a text that SQLite can store; half a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode()
