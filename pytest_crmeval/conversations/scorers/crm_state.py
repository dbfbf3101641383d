"""Compares the final CRM with the result of the reference calls."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from operator import itemgetter

from pytest_crmeval.conversations.columns import CLOCKS, meant
from pytest_crmeval.conversations.references import resolve
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.score import Score
from pytest_crmeval.domain.state import TABLES, Row, State
from pytest_crmeval.ports.scorer import Evidence

KEYS = dict(TABLES.values())
"""Table -> primary key."""

_NUMERAL = re.compile(r"-?\d+(\.\d+)?")
NAMES = ("name", "last_name", "file_name", "content", "amount", "value")
"""Columns that name a row in a message; the first one with a value is used."""


def crm_state(case: Conversation, evidence: Evidence) -> Score:
    """Score 1 if both CRMs have the same rows; the reason is a readable diff.

    Seeded rows are matched by id. New rows are matched by content, by the rows they refer to and by the rows that
    refer to them, in any order, with any generated id. If the case states the final rows of a table, those count.
    """
    reference, after = evidence.reference.after, evidence.after
    seeded = {row_id for rows in case.seed.values() for row_id in rows}
    stated = {TABLES[entity][0]: rows for entity, rows in case.expected_state.items()}
    expected, actual = (_StateRows(state, seeded) for state in _apart(reference, after))
    tables = [table for table in KEYS if table not in stated and (reference.get(table) or after.get(table))]
    differences = [line for table in tables for line in _compare(table, expected, actual)]
    if not stated and not differences and _connected_rows(reference, seeded) != _connected_rows(after, seeded):
        differences = ["identical new rows are referenced by the wrong rows"]
    outputs = evidence.transcript.outputs
    for table, rows in stated.items():
        differences += _compare_stated(table, [resolve(dict(row), outputs) for row in rows], after.get(table, ()))
    return Score(name="state", value=0.0 if differences else 1.0, reason="\n".join(differences))


def _apart(one: State, other: State) -> tuple[State, State]:
    """Return both states without the rows that are the same in both."""
    found: list[dict[str, list[Row]]] = [{}, {}]
    for table, key in KEYS.items():
        rows = [{str(row[key]): row for row in state.get(table, ())} for state in (one, other)]
        for place, of in enumerate(rows):
            found[place][table] = [row for row_id, row in of.items() if rows[1 - place].get(row_id) != row]
    return found[0], found[1]


def _compare_stated(table: str, expected: Sequence[Json], actual: Sequence[Row]) -> Iterator[str]:
    """Compare a table with the final rows that the case states, in the stated columns."""
    fits = {
        place: [at for at, held in enumerate(actual) if _fits(_items(row), held)] for place, row in enumerate(expected)
    }
    holders: dict[int, int] = {}
    for place, row in enumerate(expected):
        if not _assign(place, fits, holders, set()):
            yield f"{table}: missing: {_row_text(dict(_items(row)))}"
    for at, row in enumerate(actual):
        if at not in holders:
            yield f"{table}: unexpected: {_row_text(row)}"


def _assign(place: int, fits: Mapping[int, Sequence[int]], holders: dict[int, int], tried: set[int]) -> bool:
    """Assign a row to an expected row; if it is taken, assign another row to its holder, if possible."""
    for at in fits[place]:
        if at not in tried:
            tried.add(at)
            if at not in holders or _assign(holders[at], fits, holders, tried):
                holders[at] = place
                return True
    return False


def _fits(wanted: Sequence[tuple[str, Json]], held: Row) -> bool:
    return all(_same(meant(name, held.get(name)), meant(name, item)) for name, item in wanted)


def _items(row: Json) -> list[tuple[str, Json]]:
    return list(row.items()) if isinstance(row, Mapping) else []


def _same(actual: Json, expected: Json) -> bool:
    if isinstance(actual, int | float) and isinstance(expected, str):
        return _NUMERAL.fullmatch(expected) is not None and float(expected) == actual
    return actual == expected


def _row_text(row: Row) -> str:
    return ", ".join(f"{column}={value!r}" for column, value in row.items() if value is not None)


def _connected_rows(state: State, seeded: set[str]) -> Counter[str]:
    """Return each new row with all rows connected to it by references."""
    rows = {str(row[key]): (table, row) for table, key in KEYS.items() for row in state.get(table, ())}
    new = {row_id: place for row_id, place in rows.items() if row_id not in seeded}
    links = [
        (row_id, str(value))
        for row_id, (table, row) in new.items()
        for column, value in row.items()
        if column != KEYS[table] and str(value) in new
    ]
    roles = {row_id: _words(table, row, new) for row_id, (table, row) in new.items()}
    for _ in KEYS if links else ():
        beside: dict[str, list[str]] = {row_id: [] for row_id in new}
        for child, parent in links:
            beside[child].append(f"^{roles[parent]}")
            beside[parent].append(roles[child])
        roles = {
            row_id: sha256(repr((role, sorted(beside[row_id]))).encode()).hexdigest() for row_id, role in roles.items()
        }
    return Counter(roles.values())


def _words(table: str, row: Row, new: Mapping[str, object]) -> str:
    said = {
        column: "new" if str(value) in new else meant(column, value)
        for column, value in row.items()
        if column != KEYS[table] and column not in CLOCKS and value is not None
    }
    return f"{table} {sorted(said.items(), key=itemgetter(0))}"


class _StateRows:
    """A state: its seeded rows by id, and its new rows by content."""

    def __init__(self, state: State, seeded: set[str]) -> None:
        self.kept: dict[str, dict[str, Mapping[str, Json]]] = {table: {} for table in KEYS}
        self.new: dict[str, Counter[str]] = {table: Counter() for table in KEYS}
        self.shown: dict[str, str] = {}
        """Normalized content of a new row -> original content."""
        self._roles: dict[Json, str] = {}
        for table, key in KEYS.items():
            for row in state.get(table, ()):
                self._read(table, key, row, seeded)

    def _read(self, table: str, key: str, row: Row, seeded: set[str]) -> None:
        said = {
            column: self._roles.get(value, value) if isinstance(value, str) else value
            for column, value in row.items()
            if column != key and column not in CLOCKS
        }
        if str(row[key]) in seeded:
            self.kept[table][str(row[key])] = said
            return
        text = _row_text({column: meant(column, value) for column, value in said.items()})
        self.new[table][text] += 1
        self.shown[text] = _row_text(said)
        self._roles[row[key]] = f"<new row of {table}: {text}>"


def _compare(table: str, expected: _StateRows, actual: _StateRows) -> Iterator[str]:
    want, have = expected.kept[table], actual.kept[table]
    for row in sorted(want.keys() - have.keys()):
        yield f"{_where(table, row, want[row])}: was deleted"
    for row in sorted(have.keys() - want.keys()):
        yield f"{_where(table, row, have[row])}: should have been deleted"
    for row in sorted(want.keys() & have.keys()):
        yield from _columns(_where(table, row, want[row]), want[row], have[row])
    yield from _new(table, expected.new[table] - actual.new[table], "missing", expected)
    yield from _new(table, actual.new[table] - expected.new[table], "unexpected", actual)


def _new(table: str, rows: Counter[str], what: str, reading: _StateRows) -> Iterator[str]:
    for text, times in sorted(rows.items()):
        yield f"{table}: {f'{times} ' if times > 1 else ''}{what}: {reading.shown[text]}"


def _where(table: str, row_id: str, row: Row) -> str:
    name = next((row[column] for column in NAMES if row.get(column) is not None), "")
    return f"{table} {name} ({row_id})" if name else f"{table} {row_id}"


def _columns(where: str, want: Mapping[str, Json], have: Mapping[str, Json]) -> Iterator[str]:
    for column in sorted(want.keys() | have.keys()):
        if meant(column, want.get(column)) != meant(column, have.get(column)):
            yield f"{where}: {column} expected {want.get(column)!r}, actual {have.get(column)!r}"
