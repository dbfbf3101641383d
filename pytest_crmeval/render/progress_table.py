"""Progress as a table that fits the terminal: names may be shortened, numbers never."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from unicodedata import combining, east_asian_width

from pytest_crmeval.domain.cutting import redacted
from pytest_crmeval.domain.usage import money
from pytest_crmeval.journal.progress import Progress

NAME, ALL = "suite × subject", "all"
SHORTEST, SHORT = 16, 32
"""Names are not cut shorter than this to make room for an essential figure, or for another one."""
GAP = "  "
_INDENT = "  "
_ORDER = (
    *("done", "passed", "failed", "errored", "invalid", "pass rate", "pass@1", "95 %"),
    *("in flight", "retries", "tokens in", "tokens out", "cost", "per min", "ETA"),
)
_IMPORTANCE = (
    *("done", "pass rate", "pass@1", "ETA", "errored", "cost", "in flight", "per min", "95 %", "retries", "failed"),
    *("invalid", "passed", "tokens out", "tokens in"),
)
_PHRASES = {
    "errored": "{} errored",
    "invalid": "{} invalid",
    "cost": "{}",
    "in flight": "{} in flight",
    "per min": "{}/min",
    "retries": "{} retries",
}
_ESSENTIAL = 5
_NEEDED = 3
"""With room for fewer essential figures than this, there are lines instead of a table."""
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_LARGE = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_DIGITS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressTable:
    """A table with names at the left and numbers at the right; without heads, plain lines."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]

    def lines(self) -> Iterator[str]:
        """Yield the lines of the table."""
        if not self.heads:
            yield from (line for row in self.rows for line in row)
            return
        rows = [self.heads, *self.rows]
        widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
        for name, *numbers in rows:
            padded = [text.rjust(width) for text, width in zip(numbers, widths[1:], strict=True)]
            yield GAP.join([name + " " * (widths[0] - cells(name)), *padded]).rstrip()


def sheet(rows: Sequence[Progress], whole: Progress, width: int | None = None) -> ProgressTable:
    """Return a row per suite and subject, and a total if there are several, of at most ``width``; None: any width."""
    if not rows:
        return ProgressTable(heads=(), rows=())
    names, figures = [named(row) for row in rows], [_figures(row) for row in rows]
    if len(rows) > 1:
        names.append(ALL)
        figures.append({**_figures(whole), "pass rate": "", "pass@1": "", "95 %": ""})  # rates have no total
    shown = [head for head in _IMPORTANCE if _says_something(head, figures)]
    chosen = shown if width is None else _fitting(shown, figures, names, width)
    if len(chosen) < min(_NEEDED, len(shown)):
        blocks = [
            [cut(name, width), *folded(list(_phrases(found)), width, between=GAP, indent=_INDENT)]
            for name, found in zip(names, figures, strict=True)
        ]
        return ProgressTable(heads=(), rows=blocks)
    heads = [head for head in _ORDER if head in chosen]
    room = None if width is None else width - sum(_wide(head, figures) for head in heads)
    table = [[cut(name, room), *(found[head] for head in heads)] for name, found in zip(names, figures, strict=True)]
    return ProgressTable(heads=[cut(NAME, room), *heads], rows=table)


def in_words(row: Progress) -> str:
    """Return the progress of a row on one line."""
    verdicts = {name: getattr(row, name) for name in ("passed", "failed", "errored", "invalid")}
    phrases = [f"{row.done}/{row.total} done", *(f"{number} {name}" for name, number in verdicts.items() if number)]
    phrases += [f"cost {dollars(row)}"] if row.calls else []
    phrases += [f"{row.in_flight} in flight"] if row.in_flight else []
    phrases += [f"{_paced(row.rate)}/min"] if row.rate is not None else []
    phrases += [f"ETA {duration(row.eta)}"] if row.eta else []
    return ", ".join(phrases)


def named(row: Progress) -> str:
    """Return suite and subject of a row, printable."""
    name = f"{row.suite} × {row.subject}"
    return name if name.isprintable() else ascii(name)[1:-1]


