"""Large numbers, percentages and days that a reply has in words, turned into digits."""

import re

from pytest_crmeval.conversations.scorers.mentions import COUNTS, MONTHS

_SMALL = "|".join(
    word for word in COUNTS if " " not in word and word not in ("single", "both", "pair", "couple", "dozen")
)
_SPELLED = re.compile(
    rf"\b(?:half\s+an?|an?|{_SMALL})\b(?:[\s-]+(?:and\s+)?(?:{_SMALL}|hundred|thousand|million)\b)*(?P<percent>\s+per\s?cent\b)?",
    re.IGNORECASE,
)
_FIRST = re.findall(
    r"\w+",
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth",
)
_ORDINALS = {word: number for number, word in enumerate(_FIRST, start=1)} | {"thirtieth": 30, "thirty-first": 31}
_ORDINALS |= {f"twenty-{word}": 20 + number for number, word in enumerate(_FIRST[:9], start=1)}
_SPELLED_DAY = re.compile(
    rf"\b(?:the\s+)?({'|'.join(sorted(_ORDINALS, key=len, reverse=True))})\s+of\s+(?=(?:{'|'.join(MONTHS)})\b)",
    re.IGNORECASE,
)
_ARROW = re.compile("[\u2794\u279c\u279d\u279e\u27a1\u21d2\u27f6\u27f9]\ufe0f?|(?<= )(?:-|=)+>(?= )")
_IS = re.compile(r"\b(it|that|there|here|he|she|what|who)['\u2019]s\b", re.IGNORECASE)


def in_digits(text: str) -> str:
    """Return a text with large numbers, percentages and days in digits, one kind of arrow, and 'it is' for "it's"."""
    text = _SPELLED_DAY.sub(lambda match: f"{_ORDINALS[match[1].lower()]} ", _ARROW.sub("\u2192", text))
    return _SPELLED.sub(_digits_of, _IS.sub(r"\1 is", text))


def _digits_of(match: re.Match[str]) -> str:
    fillers = ("and", "a", "an", "percent", "per", "cent")
    words = [word for word in re.findall(r"[a-z]+", match[0].lower()) if word not in fillers]
    scales = {"thousand": 10**3, "million": 10**6}
    if not ({*words} & {"hundred", *scales} or (match["percent"] and words)):
        return match[0]
    total, part = 0.0, 0.0
    for word in words:
        if word == "hundred":
            part = (part or 1) * 100
        elif word in scales:
            total, part = total + (part or 1) * scales[word], 0.0
        else:
            part += 0.5 if word == "half" else COUNTS[word]
    return f"{total + part:,.0f}{'%' if match['percent'] else ''}"
