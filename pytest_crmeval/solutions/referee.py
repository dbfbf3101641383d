"""Whether the output of a program is right: compared with the expected one, or judged by a checker."""

import json
import re
from collections.abc import Callable, Sequence
from itertools import islice
from math import isfinite

from pytest_crmeval.domain.cutting import cut, cut_bytes
from pytest_crmeval.ports.sandbox import Execution, Termination
from pytest_crmeval.solutions.problem import (
    JUDGE_MESSAGE,
    CheckerFinding,
    CheckerOpinion,
    CheckerStyle,
    Compare,
    OutputComparison,
)

LONGEST_WORD = 60
"""Characters of a word that a reason shows."""
_WORD = re.compile(rb"\S+")
# No digit may match two parts of a pattern: a program could print a word that takes hours to match.
_DECIMAL = re.compile(rb"([+-]?\d+)(?:\.(\d*))?")
_NUMBER = re.compile(rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_ANSWERS = frozenset({b"yes", b"no"})
_LINE_END = b" \t\r\f\v"
LONGEST_REASON = 200
_ALL = (1.0, 100.0)
"""The marks that accept an output."""
_CRASHED = b"Traceback (most recent call last):"
_TESTLIB = {0: "accepted", 1: "wrong answer", 2: "wrong format", 4: "more output than is expected"}
_KATTIS = {42: "accepted", 43: "wrong answer"}
__all__ = ["difference", "finding_of", "value_difference"]


def difference(expected: bytes, found: bytes, comparison: OutputComparison) -> str:
    """Return the first difference: line, word, what was expected and what was found; empty if there is none."""
    if comparison.mode is Compare.EXACT:
        return _in_lines(_lines(expected), _lines(found))
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


def value_difference(accepted: str, found: object, tolerance: float | None) -> str:
    """Return how a function's result differs from the accepted values, a JSON list; empty if it is one of them."""
    right = json.loads(accepted)
    if any(_same_value(each, found, tolerance or 0.0) for each in right):
        return ""
    shown = (cut(json.dumps(each, ensure_ascii=False), LONGEST_REASON // 2) for each in (right[0], found))
    return "expected {}, found {}".format(*shown)


def _same_value(right: object, found: object, tolerance: float) -> bool:
    """Whether a value is the expected one; fractions may be off by the tolerance."""
    if right == found:
        return True
    if isinstance(right, list) and isinstance(found, list):
        return len(right) == len(found) and all(
            _same_value(one, other, tolerance) for one, other in zip(right, found, strict=True)
        )
    if isinstance(right, float) and isinstance(found, int | float):
        return isfinite(right) and isfinite(found) and abs(right - found) <= tolerance * max(1.0, abs(right))
    return False


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


def same_word(expected: bytes, found: bytes, comparison: OutputComparison) -> bool:
    """Whether a word counts as the expected one."""
    if expected == found:
        return True
    if comparison.any_case and (lower := expected.lower()) in _ANSWERS:
        return lower == found.lower()
    if comparison.mode is Compare.WORDS:
        return False
    right = _digits(expected)
    if right is not None and right == _digits(found):
        return True
    if comparison.tolerance is None or (not comparison.integers and expected.lstrip(b"+-").isdigit()):
        return False
    return _near(expected, found, comparison.tolerance)


def _digits(word: bytes) -> tuple[bytes, bytes] | None:
    """Return a decimal without the zeros at the end of its fraction; None if the word is not a decimal.

    No digit is lost, and leading zeros count: a word of digits may be a string of bits.
    """
    read = _DECIMAL.fullmatch(word)
    return None if read is None else (read[1], (read[2] or b"").rstrip(b"0"))


def _near(expected: bytes, found: bytes, tolerance: float) -> bool:
    """Whether a number is near enough."""
    if not _NUMBER.fullmatch(expected) or not _NUMBER.fullmatch(found):
        return False
    right, given = float(expected), float(found)
    if not isfinite(right) or not isfinite(given):
        return False
    return abs(right - given) <= tolerance * max(1.0, abs(right))


def _lines(text: bytes) -> Sequence[bytes]:
    """Return the lines without what is invisible: blanks at their ends, empty lines at the end."""
    lines = [line.rstrip(_LINE_END) for line in text.split(b"\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _place(text: bytes, number: int) -> str:
    """Return line and word of a word, both counted from 1."""
    start = next(islice(_WORD.finditer(text), number, None)).start()
    line_start = text.rfind(b"\n", 0, start) + 1
    word = len(text[line_start:start].split()) + 1
    line = text.count(b"\n", 0, start) + 1
    return f"line {line}, word {word}"


def _shown(word: bytes) -> str:
    return repr(cut_bytes(word, LONGEST_WORD - 1))


def finding_of(style: CheckerStyle, execution: Execution) -> CheckerFinding:
    """Return what a checker has found."""
    if execution.ending is Termination.SIGNALLED:
        return _trouble(f"it crashed{_exit(execution)}")
    if execution.ending is not Termination.EXITED:
        return _trouble(f"it exceeded its {execution.ending} limit")
    if style is CheckerStyle.STDOUT:
        return _printed(execution)
    if style is CheckerStyle.TESTLIB:
        return _coded(_TESTLIB, execution, execution.stderr or execution.stdout)
    return _coded(_KATTIS, execution, execution.files.get(JUDGE_MESSAGE, b"") or execution.stderr)


def _printed(execution: Execution) -> CheckerFinding:
    """Read the mark from the first or the last line; other lines may explain it."""
    lines = [line.strip() for line in execution.stdout.decode("utf-8", "replace").split("\n") if line.strip()]
    marks = {mark for line in (lines[0], lines[-1]) if (mark := _mark(line)) is not None} if lines else set()
    if len(marks) != 1:
        text = cut_bytes(execution.stdout.strip(), LONGEST_REASON - 1)
        printed = repr(text) if text else "nothing"
        return _trouble(f"it printed {printed} instead of 1 or 0{_exit(execution)}")
    (mark,) = marks
    if execution.exit_code != 0 and (mark in _ALL or _CRASHED in execution.stderr):
        return _trouble(f"it printed {mark:g}, but failed{_exit(execution)}")
    if mark in _ALL:
        return CheckerFinding(opinion=CheckerOpinion.ACCEPTED)
    explained = " ".join(line for line in lines if _mark(line) is None)
    partly = f"it printed {mark:g}"
    return CheckerFinding(
        opinion=CheckerOpinion.REJECTED, reason=_cut(f"{partly}: {explained}" if explained else partly)
    )


def _mark(line: str) -> float | None:
    """Return a number from 0 to 100; None if the line is something else."""
    plain = line.isascii() and line.replace(".", "", 1).isdigit()
    mark = float(line) if plain else -1.0
    return mark if 0.0 <= mark <= max(_ALL) else None


def _coded(codes: dict[int, str], execution: Execution, said: bytes) -> CheckerFinding:
    """Read an exit code; the first one in the table accepts."""
    code = execution.exit_code
    if code not in codes:
        return _trouble(f"its exit code means neither accepted nor rejected{_exit(execution)}")
    if code == next(iter(codes)):
        return CheckerFinding(opinion=CheckerOpinion.ACCEPTED)
    reason = _cut(" ".join(said.decode("utf-8", "replace").split()))
    return CheckerFinding(opinion=CheckerOpinion.REJECTED, reason=reason or codes[code])


def _exit(execution: Execution) -> str:
    how = f"exit code {execution.exit_code}" if execution.signal == "" else execution.signal
    said = execution.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return f" ({how}{f'; {_cut(said)}' if said else ''})"


def _trouble(reason: str) -> CheckerFinding:
    return CheckerFinding(opinion=CheckerOpinion.TROUBLE, reason=reason)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_REASON else cut(text, LONGEST_REASON - 1)
