"""A trial as text: the dialogue with its calls and results, and the faults of each turn."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pytest_crmeval.domain.cutting import cut, redacted
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, ToolCall, ToolResult
from pytest_crmeval.domain.score import Score
from pytest_crmeval.domain.transcript import Transcript

_TURN = re.compile(r"turn (\d+): (.*)", re.DOTALL)
_ASKED = re.compile(r' \(asked: ".*"\)$', re.DOTALL)
"""The end of a fault that repeats the user's words."""
_DIFFERENCE = re.compile(r"(?P<where>.*?) expected (?P<expected>.*), actual (?P<actual>.*)", re.DOTALL)
ROWS = 5
"""Maximum number of rows of a result that are shown."""
LINES = 80
"""Maximum number of lines of a turn that are shown."""
WIDTH = 240
SPEECH = 1000
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One line of the reason of a failed score."""

    score: str
    text: str
    """The line, without the number of its turn."""
    turn: int | None = None
    """None if the fault is not of a single turn."""

    @property
    def difference(self) -> tuple[str, str, str] | None:
        """The place, the expected and the actual value; None if the line does not name them."""
        if " missing: " in self.text or " unexpected: " in self.text:
            return None
        found = _DIFFERENCE.fullmatch(self.text)
        return (found["where"], found["expected"], found["actual"]) if found else None

    @property
    def is_lack(self) -> bool:
        """Whether something is missing."""
        return " missing: " in self.text or self.text.endswith(": was deleted")


def faults_of(scores: Sequence[Score]) -> Iterator[Fault]:
    """Yield the faults in the order of the scores; of a score without a reason, its value and threshold."""
    for score in scores:
        if not score.passed:
            for line in score.reason.splitlines() or [f"{score.value:.3f}, below {score.threshold:.3f}"]:
                found = _TURN.fullmatch(line)
                turn, text = (int(found[1]), found[2]) if found else (None, line)
                yield Fault(score=score.name, text=text, turn=turn)


class Colour(StrEnum):
    """Colours and styles of a terminal."""

    RED = "31"
    GREEN = "32"
    CYAN = "36"
    BOLD = "1"
    DIM = "2"


@dataclass(frozen=True, slots=True)
class Pen:
    """Adds colours to text, if the terminal has them."""

    colored: bool = False

    def __call__(self, text: str, *colours: Colour) -> str:
        """Return ``text`` in colour."""
        return f"\x1b[{';'.join(colours)}m{text}\x1b[0m" if self.colored and colours and text else text


def explanation(transcript: Transcript, scores: Sequence[Score], pen: Pen, *, folded: bool = False) -> Iterator[str]:
    """Yield the dialogue with the faults of each turn, then the faults that belong to no turn.

    If ``folded``, each turn without a fault is one line, unless no turn has a fault.
    """
    faults: dict[int, list[str]] = {}
    whole: list[Fault] = []
    for fault in faults_of(scores):
        if fault.turn is None:
            whole.append(fault)
        else:
            faults.setdefault(fault.turn, []).append(f"{fault.score}: {plain(_ASKED.sub('', fault.text))}")
    sound = set(range(1, len(transcript.exchanges) + 1)) - set(faults) if folded and faults else set[int]()
    for number, exchange in enumerate(transcript.exchanges, start=1):
        if number in sound and not exchange.cut:
            yield pen(f"  turn {number}: passed", Colour.DIM)
            continue
        yield pen(f"  turn {number}", Colour.BOLD)
        lines = [line for message in exchange.messages for line in _lines(message, pen)]
        if len(lines) > LINES:
            half = LINES // 2
            lines = [*lines[:half], f"    … {len(lines) - LINES} lines left out", *lines[-half:]]
        yield from lines
        if exchange.cut:
            yield "    (stopped: the agent reached the maximum number of steps)"
        yield from (pen(f"    ✗ {fault}", Colour.RED) for fault in faults.pop(number, ()))
    for number, missed in faults.items():  # of turns that were not played
        yield from (pen(f"  ✗ turn {number}: {fault}", Colour.RED) for fault in missed)
    for fault in whole:
        yield f"  {pen('✗', Colour.RED)} {fault.score}: {_difference(fault, pen)}"


def _difference(fault: Fault, pen: Pen) -> str:
    """Return a fault with the expected value in green and the actual value in red."""
    if fault.difference:
        where, expected, actual = map(plain, fault.difference)
        return f"{where} expected {pen(expected, Colour.GREEN)}, actual {pen(actual, Colour.RED)}"
    return pen(plain(fault.text), Colour.GREEN if fault.is_lack else Colour.RED)


def _lines(message: Message, pen: Pen) -> Iterator[str]:
    if message.text or message.speaker == "user":
        colours = [Colour.CYAN] if message.speaker == "user" else []
        first, *rest = redacted(message.text).splitlines() or [""]  # before lines are dropped: a key may span several
        first = f"({message.model}) {first}" if message.model else first
        yield f"    {message.speaker:<6} {pen(_short(first, SPEECH), *colours)}"
        yield from (f"    {'':<6} {pen(_short(line, SPEECH), *colours)}" for line in rest)
    elif message.thoughts and not message.calls:
        yield f"    {message.speaker:<6} {pen('(only thoughts, no reply)', Colour.DIM)}"
    for call in message.calls:
        yield f"    {'agent':<6} → {_call(call)}"
    for result in message.results:
        yield from _result(result, pen)


def _call(call: ToolCall) -> str:
    tool = call.tool if isinstance(call.tool, str) else _repr(call.tool)
    if not isinstance(call.arguments, Mapping):
        return _short(f"{tool}({_repr(call.arguments)})")
    return _short(f"{tool}({', '.join(f'{name}={_repr(value)}' for name, value in call.arguments.items())})")


def _result(result: ToolResult, pen: Pen) -> Iterator[str]:
    if result.error:
        yield f"    {'crm':<6} ← {pen(_short(f'{result.error.kind}: {result.error.message}'), Colour.RED)}"
        return
    rows = _rows(result.value)
    if rows is None:
        yield f"    {'crm':<6} ← {pen(_short(_said(result.value)), Colour.DIM)}"
        return
    yield f"    {'crm':<6} ← {len(rows)} row{'s' * (len(rows) != 1)}{f' ({result.note})' if result.note else ''}"
    yield from (pen(f"    {'':<8} {_short(_said(row))}", Colour.DIM) for row in rows[:ROWS])
    if len(rows) > ROWS:
        yield f"    {'':<8} … and {len(rows) - ROWS} more"


def _rows(value: Json) -> Sequence[Json] | None:
    """Return the rows of a list, or of an object of rows by id."""
    if isinstance(value, Mapping):
        rows = list(value.values())
        return rows if rows and all(isinstance(row, Mapping) and len(row) > 1 for row in rows) else None
    return value if isinstance(value, Sequence) and not isinstance(value, str) else None


def _said(value: Json) -> str:
    if not isinstance(value, Mapping):
        return _repr(value)
    return ", ".join(f"{name}={_repr(item)}" for name, item in value.items() if item is not None)


def _repr(value: object) -> str:
    """Return the ``repr`` of a value; an agent may send one that is nested too deeply or has too many digits."""
    try:
        return repr(value)
    except (RecursionError, ValueError) as error:
        return f"<{type(value).__name__}: {error}>"


def _short(text: str, width: int = WIDTH) -> str:
    """Return text that fits in a line, with control characters escaped."""
    return plain(cut(text, width, f"… ({len(text)} characters)"))


def plain(text: str) -> str:
    """Return a text with its control characters escaped, so that they do not affect the terminal."""
    return _CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


def plain_lines(text: str) -> str:
    """Return the same for a text of several lines."""
    return "\n".join(map(plain, text.replace("\r\n", "\n").split("\n")))
