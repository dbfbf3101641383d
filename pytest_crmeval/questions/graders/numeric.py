"""The one number that a reply or a reference names; an ambiguous text names none."""

import re
import unicodedata
from fractions import Fraction

from pytest_crmeval.questions.graders.final_answer import final_answer, unformatted

_SPACES = "\u00a0\u202f\u2009"
_GROUP = rf"[,'_ {_SPACES}]"
_POWER = r"10\s?(?:\^|\*\*)\s?\{{?(?P<{}>[-+]?\d{{1,3}})(?!\.?\d)\}}?"
_NUMBER = re.compile(
    rf"(?P<sign>(?<![\w)])[-+])?[$€£]?(?<![\w.])(?:{_POWER.format('ten')}|"
    rf"(?P<whole>\d{{1,3}}(?:{_GROUP}\d{{3}})+(?!\d)|\d{{1,60}}|(?=\.\d))(?:[.,](?P<decimals>\d{{1,60}}))?"
    rf"(?:[eE](?P<exponent>[-+]?\d{{1,3}})(?!\w)|\s*[×x*]\s*{_POWER.format('power')})?"
    r"(?:\s*/\s*(?P<below>\d{1,60})(?!\.?\d))?)"
)

_SUPERSCRIPT = re.compile(r"(?<=\d)[\u207b\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{1,4}")
_UNIT_POWER = re.compile(r"(?<=[A-Za-z])(?<!\d[eE])\^\{?-?\d{1,2}\}?")
"""The power of a unit, as in m^2."""
_FRACTION = re.compile(r"(?<![\d}])\\[dt]?frac\s*\{\s*(-?\d{1,60})\s*\}\s*\{\s*(\d{1,60})\s*\}")

_CHANGED_AFTER = re.compile(
    r"[.,]?\d|(?:[KMB]|bn)\b|[\u00bc-\u00be\u2150-\u215e]"
    r"|\s*(?:\^|\*\*[({]?[-+]?\d|\}\{|[π√]|\\pi|\\sqrt|\\[dt]?frac)"
    r"|\s*(?i:k|hundred|thousand|million|billion|trillion|dozen|squared|cubed|halves|and\s+a\s+half|pi)\b"
)
_CHANGED_BEFORE = re.compile(r"(?:[\w)}](?:\^|\*\*)|√|sqrt|frac)[({]*$|\}\{$|\bnot\W*$", re.IGNORECASE)
"""Digits that are a part of something else: 5 million, 5^3."""
_NEAR = 12

_DENIED = re.compile(r"(?<!more )\bor\b|\b(?:not|never|cannot|n?either)\b|n't\b", re.IGNORECASE)
_DOUBTED = re.compile(r"\b(?:or|maybe|perhaps|possibly|wrong|incorrect)\b", re.IGNORECASE)
_REASON = re.compile(r"\b(?:because|since|as(?! well)|confidence)\b", re.IGNORECASE)
_ASIDE = re.compile(r"\([^()]{0,200}\)")
_ANOTHER_RESULT = re.compile(r"\b(?:or|and)\b|;|,\s", re.IGNORECASE)
_OPERATORS = frozenset("×*+/=^")

_EXPLAINED = re.compile(
    r"≈|\\approx|\b(?:of|in|from|at|for|per|by|with|after|before|on|than|not|(?:rounded|correct|accurate) to)\b",
    re.IGNORECASE,
)
_JOINED = re.compile(r"(?:\b(?:and|but)\b(?:\W{1,9}\w{1,20}){0,3}\W*|[,;/|&+*×:-]\W*)$", re.IGNORECASE)
_JOINT = 60
_EITHER = re.compile(r"^[\s,;/|&+*×-]*$|^\W*to\W*$|\b(?:or|maybe|perhaps|possibly)\b", re.IGNORECASE)


def number_in(reply: str) -> Fraction | None:
    """Return the number after the last "Answer:" of a reply (and after its "=", if any), or else its last number.

    None if the reply names several, a range, or withdraws it.
    """
    answer = final_answer(reply)
    if answer is not None:
        return _stated(_plain(answer))
    for line in reversed(_plain(reply).splitlines()):
        if found := list(_NUMBER.finditer(line)):
            chosen = len(found) > 1 and _EITHER.search(line[found[-2].end() : found[-1].start()])
            return None if chosen else _value(line, found[-1])
    return None


def number_of(text: str) -> Fraction | None:
    """Return the only number of a reference answer; None if it has none, or more than one."""
    plain = _plain(text)
    found = list(_NUMBER.finditer(plain))
    return _value(plain, found[0]) if len(found) == 1 else None


def _plain(text: str) -> str:
    """Return a text with numbers in LaTeX or with raised digits written as on a keyboard."""
    plain = unformatted(text).replace("{,}", ",")
    plain = re.sub(r"\^\s*\{?\s*\\circ\s*\}?", "°", plain)
    plain = _FRACTION.sub(r"\1/\2", re.sub(r"\\times|\\cdot|[·⋅]", "×", plain))
    plain = _SUPERSCRIPT.sub(
        lambda raised: "^" + unicodedata.normalize("NFKC", raised[0]).replace("\u2212", "-"), plain
    )
    return _UNIT_POWER.sub("", plain)


def _stated(answer: str) -> Fraction | None:
    """Return the number of a final answer; the text after it may explain the number, but not change it."""
    first = _NUMBER.search(answer)
    if first is None:
        return None
    beside = _REASON.split(answer[first.end() :], maxsplit=1)[0]
    if _DOUBTED.search(beside):
        return None
    without_asides = _ASIDE.sub(
        lambda aside: "" if any(each.isalpha() or each in _OPERATORS for each in aside[0]) else aside[0], beside
    )
    text = _result(answer[: first.end()] + without_asides)
    found = list(_NUMBER.finditer(text))
    if not found or _DENIED.search(text, 0, found[0].start()):
        return None
    number, end = _value(text, found[0]), found[0].end()
    for other in found[1:]:
        if _competes(text[end : other.start()]) and _value(text, other) != number:
            return None
        end = other.end()
    return number


def _result(answer: str) -> str:
    """Return the last side of an equation that has a number; empty if there are two equations."""
    before, _, _ = answer.rpartition("=")
    digit = re.search(r"\d", before)
    if digit and _ANOTHER_RESULT.search(before, digit.start()):
        return ""
    return next((side for side in reversed(answer.split("=")) if _NUMBER.search(side)), "")


def _competes(between: str) -> bool:
    """Whether the text between two numbers presents the second as another answer."""
    if re.search(r"\bnot\W*$", between[-_JOINT:], re.IGNORECASE):
        return False
    return not _EXPLAINED.search(between) or bool(_JOINED.search(between[-_JOINT:]))


def _value(text: str, match: re.Match[str]) -> Fraction | None:
    """Return the value of a written number; None if it is divided by zero, or part of something else."""
    before = text[max(0, match.start() - _NEAR) : match.start()]
    if _CHANGED_BEFORE.search(before) or _CHANGED_AFTER.match(text, match.end()):
        return None
    below = int(match["below"] or "1")
    if not below:
        return None
    if match["ten"]:
        number = Fraction(10) ** int(match["ten"])
    else:
        whole = re.sub(r"\D", "", match["whole"])
        number = Fraction(f"{whole or 0}.{match['decimals'] or 0}")
        number *= Fraction(10) ** int(match["exponent"] or match["power"] or "0")
    return (-number if match["sign"] == "-" else number) / below
