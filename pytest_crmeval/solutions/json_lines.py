"""The lines of a JSON Lines file of any size, one at a time."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

LONGEST = 64 * 2**20
"""Maximum length of a line in bytes; the content of a longer line is dropped."""
_CHUNK = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLine:
    """A line that is not empty."""

    number: int
    offset: int
    content: bytes | None = field(repr=False)
    """None if the line is too long."""


def lines(path: Path, longest: int = LONGEST) -> Iterator[JsonLine]:
    """Yield the lines of a file that are not empty, with bounded memory."""
    with path.open("rb") as file:
        number = 0
        while True:
            number, offset = number + 1, file.tell()
            content = file.readline(longest + 1)
            if not content:
                return
            if len(content) > longest and not content.endswith(b"\n"):
                while (chunk := file.readline(_CHUNK)) and not chunk.endswith(b"\n"):
                    pass  # skip the rest of the line
                yield JsonLine(number=number, offset=offset, content=None)
            elif stripped := content.removeprefix(codecs.BOM_UTF8).strip():
                yield JsonLine(number=number, offset=offset, content=stripped)


def count_lines(path: Path) -> int:
    """Return the number of lines of a file; the last one may lack a line break."""
    lines, last = 0, b"\n"
    with path.open("rb") as file:
        for chunk in iter(lambda: file.read(_CHUNK), b""):
            lines, last = lines + chunk.count(b"\n"), chunk[-1:]
    return lines + (last != b"\n")
