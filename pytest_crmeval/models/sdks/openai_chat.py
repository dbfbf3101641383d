"""OpenAI's Chat Completions API, which most other servers support."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Reply, Tool
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.backend import ToolsCache
from pytest_crmeval.models.sdks.dialect import UnusableError, converted, count, is_counted, part, thoughts_text
from pytest_crmeval.models.sdks.encoding import call_id, called, called_name, result_text, text_of_arguments
from pytest_crmeval.models.sdks.settings import TOOL_CHOICE, Settings
from pytest_crmeval.models.specs import ModelSpec
from pytest_crmeval.ports.chat_model import Cause, Completion, Prompt, StopReason


class Chat:
    """Chat Completions of one model; ``own``: at OpenAI's own address."""

    path = "/chat/completions"

    def __init__(self, spec: ModelSpec, *, own: bool) -> None:
        tokens = ("max_completion_tokens", "max_tokens")
        sent: dict[str, Json] = {"temperature": spec.temperature, tokens[0 if own else 1]: spec.output_limit}
        if spec.stream:
            sent |= {"stream": True, "stream_options": {"include_usage": True}}
        if spec.effort:
            sent["reasoning_effort"] = spec.effort
        self.settings = Settings(
            spec.model,
            sent,
            swaps={tokens[0]: tokens[1], tokens[1]: tokens[0]},
            needed=frozenset({"reasoning_effort"}),
            nested=_CARRIED,
        )
        self._model = spec.model
        self._own = own
        self._tools = ToolsCache(_tools)

    def body(self, prompt: Prompt) -> Mapping[str, Any]:
        """Return the request."""
        system = [{"role": "system", "content": prompt.system}] if prompt.system else []
        said = [
            self._with_thoughts(entry, prompt.carried[place]) if place in prompt.carried else entry
            for place, message in enumerate(prompt.messages)
            for entry in self._said(place, message)
        ]
        body: dict[str, Any] = {"model": self._model, **self.settings.values, "messages": [*system, *said]}
        if prompt.tools:
            body["tools"] = self._tools.of(prompt.tools)
        if prompt.must_call and self.settings.forces_tools:
            body[TOOL_CHOICE] = {"type": "function", "function": {"name": prompt.must_call}}
        return body

    def headers(self, body: Mapping[str, Any]) -> Mapping[str, str]:  # noqa: ARG002 (the dialect's signature)
        """Return no headers: the SDK sets them all."""
        return {}

    def read(self, answer: object) -> Completion:
        """Return the first choice."""
        found = converted(answer, _Answer)
        if not found.choices:
            raise UnusableError(Cause.MALFORMED, "it has no choices")
        choice = found.choices[0]
        if choice.finish_reason == "content_filter":
            raise UnusableError(Cause.FILTERED, "the provider's content filter removed the answer")
        if choice.error or choice.finish_reason in _BROKEN_OFF:
            raise UnusableError(Cause.OVERLOADED, "the server stopped in the middle of the answer")
        message = choice.message
        calls = tuple(
            called(call.function.name, call.function.arguments) for call in message.tool_calls or () if call.function
        )
        text = message.text or message.refusal or ""
        if not (text or calls or message.thoughts or choice.finish_reason in _FINISHED):
            raise UnusableError(Cause.MALFORMED, "the choice has no content, no calls and no finish reason")
        reply, usage = Reply(text=text, calls=calls, thoughts=message.thoughts), _usage(answer)
        ending: StopReason = "refusal" if message.refusal else "calls" if calls else "said"
        if choice.finish_reason == "length":
            ending = "length"
        return Completion(reply=reply, usage=usage, ending=ending, carried=message.carried)

    def _with_thoughts(self, entry: dict[str, Any], carried: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON of the server)
        fields = {name: carried[name] for name in _CARRIED & carried.keys() if self.settings.accepts(name)}
        if "content" in carried:
            fields["content"] = carried["content"]
        signed = carried.get("tool_calls") or [None] * len(entry.get("tool_calls", ()))
        calls = [
            {**call, "extra_content": extra} if extra else call
            for call, extra in zip(entry.get("tool_calls", ()), signed, strict=True)
        ]
        return {**entry, **fields, **({"tool_calls": calls} if calls else {})}

    def usage(self, answer: object) -> Usage | None:
        """Return the usage that the server reports; None if it reports none."""
        return _usage(answer) if is_counted(answer) else None

    def _said(self, place: int, message: Message) -> list[dict[str, Any]]:
        if message.speaker == "crm":
            return [
                {"role": "tool", "tool_call_id": call_id(place - 1, number), "content": result_text(result)}
                for number, result in enumerate(message.results)
            ]
        if message.speaker == "user":
            return [{"role": "user", "content": message.text}]
        calls = [
            {
                "id": call_id(place, number),
                "type": "function",
                "function": {"name": called_name(call), "arguments": text_of_arguments(call, verbatim=self._own)},
            }
            for number, call in enumerate(message.calls)
        ]
        said = {"role": "assistant", "content": message.text or None}
        return [{**said, "tool_calls": calls}] if calls else [{**said, "content": message.text}]


