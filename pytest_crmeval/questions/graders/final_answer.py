"""What a reply to a question says: its final answer, and how sure it is."""

import re
import unicodedata

_MARKS = r"[\s*_`#>~]{0,40}"
_BEHIND = rf"(?:[^\S\n]|[*_`]){{0,40}}(?:\n{_MARKS})?"
"""On the same line #, > and ~ belong to the answer."""
_NAMED = re.compile(rf"\banswer{_MARKS}[:\uff1a=]{_BEHIND}(?P<answer>[^\n]*)", re.IGNORECASE)
_SPOKEN = re.compile(rf"\banswer\b{_MARKS}\bis\b{_MARKS}[:\uff1a]?{_BEHIND}(?P<answer>[^\n]*)", re.IGNORECASE)
_CONFIDENCE = re.compile(
    rf"\bconfidence{_MARKS}(?:is\b|[:\uff1a=]){_MARKS}(?P<number>\d{{1,3}}(?:\.\d{{1,6}})?)"
    r"(?P<percent>\s*%|\s*(?:/|out\s+of)\s*100\b)?(?![.,]?\d|\s*%|\s*(?:/|(?:out\s+)?of|to|[-\u2013])\s*\d)",
    re.IGNORECASE,
)
"""Does not match 9/10 or a range."""
BOXED = re.compile(r"\\boxed\s*\{([^{}]*)\}")
_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\s*\{([^{}]*)\}")
_SETTING = re.compile(r"\\[()\[\],!;]")
_LEADING = re.compile(r"^(?:the|an?)\s+(?=\S)")
_EDGES = " \t\r\n.,;:!?\"'()[]{}*_`$"
_QUOTES, _DOUBLE, _DASHES = "\u2018\u2019", "\u201c\u201d\u00ab\u00bb", "\u2010\u2011\u2013\u2014\u2212"
_SAME = str.maketrans(dict.fromkeys(_QUOTES, "'") | dict.fromkeys(_DOUBLE, '"') | dict.fromkeys(_DASHES, "-"))


def final_answer(reply: str) -> str | None:
    """Return the text after the last "Answer:" ("Exact Answer:", "**Answer:**"), or else after the last "answer is".

    None if there is neither.
    """
    for pattern in (_NAMED, _SPOKEN):
        found = [
            answer for match in pattern.finditer(reply) if (answer := match["answer"].strip().strip("*`_").strip())
        ]
        if found:
            return found[-1]
    return None


def unformatted(text: str) -> str:
    """Return a text with plain quotes and dashes, and without what LaTeX sets it in."""
    return _SETTING.sub("", _TEXT.sub(r"\1", text.translate(_SAME)))


def normalised(text: str) -> str:
    """Return a form in which equal answers are the same text.

    Characters are normalised (NFKC), case is folded, quotes and dashes are plain; Markdown, LaTeX's box, signs at the
    edges and a leading article are removed; any white space becomes one space.
    """
    plain = unicodedata.normalize("NFKC", text.translate(_SAME)).translate(_SAME).casefold()
    plain = BOXED.sub(r"\1", _TEXT.sub(r"\1", plain))
    words = " ".join(re.sub(r"[*`]|(?<!\w)_|_(?!\w)", "", plain).split())
    return _LEADING.sub("", words.strip(_EDGES)).strip(_EDGES)


def confidence_in(reply: str) -> float | None:
    """Return the confidence that a reply states, in [0, 1]; None if it states none, or not a percentage."""
    found = list(_CONFIDENCE.finditer(reply))
    if not found:
        return None
    written, percent = found[-1]["number"], found[-1]["percent"]
    share = float(written) if "." in written and float(written) <= 1 and not percent else float(written) / 100
    return share if share <= 1 else None
