"""Messages between user, agent and CRM."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pytest_crmeval.domain.json import Json, copied
from pytest_crmeval.domain.thoughts import separated

Speaker = Literal["user", "agent", "crm"]
ErrorKind = Literal["not_found", "invalid_argument", "conflict", "refused_by_rule", "unknown_tool", "timeout"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that an agent may call: its name, description and the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool."""

    tool: str
    arguments: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolError:
    """Why a tool refused: a kind for programs, and a message that helps an agent to recover."""

    kind: ErrorKind
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of one call: a value or an error."""

    value: Json = None
    error: ToolError | None = None
    note: str = ""
    """A remark about the value, for example that it is incomplete."""

    @property
    def refused(self) -> bool:
        """Whether the tool refused the call."""
        return self.error is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer of an agent: tool calls or, without calls, its text for the user."""

    text: str = ""
    calls: Sequence[ToolCall] = ()
    thoughts: str = ""
    """The thoughts of a reasoning model: kept in the transcript, never scored and never sent back."""

    @property
    def has_only_thoughts(self) -> bool:
        """Whether the model returned thoughts, but no text and no call."""
        return bool(self.thoughts) and not self.text.strip() and not self.calls


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of the dialogue; ``results`` answer the calls of the message before."""

    speaker: Speaker
    text: str = ""
    calls: Sequence[ToolCall] = ()
    results: Sequence[ToolResult] = ()
    thoughts: str = ""
    """The agent's thoughts, for readers of the transcript; messages sent to an agent have none."""


def user_says(text: str) -> Message:
    """Return the user's utterance as a message."""
    return Message(speaker="user", text=text)


def agent_says(reply: Reply) -> Message:
    """Return an agent's reply as a message, with its thoughts in a separate field."""
    apart = thoughts_apart(reply)
    return Message(speaker="agent", text=apart.text, calls=tuple(apart.calls), thoughts=apart.thoughts)


def thoughts_apart(reply: Reply) -> Reply:
    """Return a reply with thoughts separated from its text."""
    thoughts, said = separated(reply.text)
    if said == reply.text:
        return reply
    return replace(reply, text=said, thoughts="\n\n".join(filter(None, (reply.thoughts, thoughts))))


def crm_says(results: Sequence[ToolResult]) -> Message:
    """Return the results of a reply's calls as a message."""
    return Message(speaker="crm", results=tuple(results))


def shown_to_agent(message: Message) -> Message:
    """Return a copy of a message without thoughts, as it is sent to an agent."""
    return copy_of(replace(message, thoughts="") if message.thoughts else message)


def copy_of(message: Message) -> Message:
    """Return a message that shares nothing that can be changed with the given one."""
    if not message.calls and not message.results:
        return message
    calls = [ToolCall(tool=call.tool, arguments=copied(call.arguments)) for call in message.calls]  # type: ignore[arg-type] # an object stays one
    results = [replace(result, value=copied(result.value)) for result in message.results]
    return replace(message, calls=tuple(calls), results=tuple(results))
