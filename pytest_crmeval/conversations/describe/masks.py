"""Masks for what is recognized by its form alone: addresses, ids, quoted texts, dates, numbers."""

import re
from collections.abc import Iterable

from pytest_crmeval.conversations.dataset.knowledge import ID
from pytest_crmeval.conversations.references import REFERENCE

TEXT, NUMBER, DATE, EMAIL, ID_MASK = "<text>", "<number>", "<date>", "<email>", "<id>"
Masks = Iterable[tuple[str, re.Pattern[str]]]
"""Masks, with the pattern of what they replace."""


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?"
)
_CERTAIN_MONTH = (
    r"(?:january|february|april|june|july|august|september|october|november|december"
    r"|(?:(?<=in )|(?<=by )|(?<=of )|(?<=until )|(?<=till )|(?<=since )|(?<=for )|(?<=before )|(?<=after )|(?<=mid-)"
    r"|(?<=early )|(?<=late )|(?<=mid )|(?<=end )|(?<=next )|(?<=last )|(?<=this ))(?:march|may))\b"
)
"""A month whose name is not also a verb, or that follows a preposition."""
_ONES = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen"
    "|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
)
_SCALES = "hundred|thousand|million|dozen|grand"
_DAY_WORDS = (
    "(?:twenty|thirty)[- ](?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|first|second|third|fourth"
    "|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|(?:thir|four|fif|six|seven|eigh|nine)teenth"
    "|twentieth|thirtieth"
)
_DAY = rf"(?:\d{{1,2}}(?:st|nd|rd|th)?|{_DAY_WORDS})"
_YEAR = r"(?:,? (?:19|20)\d\d\b)"
_MONEY = (
    r"(?:usd|eur|gbp|chf|jpy|inr|cad|aud|sek|nok|dkk|pln|sgd|brl|zar|mxn|euros?|dollars?|pounds?|francs?|bucks|yen)\b"
)


_LITERALS = (
    (ID_MASK, REFERENCE),
    (TEXT, _pattern(r"\"[^\"]+\"|[“„][^“”]+[“”]|«[^«»]+»|»[^«»]+«|(?<!\w)'(?=\w)[^']+(?:'\w[^']*)*'(?!\w)")),
    (TEXT, _pattern(r"\bhttps?://[^\s<>]*[\w/]")),
    (EMAIL, _pattern(r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)*")),
    (ID_MASK, ID),
)
_FIGURES = (
    (ID_MASK, re.compile(r"\b[A-Z]{2,}[-_]\d[\w-]*")),
    (
        DATE,
        _pattern(
            r"\b\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d\S*)?\b|\b\d{1,2}/\d{1,2}(?:/(?:\d\d){1,2})?\b"
            r"|\b\d{1,2}\.\d{1,2}\.(?:\d\d){1,2}\b"
            rf"|\b{_DAY} (?:of )?{_MONTH}{_YEAR}?|\b{_MONTH} (?:the )?{_DAY}\b{_YEAR}?|\b{_MONTH}{_YEAR}"
            rf"|\b{_CERTAIN_MONTH}|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
            rf"|\b\d{{1,2}}(?:st|nd|rd|th)\b|\b[qh][1-4]\b{_YEAR}?"
        ),
    ),
    (NUMBER, _pattern(r"(?<![\w<])\+?\(?\d[\d ()/-]{6,}\d\b")),
    (
        NUMBER,
        _pattern(
            rf"(?<!\w)(?:{_MONEY} ?|[$€£¥₹] ?)?[+-]?\d+(?:[.,:'\u00a0\u202f]\d+|(?: \d{{3}})+\b)*"
            rf"(?: ?(?:k|m|mn|mio|bn|thousand|million|grand)\b)?(?: ?(?:%|per ?cent\b|pct\b|[€£¥]|{_MONEY}))?"
            r"(?![\w])"
        ),
    ),
    (
        NUMBER,
        _pattern(
            rf"\b(?:(?:an?|one|half a) (?={_SCALES}))?(?:{_ONES}|{_SCALES})"
            rf"(?:(?: and |[- ])(?:one|{_ONES}|{_SCALES}))*\b(?: ?(?:%|per ?cent\b|{_MONEY}))?"
        ),
    ),
)
_RUNS = (
    (DATE, _pattern(rf"{DATE}(?:,? (?:the |of )?{DATE})+")),
    (NUMBER, _pattern(rf"{NUMBER}(?: {NUMBER})+")),
    (TEXT, _pattern(rf"{TEXT}(?:(?: |-){TEXT})+")),
)
_OWN_MASK = _pattern(rf"\s*(?:{ID.pattern}|\S+@\S+|{REFERENCE.pattern}|\d{{4}}-\d\d-\d\d\S*|[\d\s.,+()/-]*)\s*")


def without_literals(text: str) -> str:
    """Mask addresses, ids and quoted texts."""
    return _masked(text, _LITERALS)


def without_figures(text: str) -> str:
    """Mask dates and numbers, in digits or in words; a sequence of equal masks becomes one."""
    return _masked(_masked(text, _FIGURES), _RUNS)


def has_own_mask(text: str) -> bool:
    """Whether a text is masked by its form wherever it occurs."""
    return bool(_OWN_MASK.fullmatch(text))


def _masked(text: str, masks: Masks) -> str:
    for mask, pattern in masks:
        text = pattern.sub(mask, text)
    return text
