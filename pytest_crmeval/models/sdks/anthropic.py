"""Anthropic's Messages API, with prompt caching. Imported only when such a model is used."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Reply, Tool
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.backend import Backend, ToolsCache
from pytest_crmeval.models.providers import PROVIDERS
from pytest_crmeval.models.reasoning import claude_parameters, refuses_temperature
from pytest_crmeval.models.sdks.attempts import SdkBackend, SdkClient, target_of
from pytest_crmeval.models.sdks.dialect import UnusableError, converted, count, is_counted, of_type, part, thoughts_text
from pytest_crmeval.models.sdks.encoding import arguments_object, call_id, called, called_name, result_text
from pytest_crmeval.models.sdks.event_loop import client as shared_client
from pytest_crmeval.models.sdks.settings import TOOL_CHOICE, Settings
from pytest_crmeval.models.sdks.sign_in import sign_in_errors
from pytest_crmeval.models.sdks.transport import http_client
from pytest_crmeval.models.specs import ModelSpec
from pytest_crmeval.ports.chat_model import Cause, Completion, Prompt, StopReason

_CACHED: Mapping[str, Any] = {"cache_control": {"type": "ephemeral"}}
_SILENCE = "(nothing)"
"""Stands for a blank text, which the server refuses."""
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
"""Blocks that the server signs, and wants back unchanged together with the blocks beside them."""
_SIGN_IN = ("AWS_PROFILE", "AWS_REGION", "CLOUD_ML_REGION", "ANTHROPIC_VERTEX_PROJECT_ID")
"""Variables that the clients of clouds read."""


class Messages:
    """The Messages API of one model."""

    path = "/v1/messages"

    def __init__(self, spec: ModelSpec, *, version: str = "") -> None:
        asked = (spec.model, spec.effort, spec.thinking)
        sent = {"temperature": spec.temperature, "max_tokens": spec.output_limit, **claude_parameters(*asked)}
        if spec.stream:
            sent["stream"] = True
        refused = frozenset({"temperature"}) if refuses_temperature(*asked) else frozenset()
        # What the user asked for is never left out: the answers would be those of another setting.
        needed = {"max_tokens", "thinking", "output_config"} if spec.effort or spec.thinking else {"max_tokens"}
        self.settings = Settings(spec.model, sent, needed=frozenset(needed), refused=refused)
        self._model = spec.model
        self._thinks = spec.thinks
        self._version = version
        self._tools = ToolsCache(_tools)

    def body(self, prompt: Prompt) -> Mapping[str, Any]:
        """Return the request; all of it is marked for the cache, so that the next request finds it there."""
        body: dict[str, Any] = {"model": self._model, **self.settings.values}
        if self._version and "temperature" in body:
            body["anthropic_version"] = self._version
        if prompt.system.strip():
            body["system"] = [{"type": "text", "text": prompt.system, **_CACHED}]
        turns: list[dict[str, Any]] = []
        for place, message in enumerate(prompt.messages):
            role = "assistant" if message.speaker == "agent" else "user"
            blocks = _blocks(place, message, prompt.carried)
            # Results and a following user message are one turn: roles must alternate, and results come first.
            if turns and turns[-1]["role"] == role:
                turns[-1]["content"] += blocks
            else:
                turns.append({"role": role, "content": blocks})
        if turns:
            turns[-1]["content"][-1] = {**turns[-1]["content"][-1], **_CACHED}
        body["messages"] = turns
        if prompt.tools:
            body["tools"] = self._tools.of(prompt.tools)
        if prompt.must_call and self.settings.forces_tools and not self._thinks:  # a model that thinks can't be forced
            body[TOOL_CHOICE] = {"type": "tool", "name": prompt.must_call}
        return body

    def headers(self, body: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the version of the API that accepts a temperature: from 2026-10-21 on it is refused for all models."""
        return {"anthropic-version": "2023-06-01"} if "temperature" in body and not self._version else {}

    def read(self, answer: object) -> Completion:
        """Return all texts and calls in one reply, which may be empty."""
        found = converted(answer, _Answer)
        if found.stop_reason == "model_context_window_exceeded":
            raise UnusableError(Cause.BAD_REQUEST, "the dialogue does not fit into the model's context")
        if not (found.content or found.stop_reason):
            raise UnusableError(Cause.MALFORMED, "it has neither content nor a stop reason")
        text = "".join(block.text for block in of_type("text", found.content, _Text))
        if found.stop_reason == "refusal":
            raise UnusableError(Cause.FILTERED, f"the provider's classifier refuses {text}".strip())
        calls = [called(block.name, block.input) for block in of_type("tool_use", found.content, _Call)]
        thoughts = [thoughts_text(block) for block in found.content if block["type"] == "thinking"]
        reply = Reply(text=text, calls=tuple(calls), thoughts="\n\n".join(filter(None, thoughts)))
        ending: StopReason = "length" if found.stop_reason == "max_tokens" else "calls" if reply.calls else "said"
        return Completion(reply=reply, usage=_usage(answer), ending=ending, carried=_carried(found.content))

    def usage(self, answer: object) -> Usage | None:
        """Return the usage that the server reports; None if it reports none."""
        return _usage(answer) if is_counted(answer) else None


