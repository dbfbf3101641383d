"""What a text says: amounts, dates, names, counts, addresses and ids in any common format."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache, partial
from itertools import pairwise

from pytest_crmeval.domain.json import Json

_MONTH_NAMES = (
    "jan january,feb february,mar march,apr april,may,jun june,jul july,aug august,sep sept september,oct october,"
    "nov november,dec december"
)
MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES.split(","), start=1) for name in names.split()}
_MONTH = r"(?P<month>[A-Za-z]{3,9})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,?[\s-]+(?P<year>\d{4}))?(?!\d)"
_CLOCK = r"(?:T[\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?"
_DATES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?<!\d)(?P<year>\d{{4}})(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}}){_CLOCK}(?!\d)",
        rf"\b{_MONTH}[\s-]+{_DAY}\b{_YEAR}",
        rf"\b{_DAY}\.?[\s-]+(?:of\s+)?{_MONTH}{_YEAR}",
        r"(?<![\d./-])(?P<month>\d{1,2})(?P<mark>[-/.])(?P<day>\d{1,2})(?P=mark)(?P<year>\d{4}|(?<=/)\d{2})(?!\d)",
    )
)
_TIME = re.compile(r"(?<![\d:])\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?!\d)")
_ID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)
_SHORT_ID = re.compile(r"(?<![\w-])(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{8}(?![\w-])", re.IGNORECASE)
_CODE = re.compile(r"(?<![\w+./-])[1-9]\d{1,3}-\d{5,}(?![\w-])")
"""A number of a document, an order or a booking."""
_EMAIL = re.compile(r"(?<![^\W_])[^\W_][\w.+-]{0,63}@[\w-]{1,63}(?:\.[^\W_](?:[\w-]{0,61}[^\W_])?)+")
_PHONE = re.compile(
    r"(?<![\w.,])(?:\+\d[\d ().\u00a0/-]{5,25}\d|\(\d{2,5}\)[ .-]?\d[\d .-]{4,20}\d"
    r"|(?:\d{3}[-.])?\d{3}[-.]\d{4}|0\d{1,4}[ /-]\d[\d -]{3,20}\d)(?!\w|,\d)"
)
_NUMBER = re.compile(
    r"(?<![\w.])(?<!\bISO[- ])"
    r"(?P<whole>\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?P<mark>[,'\u2019\u00a0\u202f\u2009 ])\d{3}(?:(?P=mark)\d{3})*"
    r"(?!\d|(?<=[\u00a0\u202f\u2009 ]\d{3})[.,]\d{3}(?!\d))|\d+)(?P<part>[.,]\d+)?"
    r"(?:\s?(?P<scale>k|m|mm|mn|mio|million|thousand|b|bn|billion)\b\.?)?(?P<percent>\s?(?:%|percent\b|per\scent\b|/\s?100\b))?(?![\w@])",
    re.IGNORECASE,
)
_CURRENCY = re.compile(r"(?:USD|EUR|GBP|CHF)(?=\d)|(?<=\d)(?:USD|EUR|GBP|CHF)\b")
_SCALES = {"k": 3, "thousand": 3, **dict.fromkeys(("m", "mm", "mn", "mio", "million"), 6)}
_SCALES |= dict.fromkeys(("b", "bn", "billion"), 9)
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
COUNTS: Mapping[str, int] = {
    **{word: number for number, word in enumerate(_UNITS.split())},
    **{
        f"{ten} {unit}".strip(): t * 10 + u
        for t, ten in enumerate(_TENS.split(), start=2)
        for u, unit in enumerate(["", *_UNITS.split()[1:10]])
    },
    **dict.fromkeys(("both", "pair", "couple"), 2),
    "single": 1,
    "dozen": 12,
}
"""How one counts in words, as they stand in ``Reading.words``."""
GROUP = 3
"""Digits of 1,000 after its comma."""
CENT = 0.005
TINY = 1e-6
"""What floats add to a difference."""
CENTURY = 100
ID_LENGTH = 36
SHORT = 8
"""Letters of an id that tell it from others."""
LONG = 200
LOCAL = 6
"""Digits of a telephone number without its country."""
_KINDS = frozenset(("competitor", "draft", "partner", "prospect", "vendor"))
"""Choices that one may say of several."""
_ISO = re.compile(r"(\d{4}-\d{2}-\d{2})(?:T.*)?")
_NUMERAL = re.compile(r"-?\d+(?:\.\d+)?")
_WORD = re.compile(r"\w+")
_TELLING = re.compile(r"[\d@]")
_APOSTROPHE = re.compile(r"[\u2018\u2019\u02bc\u00b4`]")
_POSSESSIVE = re.compile(r"'s?(?!\w)")

Day = tuple[int | None, int, int]
"""Year (if it is said), month, day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number as it was said."""

    value: float
    precision: float = 0.0
    """How far the true number may be from the one that was said: 1.2 million is also said of 1,234,000."""
    percent: bool = False
    other: float | None = None
    """What it is to those who write 75.000 for 75,000."""

    def means(self, number: float) -> bool:
        """Whether this is how one may say ``number``."""
        return abs(self.value - number) <= self.precision + TINY or self.other == number


Value = str | frozenset[Day] | Figure
"""What is said: an id, an address or a telephone number, the days that a date may mean, or a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A value and where it stands in a text."""

    sort: str
    value: Value
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What can be read in a text."""

    text: str
    ids: frozenset[str] = frozenset()
    short_ids: frozenset[str] = frozenset()
    """The first letters of ids."""
    emails: frozenset[str] = frozenset()
    phones: frozenset[str] = frozenset()
    """Digits only."""
    dates: frozenset[frozenset[Day]] = frozenset()
    """Each with the days that it may mean: 03/04/2026 is one of two."""
    numbers: tuple[Figure, ...] = ()
    """In digits."""

    @cached_property
    def words(self) -> str:
        """Its words and nothing else, in small letters, with a space around each."""
        return words_of(self.text)

    @cached_property
    def unmarked(self) -> str:
        """Its words as those write them who leave apostrophes out."""
        return _unmarked(self.text)

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """Its numbers, in digits and in words."""
        words = self.words.split()
        spoken = {*words, *map(" ".join, pairwise(words))} & COUNTS.keys()
        return (*self.numbers, *(Figure(value=COUNTS[word]) for word in sorted(spoken)))

    def says(self, value: Json) -> bool:
        """Whether the text says ``value``, however it writes it."""
        if isinstance(value, bool) or value is None:
            return True
        if isinstance(value, int | float):
            return any(figure.means(value) for figure in self.figures)
        return isinstance(value, str) and self._says_text(value.strip())

    def says_beside(self, text: str, others: Iterable[str]) -> bool:
        """Whether the text says a name for itself, and not only in the longer ones of ``others`` that hold it."""
        sought = words_of(text)
        longer = sum(sought != words_of(other) and sought in words_of(other) for other in others)
        return self.says(text) and (not longer or len(re.findall(rf"(?={re.escape(sought)})", self.words)) > longer)

    def _says_text(self, text: str) -> bool:
        if is_id(text):
            return text.lower() in self.ids or text.lower()[:SHORT] in self.short_ids
        if _EMAIL.fullmatch(text):
            return text.lower() in self.emails
        if iso := _ISO.fullmatch(text):
            return self._says_date(iso[1])
        if _NUMERAL.fullmatch(text) and self.says(float(text)):
            return True
        if _PHONE.fullmatch(text) and any(same_phone(_digits(text), phone) for phone in self.phones):
            return True
        return any(form in self.words for form in _forms(words_of(text))) or _unmarked(text) in self.unmarked

    def _says_date(self, iso: str) -> bool:
        try:
            day = date.fromisoformat(iso)
        except ValueError:
            return False
        return any(same_day(said, (day.year, day.month, day.day)) for dates in self.dates for said in dates)


