"""The results of a solution file: a JSON line for each of its lines, on disk as soon as it is judged.

The first line tells what was judged by what; the last one that it came to its end, and how. Between them they stand in
the order of the file, unless whoever wrote them was killed.
"""

import json
import os
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Self

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.solution import SolutionOutcome, Ungradable
from pytest_crmeval.journal.solutions.records import Count, Record, is_final, record_of

SCHEMA = "crmeval.solutions/1"
_CHUNK = 2**20
LONGEST = 64 * 2**20
"""Bytes of a line; more is nothing that we have written."""


class ResultsError(Exception):
    """Results that can't be read; the message says which and why."""


class Results:
    """Results as they are written; for one thread."""

    def __init__(self, path: Path, file: BinaryIO, lines: int = 0) -> None:
        self.path = path
        self.lines = lines
        """How many the solution file has, empty ones included."""
        self.count = Count()
        self._file = file
        self._places = array("Q")
        """Line in the solution file, offset and length, of each record."""

    @classmethod
    def begin(cls, path: Path, head: JsonObject, kept: "Earlier | None" = None) -> Self:
        """Write the first line, and what is kept of earlier results; whatever was there is there until that is done."""
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".jsonl.part")
        results = cls(path, draft.open("wb"), int(str(head.get("lines", 0))))
        try:
            with _naming(path):
                results._write({"schema": SCHEMA, **head})
                for record in kept.records() if kept else ():
                    results._add(record)
                results._file.flush()
                draft.replace(path)
        except OSError:
            with suppress(OSError):  # the disk is still full
                results._file.close()
            raise
        return results

    def known(self) -> set[int]:
        """Return the lines of the solution file of which there is something to tell."""
        return set(self._places[::3])

    def tell(self, judged: SolutionOutcome | Ungradable) -> None:
        """Write how a line was judged; it is on disk when this returns, as far as another process can see."""
        with _naming(self.path):
            self._add(record_of(judged))
            self._file.flush()

    def end(self, facts: JsonObject) -> None:
        """Bring all in order, write the last line, and let go."""
        with _naming(self.path):
            self._file.close()
            if not self._is_ordered():
                self._sort()
            with self.path.open("ab") as file:
                file.write(_line({"end": facts}))

    def close(self) -> None:
        """Let go; without an end, results are not complete."""
        with _naming(self.path):
            self._file.close()

    def _add(self, record: Record) -> None:
        offset = self._file.tell()
        self._places.extend((record["line"], offset, self._write(record)))
        self.count.take(record)

    def _write(self, record: JsonObject) -> int:
        return self._file.write(_line(record))

    def _ordered(self) -> list[tuple[int, int, int]]:
        numbers = iter(self._places)
        return sorted(zip(numbers, numbers, numbers, strict=True))

    def _is_ordered(self) -> bool:
        lines = self._places[::3]
        return all(one <= other for one, other in pairwise(lines))

    def _sort(self) -> None:
        draft = self.path.with_suffix(".jsonl.part")
        with self.path.open("rb") as file, draft.open("wb") as sorted_file:
            sorted_file.write(file.readline())
            for _, offset, length in self._ordered():
                file.seek(offset)
                sorted_file.write(file.read(length))
        draft.replace(self.path)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Add the file name to OSErrors: those of a write don't have it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


class Earlier:
    """Results that were written before, by whom ever; a torn last line is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            self.head = _read(file.readline(LONGEST)) or {}
            self.written = os.fstat(file.fileno()).st_mtime_ns
        if self.head.get("schema") != SCHEMA:
            raise ResultsError(f"{path}: not the results of a solution file")

    @property
    def fingerprint(self) -> str:
        """What changes when anything changes that a verdict depends on."""
        return str(self.head.get("fingerprint", ""))

    @property
    def progress(self) -> str:
        """How far an evaluation is that somebody is at; nothing if it came to its end."""
        if self.end() is not None:
            return ""
        with self.path.open("rb") as file:
            judged = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(_CHUNK), b"")) - 1
        return (
            f"{self.head['checkpoint']} {self.path.stem.removeprefix('eval_')}: {judged} of {self.head['lines']} judged"
        )

    def records(self) -> Iterator[Record]:
        """Yield what need not be judged again, each line once."""
        seen: set[int] = set()
        for record in self.lines():
            if "line" in record and is_final(record) and record["line"] not in seen:
                seen.add(record["line"])
                yield record

    def lines(self) -> Iterator[Record]:
        """Yield all that comes after the first line, up to where it is torn."""
        with self.path.open("rb") as file:
            file.readline(LONGEST)
            for line in file:
                record = _read(line)
                if record is None:
                    return
                yield record

    def end(self) -> Record | None:
        """Return what the last line tells; None if the evaluation has not come to its end."""
        found = (_read(_last_line(self.path)) or {}).get("end")
        return found if isinstance(found, dict) else None


def earlier(path: Path) -> Earlier | None:
    """Return the results at a place; None if there are none that can be read."""
    try:
        return Earlier(path)
    except (OSError, ResultsError):
        return None


def _last_line(path: Path, most: int = 65_536) -> bytes:
    """Return the last line, if it is whole; an end is never longer."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - most))
        tail = file.read()
    return tail[tail.rfind(b"\n", 0, -1) + 1 :]


def _read(line: bytes) -> Record | None:
    """Return what a line tells; None if it is torn, or nothing that we have written."""
    try:
        record = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _line(record: JsonObject) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
