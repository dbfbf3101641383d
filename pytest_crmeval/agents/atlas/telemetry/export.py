"""Telemetry as lines of JSON: what is kept of a database that goes with its server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from pytest_crmeval.domain.wire import encoded

FILE = "atlas.jsonl"
"""What the export in the folder of a run is called."""
_OF_RUN: dict[str, bytes] = {
    "sessions": b"SELECT to_jsonb(t) FROM crmeval.sessions t WHERE run = %s ORDER BY started, id",
    **{
        table: b"SELECT to_jsonb(t) FROM crmeval.%b t JOIN crmeval.sessions s ON s.id = t.session_id "
        b"WHERE s.run = %%s ORDER BY t.at" % table.encode()
        for table in ("attempts", "guidance", "rewards", "playbook")
    },
    "registry": b"SELECT to_jsonb(t) FROM crmeval.registry t WHERE run = %s ORDER BY learning_key",
}


def export(connection: psycopg.Connection[Any], run: str, folder: Path) -> Path:
    """Add what a run has written down to what was exported of its earlier parts; OSError if that can't be written."""
    path = folder / FILE
    with path.open("ab") as file:
        for line in rows(connection, run):
            file.write(line)
    return path


def rows(connection: psycopg.Connection[Any], run: str) -> Iterator[bytes]:
    """Yield all rows of a run, each with the name of its table."""
    for table, query in _OF_RUN.items():
        for (row,) in connection.execute(query, [run]):
            yield encoded({"table": table, **row}) + b"\n"
