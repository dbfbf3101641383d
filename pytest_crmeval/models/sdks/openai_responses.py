"""OpenAI's Responses API."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Reply, Tool
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.backend import ToolsCache
from pytest_crmeval.models.sdks.dialect import UnusableError, converted, count, is_counted, of_type, part, thoughts_text
from pytest_crmeval.models.sdks.encoding import call_id, called, called_name, result_text, text_of_arguments
from pytest_crmeval.models.sdks.settings import TOOL_CHOICE, Settings
from pytest_crmeval.models.specs import ModelSpec
from pytest_crmeval.ports.chat_model import Cause, Completion, Prompt, StopReason


class Responses:
    """Responses of one model, stateless: each request has the whole dialogue. ``own``: at OpenAI's own address."""

    path = "/responses"

    def __init__(self, spec: ModelSpec, *, own: bool) -> None:
        sent: dict[str, Json] = {"temperature": spec.temperature, "max_output_tokens": spec.output_limit}
        sent["store"] = False
        if spec.thinks:  # without stored responses, the server wants its thoughts back
            sent["include"] = ["reasoning.encrypted_content"]
        if spec.stream:
            sent["stream"] = True
        if spec.effort:
            sent["reasoning"] = {"effort": spec.effort}
        self.settings = Settings(spec.model, sent, needed=frozenset({"store", "reasoning"}))
        self._model = spec.model
        self._own = own
        self._tools = ToolsCache(_tools)

    def body(self, prompt: Prompt) -> Mapping[str, Any]:
        """Return the request."""
        said = [
            entry
            for place, message in enumerate(prompt.messages)
            for entry in self._said(place, message, prompt.carried)
        ]
        body: dict[str, Any] = {"model": self._model, **self.settings.values, "input": said}
        if prompt.system:
            body["instructions"] = prompt.system
        if prompt.tools:
            body["tools"] = self._tools.of(prompt.tools)
        if prompt.must_call and self.settings.forces_tools:
            body[TOOL_CHOICE] = {"type": "function", "name": prompt.must_call}
        return body

    def headers(self, body: Mapping[str, Any]) -> Mapping[str, str]:  # noqa: ARG002 (the dialect's signature)
        """Return no headers: the SDK sets them all."""
        return {}

    def read(self, answer: object) -> Completion:
        """Return the whole output in one reply."""
        found = converted(answer, _Answer)
        if found.error is not None or found.status == "failed":
            error = found.error or _Failure()
            raise UnusableError(_FAILURES.get(error.code or "", Cause.OVERLOADED), f"{error.code}: {error.message}")
        if found.stopped_by == "content_filter":
            raise UnusableError(Cause.FILTERED, "the provider's content filter removed the answer")
        if found.status in _BROKEN_OFF:
            raise UnusableError(Cause.OVERLOADED, f"the server stopped in the middle of the answer: {found.status}")
        if not found.output and found.status not in _FINISHED:
            raise UnusableError(Cause.MALFORMED, "it has no output, and is not finished")
        messages = of_type("message", found.output, _Message)
        calls = of_type("function_call", found.output, _Call)
        text = "\n".join(said for message in messages if (said := message.said))
        reasoning = [item for item in found.output if item.get("type") == "reasoning"]
        thoughts = [thoughts_text(item.get("content") or item.get("summary")) for item in reasoning]
        reply = Reply(
            text=text,
            calls=tuple(called(call.name, call.arguments) for call in calls),
            thoughts="\n\n".join(filter(None, thoughts)),
        )
        refused = any(message.refuses for message in messages)
        ending: StopReason = "refusal" if refused else "calls" if calls else "said"
        if found.status == "incomplete":
            ending = "length"
        return Completion(reply=reply, usage=_usage(answer), ending=ending, carried=_carried(found.output))

    def usage(self, answer: object) -> Usage | None:
        """Return the usage that the server reports; None if it reports none."""
        return _usage(answer) if is_counted(answer) else None

    def _said(self, place: int, message: Message, carried: Mapping[int, Any]) -> list[dict[str, Any]]:
        if place in carried:
            return list(carried[place])
        if message.speaker == "crm":
            given = [item["call_id"] for item in carried.get(place - 1, ()) if item["type"] == "function_call"]
            ids = given or [call_id(place - 1, number) for number, _ in enumerate(message.results)]
            return [
                {"type": "function_call_output", "call_id": id_, "output": result_text(result)}
                for id_, result in zip(ids, message.results, strict=True)
            ]
        if message.speaker == "user":
            return [{"role": "user", "content": message.text}]
        calls = [
            {
                "type": "function_call",
                "call_id": call_id(place, number),
                "name": called_name(call),
                "arguments": text_of_arguments(call, verbatim=self._own),
            }
            for number, call in enumerate(message.calls)
        ]
        said = [{"role": "assistant", "content": message.text}] if message.text or not calls else []
        return [*said, *calls]


def _carried(output: list[dict[str, Any]]) -> Json:
    """Return the output that the server wants back: with reasoning, or labelled as comment or answer; else None."""
    reasoning = [item for item in output if item["type"] == "reasoning"]
    # An item that has no content is only known to the server if it stores responses.
    known = all(item.get("encrypted_content") or item.get("content") for item in reasoning)
    named = all(item.get("call_id") for item in output if item["type"] == "function_call")
    followed = not reasoning or output[-1] is not reasoning[-1]  # the server refuses reasoning that nothing follows
    wanted = reasoning or any(item.get("phase") for item in output)
    return output if wanted and known and named and followed else None


def _tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "strict": False,  # the default of this API is True
        }
        for tool in tools
    ]


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _Message(msgspec.Struct):
    content: list[_Part]

    @property
    def said(self) -> str:
        return "".join(part.text or part.refusal or "" for part in self.content)

    @property
    def refuses(self) -> bool:
        return any(part.type == "refusal" for part in self.content)


class _Call(msgspec.Struct):
    name: str
    arguments: Any = ""


class _Failure(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class _Reason(msgspec.Struct):
    reason: str | None = None


class _Answer(msgspec.Struct):
    output: list[dict[str, Any]]
    status: str | None = None
    error: _Failure | None = None
    incomplete_details: _Reason | None = None

    @property
    def stopped_by(self) -> str:
        return (self.incomplete_details and self.incomplete_details.reason) or ""


_FAILURES: Mapping[str, Cause] = {
    "rate_limit_exceeded": Cause.RATE_LIMITED,
    "invalid_prompt": Cause.FILTERED,
    "bio_policy": Cause.FILTERED,
    "misalignment_policy_violation": Cause.FILTERED,
}


_BROKEN_OFF = frozenset({"cancelled", "in_progress", "queued"})
"""Statuses of a response that was interrupted, which is not the model's fault."""
_FINISHED = frozenset({"completed", "incomplete"})
"""Statuses of responses that may be empty."""


def _usage(answer: object) -> Usage:
    usage = part(answer, "usage")
    read, written = part(usage, "input_tokens_details"), part(usage, "output_tokens_details")
    return Usage(
        input=count(usage.get("input_tokens")),
        cached=count(read.get("cached_tokens")),
        cache_written=count(read.get("cache_write_tokens")),
        output=count(usage.get("output_tokens")),
        reasoning=count(written.get("reasoning_tokens")),
        calls=1,
    )
