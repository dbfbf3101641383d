"""Differences between two CRMs, without generated ids and times."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.state import CLOCKS, TABLES, Row, State, meant

_NAMES = ("name", "last_name", "file_name", "content", "amount", "value")
"""Columns that identify a row for a reader; the first one with a value is used."""


def differences(expected: State, actual: State, seeded: frozenset[str]) -> Sequence[JsonObject]:
    """Return the rows that are missing, too many or changed, table by table; none if there is no difference.

    Seeded rows are matched by id, new rows by content.
    """
    want, have = _Rows.of(expected, seeded), _Rows.of(actual, seeded)
    return [difference for table, _ in TABLES.values() for difference in _compared(table, want, have)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """The rows of a CRM by table: seeded rows by id, new rows as a list."""

    seeded: Mapping[str, dict[str, Row]] = field(default_factory=lambda: {table: {} for table, _ in TABLES.values()})
    new: Mapping[str, list[Row]] = field(default_factory=lambda: {table: [] for table, _ in TABLES.values()})

    @classmethod
    def of(cls, state: State, seeded: frozenset[str]) -> "_Rows":
        found = cls()
        # Other rows refer to a new row by its name, because its id is generated.
        names = {
            str(row[key]): f"(the new row of {table}: {_name(row)})"
            for table, key in TABLES.values()
            for row in state.get(table, ())
            if str(row[key]) not in seeded
        }
        for table, key in TABLES.values():
            for row in state.get(table, ()):
                columns = {
                    name: names.get(value, value) if isinstance(value, str) else value
                    for name, value in row.items()
                    if name not in {key, *CLOCKS}
                }
                if str(row[key]) in seeded:
                    found.seeded[table][str(row[key])] = columns
                else:
                    found.new[table].append({name: value for name, value in columns.items() if value is not None})
        return found


def _name(row: Row) -> Json:
    return next((row[column] for column in _NAMES if row.get(column) is not None), "")


def _compared(table: str, want: _Rows, have: _Rows) -> Iterator[JsonObject]:
    expected, actual = want.seeded[table], have.seeded[table]
    for row_id in sorted(expected.keys() - actual.keys()):
        yield {"table": table, "is": "missing: it was deleted", "id": row_id, "row": expected[row_id]}
    for row_id in sorted(actual.keys() - expected.keys()):
        yield {"table": table, "is": "too many: it should have been deleted", "id": row_id, "row": actual[row_id]}
    for row_id in sorted(expected.keys() & actual.keys()):
        before, after = expected[row_id], actual[row_id]
        columns = {
            column: {"expected": before.get(column), "actual": after.get(column)}
            for column in sorted(before.keys() | after.keys())
            if meant(column, before.get(column)) != meant(column, after.get(column))
        }
        if columns:
            yield {"table": table, "is": "different", "id": row_id, "name": _name(before), "columns": columns}
    for row in _beyond(want.new[table], have.new[table]):
        yield {"table": table, "is": "missing: it should have been made", "row": row}
    for row in _beyond(have.new[table], want.new[table]):
        yield {"table": table, "is": "too many: it was made", "row": row}


def _beyond(rows: Sequence[Row], others: Sequence[Row]) -> Sequence[Row]:
    """Return the rows that have no counterpart among the others, always in the same order."""
    there = Counter(map(_meaning, others))
    left = []
    for row in sorted(rows, key=_meaning):
        if there[_meaning(row)]:
            there[_meaning(row)] -= 1
        else:
            left.append(row)
    return left


def _meaning(row: Row) -> str:
    return repr([(column, meant(column, row[column])) for column in sorted(row)])
