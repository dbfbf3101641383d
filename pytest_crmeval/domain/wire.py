"""The JSON form of messages, which is read back without loss."""

import json
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, get_args

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.messages import ErrorKind, Message, Reply, Speaker, ToolCall, ToolError, ToolResult
from pytest_crmeval.domain.transcript import Exchange

DEEPEST = 60
"""Maximum nesting of a value: readers refuse very deep ones, and some of them crash."""
_NUMBER, _TOO_DEEP = "$float", "$deep"


def plain(value: object) -> object:
    """Return a JSON value for a type that the encoder does not know: an agent may put any object into its calls."""
    if isinstance(value, Mapping):
        return dict(value)
    import msgspec  # imported late, because this module is loaded in every pytest run

    return parsed(bytes(value)) if isinstance(value, msgspec.Raw) else str(value)


_READABLE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=plain)
_CANONICAL = json.JSONEncoder(sort_keys=True, allow_nan=False, default=plain)


def encoded(value: Json, *, canonical: bool = False) -> bytes:
    """Return one line of valid JSON; values that JSON lacks are encoded so that they can be read back.

    Half a surrogate pair is an escape; NaN and infinity are ``{"$float": "nan"}``. A canonical line is the same
    whatever the order of keys, and however emoji are cut into surrogates.
    """
    encoder = _CANONICAL if canonical else _READABLE
    try:
        text = encoder.encode(value)
    except ValueError:
        text = encoder.encode(_spelled_out(value))
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Adjacent halves of a surrogate pair become one character.
        joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return joined.encode("utf-8", "backslashreplace")


def encoded_quickly(value: Json) -> bytes:
    """Return the same as ``encoded``, in a tenth of the time; for values without NaN and infinity."""
    import msgspec  # imported late, because this module is loaded in every pytest run

    try:
        return msgspec.json.encode(value, enc_hook=plain)
    except (
        ValueError,
        TypeError,
        OverflowError,
        RecursionError,
    ):  # only json writes lone surrogates and very large numbers
        return encoded(value)


def decoded(line: bytes | str) -> Any:  # noqa: ANN401 (JSON from a file)
    """Return the value that ``encoded`` wrote; ValueError if it is not JSON."""
    named = _NUMBER if isinstance(line, str) else _NUMBER.encode()
    try:
        if named in line:  # type: ignore[operator] # like in like
            return json.loads(line, object_hook=_number)
        return parsed(line)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def parsed(line: bytes | str) -> Any:  # noqa: ANN401 (JSON from a file)
    """Return the same as ``json.loads``, in less than half the time; ValueError if it is not JSON."""
    import msgspec  # imported late, because this module is loaded in every pytest run

    try:
        return msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeError):  # only json reads lone surrogates and NaN
        return json.loads(line)


def written(message: Message) -> JsonObject:
    """Return a message as JSON, without empty fields and too deeply nested values."""
    return {
        "speaker": message.speaker,
        **({"model": message.model} if message.model else {}),
        **({"thoughts": message.thoughts} if message.thoughts else {}),
        **({"text": message.text} if message.text else {}),
        **({"calls": [written_call(call) for call in message.calls]} if message.calls else {}),
        **({"results": [_written_result(result) for result in message.results]} if message.results else {}),
    }


def written_reply(reply: Reply) -> JsonObject:
    """Return a reply as JSON; empty thoughts are omitted."""
    return {
        **({"thoughts": reply.thoughts} if reply.thoughts else {}),
        "text": reply.text,
        "calls": [written_call(call) for call in reply.calls],
    }


def written_call(call: ToolCall) -> JsonObject:
    """Return a call as JSON; invalid arguments, as a model may send them, are kept."""
    return {"tool": call.tool, "arguments": shallow(call.arguments)}


def shallow(value: Json) -> Json:
    """Return ``value`` without too deeply nested parts."""
    return _pruned(value, DEEPEST) if _is_deep(value) else value


