"""References to earlier results: ``{{turn_2.client_id}}``."""

import re
from collections.abc import Mapping, Sequence

from pytest_crmeval.conversations.columns import CLOCKS
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, ToolCall
from pytest_crmeval.domain.transcript import Answered, Fields, Outputs, answered_in
from pytest_crmeval.ports.crm_calls import canonical

REFERENCE = re.compile(r"\{\{turn_(\d+)\.(\w+)\}\}")


def resolve(value: Json, outputs: Outputs) -> Json:
    """Return ``value`` with every reference that ``outputs`` can answer replaced, at any depth.

    A string that is only a reference gets the type of the field. A reference that can't be resolved stays as it is:
    the CRM refuses it.
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
    """Return the fields that references can use: those of the first row of a list, none of an empty list."""
    rows = rows_of(value)
    if not rows:
        return {}
    return rows[0] if isinstance(rows[0], Mapping) else {"value": rows[0]}


def output_of(answered: Answered, expected: ToolCall, known: Fields | None = None) -> Fields | None:
    """Return the output of a turn that should have made the ``expected`` call, and may have made others.

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
    """Return the output of each turn of the dialogue so far."""
    outputs: dict[int, Fields] = {}
    starts = [place for place, message in enumerate(messages) if message.speaker == "user"]
    turns = [answered_in(messages[start:end]) for start, end in zip(starts, [*starts[1:], None], strict=False)]
    for turn, (answered, call) in enumerate(zip(turns, expected, strict=False), start=1):
        output = output_of(answered, resolved(call, outputs))
        if output is not None:
            outputs[turn] = output
    return outputs


def _role(row: Fields) -> Fields:
    """Return a row without its ids and times."""
    return {name: value for name, value in row.items() if name not in CLOCKS and not name.endswith("_id")}


def _field(match: re.Match[str], outputs: Outputs) -> Json:
    return outputs.get(int(match[1]), {}).get(match[2], match[0])
