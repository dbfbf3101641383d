"""What the real servers refuse: a request that passes here has a chance there."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise
from typing import Any

from tests.providers.answers import Status
from tests.providers.dialects import Body, plain_path

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MOST_BREAKPOINTS = 4


def objection(path: str, headers: Mapping[str, str], body: Body) -> Status | None:
    """Return how a real server refuses a request; None if it takes it."""
    named = headers.get("x-api-key") or headers.get("api-key")  # the second is Azure's
    if not named and not headers.get("authorization", "").removeprefix("Bearer").strip():
        return Status(401, "You didn't provide an API key.")
    plain = plain_path(path)
    is_named = "model" in body or plain != path.partition("?")[0]  # clouds have the model in the path
    why = next(chain(_anywhere(body, named=is_named), _THERE[plain](headers, body)), None)
    return Status(400, why) if why else None


def _anywhere(body: Body, *, named: bool) -> Iterator[str]:
    if not named:
        yield "you must provide a model parameter"
    if body.get("tools") == []:
        yield "Invalid 'tools': empty array."


def _chat(_: Mapping[str, str], body: Body) -> Iterator[str]:
    yield from _names(tool["function"]["name"] for tool in body.get("tools", ()))
    open_calls: list[str] = []
    for message in [*body.get("messages", ()), {"role": "end", "content": ""}]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                yield "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
            open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            yield f"tool_call_ids did not have response messages: {open_calls}"
        open_calls = [call["id"] for call in message.get("tool_calls", ())]
        yield from _arguments(call["function"]["arguments"] for call in message.get("tool_calls", ()))
        if message.get("content") is None and not open_calls:
            yield f"Invalid value for 'content' of role {message['role']}: expected a string, got null."
        if message.get("tool_calls") == []:
            yield "Invalid 'tool_calls': empty array."


def _responses(_: Mapping[str, str], body: Body) -> Iterator[str]:
    yield from _names(tool["name"] for tool in body.get("tools", ()))
    items = body.get("input", [])
    items = [] if isinstance(items, str) else items
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    outputs = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    yield from _arguments(item["arguments"] for item in items if item.get("type") == "function_call")
    yield from (f"No tool output found for function call {call}." for call in calls if call not in outputs)
    yield from (f"No tool call found for function call output {call}." for call in outputs if call not in calls)
    yield from (f"Duplicate call_id {call}." for call in calls if calls.count(call) > 1)
    for item, following in pairwise([*items, {}]):
        if item.get("type") == "reasoning" and following.get("type") in {None, "function_call_output"}:
            yield f"Item {item.get('id')} of type 'reasoning' was provided without its required following item."


def _messages(headers: Mapping[str, str], body: Body) -> Iterator[str]:
    yield from _names(tool["name"] for tool in body.get("tools", ()))
    if "anthropic-version" not in headers and "anthropic_version" not in body:  # clouds have it in the body
        yield "anthropic-version: header is required"
    if not isinstance(body.get("max_tokens"), int):
        yield "max_tokens: Field required"
    messages = body.get("messages")
    if not messages:
        yield "messages: at least one message is required"
        return
    if messages[0]["role"] != "user":
        yield 'messages: first message must use the "user" role'
    if json.dumps(body).count('"cache_control"') > _MOST_BREAKPOINTS:
        yield "A maximum of 4 blocks with cache_control may be provided."
    yield from (why for block in _parts(body.get("system", [])) for why in _block(block))
    yield from _dialogue(messages)


def _dialogue(messages: list[Body]) -> Iterator[str]:
    asked: list[str] = []
    for message in messages:
        blocks = _parts(message["content"])
        if not blocks:
            yield "messages: all messages must have non-empty content"
        yield from (why for block in blocks for why in _block(block))
        if blocks and blocks[-1]["type"] in {"thinking", "redacted_thinking"}:
            yield "The final block in an assistant message cannot be `thinking`."
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(asked) != sorted(answered):
            yield f"`tool_use` ids {asked} and `tool_result` blocks {answered} do not match"
        if [block["type"] for block in blocks[: len(answered)]] != ["tool_result"] * len(answered):
            yield "`tool_result` blocks must come first"
        asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len(set(asked)) < len(asked):
            yield "`tool_use` ids must be unique"
    if asked:
        yield f"`tool_use` ids were found without `tool_result` blocks: {asked}"
    if messages[-1]["role"] == "assistant":
        yield "This model does not support assistant message prefill."


def _block(block: Body) -> Iterator[str]:
    if block["type"] == "text" and not str(block["text"]).strip():
        yield "messages: text content blocks must contain non-whitespace text"
    if block["type"] == "tool_use" and not isinstance(block["input"], dict):
        yield "tool_use.input: Input should be a valid dictionary"
    if block["type"] == "tool_use":
        yield from _names([block["name"]])


def _parts(content: Any) -> list[Body]:  # noqa: ANN401 (JSON)
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _names(names: Iterable[str]) -> Iterator[str]:
    yield from (f"Invalid name {name!r}: expected {_NAME.pattern}" for name in names if not _NAME.fullmatch(name))


def _arguments(given: Iterable[object]) -> Iterator[str]:
    yield from (f"Invalid 'arguments' {text!r}: expected a string" for text in given if not isinstance(text, str))


_THERE = {"/v1/chat/completions": _chat, "/v1/responses": _responses, "/v1/messages": _messages}
