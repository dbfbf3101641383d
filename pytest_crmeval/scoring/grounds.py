"""Whether the figures of a reply stand on something: what the user said, what the CRM answered, or sums of these."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message
from pytest_crmeval.scoring.mentions import Figure, Reading, read

SMALL = 31
"""Up to here a whole number may count, order or date things without being a fact about them."""
PAIRED = 40
"""Of more numbers than this, any figure is the difference of two."""


class Grounds:
    """Everything that was said before a reply; read when a figure is asked about."""

    def __init__(self, today: str) -> None:
        self._unread: list[str] = [today]
        self._read: list[Reading] = []
        self._sums: list[float] = []

    def add(self, messages: Sequence[Message]) -> None:
        """Hear what the user and the CRM say, and what the agent asks the CRM for; what it replies proves nothing."""
        for message in messages:
            if message.speaker == "user":
                self._unread.append(message.text)
            self._unread += [repr(call.arguments) for call in message.calls]
            for result in message.results:
                self._unread.append(f"{result.value!r} {result.note} {result.error.message if result.error else ''}")
                self._sums += _sums(result.value)

    def baseless(self, text: str) -> Iterator[str]:
        """Yield the figures, days, addresses and ids of a reply that nothing before it bears out."""
        said = read(text)
        if not (said.ids or said.emails or said.days or any(map(_counts, said.figures))):
            return
        self._read += [read(heard) for heard in self._unread]
        self._unread.clear()
        yield from sorted(said.ids - frozenset().union(*(reading.ids for reading in self._read)))
        yield from sorted(said.emails - frozenset().union(*(reading.emails for reading in self._read)))
        for year, month, day in sorted(said.days, key=str):
            if not any(reading.says_day(year, month, day) for reading in self._read):
                yield f"{year or '????'}-{month:02}-{day:02}"
        yield from self._baseless_figures([figure for figure in said.figures if _counts(figure)])

    def _baseless_figures(self, figures: Sequence[Figure]) -> Iterator[str]:
        known = {figure.value for reading in self._read for figure in reading.figures}
        known |= {float(year) for reading in self._read for year, _, _ in reading.days if year} | {*self._sums}
        for figure in figures:
            if not any(figure.means(number) for number in known) and not any(map(figure.means, _pairs(known, figure))):
                yield f"{figure.value:,.10g}{' %' if figure.percent else ''}"


def _counts(figure: Figure) -> bool:
    """Whether a number has to stand on something."""
    return figure.percent or figure.value > SMALL or figure.value != int(figure.value)


def _pairs(known: set[float], figure: Figure) -> Iterator[float]:
    """Yield what two known numbers make: their sum, their difference, the one in percent of the other."""
    if len(known) > PAIRED:
        return
    for one, other in combinations(known, 2):
        yield one + other
        yield abs(one - other)
        if figure.percent and one and other:
            for share in (one / other, other / one):
                yield from (round(share * 100), round(abs(share - 1) * 100), round(share * 100, 1))


def _sums(value: Json) -> Iterator[float]:
    """Yield what a list of rows adds up to: how many there are, and the sum and mean of each column of numbers."""
    rows = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        return
    yield float(len(rows))
    columns: dict[str, list[float]] = {}
    for row in rows:
        for name, cell in row.items() if isinstance(row, Mapping) else ():
            if isinstance(cell, int | float) and not isinstance(cell, bool):
                columns.setdefault(name, []).append(float(cell))
    for cells in columns.values():
        yield from (sum(cells), sum(cells) / len(cells))
        yield from (abs(one - other) for one, other in pairwise(cells))
