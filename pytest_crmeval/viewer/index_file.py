"""The index of `crmeval view` on disk: a cache of what the files of runs say, which may be deleted at any time."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

import msgspec

from pytest_crmeval.journal.ids import INDEXES

_T = TypeVar("_T")
NAME = "view-1.sqlite3"
"""The number is the version of the tables: a newer version starts with an empty index."""
_TABLES = """
create table if not exists runs (folder text primary key, stamp text not null, entry blob not null);
create table if not exists changes (
    after text not null, before text not null, stamps text not null, contrasts blob not null,
    primary key (after, before)
);
create table if not exists dialogues (
    id integer primary key autoincrement, folder text not null, path text not null, version integer not null,
    suite text not null, subject text not null, case_name text not null, trial integer not null, verdict text not null,
    unique (folder, path)
);
create table if not exists searched (folder text primary key, stamp text not null);
create virtual table if not exists words using fts5(text, content='', tokenize='unicode61');
"""


class IndexFile:
    """One connection to the index, used by all threads in turn."""

    def __init__(self, reports: Path) -> None:
        self._lock = RLock()
        self.trouble = ""
        """Why the index is only in memory; empty if it is on disk."""
        try:
            self._connection = _opened(reports)
        except (OSError, sqlite3.Error) as error:  # a folder that can't be written, or a file that is not an index
            self.trouble = f"the index is not kept: {reports / INDEXES / NAME}: {error}"
            self._connection = sqlite3.connect(":memory:", check_same_thread=False)
            self._connection.executescript(_TABLES)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection; what is written is committed at the end, or rolled back after an error."""
        with self._lock, self._connection:
            yield self._connection

    def rows(self, query: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self._lock:
            return self._connection.execute(query, tuple(values)).fetchall()

    def entries(self, shape: type[_T]) -> dict[str, tuple[str, _T]]:
        """Return what is known of each run, with the stamp of the files that it comes from."""
        decoder = msgspec.json.Decoder(shape)
        found = self.rows("select folder, stamp, entry from runs")
        return {folder: (stamp, decoder.decode(entry)) for folder, stamp, entry in found}

    def keep(self, changed: Mapping[str, tuple[str, object]], gone: Iterable[str]) -> None:
        """Store what was read, and forget runs that no longer exist."""
        rows = [(folder, stamp, msgspec.json.encode(entry)) for folder, (stamp, entry) in changed.items()]
        with self.writing() as connection:
            connection.executemany("insert or replace into runs values (?, ?, ?)", rows)
            for folder in gone:
                connection.execute("delete from runs where folder = ?", [folder])
                connection.execute("delete from changes where after = ? or before = ?", [folder, folder])
                connection.execute("delete from dialogues where folder = ?", [folder])
                connection.execute("delete from searched where folder = ?", [folder])


def _opened(reports: Path) -> sqlite3.Connection:
    """Open the index, or start a new one if the file is damaged."""
    path = reports / INDEXES / NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _prepared(path)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):  # locked, or can't be written
            raise
        path.unlink()
        return _prepared(path)


def _prepared(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=10.0, check_same_thread=False)
    try:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = off")  # it can be made again
        connection.executescript(_TABLES)
        connection.execute("select count(*) from runs").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection
