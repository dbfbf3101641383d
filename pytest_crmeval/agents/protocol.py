"""The JSON that an agent in another process gets for each reply, and what it returns."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from pytest_crmeval.agents.calling import AgentError, Offered
from pytest_crmeval.domain.cutting import cut, cut_bytes
from pytest_crmeval.domain.formats import address_of
from pytest_crmeval.domain.messages import ErrorKind, Message, Reply, Speaker, ToolCall, ToolResult
from pytest_crmeval.domain.wire import encoded, plain
from pytest_crmeval.ports.agent import ToolServer

MOST_BYTES = 4_000_000
"""The longest answer that is read."""
_EXCERPT = 200


class Call(Struct, forbid_unknown_fields=True):
    """A call of a tool."""

    tool: str
    arguments: dict[str, Any] = {}


class Refusal(Struct):
    """Why a tool refused a call."""

    kind: ErrorKind
    message: str


class CallResult(Struct):
    """The result of a call: a value or an error."""

    value: Any = UNSET
    error: Refusal | UnsetType = UNSET
    note: (
        Annotated[str, Meta(description="A remark about the value, for example that it is incomplete.")] | UnsetType
    ) = UNSET


class DialogueMessage(Struct):
    """One message of the dialogue."""

    speaker: Speaker
    text: str | UnsetType = UNSET
    calls: list[Call] | UnsetType = UNSET
    results: (
        Annotated[list[CallResult], Meta(description="The results of the calls in the previous message.")] | UnsetType
    ) = UNSET


class OfferedTool(Struct):
    """A tool that can be called."""

    name: str
    description: str
    parameters: Annotated[dict[str, Any], Meta(description="JSON Schema of the arguments.")]


class OfferedServer(Struct):
    """An MCP server (streamable HTTP) with the tools of the conversation."""

    url: str
    token: Annotated[str, Meta(description="Bearer token for the header Authorization.")]


class Request(Struct):
    """The request for one reply."""

    conversation: Annotated[str, Meta(description="A random id, the same for all requests of one conversation.")]
    messages: Annotated[list[DialogueMessage], Meta(description="The dialogue so far.")]
    tools: Annotated[list[OfferedTool], Meta(description="The tools that can be called; empty for questions.")]
    seconds: Annotated[float, Meta(description="Time limit for the answer.")]
    tool_server: (
        Annotated[OfferedServer, Meta(description="Replaces tools for an agent that calls them itself.")] | UnsetType
    ) = UNSET


class Answer(Struct, forbid_unknown_fields=True):
    """The answer to a request."""

    text: Annotated[str, Meta(description="The answer to the user, if there are no more tools to call.")] = ""
    calls: Annotated[list[Call], Meta(description="Tools to call; their results come with the next request.")] = []
    conversation: Annotated[str, Meta(description="Optional: the conversation of the request.")] = ""
    error: Annotated[str, Meta(description="Why the agent can't answer; makes the trial ERRORED with this reason.")] = (
        ""
    )
    input_tokens: Annotated[int, Meta(ge=0)] = 0
    output_tokens: Annotated[int, Meta(ge=0)] = 0
    cost: Annotated[Annotated[float, Meta(ge=0)] | None, Meta(description="In US dollars.")] = None


_DECODER = msgspec.json.Decoder(Answer)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of requests and answers, which is in ``agent-protocol.schema.json``."""
    references, definitions = msgspec.json.schema_components([Request, Answer], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": address_of("crmeval.agent-protocol/1"),
        "title": "Requests to agents in other processes, and their answers",
        "anyOf": list(references),
        "$defs": definitions,
    }


def request(conversation: str, messages: Sequence[Message], tools: Offered, seconds: float) -> bytes:
    """Return the request for one reply, on one line."""
    server = tools if isinstance(tools, ToolServer) else None
    offered = () if isinstance(tools, ToolServer) else tools or ()
    asked = Request(
        conversation=conversation,
        messages=list(map(_message, messages)),
        tools=[OfferedTool(tool.name, tool.description, dict(tool.parameters)) for tool in offered],
        seconds=seconds,
        tool_server=OfferedServer(server.url, server.token) if server else UNSET,
    )
    return encoded(msgspec.to_builtins(asked, enc_hook=plain))


def reply_in(content: bytes, conversation: str) -> Reply:
    """Return the reply in an answer; AgentError if there is none in it."""
    try:
        answer = _DECODER.decode(content)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise AgentError(f"malformed answer: {error}: {cut_bytes(content, _EXCERPT)!r}") from error
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


def _message(message: Message) -> DialogueMessage:
    return DialogueMessage(
        speaker=message.speaker,
        text=message.text or UNSET,
        calls=[Call(call.tool, dict(call.arguments)) for call in message.calls] or UNSET,
        results=list(map(_result, message.results)) or UNSET,
    )


def _result(result: ToolResult) -> CallResult:
    if result.error:
        return CallResult(error=Refusal(result.error.kind, result.error.message))
    return CallResult(value=result.value, note=result.note or UNSET)
