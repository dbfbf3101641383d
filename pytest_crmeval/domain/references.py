"""References to earlier results: ``{{turn_2.client_id}}``."""

import re
from collections.abc import Mapping, Sequence

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message

_REFERENCE = re.compile(r"\{\{turn_(\d+)\.(\w+)\}\}")

Outputs = Mapping[int, Mapping[str, Json]]
"""What each turn (counted from 1) brought to light, by field."""


def resolve(value: Json, outputs: Outputs) -> Json:
    """Return ``value`` with every reference that ``outputs`` can answer replaced, at any depth.

    A reference that nothing answers stays as it is: whoever uses it will be told so by the CRM.
    """
    if isinstance(value, str):
        return _REFERENCE.sub(lambda match: _field(match, outputs), value)
    if isinstance(value, Mapping):
        return {key: resolve(item, outputs) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [resolve(item, outputs) for item in value]
    return value


def outputs_of(messages: Sequence[Message]) -> Outputs:
    """Return what each turn of the dialogue so far brought to light; a list speaks through its first row."""
    outputs: dict[int, Mapping[str, Json]] = {}
    turn = 0
    for message in messages:
        turn += message.speaker == "user"
        for result in message.results:
            if not result.refused:
                outputs[turn] = _fields(result.value)
    return outputs


def _field(match: re.Match[str], outputs: Outputs) -> str:
    fields = outputs.get(int(match[1]), {})
    return str(fields[match[2]]) if match[2] in fields else match[0]


def _fields(value: Json) -> Mapping[str, Json]:
    if isinstance(value, Mapping):
        return value
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _fields(value[0]) if value else {}
    return {"value": value}
