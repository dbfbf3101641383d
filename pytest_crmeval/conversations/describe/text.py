"""The text output of ``crmeval describe``."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from pytest_crmeval.conversations.describe.description import ANY, Counts, Description
from pytest_crmeval.conversations.describe.outline import (
    LOOKED_UP,
    NO_CALL,
    NOTHING,
    QUESTION,
    REFUSAL,
    SAID,
    SHOWN,
)
from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.ports.crm_calls import writes

WIDTH = 100
"""Columns of the output."""
BAR = 40
_BEHAVIOURS = {
    REFUSAL: "the CRM refuses",
    QUESTION: "the reply must ask",
    NOTHING: "there is nothing to find",
    NO_CALL: "there is nothing to call",
    ANY: "any of these",
}
_WAYS = {
    SAID: "by an id that the user states",
    SHOWN: "in another way, after an earlier turn about it",
    LOOKED_UP: "in another way, so it must be looked up",
}
Row = Sequence[str]


def page(found: Description, *, examples: int) -> Iterator[str]:
    """Yield the lines of the output, with ``examples`` of the wordings and of conversations that are alike."""
    rows = [("rows at the start", "min", "mean", "max", "total")]
    for entity, spread in found.rows.items():
        rows.append((entity, str(spread.least), f"{spread.mean:.2f}", str(spread.most), str(spread.total)))
    sections = (
        _lengths(found),
        _shares("complexity", found.complexity, found.conversations),
        _shares("category", found.categories, found.conversations),
        _shares("split", found.splits, found.conversations),
        _calls(found),
        _labelled("turns in which", found.behaviours, _BEHAVIOURS, found.turns),
        _tags(found.tags, found.conversations),
        _wordings(found, examples),
        _aligned(rows, indent=""),
        ["different names, seeded or created", *_aligned([(kind, str(count)) for kind, count in found.names.items()])],
        _labelled("turns that refer to a record", found.ways, _WAYS, sum(found.ways.values())),
        _times(found),
        _alike(found, examples),
    )
    yield f"{_many(found.conversations, 'conversation')}, {_many(found.turns, 'turn')}"
    for section in sections:
        yield ""
        yield from section


def _lengths(found: Description) -> Iterator[str]:
    yield f"turns per conversation: {found.mean:.2f} on average"
    total, most = sum(found.lengths.values()), max(found.lengths.values())
    for size, number in found.lengths.items():
        bar = "#" * max(1, round(number * BAR / most))
        yield f"{size:>7}  {bar:<{BAR}}{number:>7}{_share(number, total)}"


def _shares(head: str, counts: Counts, total: int) -> Iterator[str]:
    yield head
    yield from _aligned([(name, str(count), _share(count, total).strip()) for name, count in counts.items()])


def _labelled(head: str, counts: Counts, labels: Mapping[str, str], total: int) -> Iterator[str]:
    return _shares(head, {label: counts[name] for name, label in labels.items()}, total)


def _calls(found: Description) -> Iterator[str]:
    yield (
        f"{_many(found.calls, 'call')}: {_many(found.writes, 'write')} ({found.writes / (found.calls or 1):.1%}), "
        f"{_many(found.calls - found.writes, 'read')}; further calls of a turn: "
        f"{sum(calls.further for calls in found.tools.values())}"
    )
    reads, changes = [("reads", "main", "further")], [("writes", "main", "further")]
    for name, calls in found.tools.items():
        (changes if writes(name) else reads).append((name, str(calls.main), str(calls.further)))
    yield from _side_by_side(list(_aligned(reads)), list(_aligned(changes)))
    never = [name for name, calls in found.tools.items() if not calls.total]
    if never:
        yield from _wrapped("never called: ", never)


def _tags(tags: Counts, total: int) -> Iterator[str]:
    if not tags:
        yield "no tags"
        return
    rows = list(_aligned([(tag, str(count), _share(count, total).strip()) for tag, count in tags.items()]))
    half = (len(rows) + 1) // 2
    yield f"{_many(len(tags), 'tag')}"
    yield from _side_by_side(rows[:half], rows[half:])


def _wordings(found: Description, examples: int) -> Iterator[str]:
    wordings = _many(len(found.wordings), "wording")
    yield f"{wordings} in {_many(found.turns, 'utterance')}, ignoring names and numbers; the most frequent:"
    for said, count in list(found.wordings.items())[:examples]:
        line = f"{count:>7}  {said}"
        yield line if len(line) <= WIDTH else cut(line, WIDTH - 1)


def _times(found: Description) -> Iterator[str]:
    clock = found.clock
    if clock.first and clock.last:
        yield f"now: {_many(clock.days, 'day')} from {clock.first.date()} to {clock.last.date()}"
    if clock.unsaid:
        yield f"now: not set in {_many(clock.unsaid, 'conversation')}"
    lengths = ", ".join(f"{number} of {_many(size, 'segment')}" for size, number in found.chains.items())
    yield f"chains: {sum(found.chains.values())}{lengths and f' ({lengths})'}"


def _alike(found: Description, examples: int) -> Iterator[str]:
    likeness = found.likeness
    groups = ((str(size), str(number), str(size * number)) for size, number in likeness.sizes.items())
    yield f"{likeness.shapes} of {_many(found.conversations, 'conversation')} are different, ignoring names and numbers"
    yield from _aligned([("alike", "groups", "conversations"), *groups])
    if likeness.most > 1:
        more = [f"... and {likeness.most - examples} more"] if likeness.most > examples else []
        yield from _wrapped("largest group: ", [*likeness.largest[:examples], *more])


def _aligned(rows: Sequence[Row], *, indent: str = "  ") -> Iterator[str]:
    """Yield the rows of a table: names aligned to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *numbers in rows:
        cells = [f"{number:>{width}}" for number, width in zip(numbers, widths[1:], strict=True)]
        yield "  ".join([f"{indent}{name:<{widths[0]}}", *cells])


def _side_by_side(left: Sequence[str], right: Sequence[str]) -> Iterator[str]:
    width = max(map(len, left), default=0)
    for one, other in zip_longest(left, right, fillvalue=""):
        yield f"{one:<{width}}    {other}".rstrip()


def _wrapped(head: str, words: Sequence[str]) -> Iterator[str]:
    """Yield a list of words, wrapped to the width of the output."""
    line = f"  {head}"
    for place, word in enumerate(words):
        part = word if place == len(words) - 1 else f"{word}, "
        if len(line) + len(part.rstrip()) > WIDTH and line.strip():
            yield line.rstrip()
            line = "    "
        line += part
    yield line


def _share(number: int, total: int) -> str:
    return f"{number / (total or 1):>8.1%}"


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
