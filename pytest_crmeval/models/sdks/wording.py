"""What all servers are told alike: results, arguments, ids; and how it is written down."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall, ToolResult

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_DEEPEST = 100
"""Levels of arguments; what is nested deeper can't be relied upon to be written again."""


def encoded(body: Mapping[str, Any]) -> bytes:
    """Return a request as bytes; half a surrogate pair, which no server takes, becomes its escape."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return _LONE_SURROGATE.sub(lambda half: f"\\\\u{ord(half[0]):x}", text).encode()


def result_text(result: ToolResult) -> str:
    """Return a result as a model reads it."""
    told: dict[str, Json] = {"value": result.value}
    if result.error is not None:
        told = {"error": {"kind": result.error.kind, "message": result.error.message}}
    if result.note:
        told["note"] = result.note
    return _compact(told)


def call_id(message: int, call: int) -> str:
    """Return the id of a call, which is its place: the same dialogue is always the same request."""
    return f"call_{message}_{call}"


def called_name(call: ToolCall) -> str:
    """Return the name of the tool that a model called, whatever it called, as a server takes it back."""
    return _NOT_IN_A_NAME.sub("_", call.tool)[:_LONGEST_NAME] or "_"


def text_of_arguments(call: ToolCall, *, verbatim: bool) -> str:
    """Return the arguments as JSON; if they are no object, the very text that the model wrote, or an object with it.

    Servers that put the dialogue into a template of their own fail at what is no object.
    """
    if verbatim and isinstance(call.arguments, str):
        return call.arguments
    return _compact(call.arguments if verbatim else arguments_object(call))


def arguments_object(call: ToolCall) -> Mapping[str, Json]:
    """Return the arguments as an object, for servers that take nothing else."""
    return call.arguments if isinstance(call.arguments, dict) else {"arguments": call.arguments}


def called(tool: str, arguments: object) -> ToolCall:
    """Return a model's call; arguments that are no object stay what they are, and the CRM will refuse them."""
    understood = _understood(arguments) if isinstance(arguments, str) else arguments
    if _is_too_deep(understood, _DEEPEST):
        understood = arguments if isinstance(arguments, str) else _compact(arguments)
    return ToolCall(tool=tool, arguments=understood)  # type: ignore[arg-type] # the CRM says no


def parsed(text: str | bytes) -> Any:  # noqa: ANN401 (JSON enters here)
    """Return strict JSON; ValueError or RecursionError if it is none."""
    return json.loads(text, parse_constant=_refuse, parse_float=_finite)


def _understood(text: str) -> object:
    # Models that call a tool without arguments often write nothing at all.
    if not text.strip():
        return {}
    try:
        return parsed(text)
    except (ValueError, RecursionError):
        return text


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _is_too_deep(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    items = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_too_deep(item, levels - 1) for item in items)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large a number")
    return number
