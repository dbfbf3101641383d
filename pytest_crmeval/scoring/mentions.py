"""What a text says: amounts, dates, names, counts and ids in any common format."""

import re
from dataclasses import dataclass, field
from datetime import date

from pytest_crmeval.domain.json import Json

_MONTH_NAMES = (
    "jan january",
    "feb february",
    "mar march",
    "apr april",
    "may",
    "jun june",
    "jul july",
    "aug august",
    "sep sept september",
    "oct october",
    "nov november",
    "dec december",
)
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()}
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+(?P<year>\d{4}))?"
_TIME = r"(?:[T ]\d{2}:\d{2}[\d:.]*(?:Z|[+-]\d{2}:?\d{2})?)?"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<!\d)(?P<year>\d{{4}})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}}){_TIME}(?!\d)",
        rf"\b{_MONTH}\s+{_DAY}\b{_YEAR}",
        rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}{_YEAR}",
        r"(?<![\d.])(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})(?!\d)",
        r"(?<![\d/])(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})(?!\d)",
    )
)
_ID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_NUMBER = re.compile(
    r"(?<![\w.])(?P<whole>\d{1,3}(?:[,'\u2019\u00a0\u202f ]\d{3})+(?!\d)|\d+)(?P<part>[.,]\d+)?"
    r"(?:\s?(?P<scale>k|m|mn|million|thousand|bn|billion)\b)?(?P<percent>\s?(?:%|percent\b))?(?![\w@])",
    re.IGNORECASE,
)
_SCALES = {"k": 3, "thousand": 3, "m": 6, "mn": 6, "million": 6, "bn": 9, "billion": 9}
_COUNTS = {word: float(number) for number, word in enumerate(
    ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
)}  # fmt: skip
GROUP = 3
"""Digits of 1,000 after its comma."""
CENT = 0.005
_ISO = re.compile(r"(\d{4}-\d{2}-\d{2})(?:T.*)?")
_NUMERAL = re.compile(r"-?\d+(?:\.\d+)?")
_WORD = re.compile(r"\w+")

Day = tuple[int | None, int, int]
"""Year (if it is said), month, day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number as it was said."""

    value: float
    precision: float
    """How far the true number may be from the one that was said: 1.2 million is also said of 1,234,000."""
    percent: bool = False
    other: float | None = None
    """What it is to those who write 75.000 for 75,000."""

    def means(self, number: float) -> bool:
        """Whether this is how one may say ``number``."""
        return abs(self.value - number) <= self.precision or self.other == number


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What can be read in a text."""

    words: str = ""
    """Its words and nothing else, in small letters, with a space around each."""
    ids: frozenset[str] = frozenset()
    emails: frozenset[str] = frozenset()
    days: frozenset[Day] = frozenset()
    figures: tuple[Figure, ...] = field(default=())

    def says(self, value: Json) -> bool:
        """Whether the text says ``value``, however it writes it."""
        if isinstance(value, bool) or value is None:
            return True
        if isinstance(value, int | float):
            return any(figure.means(value) for figure in self.figures)
        return isinstance(value, str) and self._says_text(value.strip())

    def _says_text(self, text: str) -> bool:
        if _ID.fullmatch(text):
            return text.lower() in self.ids
        if _EMAIL.fullmatch(text):
            return text.lower() in self.emails
        if iso := _ISO.fullmatch(text):
            return self._says_date(iso[1])
        if _NUMERAL.fullmatch(text) and self.says(float(text)):
            return True
        return _words(text) in self.words

    def says_day(self, year: int | None, month: int, day: int) -> bool:
        """Whether the text says a day; who leaves the year out may mean any."""
        return any(
            said[1:] in ((month, day), (day, month)) and (year is None or said[0] is None or said[0] == year)
            for said in self.days
        )

    def _says_date(self, iso: str) -> bool:
        try:
            day = date.fromisoformat(iso)
        except ValueError:
            return False
        return self.says_day(day.year, day.month, day.day)


def read(text: str) -> Reading:
    """Read a text."""
    rest = text
    ids, rest = _taken(_ID, rest)
    emails, rest = _taken(_EMAIL, rest)
    days: set[Day] = set()
    for pattern in _DATES:
        for match in pattern.finditer(rest):
            if day := _day(match):
                days.add(day)
                rest = rest[: match.start()] + " " * len(match[0]) + rest[match.end() :]
    figures = [_figure(match) for match in _NUMBER.finditer(rest)]
    words = _words(text)
    figures += [Figure(value=count, precision=0.0) for word, count in _COUNTS.items() if f" {word} " in words]
    return Reading(words=words, ids=ids, emails=emails, days=frozenset(days), figures=tuple(figures))


def _taken(pattern: re.Pattern[str], text: str) -> tuple[frozenset[str], str]:
    """Return what matches, and the text without it."""
    found = frozenset(match.lower() for match in pattern.findall(text))
    return (found, pattern.sub(" ", text)) if found else (found, text)


def _day(match: re.Match[str]) -> Day | None:
    month = match["month"].lower()
    number = _MONTHS.get(month) or int(month)
    year = int(match["year"]) if match["year"] else None
    try:
        date(year or 2024, number, int(match["day"]))  # a leap year knows every day
    except ValueError:
        return None
    return year, number, int(match["day"])


def _figure(match: re.Match[str]) -> Figure:
    whole = re.sub(r"\D", "", match["whole"])
    point, part = (match["part"] or " ")[0], (match["part"] or "")[1:]
    grouped = len(part) == GROUP and not match["scale"]
    scale = 10.0 ** _SCALES.get((match["scale"] or "").lower(), 0)
    precision = 0.5 * scale / 10 ** len(part) if match["scale"] else CENT
    value = float(f"{whole}.{part or 0}") * scale
    thousands = float(whole + part) if grouped else None
    return Figure(
        value=thousands if thousands is not None and point == "," else value,
        precision=precision,
        percent=bool(match["percent"]),
        other=thousands,
    )


def _words(text: str) -> str:
    plain = text.casefold().replace("&", " and ").replace("\u2019", "'").replace("'", "")
    return f" {' '.join(_WORD.findall(plain.replace('_', ' ')))} "
