"""Whether a reply tells of one record what is true of another."""

import re
from collections.abc import Iterator, Sequence

from pytest_crmeval.conversations.scorers.facts import names_of
from pytest_crmeval.conversations.scorers.groundedness import kind_of
from pytest_crmeval.conversations.scorers.mentions import Reading, read
from pytest_crmeval.domain.state import Row

_PIECE = re.compile(r"[;\n]+|(?<=[.!?])\s+|\s+(?:and|while|whereas|but)\s+")
_EMAIL = re.compile(r"\S+@\S+")
_COMPARED = re.compile(
    r"\b(?:than|from|versus|vs|instead|not|no|other|others|unlike|like|compared|was|were|previously|formerly|if|or)\b"
    r"|n['\u2019]t\b|\?",
    re.IGNORECASE,
)
"""Words after which another record may be meant, or another time."""
TELLING = frozenset({"amount", "close_date", "stage", "status", "title", "type", "email"})
"""Columns whose values nobody says by accident."""
FEW = 20
"""Of more rows than this nobody tells one by one."""


def mixups(text: str, rows: Sequence[Row]) -> Iterator[str]:
    """Yield what is said of a record and true of another, where one piece of the text names just one of them.

    Only where the piece says nothing of its own in that column: who says both compares.
    """
    alike = [row for row in _distinct(rows) if row.get("name") or row.get("last_name")]
    if not 1 < len(alike) <= FEW:
        return
    for piece in _PIECE.split(text):
        names = read(_EMAIL.sub(" ", piece))  # an address is made of a name, and names nobody
        named = [row for row in alike if all(map(names.says, names_of([row])))]
        if len(named) == 1 and not _COMPARED.search(piece):
            yield from _misplaced(read(_after(piece, named[0])), named[0], rows)


def _after(piece: str, row: Row) -> str:
    """Return what is said after a record was named; what comes before may be about anything."""
    first = str(names_of([row])[0]).split()[0].casefold()
    return piece[max(0, piece.casefold().find(first)) :]


def _misplaced(said: Reading, row: Row, rows: Sequence[Row]) -> Iterator[str]:
    for column, own in row.items():
        if column not in TELLING or own is None or said.says(own):
            continue
        others = [other[column] for other in _distinct(rows) if kind_of(other) == kind_of(row) and column in other]
        belonging = [other.get(column) for other in rows if _belongs(other, row)]
        yield from (
            f"{value!r} of {names_of([row])[0]!r}, whose {column} is {own!r}"
            for value in dict.fromkeys(others)
            if value is not None and value != own and value not in belonging and said.says(value)
        )


def _belongs(other: Row, row: Row) -> bool:
    """Whether a record without a name of its own may be called by that of another: a contract by its client's."""
    key = kind_of(row)
    return kind_of(other) != key and other.get(key) == row[key]


def _distinct(rows: Sequence[Row]) -> list[Row]:
    """Return each record once, as it was shown last."""
    return list({(kind_of(row), row[kind_of(row)]): row for row in rows}.values())
