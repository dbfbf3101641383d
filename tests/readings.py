"""What a text says: figures, percentages, spans of time, days; read anew, with nothing of those who wrote it."""

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction

MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS = {word: number for number, word in enumerate(_ONES)} | {word: 10 * n for n, word in enumerate(_TENS, start=2)}
_SCALES = {"hundred": 100, "k": 1_000, "thousand": 1_000, "m": 1_000_000, "million": 1_000_000}
_SHARES = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "tenth": 10}
_TIMES = {"double": 2, "twice": 2, "triple": 3, "three times": 3}
_MONTH = rf"(?P<month>{'|'.join(MONTHS)}|{'|'.join(month[:3] for month in MONTHS)})"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})\b",
        rf"\b{_DAY} (?:of )?{_MONTH},? {_YEAR}\b",
        rf"\b{_MONTH} {_DAY},? {_YEAR}\b",
    )
)
_OPAQUE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|https?://\S+|\S+@\S+", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?P<sign>(?<!\w)-|minus )?(?<![\w.])(?:[€$£]|(?:EUR|USD|GBP|CHF) ?)?"
    r"(?P<whole>\d{1,3}(?:,\d{3})+|\d+)(?P<part>\.\d+)?"
    r"(?: ?(?P<scale>k|m|million|thousand)\b)?(?P<percent> ?%| per ?cent)?",
    re.IGNORECASE,
)
_NUMERAL = rf"(?:{'|'.join([*_WORDS, *_SCALES, 'and'][::-1])})"
_SPELT = re.compile(rf"\b{_NUMERAL}(?:[ -]{_NUMERAL})*\b(?P<percent> ?%| per ?cent)?", re.IGNORECASE)
_COUNT = rf"(?:(?P<digits>\d+)|(?P<word>{'|'.join(_WORDS)})|an?|another)"
_SPAN = re.compile(rf"\b{_COUNT}(?: more| extra| full)?[ -](?P<unit>day|week|month|year)s?\b", re.IGNORECASE)
_FROM_TODAY = re.compile(
    rf"(?:\bin {_SPAN.pattern}|{re.sub('P<', 'P<late_', _SPAN.pattern)} from (?:today|now)\b)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of time."""

    count: int
    unit: str

    def after(self, day: date, sign: int = 1) -> date:
        """Return the day that is so much later, or, with another sign, sooner."""
        if self.unit in ("day", "week"):
            return day + timedelta(days=sign * self.count * (7 if self.unit == "week" else 1))
        return months_after(day, sign * self.count * (12 if self.unit == "year" else 1))


def months_after(day: date, months: int) -> date:
    """Return the same day of another month, or the last one that it has."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def figures(text: str) -> set[Fraction]:
    """Return every number that is said, in digits or in words; days and addresses are none."""
    return {number for number, _ in _numbers(text)}


def percentages(text: str) -> set[Fraction]:
    """Return every number of percent that is said."""
    return {abs(number) for number, is_percent in _numbers(text) if is_percent}


def _numbers(text: str) -> Iterator[tuple[Fraction, bool]]:
    bare = _without_days(_OPAQUE.sub(" ; ", text))
    for match in _NUMBER.finditer(bare):
        number = Fraction(match["whole"].replace(",", "") + (match["part"] or ""))
        scaled = number * _SCALES.get((match["scale"] or "").lower(), 1)
        yield (-scaled if match["sign"] else scaled), bool(match["percent"])
    for match in _SPELT.finditer(bare):
        words = re.findall(r"[a-z]+", match[0].removesuffix(match["percent"] or "").lower())
        if any(word in _WORDS for word in words):
            yield Fraction(_spelt(words)), bool(match["percent"])


def _spelt(words: list[str]) -> int:
    """Return a number in words: two hundred and fifty thousand."""
    total = current = 0
    for word in words:
        scale = _SCALES.get(word, 0)
        if scale == _SCALES["hundred"]:
            current = max(current, 1) * scale
        elif scale:
            total, current = total + max(current, 1) * scale, 0
        else:
            current += _WORDS.get(word, 0)
    return total + current


def _without_days(text: str) -> str:
    for pattern in _DATES:
        text = pattern.sub(" ; ", text)
    return text


def factors(text: str) -> set[Fraction]:
    """Return by what an amount is to be multiplied: half of it, a third off, double."""
    lower = text.lower()
    shares = {Fraction(1, part) for word, part in _SHARES.items() if re.search(rf"\ba {word}\b", lower)}
    half = {Fraction(1, 2)} if said_word("half", lower) or said_word("halve", lower) else set()
    times = {Fraction(number) for word, number in _TIMES.items() if word in lower}
    return half | times | {1 - share for share in shares}


def days(text: str) -> set[str]:
    """Return every day that is said with its year, whether a calendar has it or not."""
    return {_iso(match) for pattern in _DATES for match in pattern.finditer(text)}


def _iso(match: re.Match[str]) -> str:
    month = match["month"].lower()
    number = int(month) if month.isdigit() else 1 + [name[:3] for name in MONTHS].index(month[:3])
    return f"{match['year']}-{number:02}-{int(match['day']):02}"


def spans(text: str) -> list[Span]:
    """Return every stretch of time that is said."""
    return [_span(match) for match in _SPAN.finditer(text)]


def _span(match: re.Match[str], late: str = "") -> Span:
    digits, word = match[f"{late}digits"], match[f"{late}word"]
    count = int(digits) if digits else _WORDS[word.lower()] if word else 1
    return Span(count=count, unit=match[f"{late}unit"].lower())


def counted_days(text: str, today: date) -> set[str]:
    """Return every day that is said by how far it is from today."""
    found = {_span(match, "" if match["unit"] else "late_").after(today) for match in _FROM_TODAY.finditer(text)}
    return {
        day.isoformat() for day in found | set(_in_months(text.lower(), today)) | set(_by_name(text.lower(), today))
    }


def _in_months(text: str, today: date) -> Iterator[date]:
    first = months_after(today.replace(day=1), 1)
    for match in re.finditer(r"\b(?:the )?(first|\d{1,2}(?=st|nd|rd|th))(?:st|nd|rd|th)? of next month\b", text):
        yield first.replace(day=1 if match[1] == "first" else int(match[1]))
    if re.search(r"\b(?:last day|end) of next month\b", text):
        yield months_after(first, 1) - timedelta(days=1)
    if re.search(r"\b(?:last day|end) of the month after next\b", text):
        yield months_after(first, 2) - timedelta(days=1)
    if re.search(r"\b(?:last day|end) of (?:this|the) month\b(?! after)", text):
        yield first - timedelta(days=1)


def _by_name(text: str, today: date) -> Iterator[date]:
    if re.search(r"\b(?:last day of (?:this|the) year|end of (?:this|the) year|year[- ]end)\b", text):
        yield date(today.year, 12, 31)
    if "tomorrow" in text:
        yield today + timedelta(days=1)


def says(text: str, value: str, *, exactly: bool = True) -> bool:
    """Whether a text says a value as a whole, to the letter; the case of letters matters unless it need not."""
    flags = re.NOFLAG if exactly else re.IGNORECASE
    return re.search(rf"(?<![\w@])(?<!\w[.-]){re.escape(value)}(?![\w@])(?!-\w|\.\w)", text, flags) is not None


def said_word(word: str, text: str) -> bool:
    """Whether a text has a word that begins so; in a long one a finger may have slipped."""
    if re.search(rf"\b{word}", text, re.IGNORECASE):
        return True
    return len(word) > _SHORT and any(_slipped(word, one) for one in re.findall(r"[a-z]+", text.lower()))


_SHORT = 5


def _slipped(word: str, typed: str) -> bool:
    """Whether what was typed begins as ``word`` does but for one letter that is missing, doubled or out of place."""
    for at in range(1, len(word)):
        swapped = word[:at] + word[at : at + 2][::-1] + word[at + 2 :]
        if typed.startswith((word[:at] + word[at + 1 :], word[: at + 1] + word[at:], swapped)):
            return True
    return False


def requests(text: str) -> list[tuple[str, str]]:
    """Return how a text may fall into two requests: where a sentence begins with *and*, *also* and the like."""
    joints = re.finditer(rf"""(?<=[.!?"']) {_JOINT}""", text)
    return [(text[: joint.start()], text[joint.end() :]) for joint in joints]


_JOINT = (
    r"(?:Oh, and|Also,|And|Besides,|In addition,|Plus|As well:|Before I forget,|Apart from that,|On top of that,)"
    r"(?: while you're at it,| since you're there,| one more thing,| then,)? "
)
