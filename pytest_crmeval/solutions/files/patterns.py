"""Names with braces, and names in the order in which people count."""

import re
from fnmatch import fnmatchcase

_DIGITS = re.compile(r"(\d+)")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def expanded(pattern: str) -> list[str]:
    """Return what a pattern with braces stands for: ``a{b,c}`` for ``ab`` and ``ac``; braces may be nested."""
    inner = _BRACES.search(pattern)
    if inner is None:
        return [pattern]
    before, after = pattern[: inner.start()], pattern[inner.end() :]
    found = [each for word in inner[1].split(",") for each in expanded(f"{before}{word}{after}")]
    return list(dict.fromkeys(found))


def matches(name: str, pattern: str) -> bool:
    """Tell whether a name is one of those that a pattern stands for."""
    return any(fnmatchcase(name, each) for each in expanded(pattern))


def natural(name: str) -> tuple[tuple[str, int], ...]:
    """Return what names are sorted by, so that 9 comes before 10."""
    parts = _DIGITS.split(name.lower())
    return tuple((text, int(number or -1)) for text, number in zip(parts[::2], [*parts[1::2], ""], strict=True))
