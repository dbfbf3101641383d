"""Tables for a terminal."""

from collections.abc import Iterator, Sequence

Row = Sequence[str]


def aligned(rows: Sequence[Row], *, names: int) -> Iterator[str]:
    """Yield the rows of a table: names to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        padded = [cell.ljust(width) if n < names else cell.rjust(width) for n, (cell, width) in enumerate(cells)]
        yield "  ".join(padded).rstrip()
