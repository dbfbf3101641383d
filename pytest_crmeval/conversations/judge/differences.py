"""How two CRMs differ, for a reader: generated ids and clocks don't count."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.state import CLOCKS, TABLES, Row, State, meant

_NAMES = ("name", "last_name", "file_name", "content", "amount", "value")
"""What a person calls a row by; the first that it has."""


def differences(expected: State, actual: State, seeded: frozenset[str]) -> Sequence[JsonObject]:
    """Return the rows that are missing, too many or changed, table by table; none if there is no difference.

    Seeded rows are known by their ids, new ones by what they say.
    """
    want, have = _Books.of(expected, seeded), _Books.of(actual, seeded)
    return [difference for table, _ in TABLES.values() for difference in _compared(table, want, have)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Books:
    """The rows of a CRM by table: those that it started with by id, new ones by what they mean."""

    seeded: Mapping[str, dict[str, Row]] = field(default_factory=lambda: {table: {} for table, _ in TABLES.values()})
    new: Mapping[str, list[Row]] = field(default_factory=lambda: {table: [] for table, _ in TABLES.values()})

    @classmethod
    def of(cls, state: State, seeded: frozenset[str]) -> "_Books":
        books, called = cls(), _called(state, seeded)
        for table, key in TABLES.values():
            for row in state.get(table, ()):
                said = {name: _said(value, called) for name, value in row.items() if name not in {key, *CLOCKS}}
                if str(row[key]) in seeded:
                    books.seeded[table][str(row[key])] = said
                else:
                    books.new[table].append({name: value for name, value in said.items() if value is not None})
        return books


def _called(state: State, seeded: frozenset[str]) -> Mapping[str, str]:
    """Return what rows without an id of their own are called where others refer to them."""
    return {
        str(row[key]): f"(the new row of {table}: {_name(row)})"
        for table, key in TABLES.values()
        for row in state.get(table, ())
        if str(row[key]) not in seeded
    }


def _said(value: Json, called: Mapping[str, str]) -> Json:
    return called.get(value, value) if isinstance(value, str) else value


def _name(row: Row) -> Json:
    return next((row[column] for column in _NAMES if row.get(column) is not None), "")


def _compared(table: str, want: _Books, have: _Books) -> Iterator[JsonObject]:
    expected, actual = want.seeded[table], have.seeded[table]
    for row_id in sorted(expected.keys() - actual.keys()):
        yield {"table": table, "is": "missing: it was deleted", "id": row_id, "row": expected[row_id]}
    for row_id in sorted(actual.keys() - expected.keys()):
        yield {"table": table, "is": "too many: it should have been deleted", "id": row_id, "row": actual[row_id]}
    for row_id in sorted(expected.keys() & actual.keys()):
        if columns := _changed(expected[row_id], actual[row_id]):
            yield {"table": table, "is": "different", "id": row_id, "name": _name(expected[row_id]), "columns": columns}
    for row in _beyond(want.new[table], have.new[table]):
        yield {"table": table, "is": "missing: it should have been made", "row": row}
    for row in _beyond(have.new[table], want.new[table]):
        yield {"table": table, "is": "too many: it was made", "row": row}


def _changed(expected: Row, actual: Row) -> JsonObject:
    return {
        column: {"expected": expected.get(column), "actual": actual.get(column)}
        for column in sorted(expected.keys() | actual.keys())
        if meant(column, expected.get(column)) != meant(column, actual.get(column))
    }


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
