"""What a reply to a question says: its final answer, a number, a letter, how sure it is."""

import re
import unicodedata
from fractions import Fraction

_MARKS = r"[\s*_`#>~]{0,40}"
_NAMED = re.compile(rf"\banswer{_MARKS}[:\uff1a=]{_MARKS}(?P<answer>[^\n]*)", re.IGNORECASE)
_SPOKEN = re.compile(rf"\banswer\b{_MARKS}\bis\b{_MARKS}(?P<answer>[^\n]*)", re.IGNORECASE)
_CONFIDENCE = re.compile(
    rf"\bconfidence{_MARKS}(?:is\b|[:\uff1a=]){_MARKS}(?P<number>\d{{1,3}}(?:\.\d{{1,6}})?)\s*(?P<percent>%?)",
    re.IGNORECASE,
)
_BOXED = re.compile(r"\\boxed\s*\{([^{}]*)\}")
_TEXT = re.compile(r"\\(?:text|mathrm|mathbf)\s*\{([^{}]*)\}")
_LEADING = re.compile(r"^(?:the|an?)\s+(?=\S)")
_EDGES = " \t\r\n.,;:!?\"'()[]{}*_`$"
_QUOTES, _DOUBLE, _DASHES = "\u2018\u2019", "\u201c\u201d\u00ab\u00bb", "\u2010\u2011\u2013\u2014\u2212"
_SAME = str.maketrans(dict.fromkeys(_QUOTES, "'") | dict.fromkeys(_DOUBLE, '"') | dict.fromkeys(_DASHES, "-"))
_SPACES = "\u00a0\u202f\u2009"
_GROUP = rf"[,'_ {_SPACES}]"
_NUMBER = re.compile(
    rf"(?P<sign>(?<![\w)])[-+])?[$€£]?(?<![\w.])(?P<whole>\d{{1,3}}(?:{_GROUP}\d{{3}})+(?!\d)|\d{{1,60}})"
    r"(?:[.,](?P<decimals>\d{1,60}))?"
    r"(?:[eE](?P<exponent>[-+]?\d{1,3})(?!\w)|\s*[×x*]\s*10\s*(?:\^|\*\*)\s*\{?(?P<power>[-+]?\d{1,3})\}?)?"
    r"(?:\s*/\s*(?P<below>\d{1,60})(?![\d.]))?"
)

_ANOTHER = re.compile(r"[\w%°*$€£ ]{0,16}?(?:\bor\b|\bto\b|\band\b|-)[*$€£ ]{0,4}\d")
"""What follows a number if it was not the only one."""


def final_answer(reply: str) -> str | None:
    """Return what stands behind the last "Answer:", or else behind the last "answer is"; None if nothing does.

    "Exact Answer:" and "**Answer:**" are that, too.
    """
    for pattern in (_NAMED, _SPOKEN):
        found = [answer for match in pattern.finditer(reply) if (answer := _bare(match["answer"]))]
        if found:
            return found[-1]
    return None


def normalised(text: str) -> str:
    """Return what two equal answers have in common.

    Compatible characters are one (NFKC), case does not count, quotes and dashes are plain, markdown, LaTeX's box and
    signs around it are gone, so is a leading article, and space is one space.
    """
    plain = unicodedata.normalize("NFKC", text.translate(_SAME)).translate(_SAME).casefold()
    plain = _BOXED.sub(r"\1", _TEXT.sub(r"\1", plain))
    words = " ".join(re.sub(r"[*`]|(?<!\w)_|_(?!\w)", "", plain).split())
    return _LEADING.sub("", words.strip(_EDGES)).strip(_EDGES)


def number_in(reply: str) -> Fraction | None:
    """Return the number of a reply: the first behind its last "Answer:" and behind an "=" there, or else its last.

    None if it names several to choose from, or a range.
    """
    answer = final_answer(reply)
    if answer is not None:
        text = answer.rpartition("=")[2].translate(_SAME)
        first = _NUMBER.search(text)
        return _value(first) if first and not _ANOTHER.match(text, first.end()) else None
    found = _numbers(reply)
    return found[-1] if found else None


def number_of(text: str) -> Fraction | None:
    """Return the only number of a reference answer; None if there is none, or more than one."""
    found = _numbers(text)
    return found[0] if len(found) == 1 else None


def confidence_in(reply: str) -> float | None:
    """Return how sure a reply says to be, in [0, 1]; None if it does not say, or says what is no share."""
    found = list(_CONFIDENCE.finditer(reply))
    if not found:
        return None
    written, percent = found[-1]["number"], found[-1]["percent"]
    share = float(written) if "." in written and float(written) <= 1 and not percent else float(written) / 100
    return share if share <= 1 else None


def _bare(answer: str) -> str:
    return answer.strip().strip("*`_").strip()


def _numbers(text: str) -> list[Fraction]:
    return [number for match in _NUMBER.finditer(text.translate(_SAME)) if (number := _value(match)) is not None]


def _value(match: re.Match[str]) -> Fraction | None:
    """Return the value of a number as it is written; None if it is divided by nothing."""
    whole = re.sub(r"\D", "", match["whole"])
    number = Fraction(f"{whole}.{match['decimals'] or 0}")
    number *= Fraction(10) ** int(match["exponent"] or match["power"] or "0")
    if match["below"]:
        if not int(match["below"]):
            return None
        number /= int(match["below"])
    return -number if match["sign"] == "-" else number
