"""Tables of a run as CSV, JSON Lines and parquet."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from typing import IO, TYPE_CHECKING

import msgspec

from pytest_crmeval.render.export.tables import TableRow

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_AT_ONCE = 10_000
"""Rows of a parquet file that are in memory at the same time."""


class ExportError(Exception):
    """A table can't be written; the message says what to do."""


def write_csv(columns: type[TableRow], rows: Iterable[TableRow], file: IO[bytes]) -> None:
    """Write a header and a line per row; a value that is unknown is empty."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text)
    writer.writerow(columns.__struct_fields__)
    writer.writerows(map(msgspec.structs.astuple, rows))
    text.detach()


def write_jsonl(columns: type[TableRow], rows: Iterable[TableRow], file: IO[bytes]) -> None:  # noqa: ARG001 (as the others)
    """Write an object per line."""
    encoder = msgspec.json.Encoder()
    file.writelines(encoder.encode(row) + b"\n" for row in rows)


def write_parquet(columns: type[TableRow], rows: Iterable[TableRow], file: IO[bytes]) -> None:
    """Write a parquet file; ExportError if pyarrow is missing."""
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter
    except ImportError:
        raise ExportError("parquet needs pyarrow: pip install 'pytest-crmeval[parquet]'") from None

    schema = _schema(columns)
    with ParquetWriter(file, schema) as writer:
        batch: list[dict[str, object]] = []
        for row in rows:
            batch.append(msgspec.structs.asdict(row))
            if len(batch) == ROWS_AT_ONCE:
                writer.write_table(pa.Table.from_pylist(batch, schema))
                batch.clear()
        writer.write_table(pa.Table.from_pylist(batch, schema))


def _schema(columns: type[TableRow]) -> "pa.Schema":
    import pyarrow as pa

    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    named = msgspec.structs.fields(columns)
    return pa.schema(
        (field.name, next(made for kind, made in types.items() if field.type in {kind, kind | None})) for field in named
    )


WRITERS: Mapping[str, Callable[[type[TableRow], Iterable[TableRow], IO[bytes]], None]] = {
    "csv": write_csv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
}
"""Format, which is the suffix of its files as well, and how a table is written."""
