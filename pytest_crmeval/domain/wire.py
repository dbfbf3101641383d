"""How messages are written down, so that they are read back as they were."""

import json
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, get_args

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.messages import ErrorKind, Message, Reply, Speaker, ToolCall, ToolError, ToolResult
from pytest_crmeval.domain.transcript import Exchange

DEEPEST = 60
"""Levels of a value that are written: readers give up on very deep ones, and some of them crash."""
_NUMBER, _TOO_DEEP = "$float", "$deep"


def plain(value: object) -> object:
    """Return what an encoder knows of a value that it does not know: an agent may put anything into its calls."""
    return dict(value) if isinstance(value, Mapping) else str(value)


_READABLE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=plain)
_CANONICAL = json.JSONEncoder(sort_keys=True, allow_nan=False, default=plain)


def encoded(value: Json, *, canonical: bool = False) -> bytes:
    """Return one line of JSON, always valid: what JSON has no word for is spelled out, and read back as it was.

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
        return _joined(text).encode("utf-8", "backslashreplace")


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
    """Return what ``encoded`` wrote; ValueError if it is no JSON."""
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
    """Return a message as JSON; what it does not have is left out, and what is nested too deeply."""
    return {
        "speaker": message.speaker,
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
    """Return a call as JSON; arguments that are no object, as a model may send them, stay what they are."""
    return {"tool": call.tool, "arguments": shallow(call.arguments)}


def shallow(value: Json) -> Json:
    """Return ``value``, without what is nested too deeply; a value that was read back has nothing that is."""
    return _pruned(value, DEEPEST) if _is_deep(value) else value


def read_message(record: Mapping[str, Any]) -> Message:
    """Return the message that ``written`` wrote; KeyError, TypeError or ValueError if it did not."""
    speaker = record["speaker"]
    if speaker not in get_args(Speaker):
        raise ValueError(f"nobody is called {speaker!r}")
    return Message(
        speaker=speaker,
        text=text_of(record.get("text", "")),
        calls=tuple(map(_read_call, record.get("calls", ()))),
        results=tuple(map(_read_result, record.get("results", ()))),
        thoughts=text_of(record.get("thoughts", "")),
    )


def read_reply(record: Mapping[str, Any]) -> Reply:
    """Return the reply that ``written_reply`` wrote; KeyError, TypeError or ValueError if the record is invalid."""
    return Reply(
        text=text_of(record.get("text", "")),
        calls=tuple(map(_read_call, record.get("calls", ()))),
        thoughts=text_of(record.get("thoughts", "")),
    )


def written_turn(exchange: Exchange) -> JsonObject:
    """Return a turn as it was played as JSON."""
    return {
        "messages": [written(message) for message in exchange.messages],
        **({"cut": True} if exchange.cut else {}),
        **({"output": shallow(exchange.output)} if exchange.output is not None else {}),
    }


def read_turn(record: Mapping[str, Any]) -> Exchange:
    """Return the turn that ``written_turn`` wrote; KeyError, TypeError or ValueError if it did not."""
    return Exchange(
        messages=tuple(map(read_message, record["messages"])),
        cut=bool(record.get("cut", False)),
        output=record.get("output"),
    )


def text_of(value: object) -> str:
    """Return ``value``, which has to be text; TypeError if it is not."""
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
    error = _read_error(record["error"]) if "error" in record else None
    return ToolResult(value=record.get("value"), error=error, note=text_of(record.get("note", "")))


def _read_error(record: Mapping[str, Any]) -> ToolError:
    if record["kind"] not in get_args(ErrorKind):
        raise ValueError(f"there is no error {record['kind']!r}")
    return ToolError(kind=record["kind"], message=text_of(record["message"]))


def _number(record: dict[str, Any]) -> Any:  # noqa: ANN401 (JSON from a file)
    named = record.get(_NUMBER)
    return float(named) if len(record) == 1 and named in {"nan", "inf", "-inf"} else record


def _joined(text: str) -> str:
    """Return text with two halves of a surrogate pair, side by side, as the one character that they are."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _spelled_out(value: Json) -> Json:
    """Return what JSON has a word for."""
    if isinstance(value, float) and not isfinite(value):
        return {_NUMBER: str(value)}
    if isinstance(value, Mapping):
        return {key: _spelled_out(item) for key, item in value.items()}
    return [_spelled_out(item) for item in value] if isinstance(value, (list, tuple)) else value


def _is_deep(value: Json) -> bool:
    """Whether a value has more levels than are written."""
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