def _carried(content: Sequence[Mapping[str, Any]]) -> Json:
    """Return the blocks that the server wants back; None if it wants none, or would refuse them.

    It refuses blank texts, and thoughts that nothing follows.
    """
    blocks = [dict(block) for block in content if block["type"] != "text" or block["text"].strip()]
    signed = any(block["type"] in _THOUGHTS for block in blocks)
    return blocks if signed and blocks[-1]["type"] not in _THOUGHTS else None


def _blocks(place: int, message: Message, carried: Mapping[int, Any]) -> list[dict[str, Any]]:
    if place in carried:
        return list(carried[place])
    ids = [block["id"] for block in carried.get(place - 1, ()) if block["type"] == "tool_use"]
    results = [
        {
            "type": "tool_result",
            "tool_use_id": ids[number] if number < len(ids) else call_id(place - 1, number),
            "content": result_text(result),
            **({"is_error": True} if result.refused else {}),
        }
        for number, result in enumerate(message.results)
    ]
    calls = [
        {"type": "tool_use", "id": call_id(place, number), "name": called_name(call), "input": arguments_object(call)}
        for number, call in enumerate(message.calls)
    ]
    has_text = message.text.strip() or not (results or calls)
    text = [{"type": "text", "text": message.text if message.text.strip() else _SILENCE}] if has_text else []
    return [*results, *text, *calls]


def _tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    described: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in tools
    ]
    described[-1] |= _CACHED
    return described


class _Text(msgspec.Struct):
    text: str


class _Call(msgspec.Struct):
    name: str
    input: Any = None


class _Answer(msgspec.Struct):
    content: list[dict[str, Any]]
    stop_reason: str | None = None


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


def anthropic_backend(spec: ModelSpec, key: str, base_url: str) -> Backend:
    """Return a backend for a Claude model at ``base_url``; empty: the provider's own address."""
    import anthropic

    key, address = key.strip(), base_url or PROVIDERS[spec.provider].address
    target = target_of(spec, key, address or spec.provider)
    make = _MAKERS.get(spec.provider, _plain)

    def client() -> SdkClient:
        # A client of a cloud stays in its region, and signs in with what is in the environment.
        where = (spec.provider, address, key, *map(os.environ.get, _SIGN_IN))
        return shared_client(where, lambda: make(key, address))

    version = _VERSIONS.get(spec.provider, "")
    errors: tuple[type[Exception], ...] = (anthropic.AnthropicError, *sign_in_errors(spec.provider))
    messages = Messages(spec, version=version)
    return SdkBackend(target, client, errors, messages, as_object=bool(version)).prepared()


def _plain(key: str, address: str) -> SdkClient:
    import anthropic

    return anthropic.AsyncAnthropic(api_key=key or "no-key", base_url=address, **_options())


def _foundry(key: str, address: str) -> SdkClient:
    from anthropic import AsyncAnthropicFoundry

    return AsyncAnthropicFoundry(api_key=key, base_url=address, **_options())


def _bedrock(key: str, address: str) -> SdkClient:
    from anthropic import AsyncAnthropicBedrock

    return AsyncAnthropicBedrock(api_key=key or None, base_url=address or None, **_options())


def _vertex(key: str, address: str) -> SdkClient:
    from anthropic import AsyncAnthropicVertex

    return AsyncAnthropicVertex(access_token=key or None, base_url=address or None, **_options())


def _options() -> dict[str, Any]:
    return {"max_retries": 0, "timeout": None, "http_client": http_client()}


_MAKERS: Mapping[str, Callable[[str, str], SdkClient]] = {"foundry": _foundry, "bedrock": _bedrock, "vertex": _vertex}
_VERSIONS: Mapping[str, str] = {"bedrock": "bedrock-2023-05-31", "vertex": "vertex-2023-10-16"}
"""Clouds that have the version in the request: the one that accepts a temperature."""