def _tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in tools
    ]


class _Function(msgspec.Struct):
    name: str
    arguments: Any = ""


class _Call(msgspec.Struct):
    function: _Function | None = None
    """None for a kind of call that was not offered."""
    extra_content: Any = None
    """The signature of the thoughts before a call of Gemini, which it wants back."""


class _Message(msgspec.Struct):
    content: str | list[dict[str, Any]] | None = None
    """A list of parts from Mistral's models that think."""
    refusal: str | None = None
    tool_calls: list[_Call] | None = None
    reasoning: Any = None
    reasoning_content: Any = None
    reasoning_details: Any = None

    @property
    def carried(self) -> dict[str, Json] | None:
        """The thoughts that servers with these fields want back; None if there are none."""
        found = {name: value for name in _CARRIED if (value := getattr(self, name))}
        if any(part.get("type") in _THINKING for part in self._parts):
            found["content"] = self._parts
        signed = [call.extra_content for call in self.tool_calls or () if call.function]
        return {**found, **({"tool_calls": signed} if any(signed) else {})} or None

    @property
    def _parts(self) -> list[dict[str, Any]]:
        return self.content if isinstance(self.content, list) else []

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            said = [part.get("text") for part in self._parts if part.get("type") not in _THINKING]
            return "".join(text for text in said if isinstance(text, str))
        return self.content or ""

    @property
    def thoughts(self) -> str:
        parts = [thoughts_text(part) for part in self._parts if part.get("type") in _THINKING]
        whole = thoughts_text(self.reasoning_content or self.reasoning or self.reasoning_details)
        return "\n\n".join(filter(None, [whole, *parts]))


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None
    error: Any = None
    """Why it is incomplete, from some gateways."""


class _Answer(msgspec.Struct):
    choices: list[_Choice]


_THINKING = frozenset({"thinking", "reasoning"})
"""Types of message parts that are not part of the reply."""
_CARRIED = frozenset({"reasoning", "reasoning_content", "reasoning_details"})
"""Fields with thoughts that servers want back: vLLM and Ollama, DeepSeek and Kimi, OpenRouter."""
_BROKEN_OFF = frozenset({"error", "abort", "cancelled", "canceled"})
"""Finish reasons of gateways and vLLM for an answer that was interrupted, which is not the model's fault."""
_FINISHED = frozenset({"stop", "length"})
"""Finish reasons of answers that may be empty; an empty answer with another reason was interrupted."""


def _usage(answer: object) -> Usage:
    usage = part(answer, "usage")
    read, written = part(usage, "prompt_tokens_details"), part(usage, "completion_tokens_details")
    sent, said = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    output = max(said, count(usage.get("total_tokens")) - sent)  # Gemini and xAI count thoughts only in the total
    return Usage(
        input=sent,
        cached=count(read.get("cached_tokens")),
        cache_written=count(read.get("cache_write_tokens")),
        output=output,
        reasoning=max(count(written.get("reasoning_tokens")), output - said),
        calls=1,
    )
