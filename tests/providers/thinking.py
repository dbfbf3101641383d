"""Servers whose models think: thoughts are signed, and refused if anything before them has changed."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from tests.providers.answers import Answer, Malformed, Status
from tests.providers.delivery import Seen

NOTE = {"text": "x"}


def _signature(*before: object) -> str:
    return sha256(json.dumps(before, sort_keys=True).encode()).hexdigest()[:24]


def _without_marks(value: Any) -> Any:  # noqa: ANN401 (JSON)
    """Return JSON without the marks of the prompt cache, which may move."""
    if isinstance(value, dict):
        return {name: _without_marks(each) for name, each in value.items() if name != "cache_control"}
    return [_without_marks(each) for each in value] if isinstance(value, list) else value


def _answer(record: object) -> Malformed:
    return Malformed(json.dumps(record).encode())


def claude(seen: Seen) -> Answer:
    """Think, call, think, reply: as Claude 5.5 does, which refuses a temperature and changed thoughts."""
    body = _without_marks(seen.body)
    if "temperature" in body:
        return Status(400, "`temperature` is deprecated for this model.")
    if body["thinking"]["type"] != "adaptive":
        return Status(400, '"thinking.type.enabled" is not supported for this model.')
    messages = body["messages"]
    for place, message in enumerate(messages):
        if message["role"] == "assistant":
            expected = _signature(body["system"], body["tools"], messages[:place])
            if [expected] != [block.get("signature") for block in message["content"] if block["type"] == "thinking"]:
                return Status(400, f"messages.{place}.content.0: Invalid `signature` in `thinking` block.")
            if "redacted_thinking" not in {block["type"] for block in message["content"]}:
                return Status(400, f"messages.{place}.content: a `redacted_thinking` block was removed.")
    signature = _signature(body["system"], body["tools"], messages)
    content: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "Hm.", "signature": signature},
        {"type": "redacted_thinking", "data": "opaque"},
    ]
    calls = not seen.results
    if calls:
        content += [{"type": "tool_use", "id": f"toolu_{signature}", "name": "add_note", "input": NOTE}]
    else:
        content += [{"type": "text", "text": "Done."}]
    usage = {"input_tokens": 100, "output_tokens": 50, "output_tokens_details": {"thinking_tokens": 40}}
    return _answer({"content": content, "stop_reason": "tool_use" if calls else "end_turn", "usage": usage})


def responses(seen: Seen) -> Answer:
    """Do the same as OpenAI's Responses without stored items: each call needs the reasoning item before it."""
    body = seen.body
    if "temperature" in body:
        return Status(400, "Unsupported parameter: 'temperature' is not supported.", param="temperature")
    if body["include"] != ["reasoning.encrypted_content"] or body["store"]:
        return Status(400, "reasoning items were neither stored nor returned")
    items = body["input"]
    for place, item in enumerate(items):
        if item.get("type") == "reasoning" and item["encrypted_content"] != _signature(items[:place]):
            return Status(400, "The encrypted content could not be verified.")
        if item.get("type") in {"function_call", "message"} and items[place - 1].get("type") != "reasoning":
            return Status(400, f"Item was provided without its required 'reasoning' item: {item['id']}.")
    sealed = _signature(items)
    reasoning = {
        "type": "reasoning",
        "id": f"rs_{sealed}",
        "summary": [{"type": "summary_text", "text": "Hm."}],
        "encrypted_content": sealed,
    }
    call = {
        "type": "function_call",
        "id": f"fc_{sealed}",
        "call_id": f"call_{sealed}",
        "name": "add_note",
        "arguments": json.dumps(NOTE),
        "status": "completed",
    }
    part = {"type": "output_text", "text": "Done.", "annotations": []}
    said = {"type": "message", "id": f"msg_{sealed}", "role": "assistant", "status": "completed", "content": [part]}
    usage = {"input_tokens": 100, "output_tokens": 50, "output_tokens_details": {"reasoning_tokens": 40}}
    output = [reasoning, said if seen.results else call]
    return _answer({"status": "completed", "output": output, "usage": usage})


def compatible(seen: Seen, name: str = "reasoning_content", thoughts: object = "Hm.") -> Answer:
    """Do the same as a compatible server that wants its thoughts back in one field, such as DeepSeek."""
    for earlier in seen.body["messages"]:
        if earlier["role"] == "assistant" and earlier.get(name) != thoughts:
            return Status(400, f"The `{name}` in the thinking mode must be passed back to the API.")
    message: dict[str, Any] = {"role": "assistant", "content": None, name: thoughts}
    return _chosen({**message, "content": "Done."} if seen.results else {**message, "tool_calls": [_CALL]})


def mistral(seen: Seen) -> Answer:
    """Do the same as Mistral, whose thoughts are a part of the content."""
    thoughts = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}], "closed": True}
    said = {"type": "text", "text": "Done."}
    for earlier in seen.body["messages"]:
        expected = [thoughts] if "tool_calls" in earlier else [thoughts, said]
        if earlier["role"] == "assistant" and earlier["content"] != expected:
            return Status(400, "the thoughts were removed")
    message = {"role": "assistant", "content": [thoughts, said] if seen.results else [thoughts]}
    return _chosen(message if seen.results else {**message, "tool_calls": [_CALL]})


_CALL = {"id": "call_1", "type": "function", "function": {"name": "add_note", "arguments": json.dumps(NOTE)}}


def _chosen(message: Mapping[str, Any]) -> Malformed:
    finish, details = "tool_calls" if "tool_calls" in message else "stop", {"reasoning_tokens": 40}
    usage = {"prompt_tokens": 100, "completion_tokens": 50, "completion_tokens_details": details}
    return _answer({"choices": [{"message": message, "finish_reason": finish}], "usage": usage})
