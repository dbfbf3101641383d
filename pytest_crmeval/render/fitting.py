"""Tables and sentences that fit the width of a terminal."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from pytest_crmeval.render.progress_table import cells, cut
from pytest_crmeval.report.tables import Row, aligned

SHORTEST = 20
"""Names are not cut shorter than this while there is a column to omit."""
_GAP = 2


def fitted(rows: Sequence[Row], *, names: int, width: int | None, spare: Sequence[str] = ()) -> Iterator[str]:
    """Yield a table of at most ``width``: columns are omitted, then names are shortened; numbers never are.

    The first row is the header. ``spare`` are the columns that can be omitted, the least important first.
    """
    if width is None:
        yield from aligned(rows, names=names)
        return
    columns = [list(column) for column in zip(*rows, strict=True)]
    for head in spare:
        if _width(columns, names, SHORTEST) <= width:
            break
        columns = [column for column in columns if column[0] != head]
    longest = [max(map(cells, column)) for column in columns[:names]]
    while sum(longest) + _width(columns[names:]) + _GAP * len(longest) > width and max(longest) > 1:
        longest[longest.index(max(longest))] -= 1
    for place, room in enumerate(longest):
        columns[place] = [cut(cell, room) for cell in columns[place]]
    yield from aligned(list(zip(*columns, strict=True)), names=names)


def wrapped(line: str, width: int | None, indent: str = "  ") -> Iterator[str]:
    """Yield a sentence in lines of at most ``width``; the lines after the first are indented."""
    if width is None or cells(line) <= width:
        yield line
    else:
        yield from wrap(line, width, subsequent_indent=indent, break_on_hyphens=False)


def _width(columns: Sequence[Sequence[str]], names: int = 0, shortest: int = 0) -> int:
    """Return the width of a table whose first ``names`` columns can be cut to ``shortest``."""
    widths = [max(map(cells, column)) for column in columns]
    cuttable = [min(width, shortest) for width in widths[:names]]
    return sum(cuttable) + sum(widths[names:]) + _GAP * max(0, len(columns) - 1)
