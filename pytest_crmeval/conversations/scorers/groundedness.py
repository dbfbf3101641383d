"""Whether values are supported by what the user said, what the CRM answered, or sums of these."""

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
"""Whole numbers up to this one may be counts, ordinals or days, and need no support."""
PAIRED = 40
"""Maximum of numbers whose differences are considered: of more, any figure would be one."""
LARGE = 100
"""Numbers from here on are amounts; smaller ones are percentages and counts. The two are never added."""
HUGE = 10**15
"""Larger numbers are ignored: they are not amounts, and a float may not hold them."""
RULES = (99.0, 10_000_000.0)
"""The limits that tools state: of a probability, and of an amount."""
_DERIVATIONS = ("stated", "sums", "pairs")
"""The sources of numbers that support a figure; percentages may also be shares."""
_IDS = tuple(key for _, key in reversed([*TABLES.values()]))
"""Ids in the order in which they decide the entity of a row."""


class KnownValues:
    """The values in a dialogue so far; they are parsed when they are needed."""

    def __init__(self, today: str = "") -> None:
        self._said: list[str] = []
        """Texts, without the values of rows."""
        self._pending: list[Json] = [today]
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
        """Source -> its numbers, sorted; cleared when messages are added."""

    def add(self, messages: Sequence[Message]) -> None:
        """Add what the user and the CRM say, and the arguments of the agent's calls; its replies support nothing."""
        self._derived.clear()
        for message in messages:
            said = [message.text] if message.speaker == "user" else []
            said += [text for result in message.results for text in (result.note, *_why(result)) if text]
            self._said += said
            self._pending += [*said, *(call.arguments for call in message.calls)]
            for result in message.results:
                self._results.append(result.value)
                self._pending.append(result.value)

    def unsupported(self, said: Reading) -> Iterator[str]:
        """Yield the figures, dates, addresses and ids in a text that the dialogue does not support."""
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
            if not self.supports(figure):
                yield f"{figure.value:,.10g}{' %' if figure.percent else ''}"

    def supports(self, figure: Figure) -> bool:
        """Whether a figure was stated, or is a count, sum, difference, share or abbreviation of stated values."""
        self._read()
        if figure.value in self._numbers or any(
            _is_among(self._derived_numbers(kind), figure) for kind in _DERIVATIONS
        ):
            return True
        if figure.percent and _is_among(self._derived_numbers("shares"), figure):
            return True
        if 0 < figure.value < 1 and _is_among(
            self._derived_numbers("stated"), replace(figure, value=figure.value * 100)
        ):
            return True  # a share: 0.75 for 75 %
        return figure.value >= LARGE and self._begins_an_id(f"{figure.value:.0f}")

    def contains_words(self, words: str) -> bool:
        """Whether the dialogue contains these words."""
        self._collect_pending()
        self._words += map(words_of, self._texts[len(self._words) :])
        sought = words_of(words)
        return any(sought in heard for heard in self._words)

    def counts(self, kind: str) -> set[float]:
        """Return the possible numbers of rows of an entity, or of all: stated ones, and counts of shown rows."""
        shown = [[row for row in rows_in(result) if kind in ("", kind_of(row))] for result in self._results]
        together = {str(row[kind_of(row)]): row for rows in shown for row in rows}
        overviews = [str(result) for result in self._results if not next(rows_in(result), None)]
        stated = (figure.value for text in (*self._said, *overviews) for figure in read(text).figures)
        return {*stated, *(float(len(group)) for rows in (*shown, [*together.values()]) for group in _groups(rows))}

    @property
    def people(self) -> set[tuple[str, str]]:
        """First and last names of all people in the dialogue."""
        self._collect_pending()
        return self._people

    def rows(self) -> Iterator[Row]:
        """Yield every row that the CRM has shown."""
        return (row for result in self._results for row in rows_in(result))

    def _collect_pending(self) -> None:
        while self._pending:
            self._collect(self._pending.pop())

    def _collect(self, value: Json) -> None:
        if isinstance(value, str):
            if value not in self._known:
                self._known.add(value)
                self._texts.append(value)
                self._unread.append(value)
        elif value is None or isinstance(value, bool):
            pass  # no value
        elif isinstance(value, int | float):
            self._numbers.update([float(value)] if abs(value) < HUGE else [])
        elif isinstance(value, Mapping):
            self._pending += [*value.keys(), *value.values()]
            if value.get("first_name") and value.get("last_name"):  # a search may have only one of them
                self._people.add((str(value["first_name"]), str(value["last_name"])))
        elif isinstance(value, Sequence):
            self._pending += value

    def _read(self) -> None:
        self._collect_pending()
        for text in self._unread:
            if is_id(text):
                self._ids.add(text.lower())
            elif is_telling(text):
                self._add(read(text))
        self._unread.clear()

    def _add(self, heard: Reading) -> None:
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

    def _derived_numbers(self, how: str) -> Sequence[float]:
        if how not in self._derived:
            self._derived[how] = sorted(set(self._derive(how)))
        return self._derived[how]

    def _derive(self, how: str) -> Iterable[float]:
        if how == "stated":
            return (*self._numbers, *self._years, *RULES)
        if how == "sums":
            return self._sums()
        return _pairs(self._numbers) if how == "pairs" else _shares(self._numbers)

    def _sums(self) -> set[float]:
        """Return sums over each result, and over all rows of an entity."""
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
    """Return the column with the id of a row."""
    return next(key for key in _IDS if key in row)