def read_message(record: Mapping[str, Any]) -> Message:
    """Return the message that ``written`` wrote; KeyError, TypeError or ValueError if the record is invalid."""
    speaker = record["speaker"]
    if speaker not in get_args(Speaker):
        raise ValueError(f"unknown speaker {speaker!r}")
    return Message(
        speaker=speaker,
        text=text_of(record.get("text", "")),
        calls=tuple(map(_read_call, record.get("calls", ()))),
        results=tuple(map(_read_result, record.get("results", ()))),
        thoughts=text_of(record.get("thoughts", "")),
        model=text_of(record.get("model", "")),
    )


def read_reply(record: Mapping[str, Any]) -> Reply:
    """Return the reply that ``written_reply`` wrote; KeyError, TypeError or ValueError if the record is invalid."""
    return Reply(
        text=text_of(record.get("text", "")),
        calls=tuple(map(_read_call, record.get("calls", ()))),
        thoughts=text_of(record.get("thoughts", "")),
    )


def written_turn(exchange: Exchange) -> JsonObject:
    """Return a played turn as JSON."""
    return {
        "messages": [written(message) for message in exchange.messages],
        **({"cut": True} if exchange.cut else {}),
        **({"output": shallow(exchange.output)} if exchange.output is not None else {}),
    }


def read_turn(record: Mapping[str, Any]) -> Exchange:
    """Return the turn that ``written_turn`` wrote; KeyError, TypeError or ValueError if the record is invalid."""
    return Exchange(
        messages=tuple(map(read_message, record["messages"])),
        cut=bool(record.get("cut", False)),
        output=record.get("output"),
    )


def text_of(value: object) -> str:
    """Return ``value``; TypeError if it is not text."""
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {cut(repr(value), 80)}")
    return value


def _read_call(record: Mapping[str, Any]) -> ToolCall:
    return ToolCall(tool=text_of(record["tool"]), arguments=record["arguments"])


def _written_result(result: ToolResult) -> JsonObject:
    error = result.error
    return {
        **({"value": shallow(result.value)} if error is None or result.value is not None else {}),
        **({"error": {"kind": error.kind, "message": error.message}} if error else {}),
        **({"note": result.note} if result.note else {}),
    }


def _read_result(record: Mapping[str, Any]) -> ToolResult:
    error = None
    if "error" in record:
        kind, message = record["error"]["kind"], text_of(record["error"]["message"])
        if kind not in get_args(ErrorKind):
            raise ValueError(f"unknown kind of error {kind!r}")
        error = ToolError(kind=kind, message=message)
    return ToolResult(value=record.get("value"), error=error, note=text_of(record.get("note", "")))


def _number(record: dict[str, Any]) -> Any:  # noqa: ANN401 (JSON from a file)
    named = record.get(_NUMBER)
    return float(named) if len(record) == 1 and named in {"nan", "inf", "-inf"} else record


def _spelled_out(value: Json) -> Json:
    """Return ``value`` with NaN and infinity in a form that JSON has."""
    if isinstance(value, float) and not isfinite(value):
        return {_NUMBER: str(value)}
    if isinstance(value, Mapping):
        return {key: _spelled_out(item) for key, item in value.items()}
    return [_spelled_out(item) for item in value] if isinstance(value, (list, tuple)) else value


def _is_deep(value: Json) -> bool:
    """Whether a value has more than DEEPEST levels."""
    level: Sequence[Json] = [value]
    for _ in range(DEEPEST):
        level = [item for outer in level for item in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: Json) -> Iterable[Json]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, (list, tuple)) else ()


def _pruned(value: Json, room: int) -> Json:
    if not isinstance(value, (dict, list, tuple)):
        return value
    if not room:
        return {_TOO_DEEP: "left out"}
    if isinstance(value, dict):
        return {key: _pruned(item, room - 1) for key, item in value.items()}
    return [_pruned(item, room - 1) for item in value]