def duration(seconds: float | None) -> str:
    """Return a duration in its two largest units; a dash if it is unknown."""
    if seconds is None:
        return "-"
    left = max(0, round(seconds))
    first = next((place for place, (unit, _) in enumerate(_UNITS) if left >= unit), len(_UNITS) - 1)
    phrases = []
    for unit, name in _UNITS[first : first + 2]:
        phrases.append((left // unit, name))
        left %= unit
    if phrases[0][1] == "min" and phrases[0][0] >= 10:  # noqa: PLR2004 (seconds no longer matter)
        phrases = phrases[:1]
    return " ".join(f"{number} {name}" for place, (number, name) in enumerate(phrases) if number or not place)


def large(number: int) -> str:
    """Return a count with three significant digits."""
    for size, name in _LARGE:
        if number >= size:
            shown = number / size
            digits = max(0, _DIGITS - len(str(int(shown))))
            return f"{shown:.{digits}f}{name}"
    return str(number)


def dollars(row: Progress) -> str:
    """Return the cost of a row: "unknown" if a price is missing, a dash if no model was called."""
    if row.cost is None:
        return "unknown"
    return money(row.cost) if row.calls or row.cost else "-"


def cells(text: str) -> int:
    """Return the width of a text in columns of a terminal."""
    return sum(0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def cut(text: str, room: int | None) -> str:
    """Return a name cut in the middle to fit: subjects often differ only at the end."""
    if room is None or cells(text) <= room:
        return text
    head, tail = list(redacted(text)), list[str]()
    kept = (room - 1) // 2
    while head and cells("".join(tail)) < kept:
        tail.insert(0, head.pop())
    while head and cells("".join([*head, "…", *tail])) > room:
        head.pop()
    return "".join([*head, "…", *tail])


def folded(phrases: Sequence[str], width: int | None, *, between: str = ", ", indent: str = "") -> Iterator[str]:
    """Yield phrases in lines of at most ``width``, broken only between phrases; later lines are indented."""
    line = indent + phrases[0]
    for phrase in phrases[1:]:
        longer = f"{line}{between}{phrase}"
        if width is not None and cells(longer) > width:
            yield f"{line}{between}".rstrip()
            longer = f"{indent or _INDENT}{phrase}"
        line = longer
    yield line


def _figures(row: Progress) -> Mapping[str, str]:
    """Return every figure of a row, by its column."""
    interval, asked = row.interval, bool(row.calls)
    return {
        "done": f"{row.done}/{row.total}",
        "passed": str(row.passed),
        "failed": str(row.failed),
        "errored": str(row.errored),
        "invalid": str(row.invalid),
        "pass rate": "-" if row.pass_rate is None else f"{row.pass_rate.value:.3f}",
        "pass@1": "-" if row.pass_at_1 is None else f"{row.pass_at_1.value:.3f}",
        "95 %": f"{interval[0]:.3f} to {interval[1]:.3f}" if interval else "-",
        "in flight": "-" if row.in_flight is None else str(row.in_flight),
        "retries": str(row.retries),
        "tokens in": large(row.tokens_in) if asked else "-",
        "tokens out": large(row.tokens_out) if asked else "-",
        "cost": dollars(row),
        "per min": "-" if row.rate is None else _paced(row.rate),
        "ETA": "done" if row.done >= row.total else duration(row.eta),
    }


def _paced(rate: float) -> str:
    return f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}"  # noqa: PLR2004 (two digits are enough)


def _says_something(head: str, figures: Sequence[Mapping[str, str]]) -> bool:
    """Whether a row has such a figure; the pass rate has a column from the start, unless all are checkpoints."""
    nothing = {"errored": "0", "invalid": "0", "retries": "0"}.get(head, "-")
    if head in {"done", "passed", "failed", "ETA"}:
        return True
    if head == "pass rate":
        return any(found["pass@1"] == "-" for found in figures)
    return any(found[head] not in {nothing, ""} for found in figures)


def _wide(head: str, figures: Sequence[Mapping[str, str]]) -> int:
    return len(GAP) + max(len(head), *(len(found[head]) for found in figures))


def _reserved(head: str, figures: Sequence[Mapping[str, str]]) -> int:
    """Return the width that a column may need later in the run, so that columns don't come and go."""
    wide = _wide(head, figures)
    if head == "ETA" and any(found[head] != "done" for found in figures):
        return max(wide, len(f"{GAP}59 min 59 s"))
    if head == "done":
        return max(wide, *(len(GAP) + 2 * len(found[head].partition("/")[2]) + 1 for found in figures))
    return wide


def _fitting(
    heads: Sequence[str], figures: Sequence[Mapping[str, str]], names: Sequence[str], width: int
) -> Sequence[str]:
    """Return the most important columns that fit, up to the first that does not.

    The essential ones may shorten names more than the others.
    """
    longest = max(map(cells, [*names, NAME]))
    chosen: list[str] = []
    taken = 0
    for head in heads:
        taken += _reserved(head, figures)
        if taken + min(longest, SHORTEST if len(chosen) < _ESSENTIAL else SHORT) > width:
            break
        chosen.append(head)
    return chosen


def _phrases(found: Mapping[str, str]) -> Iterator[str]:
    """Yield the figures with their units, the most important first."""
    yield found["done"]
    if found["pass rate"] not in {"", "-"}:
        yield f"{found['pass rate']} ({found['95 %']})"
    if found["pass@1"] not in {"", "-"}:
        yield f"pass@1 {found['pass@1']} ({found['95 %']})"
    if found["ETA"] != "-":
        yield found["ETA"] if found["ETA"] == "done" else f"ETA {found['ETA']}"
    for head, words in _PHRASES.items():
        if found[head] not in {"-", "0", ""}:
            yield "cost unknown" if found[head] == "unknown" else words.format(found[head])
