"""Whether an output is the right one, and if not, where it first differs."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from math import isfinite

from pytest_crmeval.domain.cutting import cut_bytes
from pytest_crmeval.domain.problem import Compare, Comparison

LONGEST = 60
"""Characters of a word that a reason shows."""
_WORD = re.compile(rb"\S+")
# No digit may be taken by two parts of a pattern: a program could print a word that is read for hours.
_DECIMAL = re.compile(rb"([+-]?\d+)(?:\.(\d*))?")
_NUMBER = re.compile(rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_ANSWERS = frozenset({b"yes", b"no"})
_LINE_END = b" \t\r\f\v"


def difference(expected: bytes, found: bytes, comparison: Comparison) -> str:
    """Return the first difference: line, word, what was expected and what was found; nothing if they are the same."""
    if comparison.mode is Compare.EXACT:
        return _in_lines(_lines(expected), _lines(found))
    return _in_words(expected, found, comparison)


def _in_words(expected: bytes, found: bytes, comparison: Comparison) -> str:
    right, given = expected.split(), found.split()
    if right == given:
        return ""
    place = _first(right, given, lambda one, other: same_word(one, other, comparison))
    if place is None:
        return ""
    if place >= len(given):
        words = f"{len(given)} of {len(right)} words"
        return f"the output ends after {words}: expected {_shown(right[place])}"
    if place >= len(right):
        return f"{_place(found, place)}: expected the end, found {_shown(given[place])}"
    return f"{_place(found, place)}: expected {_shown(right[place])}, found {_shown(given[place])}"


def _in_lines(right: Sequence[bytes], given: Sequence[bytes]) -> str:
    if right == given:
        return ""
    place = _first(right, given, lambda one, other: one == other)
    assert place is not None  # noqa: S101 (they differ)
    if place >= len(given):
        return f"the output ends after {len(given)} of {len(right)} lines: expected {_shown(right[place])}"
    if place >= len(right):
        return f"line {place + 1}: expected the end, found {_shown(given[place])}"
    return f"line {place + 1}: expected {_shown(right[place])}, found {_shown(given[place])}"


def _first(right: Sequence[bytes], given: Sequence[bytes], same: Callable[[bytes, bytes], bool]) -> int | None:
    """Return where the first difference is; None if there is none."""
    pairs = zip(right, given, strict=False)
    for place, (one, other) in enumerate(pairs):
        if one != other and not same(one, other):
            return place
    return None if len(right) == len(given) else min(len(right), len(given))


def same_word(expected: bytes, found: bytes, comparison: Comparison) -> bool:
    """Tell whether a word may stand for the right one."""
    if expected == found:
        return True
    if comparison.any_case and (lower := expected.lower()) in _ANSWERS:
        return lower == found.lower()
    right = _digits(expected)
    if right is not None and right == _digits(found):
        return True
    return comparison.tolerance is not None and _near(expected, found, comparison.tolerance)


def _digits(word: bytes) -> tuple[bytes, bytes] | None:
    """Return a decimal without the zeros at the end of its fraction; None if it is none.

    No digit is lost, and zeros at the beginning count: a word of digits may be no number, but a string of bits.
    """
    read = _DECIMAL.fullmatch(word)
    return None if read is None else (read[1], (read[2] or b"").rstrip(b"0"))


def _near(expected: bytes, found: bytes, tolerance: float) -> bool:
    """Tell whether a number is near enough; only where the right one is no integer in plain digits."""
    if not _NUMBER.fullmatch(expected) or not _NUMBER.fullmatch(found) or expected.lstrip(b"+-").isdigit():
        return False
    right, given = float(expected), float(found)
    if not isfinite(right) or not isfinite(given):
        return False
    return abs(right - given) <= tolerance * max(1.0, abs(right))


def _lines(text: bytes) -> Sequence[bytes]:
    """Return the lines without what nobody sees: blanks at their ends, empty ones at the end."""
    lines = [line.rstrip(_LINE_END) for line in text.split(b"\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _place(text: bytes, number: int) -> str:
    """Return line and word of a word, both counted from 1."""
    start = next(islice(_starts(text), number, None))
    line_start = text.rfind(b"\n", 0, start) + 1
    word = len(text[line_start:start].split()) + 1
    line = text.count(b"\n", 0, start) + 1
    return f"line {line}, word {word}"


def _starts(text: bytes) -> Iterator[int]:
    return (match.start() for match in _WORD.finditer(text))


def _shown(word: bytes) -> str:
    return repr(cut_bytes(word, LONGEST - 1))
