"""Tables for a terminal."""

from collections.abc import Iterator, Sequence

Row = Sequence[str]


TINY = 0.001
"""A smaller p-value is shown as smaller than this."""


def p_value(p: float | None) -> str:
    """Return a p-value with three digits; a dash if there is none."""
    if p is None:
        return "-"
    return f"<{TINY}" if p < TINY else f"{p:.3f}"


def equation(p: float) -> str:
    """Return a p-value as it stands after the letter p: ``= 0.012``, ``< 0.001``."""
    return f"< {TINY}" if p < TINY else f"= {p:.3f}"


def aligned(rows: Sequence[Row], *, names: int) -> Iterator[str]:
    """Yield the rows of a table: names to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        padded = [cell.ljust(width) if n < names else cell.rjust(width) for n, (cell, width) in enumerate(cells)]
        yield "  ".join(padded).rstrip()
