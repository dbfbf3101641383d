"""Streamed answers: joined to the record that the server would have sent at once, with the place of the first token."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pytest_crmeval.models.sdks.dialect import UnusableError
from pytest_crmeval.models.sdks.encoding import parsed
from pytest_crmeval.ports.chat_model import Cause

_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")
_GROWING = ("text", "summary", "thinking")
"""Fields of the parts of a message that are sent piece by piece."""
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
    calls: list[dict[str, Any]] = []
    places: dict[int, dict[str, Any]] = {}
    finish, usage = None, None
    for event in events:
        usage = event.get("usage") or usage
        for choice in (event.get("choices") or ())[:1]:
            delta = choice.get("delta") or {}
            for name in (name for name in (*_TEXTS, "reasoning_details") if isinstance(delta.get(name), str | list)):
                message[name] = _longer(message.get(name), delta[name])
            for call in delta.get("tool_calls") or ():
                place = call.get("index", len(calls))
                if place not in places or _is_another(call, places[place]):
                    places[place] = {"function": {}}
                    calls.append(places[place])
                _add(places[place], call)
            finish = choice.get("finish_reason") or finish
    if finish is None:
        raise _cut()
    message["tool_calls"] = calls
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def _longer(whole: Any, part: Any) -> Any:  # noqa: ANN401 (a text or a list of parts)
    """Return a text or a list of parts with what comes next."""
    if isinstance(part, str) and not isinstance(whole, list):
        return (whole or "") + part
    parts = [{"type": "text", "text": whole}] if whole and isinstance(whole, str) else list(whole or ())
    for each in [{"type": "text", "text": part}] if isinstance(part, str) else part:
        last = parts[-1] if parts else {}
        texts = [name for name in _GROWING if each.get(name) and isinstance(each[name], type(last.get(name)))]
        goes_on = all(last.get(name) == each.get(name) for name in ("type", "index"))
        if goes_on and (texts or each.get("signature")):
            grown = {name: _longer(last[name], each[name]) for name in texts}
            parts[-1] = {**last, **{name: value for name, value in each.items() if value is not None}, **grown}
        else:
            parts.append(each)
    return parts


def _is_another(call: Mapping[str, Any], begun: Mapping[str, Any]) -> bool:
    """Whether a call is a new one at the same index: Gemini and others number all calls 0."""
    return bool(call.get("id") and call["id"] != begun.get("id") and (call.get("function") or {}).get("name"))


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