def rows_in(value: Json) -> Iterator[Row]:
    """Yield the rows in a result of any form: a list, rows by id, compared quotes."""
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
    """Return count, sum and mean of all rows, and of rows with a common value."""
    found = {float(len(value))} if isinstance(value, Sequence) else set()
    for group in _groups(list(rows_in(value))):
        found.add(float(len(group)))
        found.update(_totals(group) if len(group) > 1 else ())
    return found


def _groups(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Yield all rows, and the groups with the same value in a column."""
    yield rows
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        for name, cell in row.items():
            if isinstance(cell, str):
                groups.setdefault((name, cell), []).append(row)
    yield from groups.values()


def follows_from(value: Json, fact: Json) -> bool:
    """Whether a result states a fact, or the fact is a count or sum of it."""
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
    """Yield the sum and mean of each numeric column."""
    columns: dict[str, list[float]] = {}
    for row in rows:
        for name, cell in row.items():
            if isinstance(cell, int | float) and not isinstance(cell, bool):
                columns.setdefault(name, []).append(float(cell))
    for cells in columns.values():
        yield from (sum(cells), sum(cells) / len(cells))


def _counts(figure: Figure) -> bool:
    """Whether a number needs support."""
    return figure.percent or figure.value > SMALL or figure.value != int(figure.value)


def _is_among(numbers: Sequence[float], figure: Figure) -> bool:
    """Whether a figure means one of the sorted numbers: only the nearest ones have to be checked."""
    sought = (figure.value, figure.value if figure.other is None else figure.other)
    places = [bisect_left(numbers, value) for value in sought]
    return any(figure.means(number) for place in places for number in numbers[max(place - 1, 0) : place + 1])


def _pairs(known: set[float]) -> Iterator[float]:
    """Yield sums, differences, products and quotients of two known numbers."""
    if len(known) > PAIRED:
        return
    for one, other in combinations(known, 2):
        small, large = sorted((one, other))
        if (small < LARGE) is (large < LARGE):
            yield from (one + other, large - small)
        elif 1 < small < LARGE:
            yield from (small * large / 100, large / small)


def _shares(known: set[float]) -> Iterator[float]:
    """Yield known numbers as percentages of each other."""
    for one, other in combinations(known if len(known) <= PAIRED else (), 2):
        small, large = sorted((one, other))
        for share in (small / large, large / small) if small > 0 else ():
            yield from (share * 100, abs(share - 1) * 100)


def _written(days: frozenset[Day]) -> str:
    year, month, day = min(days, key=str)
    return f"{year or '????'}-{month:02}-{day:02}"
