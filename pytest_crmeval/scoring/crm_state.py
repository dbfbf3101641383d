"""Whether the CRM ended as the reference calls leave it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import sha256
from operator import itemgetter

from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.evidence import Evidence
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.score import Score
from pytest_crmeval.domain.state import TABLES, Row, State

KEYS = dict(TABLES.values())
"""Table -> primary key."""

CLOCKS = frozenset({"created_date", "created_at", "uploaded_at"})
"""Columns that say when, not what."""


def crm_state(case: Conversation, evidence: Evidence) -> Score:
    """Score 1 when both CRMs hold the same rows; the reason is a readable diff.

    Seeded rows are matched by id. New rows are matched by role: what they say, what they refer to and what refers to
    them, in any order, with any generated id.
    """
    del case  # the evidence holds what the answer key leads to
    seeded = {str(row[KEYS[table]]) for table, rows in evidence.before.items() for row in rows}
    expected, actual = _Reading(evidence.reference, seeded), _Reading(evidence.after, seeded)
    tables = [table for table in KEYS if evidence.reference.get(table) or evidence.after.get(table)]
    differences = [line for table in tables for line in _compare(table, expected, actual)]
    if not differences and _webs(evidence.reference, seeded) != _webs(evidence.after, seeded):
        differences = ["new rows that say the same are referred to by others than expected"]
    return Score(name="state", value=0.0 if differences else 1.0, reason="\n    ".join(differences))


def _webs(state: State, seeded: set[str]) -> Counter[str]:
    """Return each new row with everything that is connected to it, as far as the tables reach."""
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
        column: "new" if str(value) in new else value
        for column, value in row.items()
        if column != KEYS[table] and column not in CLOCKS and value is not None
    }
    return f"{table} {sorted(said.items(), key=itemgetter(0))}"


class _Reading:
    """A state with its seeded rows by id and its new rows by what they say."""

    def __init__(self, state: State, seeded: set[str]) -> None:
        self.kept: dict[str, dict[str, Mapping[str, Json]]] = {table: {} for table in KEYS}
        self.new: dict[str, Counter[str]] = {table: Counter() for table in KEYS}
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
        text = ", ".join(f"{column}={value!r}" for column, value in said.items() if value is not None)
        self.new[table][text] += 1
        self._roles[row[key]] = f"<new row of {table}: {text}>"


def _compare(table: str, expected: _Reading, actual: _Reading) -> Iterator[str]:
    want, have = expected.kept[table], actual.kept[table]
    for row in sorted(want.keys() - have.keys()):
        yield f"{table} {row}: was deleted"
    for row in sorted(have.keys() - want.keys()):
        yield f"{table} {row}: should have been deleted"
    for row in sorted(want.keys() & have.keys()):
        yield from _columns(f"{table} {row}", want[row], have[row])
    for text, times in sorted((expected.new[table] - actual.new[table]).items()):
        yield f"{table}: {times} missing: {text}"
    for text, times in sorted((actual.new[table] - expected.new[table]).items()):
        yield f"{table}: {times} too many: {text}"


def _columns(where: str, want: Mapping[str, Json], have: Mapping[str, Json]) -> Iterator[str]:
    for column in sorted(want.keys() | have.keys()):
        if want.get(column) != have.get(column):
            yield f"{where}: {column} expected {want.get(column)!r}, actual {have.get(column)!r}"
