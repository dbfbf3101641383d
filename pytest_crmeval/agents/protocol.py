"""The JSON that an agent in another process gets for each reply, and what it returns."""

from collections.abc import Sequence
from typing import Any

import msgspec

from pytest_crmeval.agents.calling import AgentError
from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall, ToolResult
from pytest_crmeval.domain.wire import encoded

MOST_BYTES = 4_000_000
"""The longest answer that is read."""
_EXCERPT = 200


class _Call(msgspec.Struct, forbid_unknown_fields=True):
    tool: str
    arguments: dict[str, Any] = {}


class _Answer(msgspec.Struct, forbid_unknown_fields=True):
    text: str = ""
    calls: list[_Call] = []
    conversation: str = ""
    error: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None


_DECODER = msgspec.json.Decoder(_Answer)


def request(conversation: str, messages: Sequence[Message], tools: Sequence[Tool], seconds: float) -> bytes:
    """Return the request for one reply, on one line."""
    body: dict[str, Json] = {
        "conversation": conversation,
        "messages": list(map(_message, messages)),
        "tools": [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in tools],
        "seconds": seconds,
    }
    return encoded(body)


def reply_in(content: bytes, conversation: str) -> Reply:
    """Return the reply in an answer; AgentError if there is none in it."""
    try:
        answer = _DECODER.decode(content)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        shown = cut(content[: 4 * _EXCERPT].decode(errors="replace"), _EXCERPT)
        raise AgentError(f"malformed answer: {error}: {shown!r}") from error
    if answer.conversation not in ("", conversation):
        raise AgentError(f"malformed answer: it is for another conversation, {cut(answer.conversation, 40)!r}")
    if answer.error:
        raise AgentError(f"the agent reports an error: {cut(answer.error, _EXCERPT)}")
    return Reply(
        text=answer.text,
        calls=tuple(ToolCall(tool=call.tool, arguments=call.arguments) for call in answer.calls),
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        cost=answer.cost,
    )


def _message(message: Message) -> Json:
    fields: dict[str, Json] = {
        "text": message.text,
        "calls": [{"tool": call.tool, "arguments": call.arguments} for call in message.calls],
        "results": list(map(_result, message.results)),
    }
    return {"speaker": message.speaker, **{name: value for name, value in fields.items() if value}}


def _result(result: ToolResult) -> Json:
    if result.error:
        return {"error": {"kind": result.error.kind, "message": result.error.message}}
    return {"value": result.value, **({"note": result.note} if result.note else {})}
