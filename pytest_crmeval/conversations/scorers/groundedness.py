"""Whether the figures of a reply stand on something: what the user said, what the CRM answered, or sums of these."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import combinations

from pytest_crmeval.conversations.scorers.mentions import (
    Day,
    Figure,
    Reading,
    is_id,
    is_telling,
    read,
    same_day,
    same_phone,
    words_of,
)
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, ToolResult
from pytest_crmeval.domain.state import TABLES, Row

SMALL = 31
"""Up to here a whole number may count, order or date things without being a fact about them."""
PAIRED = 40
"""Of more numbers than this, any figure is the difference of two."""
LARGE = 100
"""From here on numbers are amounts; below, percentages and counts. The two are never added up."""
HUGE = 10**15
"""No amount of this world; and more than a float can hold is no number at all."""
RULES = (99.0, 10_000_000.0)
"""The bounds that tools tell of themselves: of a probability, of an amount."""
_MAKINGS = ("heard", "sums", "pairs")
"""How numbers come about of which a figure may speak; percentages are shares, too."""
_IDS = tuple(key for _, key in reversed([*TABLES.values()]))
"""A row is of the first kind whose id it has."""


class Grounds:
    """Everything that was said before a reply; read when a figure is asked about."""

    def __init__(self, today: str = "") -> None:
        self._spoken: list[str] = []
        """In words, not in rows."""
        self._unheard: list[Json] = [today]
        self._unread: list[str] = []
        self._known: set[str] = set()
        self._texts: list[str] = []
        self._words: list[str] = []
        self._ids: set[str] = set()
        self._emails: set[str] = set()
        self._phones: set[str] = set()
        self._days: set[Day] = set()
        self._numbers: set[float] = set()
        self._years: set[float] = set()
        self._people: set[tuple[str, str]] = set()
        self._results: list[Json] = []
        self._derived: dict[str, Sequence[float]] = {}
        """Numbers in order, by how they are made; until more is heard."""

    def add(self, messages: Sequence[Message]) -> None:
        """Hear what the user and the CRM say, and what the agent asks the CRM for; what it replies proves nothing."""
        self._derived.clear()
        for message in messages:
            said = [message.text] if message.speaker == "user" else []
            said += [text for result in message.results for text in (result.note, *_why(result)) if text]
            self._spoken += said
            self._unheard += [*said, *(call.arguments for call in message.calls)]
            for result in message.results:
                self._results.append(result.value)
                self._unheard.append(result.value)

    def baseless(self, said: Reading) -> Iterator[str]:
        """Yield the figures, days, addresses and ids of a reply that nothing before it bears out."""
        figures = [figure for figure in dict.fromkeys(said.numbers) if _counts(figure)]
        if not (said.ids or said.short_ids or said.emails or said.dates or said.phones or figures):
            return
        self._read()
        yield from sorted(said.ids - self._ids)
        yield from (short for short in sorted(said.short_ids) if not self._begins_an_id(short))
        yield from sorted(said.emails - self._emails)
        yield from (phone for phone in sorted(said.phones) if not self._knows_phone(phone))
        yield from sorted(_written(days) for days in said.dates if not any(map(self._knows_day, days)))
        for figure in figures:
            if not self.bear_out(figure):
                yield f"{figure.value:,.10g}{' %' if figure.percent else ''}"

    def bear_out(self, figure: Figure) -> bool:
        """Whether a figure was heard, or counts, adds up, compares or shortens what was."""
        self._read()
        if figure.value in self._numbers or any(_is_among(self._made(kind), figure) for kind in _MAKINGS):
            return True
        if figure.percent and _is_among(self._made("shares"), figure):
            return True
        if 0 < figure.value < 1 and _is_among(self._made("heard"), replace(figure, value=figure.value * 100)):
            return True  # a share: 0.75 for 75 %
        return figure.value >= LARGE and self._begins_an_id(f"{figure.value:.0f}")

    def has_said(self, words: str) -> bool:
        """Whether words were heard."""
        self._listen()
        self._words += map(words_of, self._texts[len(self._words) :])
        sought = words_of(words)
        return any(sought in heard for heard in self._words)

    def counts(self, kind: str) -> set[float]:
        """Return how many rows of a kind, or of any, there are: as stated, or as shown, all or those that are alike."""
        shown = [[row for row in rows_in(result) if kind in ("", kind_of(row))] for result in self._results]
        together = {str(row[kind_of(row)]): row for rows in shown for row in rows}
        overviews = [str(result) for result in self._results if not next(rows_in(result), None)]
        stated = (figure.value for text in (*self._spoken, *overviews) for figure in read(text).figures)
        return {*stated, *(float(len(group)) for rows in (*shown, [*together.values()]) for group in _groups(rows))}

    @property
    def people(self) -> set[tuple[str, str]]:
        """First and last names of those who were heard of."""
        self._listen()
        return self._people

    def rows(self) -> Iterator[Row]:
        """Yield every row that the CRM has shown."""
        return (row for result in self._results for row in rows_in(result))

    def _listen(self) -> None:
        while self._unheard:
            self._hear(self._unheard.pop())

    def _hear(self, value: Json) -> None:
        if isinstance(value, str):
            if value not in self._known:
                self._known.add(value)
                self._texts.append(value)
                self._unread.append(value)
        elif value is None or isinstance(value, bool):
            pass  # says nothing
        elif isinstance(value, int | float):
            self._numbers.update([float(value)] if abs(value) < HUGE else [])
        elif isinstance(value, Mapping):
            self._unheard += [*value.keys(), *value.values()]
            if value.get("first_name") and value.get("last_name"):  # who searches may know only one of them
                self._people.add((str(value["first_name"]), str(value["last_name"])))
        elif isinstance(value, Sequence):
            self._unheard += value

    def _read(self) -> None:
        self._listen()
        for text in self._unread:
            if is_id(text):
                self._ids.add(text.lower())
            elif is_telling(text):
                self._take(read(text))
        self._unread.clear()

    def _take(self, heard: Reading) -> None:
        self._ids |= heard.ids
        self._emails |= heard.emails
        self._phones |= heard.phones
        for day in (day for days in heard.dates for day in days):
            self._days.add(day)
            self._years.add(float(day[0] or 0))
        for figure in heard.numbers:
            self._numbers.update(number for number in (figure.value, figure.other) if number is not None)

    def _begins_an_id(self, short: str) -> bool:
        return any(known.startswith(short) for known in self._ids)

    def _knows_phone(self, phone: str) -> bool:
        return any(same_phone(phone, known) for known in self._phones) or float(phone) in self._numbers

    def _knows_day(self, day: Day) -> bool:
        return any(same_day(day, known) for known in self._days)

    def _made(self, how: str) -> Sequence[float]:
        if how not in self._derived:
            self._derived[how] = sorted(set(self._make(how)))
        return self._derived[how]

    def _make(self, how: str) -> Iterable[float]:
        if how == "heard":
            return (*self._numbers, *self._years, *RULES)
        if how == "sums":
            return self._sums()
        return _pairs(self._numbers) if how == "pairs" else _shares(self._numbers)

    def _sums(self) -> set[float]:
        """Return what the results add up to, each for itself and all rows of a kind together."""
        kinds: dict[str, dict[Json, Row]] = {}
        for row in self.rows():
            kinds.setdefault(kind_of(row), {})[row[kind_of(row)]] = row
        together = [list(rows.values()) for rows in kinds.values()]
        return set().union(*map(sums, self._results), *map(sums, together), self._spans())

    def _spans(self) -> Iterator[float]:
        """Yield the days between any two dates."""
        dates = [date(year, month, day) for year, month, day in self._days if year]
        return (float(abs((one - other).days)) for one, other in combinations(dates, 2))


def _why(result: ToolResult) -> Iterator[str]:
    if result.error:
        yield result.error.message


def kind_of(row: Row) -> str:
    """Return what a row is known by: its kind's id."""
    return next(key for key in _IDS if key in row)


