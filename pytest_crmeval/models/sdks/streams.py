"""Streamed answers: joined to the record that the server would have sent at once, with the place of the first token."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pytest_crmeval.models.sdks.dialect import UnusableError
from pytest_crmeval.models.sdks.encoding import parsed
from pytest_crmeval.ports.chat_model import Cause

_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")
_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


def joined(path: str, content: bytes) -> tuple[Any, int]:
    """Return the record of a stream, and how many bytes of it had arrived with its first token.

    UnusableError if the stream ends too early; ValueError if an event is not JSON.
    """
    events, place = [], 0
    join, is_token = _APIS[path]
    for end, event in _events(content):
        if isinstance(event, dict):
            if event.get("type") == "error" or event.get("error"):
                raise UnusableError(Cause.OVERLOADED, f"the server stopped in the middle of the answer: {event}")
            place = place or (end if is_token(event) else 0)
            events.append(event)
    try:
        return join(events), place or len(content)
    except (KeyError, TypeError, AttributeError) as error:
        raise UnusableError(Cause.MALFORMED, f"an event lacks a field: {error!r}") from None


def _events(content: bytes) -> Iterator[tuple[int, Any]]:
    end = 0
    for line in content.split(b"\n"):
        end += len(line) + 1
        data = line.removeprefix(b"data:").strip() if line.startswith(b"data:") else b""
        if data and data != b"[DONE]":
            yield end, parsed(data)


def _cut() -> UnusableError:
    return UnusableError(Cause.OVERLOADED, "the stream ended before the answer was complete")


def _chat(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant"}
    calls: dict[int, dict[str, Any]] = {}
    finish, usage = None, None
    for event in events:
        usage = event.get("usage") or usage
        for choice in (event.get("choices") or ())[:1]:
            delta = choice.get("delta") or {}
            for name in (name for name in _TEXTS if isinstance(delta.get(name), str)):
                message[name] = message.get(name, "") + delta[name]
            if isinstance(delta.get("reasoning_details"), list):
                message.setdefault("reasoning_details", []).extend(delta["reasoning_details"])
            for call in delta.get("tool_calls") or ():
                _add(calls.setdefault(call.get("index", len(calls)), {"function": {}}), call)
            finish = choice.get("finish_reason") or finish
    if finish is None:
        raise _cut()
    message["tool_calls"] = [calls[number] for number in sorted(calls)]
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def _add(whole: dict[str, Any], part: Mapping[str, Any]) -> None:
    """Add a part of a call to what there is of it."""
    whole.update({name: part[name] for name in ("id", "extra_content") if part.get(name)})
    for name, text in (part.get("function") or {}).items():
        if isinstance(text, str):
            whole["function"][name] = whole["function"].get(name, "") + text


def _responses(events: Sequence[Mapping[str, Any]]) -> Any:  # noqa: ANN401 (the server's record)
    ends = [event["response"] for event in events if event.get("type") in _ENDS]
    if not ends:
        raise _cut()
    return ends[-1]


def _messages(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    inputs: dict[int, str] = {}
    for event in events:
        match event.get("type"):
            case "message_start":
                message = dict(event["message"])
            case "content_block_start":
                blocks[event["index"]] = dict(event["content_block"])
            case "content_block_delta":
                delta, block = event["delta"], blocks[event["index"]]
                if name := _DELTAS.get(delta["type"]):
                    block[name] = block.get(name, "") + delta[name]
                elif delta["type"] == "input_json_delta":
                    inputs[event["index"]] = inputs.get(event["index"], "") + delta["partial_json"]
            case "message_delta":
                message |= event["delta"]
                message["usage"] = {**message.get("usage", {}), **(event.get("usage") or {})}
    if not any(event.get("type") == "message_stop" for event in events):
        raise _cut()
    for number, text in inputs.items():
        blocks[number]["input"] = parsed(text) if text.strip() else {}
    return {**message, "content": [blocks[number] for number in sorted(blocks)]}


def _has_token(event: Mapping[str, Any]) -> bool:
    deltas = [choice.get("delta") or {} for choice in event.get("choices") or ()]
    return any(delta.get(name) for delta in deltas for name in (*_TEXTS, "tool_calls"))


_Join = Callable[[Sequence[Mapping[str, Any]]], Any]
_APIS: Mapping[str, tuple[_Join, Callable[[Mapping[str, Any]], bool]]] = {
    "/chat/completions": (_chat, _has_token),
    "/responses": (_responses, lambda event: str(event.get("type")).endswith(".delta")),
    "/v1/messages": (_messages, lambda event: event.get("type") == "content_block_delta"),
}
