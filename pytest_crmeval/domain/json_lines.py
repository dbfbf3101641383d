"""The lines of a JSON Lines file of any size, one at a time."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

LONGEST = 64 * 2**20
"""Bytes of a line that is read; of a longer one nothing is kept."""
_CHUNK = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line that is not empty."""

    number: int
    offset: int
    content: bytes | None = field(repr=False)
    """None: it is too long."""


def lines(path: Path, longest: int = LONGEST) -> Iterator[Line]:
    """Yield the lines of a file that are not empty; memory stays flat, whatever stands there."""
    with path.open("rb") as file:
        number = 0
        while True:
            number, offset = number + 1, file.tell()
            content = file.readline(longest + 1)
            if not content:
                return
            if len(content) > longest and not content.endswith(b"\n"):
                _pass_over(file)
                yield Line(number=number, offset=offset, content=None)
            elif stripped := content.removeprefix(codecs.BOM_UTF8).strip():
                yield Line(number=number, offset=offset, content=stripped)


def _pass_over(file: BinaryIO) -> None:
    """Go on to the next line."""
    while (chunk := file.readline(_CHUNK)) and not chunk.endswith(b"\n"):
        pass