def rows_in(value: Json) -> Iterator[Row]:
    """Yield the rows in a result, however it wraps them: in a list, by id, as the quotes that are compared."""
    if isinstance(value, Mapping):
        if any(key in value for key in _IDS):
            yield value
        else:
            for item in value.values():
                yield from rows_in(item) if not isinstance(item, str) else ()
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from rows_in(item)


def sums(value: Json) -> set[float]:
    """Return what rows add up to, all of them and those with something in common: number, sum, mean."""
    found = {float(len(value))} if isinstance(value, Sequence) else set()
    for group in _groups(list(rows_in(value))):
        found.add(float(len(group)))
        found.update(_totals(group) if len(group) > 1 else ())
    return found


def _groups(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Yield all rows, and those that say the same in one column."""
    yield rows
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        for name, cell in row.items():
            if isinstance(cell, str):
                groups.setdefault((name, cell), []).append(row)
    yield from groups.values()


def follows_from(value: Json, fact: Json) -> bool:
    """Whether a result says a fact, or lets one count it or add it up."""
    return fact in _leaves(value) or (isinstance(fact, int | float) and float(fact) in sums(value))


def _leaves(value: Json) -> Iterator[Json]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, str) or not isinstance(value, Sequence):
        yield value
    else:
        for item in value:
            yield from _leaves(item)


def _totals(rows: Sequence[Row]) -> Iterator[float]:
    """Yield sum and mean of each column of numbers."""
    columns: dict[str, list[float]] = {}
    for row in rows:
        for name, cell in row.items():
            if isinstance(cell, int | float) and not isinstance(cell, bool):
                columns.setdefault(name, []).append(float(cell))
    for cells in columns.values():
        yield from (sum(cells), sum(cells) / len(cells))


def _counts(figure: Figure) -> bool:
    """Whether a number has to stand on something."""
    return figure.percent or figure.value > SMALL or figure.value != int(figure.value)


def _is_among(numbers: Sequence[float], figure: Figure) -> bool:
    """Whether a figure means one of the numbers, which are in order: then one of the nearest."""
    sought = (figure.value, figure.value if figure.other is None else figure.other)
    places = [bisect_left(numbers, value) for value in sought]
    return any(figure.means(number) for place in places for number in numbers[max(place - 1, 0) : place + 1])


def _pairs(known: set[float]) -> Iterator[float]:
    """Yield what two known numbers make: sum and difference, the one by the other."""
    if len(known) > PAIRED:
        return
    for one, other in combinations(known, 2):
        small, large = sorted((one, other))
        if (small < LARGE) is (large < LARGE):
            yield from (one + other, large - small)
        elif 1 < small < LARGE:
            yield from (small * large / 100, large / small)


def _shares(known: set[float]) -> Iterator[float]:
    """Yield what known numbers are in percent of each other."""
    for one, other in combinations(known if len(known) <= PAIRED else (), 2):
        small, large = sorted((one, other))
        for share in (small / large, large / small) if small > 0 else ():
            yield from (share * 100, abs(share - 1) * 100)


def _written(days: frozenset[Day]) -> str:
    year, month, day = min(days, key=str)
    return f"{year or '????'}-{month:02}-{day:02}"
