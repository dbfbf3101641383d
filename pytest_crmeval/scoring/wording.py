"""Whether words say that something was done, was not done, or was not there."""

import re

_REFUSED = re.compile(
    r"\b(?:not|cannot|unable|never|no|nor|neither|fail(?:s|ed|ure)?|refuse[sd]?|reject(?:s|ed)|den(?:y|ied)|decline[sd]?"
    r"|impossible|invalid|error|problem|already|closed|duplicate|unknown|exists|must|only)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"\b(?:could|can|was|were|did|would|has|have|had|is)\s?(?:not|n['\u2019]t)\b|\bcannot\b|\bunable\b|\bfail(?:s|ed)?\b"
    r"|\bimpossible\b|\brefused\b|\bnot possible\b",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\b(?:done|ok(?:ay)?|success\w*|now|complete\w*|\w{2,}ed|set|put|sent|made|written|is|are|has been)\b",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"\b(?:no|none|not|nothing|nobody|zero|empty|without|never|cannot|unable)\b|n['\u2019]t\b|(?<![\d.,])0(?![\d.,]*\d)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")


def says_no(text: str) -> bool:
    """Whether a reply to what can't be done says so."""
    return bool(_REFUSED.search(text))


def says_none(text: str) -> bool:
    """Whether a reply says that nothing was found."""
    return bool(_NONE.search(text))


def says_failed(text: str) -> bool:
    """Whether a reply says that something was not done, and in no sentence that something was."""
    sentences = [sentence for sentence in _SENTENCE.split(text) if sentence.strip()]
    denied = [sentence for sentence in sentences if _FAILED.search(sentence)]
    affirmed = [sentence for sentence in sentences if sentence not in denied and _DONE.search(sentence)]
    return bool(denied) and not affirmed
