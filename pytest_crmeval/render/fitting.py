"""Tables, sentences and dialogues that fit the width of a terminal."""

import re
from collections.abc import Iterator, Sequence
from textwrap import wrap

from pytest_crmeval.render.progress_table import cells, cut
from pytest_crmeval.report.tables import Row, aligned

SHORTEST = 20
"""Names are not cut shorter than this while there is a column to omit."""
_GAP = 2
_PIECES = re.compile(r"(\x1b\[[\d;]*m)|([^\S\x1b]+)|([^\s\x1b]+)")
"""A colour, spaces, or a word."""
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_SPEAKER = re.compile(r" *(?:(?:user|agent|crm) +)?(?:[→←✗] )?")
"""What precedes the text in a line of a dialogue."""


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
        names -= head in [column[0] for column in columns[:names]]
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


def wrapped_dialogue(text: str, width: int) -> str:
    """Return the text of a trial in lines of at most ``width``; a continued line starts below the words of its speaker.

    Colours take no room, and continue on the next line.
    """
    return "\n".join(_hung(line, width) for line in text.split("\n"))


def _hung(line: str, width: int) -> str:
    """Return a line of a dialogue, broken at spaces, or within a word that is too long."""
    if cells(_COLOUR.sub("", line)) <= width:
        return line
    speaker = _SPEAKER.match(_COLOUR.sub("", line))
    indent = min(len(speaker[0]) if speaker and speaker[0] else _GAP, width // 2)
    lines, used, space = [""], 0, ""
    for colour, spaces, word in _PIECES.findall(line):
        lines[-1] += colour
        if spaces:
            space = spaces
        if not word:
            continue
        if used > indent and used + cells(space) + cells(word) > width:
            lines.append(" " * indent)
            used, space = indent, ""
        lines[-1] += space
        used, space = used + cells(space), ""
        for letter in word:
            if used + cells(letter) > width:
                lines.append(" " * indent)
                used = indent
            lines[-1] += letter
            used += cells(letter)
    return "\n".join(lines)


def _width(columns: Sequence[Sequence[str]], names: int = 0, shortest: int = 0) -> int:
    """Return the width of a table whose first ``names`` columns can be cut to ``shortest``."""
    widths = [max(map(cells, column)) for column in columns]
    cuttable = [min(width, shortest) for width in widths[:names]]
    return sum(cuttable) + sum(widths[names:]) + _GAP * max(0, len(columns) - 1)
