"""The results of a solution file: a JSON line for each of its lines, written as soon as it is graded.

The first line describes the evaluation, the last one how it ended. The lines between them are in the
order of the solution file, unless the writer was killed.
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
from pytest_crmeval.journal.solutions.outcomes import SolutionOutcome, Ungradable
from pytest_crmeval.journal.solutions.records import Count, Record, is_final, record_of

SCHEMA = "crmeval.solutions/1"
_CHUNK = 2**20
LONGEST = 64 * 2**20
"""Maximum length of a line in bytes; we write no longer ones."""


class ResultsError(Exception):
    """Results can't be read; the message names the file and the reason."""


class ResultsWriter:
    """Writes results; not thread-safe."""

    def __init__(self, path: Path, file: BinaryIO, lines: int = 0) -> None:
        self.path = path
        self.lines = lines
        """Number of lines of the solution file, including empty ones."""
        self.count = Count()
        self._file = file
        self._places = array("Q")
        """Line in the solution file, offset and length of each record."""

    @classmethod
    def begin(cls, path: Path, head: JsonObject, kept: "EarlierResults | None" = None) -> Self:
        """Write the first line and the records that are reused; until then, an existing file stays unchanged."""
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".jsonl.part")
        results = cls(path, draft.open("wb"), int(str(head.get("lines", 0))))
        try:
            with _naming(path):
                results._write({"schema": SCHEMA, **head})
                for record in kept.records() if kept else ():
                    results._append(record)
                results._file.flush()
                draft.replace(path)
        except OSError:
            with suppress(OSError):  # the disk is still full
                results._file.close()
            raise
        return results

    def known(self) -> set[int]:
        """Return the numbers of the lines that have a record."""
        return set(self._places[::3])

    def add(self, judged: SolutionOutcome | Ungradable) -> None:
        """Write the outcome of a line; other processes can read it when this returns."""
        with _naming(self.path):
            self._append(record_of(judged))
            self._file.flush()

    def end(self, facts: JsonObject) -> None:
        """Sort the records, write the last line, and close the file."""
        with _naming(self.path):
            self._file.close()
            if not all(one <= other for one, other in pairwise(self._places[::3])):
                self._sort()
            with self.path.open("ab") as file:
                file.write(_line({"end": facts}))

    def close(self) -> None:
        """Close the file; without ``end``, the results are incomplete."""
        with _naming(self.path):
            self._file.close()

    def _append(self, record: Record) -> None:
        offset = self._file.tell()
        self._places.extend((record["line"], offset, self._write(record)))
        self.count.take(record)

    def _write(self, record: JsonObject) -> int:
        return self._file.write(_line(record))

    def _sort(self) -> None:
        numbers = iter(self._places)
        ordered = sorted(zip(numbers, numbers, numbers, strict=True))
        draft = self.path.with_suffix(".jsonl.part")
        with self.path.open("rb") as file, draft.open("wb") as sorted_file:
            sorted_file.write(file.readline())
            for _, offset, length in ordered:
                file.seek(offset)
                sorted_file.write(file.read(length))
        draft.replace(self.path)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Add the file name to an OSError: errors of a write don't have it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


class EarlierResults:
    """Results that were written before, by any run; an incomplete last line is ignored."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            self.head = _read(file.readline(LONGEST)) or {}
            self.written = os.fstat(file.fileno()).st_mtime_ns
        if self.head.get("schema") != SCHEMA:
            raise ResultsError(f"{path}: not the results of a solution file")

    @property
    def fingerprint(self) -> str:
        """A digest of everything that a verdict depends on."""
        return str(self.head.get("fingerprint", ""))

    @property
    def progress(self) -> str:
        """The progress of the evaluation as text; empty if it is complete."""
        if self.end() is not None:
            return ""
        with self.path.open("rb") as file:
            judged = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(_CHUNK), b"")) - 1
        return (
            f"{self.head['checkpoint']} {self.path.stem.removeprefix('eval_')}: {judged} of {self.head['lines']} graded"
        )

    def records(self) -> Iterator[Record]:
        """Yield the records of lines that need not be graded again, each line once."""
        seen: set[int] = set()
        for record in self.lines():
            if "line" in record and is_final(record) and record["line"] not in seen:
                seen.add(record["line"])
                yield record

    def lines(self) -> Iterator[Record]:
        """Yield all records after the first line, up to an incomplete one."""
        with self.path.open("rb") as file:
            file.readline(LONGEST)
            for line in file:
                record = _read(line)
                if record is None:
                    return
                yield record

    def end(self) -> Record | None:
        """Return the facts of the last line; None if the evaluation is not complete."""
        found = (_read(_last_line(self.path)) or {}).get("end")
        return found if isinstance(found, dict) else None


def earlier_results(path: Path) -> EarlierResults | None:
    """Return the results at a path; None if there are no readable ones."""
    try:
        return EarlierResults(path)
    except (OSError, ResultsError):
        return None


def _last_line(path: Path, most: int = 65_536) -> bytes:
    """Return the last line, if it is not longer than ``most`` bytes, as that of a complete evaluation."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - most))
        tail = file.read()
    return tail[tail.rfind(b"\n", 0, -1) + 1 :]


def _read(line: bytes) -> Record | None:
    """Return the record of a line; None if it is incomplete or invalid."""
    try:
        record = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _line(record: JsonObject) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
