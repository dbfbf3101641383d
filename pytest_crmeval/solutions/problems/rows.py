"""Files of problems: the place of each problem is known, and it is read when it is needed."""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile
from threading import Lock
from typing import IO, Any, Protocol
from weakref import finalize

import msgspec

from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.solutions.json_lines import lines
from pytest_crmeval.solutions.problems.published import COLUMNS, FORMATS, format_of

PARQUET, GZIP, JSON = ".parquet", ".gz", ".json"
LONGEST = 2**30
"""Bytes of one problem."""
_FEW = 16
"""Rows that are in memory at once."""


@dataclass(frozen=True, slots=True)
class ProblemPlace:
    """Where a problem is in its file."""

    line: int
    """Line, or row, counted from 1."""
    start: int
    """Offset of a line; group of a row."""
    size: int
    """Of a line; place in the group of a row."""


class ProblemRows(Protocol):
    """A file of problems."""

    path: Path

    def all(self) -> Iterator[tuple[ProblemPlace, bytes]]:
        """Yield each problem as JSON, with its place; DatasetError if the file can't be read."""
        ...

    def read(self, place: ProblemPlace) -> bytes:
        """Return one problem as JSON."""
        ...


def rows_of(path: Path) -> ProblemRows:
    """Return how a file is read: by its ending."""
    if path.suffix.lower() == PARQUET:
        return ParquetRows(path)
    return UnpackedRows(path) if path.suffix.lower() in {GZIP, JSON} else LineRows(path)


class LineRows:
    """JSON Lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines = path
        """The file that is read; another one if ``path`` is packed."""

    def all(self) -> Iterator[tuple[ProblemPlace, bytes]]:
        """Yield the lines."""
        for line in lines(self._lines, LONGEST):
            if line.content is None:
                raise DatasetError(f"{self.path}:{line.number}: the line is too long to be one problem")
            yield ProblemPlace(line.number, line.offset, len(line.content)), line.content

    def read(self, place: ProblemPlace) -> bytes:
        """Return one line."""
        with self._lines.open("rb") as file:
            file.seek(place.start)
            return file.readline().removeprefix(b"\xef\xbb\xbf").strip()


class UnpackedRows(LineRows):
    """Compressed JSON Lines, or a JSON list: unpacked once into a temporary file of lines."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        spool = NamedTemporaryFile(prefix="crmeval-problems-", suffix=".jsonl")  # noqa: SIM115 (as long as this object)
        finalize(self, spool.close)
        self._lines = Path(spool.name)
        try:
            with path.open("rb") as file:
                packed: Iterable[bytes] = gzip.GzipFile(fileobj=file) if path.suffix.lower() == GZIP else file
                name = path.name.lower().removesuffix(GZIP)
                spool.writelines(_as_lines(packed) if name.endswith(JSON) else packed)
        except (gzip.BadGzipFile, EOFError, zlib.error, ValueError) as error:
            raise DatasetError(f"{path}: this can't be decompressed: {error}") from error
        spool.flush()


def _as_lines(packed: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the elements of a JSON list; a file may also have lines, whatever its name is."""
    content = b"".join(packed)
    if not content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        yield content
        return
    found = json.loads(content)
    for each in found:
        yield json.dumps(each).encode() + b"\n"


class ParquetRows:
    """A table; a group of rows is copied to a temporary file when one of its rows is needed.

    Decoding a whole group for each problem would be slow, and keeping it would take too much memory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._table = opened(path)
        self._columns = [name for name in COLUMNS if name in self._table.schema_arrow.names]
        self._lock = Lock()
        self._laid_out: dict[int, list[tuple[int, int]]] = {}
        if format_of(self._columns) is None:
            known = " or ".join(" and ".join(names) for names in FORMATS)
            raise DatasetError(f"{path}: none of the known formats; a table of problems has the columns {known}")
        heavy = {"official_tests", "examples", "generated_checker"} if "official_tests" in self._columns else set()
        self._light = [name for name in self._columns if name not in heavy]

    @cached_property
    def _spool(self) -> IO[bytes]:
        spool = TemporaryFile()  # noqa: SIM115 (it lives as long as this object, and has no name)
        finalize(self, spool.close)
        return spool

    def all(self) -> Iterator[tuple[ProblemPlace, bytes]]:
        """Yield the rows; those of open-r1/codeforces without their big columns."""
        number = 0
        missing = dict.fromkeys(name for name in self._columns if name not in self._light)
        for group in range(self._table.num_row_groups):
            for place, row in enumerate(self._rows(group, self._light)):
                number += 1
                yield ProblemPlace(number, group, place), msgspec.json.encode({**missing, **row})

    def read(self, place: ProblemPlace) -> bytes:
        """Return one row."""
        with self._lock:
            if place.start not in self._laid_out:
                self._laid_out[place.start] = places = []
                end = self._spool.seek(0, 2)
                for row in self._rows(place.start, self._columns):
                    size = self._spool.write(msgspec.json.encode(row))
                    places.append((end, size))
                    end += size
            offset, size = self._laid_out[place.start][place.size]
            self._spool.seek(offset)
            return self._spool.read(size)

    def _rows(self, group: int, columns: list[str]) -> Iterator[dict[str, Any]]:
        for batch in self._table.iter_batches(batch_size=_FEW, row_groups=[group], columns=columns):
            yield from batch.to_pylist()


def opened(path: Path) -> Any:  # noqa: ANN401 (pyarrow has no types)
    """Return a parquet file; DatasetError if it is not one, or pyarrow is missing."""
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        message = f"{path}: to read parquet, pyarrow is needed: pip install 'pytest-crmeval[parquet]'"
        raise DatasetError(message) from error
    try:
        return ParquetFile(path, memory_map=True)
    except (OSError, ArrowInvalid) as error:
        raise DatasetError(f"{path}: this is not a readable parquet file: {error}") from error
