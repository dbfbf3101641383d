"""References to earlier results: ``{{turn_2.client_id}}``."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from pytest_crmeval.domain.calls import canonical
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, ToolCall, ToolResult
from pytest_crmeval.domain.state import CLOCKS

REFERENCE = re.compile(r"\{\{turn_(\d+)\.(\w+)\}\}")

Fields = Mapping[str, Json]
Outputs = Mapping[int, Fields]
"""What each turn (counted from 1) brought to light, by field."""
Answered = Sequence[tuple[ToolCall, ToolResult]]
"""The calls of a turn with what came back."""


def resolve(value: Json, outputs: Outputs) -> Json:
    """Return ``value`` with every reference that ``outputs`` can answer replaced, at any depth.

    What is a reference and nothing else keeps the type of the field. A reference that nothing answers stays as it is:
    whoever uses it will be told so by the CRM.
    """
    if isinstance(value, str):
        whole = REFERENCE.fullmatch(value)
        return _field(whole, outputs) if whole else REFERENCE.sub(lambda match: str(_field(match, outputs)), value)
    if isinstance(value, Mapping):
        return {key: resolve(item, outputs) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [resolve(item, outputs) for item in value]
    return value


def resolved(call: ToolCall, outputs: Outputs) -> ToolCall:
    """Return a call with the references in its arguments replaced."""
    return ToolCall(tool=call.tool, arguments={key: resolve(item, outputs) for key, item in call.arguments.items()})


def rows_of(value: Json) -> Sequence[Json]:
    """Return the rows of a result: of a list its items, of anything else itself."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def fields_of(value: Json) -> Fields:
    """Return what a reference can ask a result for; a list speaks through its first row, an empty one not at all."""
    rows = rows_of(value)
    if not rows:
        return {}
    return rows[0] if isinstance(rows[0], Mapping) else {"value": rows[0]}


def answered_in(messages: Sequence[Message]) -> Answered:
    """Return the calls that were made in a stretch of a dialogue, with what came back."""
    pairs = pairwise(messages)
    return [pair for asked, said in pairs for pair in zip(asked.calls, said.results, strict=False)]


def output_of(answered: Answered, expected: ToolCall, known: Fields | None = None) -> Fields | None:
    """Return what a turn brought to light that should have made the ``expected`` call, and may have made others.

    First what that very call returned, then the row that it is ``known`` to return, or one that differs from it only by
    ids and times, then what the same tool returned, then what is known; None if nothing is.
    """
    wanted = canonical(expected)
    done = [(canonical(call), result.value) for call, result in answered if not result.refused]
    for call, value in done:
        if call == wanted:
            return fields_of(value)
    rows = [row for _, value in done for row in rows_of(value) if isinstance(row, Mapping)]
    if known and (same := [row for row in rows if row == known] or [row for row in rows if _role(row) == _role(known)]):
        return same[0]
    for call, value in done:
        if call.tool == wanted.tool:
            return fields_of(value)
    return known


def outputs_of(messages: Sequence[Message], expected: Sequence[ToolCall]) -> Outputs:
    """Return what each turn of the dialogue so far brought to light."""
    outputs: dict[int, Fields] = {}
    for turn, (answered, call) in enumerate(zip(_turns(messages), expected, strict=False), start=1):
        output = output_of(answered, resolved(call, outputs))
        if output is not None:
            outputs[turn] = output
    return outputs


def _role(row: Fields) -> Fields:
    """Return what a row says, whatever it is known by."""
    return {name: value for name, value in row.items() if name not in CLOCKS and not name.endswith("_id")}


def _field(match: re.Match[str], outputs: Outputs) -> Json:
    return outputs.get(int(match[1]), {}).get(match[2], match[0])


def _turns(messages: Sequence[Message]) -> Iterator[Answered]:
    """Yield the answered calls of each turn."""
    starts = [place for place, message in enumerate(messages) if message.speaker == "user"]
    for start, end in zip(starts, [*starts[1:], None], strict=False):
        yield answered_in(messages[start:end])