def _forms(words: str) -> Sequence[str]:
    """Return words as they may be said: of kinds, and only of these, also the plural."""
    return (words, f" {words.strip()}s ") if words.strip() in _KINDS else (words,)


def is_id(text: str) -> bool:
    """Whether a text is an id and nothing else."""
    return len(text) == ID_LENGTH and bool(_ID.fullmatch(text))


def is_telling(text: str) -> bool:
    """Whether there is more to be read in a text than words."""
    return bool(_TELLING.search(text))


def same_day(one: Day, other: Day) -> bool:
    """Whether two may be the same; who leaves the year out may mean any."""
    return one[1:] == other[1:] and (one[0] is None or other[0] is None or one[0] == other[0])


def same_phone(one: str, other: str) -> bool:
    """Whether two telephone numbers are the same, with their country or without it."""
    short, long = sorted((one.lstrip("0"), other.lstrip("0")), key=len)
    return short == long or (len(short) >= LOCAL and long.endswith(short))


def read(text: str) -> Reading:
    """Read a text; short ones are remembered, because the same rows are shown again and again."""
    if not is_telling(text):
        return Reading(text=text)
    return _remembered(text) if len(text) < LONG else _read(text)


def located(text: str) -> list[Located]:
    """Return the ids, e-mail addresses, dates, telephone numbers and numbers of a text, with their places."""
    found: list[Located] = []
    for sort, pattern in (("id", _ID), ("id", _CODE), ("short id", _SHORT_ID), ("email", _EMAIL)):
        if sort != "email" or "@" in text:
            text = _take(found, sort, pattern, text, str.lower)
    for pattern in _DATES:
        text = _take(found, "date", pattern, text, partial(_dates, pattern))
    text = _TIME.sub(lambda time: " " * len(time[0]), text) if ":" in text else text
    text = _CURRENCY.sub(lambda code: " " * len(code[0]), _take(found, "phone", _PHONE, text, _digits))
    numbers = _NUMBER.finditer(text)
    return [*found, *(Located(sort="number", value=_figure(one), start=one.start(), end=one.end()) for one in numbers)]


