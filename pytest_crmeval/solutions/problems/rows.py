"""Files of problems: what is in them is known by its place, and read when it is needed."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, Any, Protocol
from weakref import finalize

import msgspec

from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.domain.json_lines import lines
from pytest_crmeval.solutions.problems.records import COLUMNS

PARQUET = ".parquet"
LONGEST = 2**30
"""Bytes of one problem."""
_FEW = 16
"""Rows that are in memory at once."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a problem is in its file."""

    line: int
    """Line, or row, counted from 1."""
    start: int
    """Offset of a line; group of a row."""
    size: int
    """Of a line; place in the group of a row."""


class Rows(Protocol):
    """A file of problems."""

    path: Path

    def all(self) -> Iterator[tuple[Place, bytes]]:
        """Yield each problem as JSON, with its place; DatasetError if that can't be."""
        ...

    def read(self, place: Place) -> bytes:
        """Return one of them again."""
        ...


def rows_of(path: Path) -> Rows:
    """Return how a file is read: by its ending."""
    return ParquetRows(path) if path.suffix.lower() == PARQUET else LineRows(path)


class LineRows:
    """JSON Lines."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def all(self) -> Iterator[tuple[Place, bytes]]:
        """Yield the lines."""
        for line in lines(self.path, LONGEST):
            if line.content is None:
                raise DatasetError(f"{self.path}:{line.number}: the line is too long to be one problem")
            yield Place(line.number, line.offset, len(line.content)), line.content

    def read(self, place: Place) -> bytes:
        """Return one line."""
        with self.path.open("rb") as file:
            file.seek(place.start)
            return file.readline().removeprefix(b"\xef\xbb\xbf").strip()


class ParquetRows:
    """A table, whose groups of rows are laid out in a file of our own when one of them is needed.

    To decode a whole group for each problem is slow, and to keep it takes as much memory as the problems have.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._table = opened(path)
        self._columns = [name for name in COLUMNS if name in self._table.schema_arrow.names]
        self._lock = Lock()
        self._laid_out: dict[int, list[tuple[int, int]]] = {}
        if "official_tests" not in self._columns:
            raise DatasetError(
                f"{path}: there is no column official_tests; {', '.join(self._table.schema_arrow.names)}"
            )

    @cached_property
    def _spool(self) -> IO[bytes]:
        spool = TemporaryFile()  # noqa: SIM115 (it lives as long as we do, and has no name)
        finalize(self, spool.close)
        return spool

    def all(self) -> Iterator[tuple[Place, bytes]]:
        """Yield the rows without what makes them big."""
        few = [name for name in self._columns if name not in {"official_tests", "examples", "generated_checker"}]
        number = 0
        for group in range(self._table.num_row_groups):
            for place, row in enumerate(self._rows(group, few)):
                number += 1
                yield Place(number, group, place), msgspec.json.encode({"official_tests": None, **row})

    def read(self, place: Place) -> bytes:
        """Return one row."""
        with self._lock:
            if place.start not in self._laid_out:
                self._laid_out[place.start] = list(self._lay_out(place.start))
            offset, size = self._laid_out[place.start][place.size]
            self._spool.seek(offset)
            return self._spool.read(size)

    def _lay_out(self, group: int) -> Iterator[tuple[int, int]]:
        end = self._spool.seek(0, 2)
        for row in self._rows(group, self._columns):
            size = self._spool.write(msgspec.json.encode(row))
            yield end, size
            end += size

    def _rows(self, group: int, columns: list[str]) -> Iterator[dict[str, Any]]:
        for batch in self._table.iter_batches(batch_size=_FEW, row_groups=[group], columns=columns):
            yield from batch.to_pylist()


def opened(path: Path) -> Any:  # noqa: ANN401 (pyarrow has no types)
    """Return a parquet file; DatasetError if it is none, or nobody can read it here."""
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        message = f"{path}: to read parquet, pyarrow is needed: pip install 'pytest-crmeval[parquet]'"
        raise DatasetError(message) from error
    try:
        return ParquetFile(path, memory_map=True)
    except (OSError, ArrowInvalid) as error:
        raise DatasetError(f"{path}: this is no parquet file that can be read: {error}") from error
