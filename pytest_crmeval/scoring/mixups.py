"""Whether a reply tells of one record what is true of another."""

import re
from collections.abc import Iterator, Sequence

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.state import CLOCKS, Row
from pytest_crmeval.scoring.facts import names_of
from pytest_crmeval.scoring.grounds import kind_of
from pytest_crmeval.scoring.mentions import Reading, read

_PIECE = re.compile(r"[;\n]+|(?<=[.!?])\s+|\s+(?:and|while|whereas|but)\s+")
_COMPARED = re.compile(
    r"\b(?:than|from|versus|vs|instead|not|no|other|others|unlike|like|compared|was|were|previously|formerly|if|or)\b"
    r"|n['\u2019]t\b|\?",
    re.IGNORECASE,
)
"""Words after which another record may be meant, or another time."""
FEW = 20
"""Of more rows than this nobody tells one by one."""


def mixups(text: str, rows: Sequence[Row]) -> Iterator[str]:
    """Yield what is said of a record and true of another, where one piece of the text names just one of them.

    Only where the piece says nothing of its own in that column: who says both compares.
    """
    alike = [row for row in _distinct(rows) if names_of([row])]
    if not 1 < len(alike) <= FEW:
        return
    for piece in _PIECE.split(text):
        named = [row for row in alike if all(map(read(piece).says, names_of([row])))]
        if len(named) == 1 and not _COMPARED.search(piece):
            yield from _misplaced(read(piece), named[0], alike)


def _misplaced(said: Reading, row: Row, rows: Sequence[Row]) -> Iterator[str]:
    for column, own in row.items():
        if own is None or column in CLOCKS or column.endswith("_id") or own in names_of([row]) or said.says(own):
            continue
        others = [other[column] for other in rows if kind_of(other) == kind_of(row) and column in other]
        yield from (
            f"{value!r} of {names_of([row])[0]!r}, whose {column} is {own!r}"
            for value in dict.fromkeys(value for value in others if _telling(value, own))
            if said.says(value)
        )


def _telling(value: Json, own: Json) -> bool:
    """Whether a value can be taken for another record's: small numbers count things."""
    return value != own and isinstance(value, str | int | float) and len(str(value)) > 2  # noqa: PLR2004 (up to 99)


def _distinct(rows: Sequence[Row]) -> list[Row]:
    """Return each record once, as it was shown last."""
    return list({(kind_of(row), row[kind_of(row)]): row for row in rows}.values())
