"""Anthropic's Messages, with the prompt cached as far as it goes."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pytest_crmeval.domain.messages import Message, Reply, Tool
from pytest_crmeval.domain.prompt import Completion, Ending, Prompt
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.once import Once
from pytest_crmeval.models.sdks.dialect import UnusableError, count, is_counted, of_type, part, shaped, spelled
from pytest_crmeval.models.sdks.settings import TOOL_CHOICE, Settings
from pytest_crmeval.models.sdks.wording import arguments_object, call_id, called, called_name, result_text
from pytest_crmeval.models.specs import ModelSpec
from pytest_crmeval.ports.chat_model import Cause

_CACHED: Mapping[str, Any] = {"cache_control": {"type": "ephemeral"}}
_SILENCE = "(nothing)"
"""Stands for a text without a letter, which the server would not take."""


class Messages:
    """Messages of one model."""

    path = "/v1/messages"

    def __init__(self, spec: ModelSpec, notes: tuple[str, ...] = ()) -> None:
        sent = {"temperature": spec.temperature, "max_tokens": spec.max_output_tokens}
        self.settings = Settings(spec.model, sent, needed=frozenset({"max_tokens"}), notes=notes)
        self._model = spec.model
        self._tools = Once(_tools)

    def body(self, prompt: Prompt) -> Mapping[str, Any]:
        """Return the request; everything up to its end is to be cached, and what was cached before is found again."""
        body: dict[str, Any] = {"model": self._model, **self.settings.values}
        if prompt.system.strip():
            body["system"] = [{"type": "text", "text": prompt.system, **_CACHED}]
        body["messages"] = _messages(prompt.messages)
        if prompt.tools:
            body["tools"] = self._tools.of(prompt.tools)
        if prompt.must_call and self.settings.forces_tools:
            body[TOOL_CHOICE] = {"type": "tool", "name": prompt.must_call}
        return body

    def headers(self, body: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the version of the API that knows a temperature: from 2026-10-21 on it refuses any, of any model."""
        return {"anthropic-version": "2023-06-01"} if "temperature" in body else {}

    def read(self, answer: object) -> Completion:
        """Return all texts and calls in one reply; it is empty if the model has nothing to say."""
        found = shaped(answer, _Answer)
        if found.stop_reason == "model_context_window_exceeded":
            raise UnusableError(Cause.BAD_REQUEST, "the dialogue does not fit into the model's context")
        if not (found.content or found.stop_reason):
            raise UnusableError(Cause.MALFORMED, "it has neither content nor a stop reason")
        text = "".join(block.text for block in of_type("text", found.content, _Text))
        if found.stop_reason == "refusal":
            raise UnusableError(Cause.FILTERED, f"the provider's classifier refuses {text}".strip())
        calls = [called(block.name, block.input) for block in of_type("tool_use", found.content, _Call)]
        thoughts = [spelled(block) for block in found.content if block["type"] == "thinking"]
        reply = Reply(text=text, calls=tuple(calls), thoughts="\n\n".join(filter(None, thoughts)))
        return Completion(reply=reply, usage=_usage(answer), ending=_ending(found, reply))

    def usage(self, answer: object) -> Usage | None:
        """Return what the server counted; None if it says nothing about that."""
        return _usage(answer) if is_counted(answer) else None


def _messages(said: Sequence[Message]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    for place, message in enumerate(said):
        role = "assistant" if message.speaker == "agent" else "user"
        blocks = _blocks(place, message)
        # Results, and what the user says after them, are one turn: roles alternate, results come first.
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    if turns:
        turns[-1]["content"][-1] |= _CACHED
    return turns


def _blocks(place: int, message: Message) -> list[dict[str, Any]]:
    results = [
        _result(call_id(place - 1, number), result_text(result), refused=result.refused)
        for number, result in enumerate(message.results)
    ]
    calls = [
        {"type": "tool_use", "id": call_id(place, number), "name": called_name(call), "input": arguments_object(call)}
        for number, call in enumerate(message.calls)
    ]
    has_text = message.text.strip() or not (results or calls)
    text = [{"type": "text", "text": message.text if message.text.strip() else _SILENCE}] if has_text else []
    return [*results, *text, *calls]


def _result(use: str, text: str, *, refused: bool) -> dict[str, Any]:
    told = {"type": "tool_result", "tool_use_id": use, "content": text}
    return {**told, "is_error": True} if refused else told


def _tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in tools
    ]
    told[-1] |= _CACHED
    return told


class _Text(msgspec.Struct):
    text: str


class _Call(msgspec.Struct):
    name: str
    input: Any = None


class _Answer(msgspec.Struct):
    content: list[dict[str, Any]]
    stop_reason: str | None = None


def _ending(answer: _Answer, reply: Reply) -> Ending:
    if answer.stop_reason == "max_tokens":
        return "length"
    return "calls" if reply.calls else "said"


def _usage(answer: object) -> Usage:
    usage = part(answer, "usage")
    cached, cache_written = count(usage.get("cache_read_input_tokens")), count(usage.get("cache_creation_input_tokens"))
    return Usage(
        input=count(usage.get("input_tokens")) + cached + cache_written,
        cached=cached,
        cache_written=cache_written,
        output=count(usage.get("output_tokens")),
        reasoning=count(part(usage, "output_tokens_details").get("thinking_tokens")),
        calls=1,
    )
