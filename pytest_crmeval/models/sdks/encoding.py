"""The parts of requests that are the same for all APIs: results, arguments, ids; and JSON."""

import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall, ToolResult

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_DEEPEST = 100
"""Levels of arguments; deeper ones may not be encodable again."""


def encoded(body: Mapping[str, Any]) -> bytes:
    """Return a request as bytes; a lone surrogate, which servers refuse, is escaped."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return _LONE_SURROGATE.sub(lambda half: f"\\\\u{ord(half[0]):x}", text).encode()


def result_text(result: ToolResult) -> str:
    """Return a result as the model sees it."""
    shown: dict[str, Json] = {"value": result.value}
    if result.error is not None:
        shown = {"error": {"kind": result.error.kind, "message": result.error.message}}
    if result.note:
        shown["note"] = result.note
    return _compact(shown)


def call_id(message: int, call: int) -> str:
    """Return the id of a call, made from its position, so that the same dialogue is always the same request."""
    return f"call_{message}_{call}"


def called_name(call: ToolCall) -> str:
    """Return the name of the tool that a model called, in a form that servers accept."""
    return _NOT_IN_A_NAME.sub("_", call.tool)[:_LONGEST_NAME] or "_"


def text_of_arguments(call: ToolCall, *, verbatim: bool) -> str:
    """Return the arguments as JSON; if they are not an object, the model's own text, or an object that contains it.

    Servers that render the dialogue with a template fail if arguments are not an object.
    """
    if verbatim and isinstance(call.arguments, str):
        return call.arguments
    return _compact(call.arguments if verbatim else arguments_object(call))


def arguments_object(call: ToolCall) -> Mapping[str, Json]:
    """Return the arguments as an object, for servers that accept nothing else."""
    return call.arguments if isinstance(call.arguments, dict) else {"arguments": call.arguments}


def called(tool: str, arguments: object) -> ToolCall:
    """Return a model's call; arguments that are not an object are kept, and the CRM refuses them."""
    decoded = arguments
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            decoded = parsed(arguments) if arguments.strip() else {}  # models often write nothing for no arguments
    if _is_too_deep(decoded, _DEEPEST):
        decoded = arguments if isinstance(arguments, str) else _compact(arguments)
    return ToolCall(tool=tool, arguments=decoded)  # type: ignore[arg-type] # the CRM refuses it


def parsed(text: str | bytes) -> Any:  # noqa: ANN401 (JSON enters here)
    """Parse strict JSON; ValueError or RecursionError if it is invalid."""
    return json.loads(text, parse_constant=_refuse, parse_float=_finite)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _is_too_deep(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    items = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_too_deep(item, levels - 1) for item in items)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large a number")
    return number
