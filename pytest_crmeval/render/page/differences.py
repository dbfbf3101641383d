"""What is wrong with the rows of a CRM, as tables: a row of the CRM each, with its expected and its actual values."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_crmeval.domain.explanation import Fault
from pytest_crmeval.domain.state import TABLES
from pytest_crmeval.render.page.words import NOTHING

_SINGULAR = {table: entity.lower() for entity, (table, _) in TABLES.items()}
_PLACE = re.compile(r"(?P<table>\w+) (?P<row>.*): (?P<column>\w+)", re.DOTALL)
_WHOLE = re.compile(r"(?P<table>\w+): (?:(?P<times>\d+) )?(?P<what>missing|unexpected): (?P<content>.*)", re.DOTALL)
ALIKE = 0.5
"""Share of equal values from which a missing and an unexpected row are shown as one row with other values."""
PAIRED = 50
"""Unexpected rows above which they are not compared with the missing ones, which takes too long."""
Cell = tuple[str, str | None, str | None]
"""A column with its expected and its actual value; None if the row should not exist, or does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDifference:
    """A row of the CRM that is not as expected."""

    score: str
    title: str
    table: str
    cells: Sequence[Cell]
    times: int = 1
    is_whole: bool = False
    """Whether all of its columns are in ``cells``, because the row is new."""


def apart(faults: Sequence[Fault]) -> tuple[Sequence[RowDifference], Sequence[Fault]]:
    """Return the differences of rows that some faults describe, and the other faults."""
    rows: dict[tuple[str, str], RowDifference] = {}
    others: list[Fault] = []
    for number, fault in enumerate(faults):
        found = _changed(fault) or _new(fault)
        if found is None:
            others.append(fault)
            continue
        key = (fault.score, str(number) if found.is_whole else found.title)
        known = rows.get(key)
        rows[key] = replace(known, cells=[*known.cells, *found.cells]) if known else found
    return list(_paired(list(rows.values()))), others


def _changed(fault: Fault) -> RowDifference | None:
    """Return the column of a row that has another value; None if the fault says something else."""
    found = _PLACE.fullmatch(fault.difference[0]) if fault.difference and fault.turn is None else None
    if found is None or fault.difference is None or found["table"] not in _SINGULAR:
        return None
    expected, actual = _plain(fault.difference[1]), _plain(fault.difference[2])
    if expected == actual:  # a number and a text
        expected, actual = fault.difference[1:]
    title = f"{_SINGULAR[found['table']]} {found['row']}"
    return RowDifference(
        score=fault.score, title=title, table=found["table"], cells=[(found["column"], expected, actual)]
    )


def _new(fault: Fault) -> RowDifference | None:
    """Return a row that is missing or unexpected; None if the fault says something else."""
    found = _WHOLE.fullmatch(fault.text) if fault.turn is None else None
    values = _values(found["content"]) if found and found["table"] in _SINGULAR else None
    if found is None or not values:
        return None
    times = int(found["times"] or 1)
    is_missing = found["what"] == "missing"
    return RowDifference(
        score=fault.score,
        title=_title(found["table"], found["what"], times),
        table=found["table"],
        cells=[(column, value if is_missing else None, None if is_missing else value) for column, value in values],
        times=times,
        is_whole=True,
    )


def _title(table: str, what: str, times: int) -> str:
    return f"{f'{times:,} × ' if times > 1 else ''}{_SINGULAR[table]} {what}"


def _values(content: str) -> Sequence[tuple[str, str]]:
    """Return the columns of a row that is written as ``name='Ada', amount=5``; empty if it is not."""
    try:
        call = ast.parse(f"row({content})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    if not isinstance(call, ast.Call) or call.args:
        return []
    return [(str(each.arg), _plain(ast.unparse(each.value))) for each in call.keywords]


def _plain(text: str) -> str:
    """Return a value without the quotes of Python."""
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
        return text
    return NOTHING if value is None else value if isinstance(value, str) and value else text


def _paired(rows: Sequence[RowDifference]) -> Iterator[RowDifference]:
    """Yield the rows; one that is missing and one that is there instead become one."""
    waiting = [row for row in rows if _is_unexpected(row)]
    if len(waiting) > PAIRED:
        yield from rows
        return
    for row in (row for row in rows if not _is_unexpected(row)):
        other = max((each for each in waiting if _fit(row, each)), key=lambda each: _alike(row, each), default=None)
        if other is None:
            yield row
            continue
        waiting.remove(other)
        yield _together(row, other)
    yield from waiting


def _is_unexpected(row: RowDifference) -> bool:
    return row.is_whole and all(expected is None for _, expected, _ in row.cells)


def _fit(missing: RowDifference, there: RowDifference) -> bool:
    same = (missing.score, missing.table, missing.times) == (there.score, there.table, there.times)
    return missing.is_whole and same and _alike(missing, there) >= ALIKE


def _alike(missing: RowDifference, there: RowDifference) -> float:
    wanted, found = ({column: expected or actual for column, expected, actual in row.cells} for row in (missing, there))
    return sum(found.get(column) == value for column, value in wanted.items()) / len({*wanted, *found})


def _together(missing: RowDifference, there: RowDifference) -> RowDifference:
    wanted = {column: expected for column, expected, _ in missing.cells}
    found = {column: actual for column, _, actual in there.cells}
    columns = dict.fromkeys([*wanted, *found])
    return replace(
        missing,
        title=_title(missing.table, "created with other values", missing.times),
        cells=[(column, wanted.get(column) or NOTHING, found.get(column) or NOTHING) for column in columns],
    )