def _take(found: list[Located], sort: str, pattern: re.Pattern[str], text: str, meaning: Callable[[str], Value]) -> str:
    """Add what matches to ``found``, and return the text with blanks in its place."""
    for match in pattern.finditer(text):
        if value := meaning(match[0]):
            found.append(Located(sort=sort, value=value, start=match.start(), end=match.end()))
            text = text[: match.start()] + " " * len(match[0]) + text[match.end() :]
    return text


def _dates(pattern: re.Pattern[str], said: str) -> frozenset[Day]:
    match = pattern.search(said)
    return frozenset(_days(match)) if match else frozenset()


def _read(text: str) -> Reading:
    values: dict[str, list[Value]] = {}
    for one in located(text):
        values.setdefault(one.sort, []).append(one.value)
    return Reading(
        text=text,
        ids=frozenset(map(str, values.get("id", ()))),
        short_ids=frozenset(map(str, values.get("short id", ()))),
        emails=frozenset(map(str, values.get("email", ()))),
        dates=frozenset(days for days in values.get("date", ()) if isinstance(days, frozenset)),
        phones=frozenset(map(str, values.get("phone", ()))),
        numbers=tuple(figure for figure in values.get("number", ()) if isinstance(figure, Figure)),
    )


_remembered = lru_cache(4096)(_read)


def words_of(text: str) -> str:
    """Return the words of a text and nothing else, in small letters, with a space around each; whose is whose apart."""
    return _remembered_words(text) if len(text) < LONG else _words(text)


def _words(text: str) -> str:
    return _joined(_POSSESSIVE.sub("", _plain(text)).replace("'", ""))


_remembered_words = lru_cache(4096)(_words)


def _unmarked(text: str) -> str:
    """Return the words of a text as those write them who leave apostrophes out: McDonalds."""
    return _joined(_plain(text).replace("'", ""))


def _plain(text: str) -> str:
    """Return a text in small letters, without accents, and with one kind of apostrophe."""
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
        text = _APOSTROPHE.sub("'", text)
    return text.casefold().replace("&amp;", "&").replace("&", " and ").replace("cancelled", "canceled")


def _joined(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.replace('_', ' ')))} "


def _days(match: re.Match[str]) -> Iterator[Day]:
    """Yield the days that a date may mean: of two numbers, either may be the month."""
    year = int(match["year"]) if match["year"] else None
    if year is not None and year < CENTURY:
        year += 2000
    day, month = int(match["day"]), match["month"].lower()
    if month.isdigit():
        yield from _possible(year, int(month), day)
        if match.start("year") > match.start("month"):
            yield from _possible(year, day, int(month))
    elif month in MONTHS:
        yield from _possible(year, MONTHS[month], day)


def _possible(year: int | None, month: int, day: int) -> Iterator[Day]:
    try:
        date(year or 2024, month, day)  # a leap year knows every day
    except ValueError:
        return
    yield year, month, day


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def _figure(match: re.Match[str]) -> Figure:
    whole = _digits(match["whole"])
    point, part = (match["part"] or " ")[0], (match["part"] or "")[1:]
    grouped = len(part) == GROUP and not match["scale"] and len(whole) <= GROUP
    scale = 10.0 ** _SCALES.get((match["scale"] or "").lower(), 0)
    rounded = match["scale"] or match["percent"]
    value = float(f"{whole}.{part or 0}") * scale
    thousands = float(whole + part) if grouped else None
    return Figure(
        value=thousands if thousands is not None and point == "," else value,
        precision=0.5 * scale / 10 ** len(part) if rounded else CENT,
        percent=bool(match["percent"]),
        other=thousands,
    )
