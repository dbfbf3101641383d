"""Messages between user, agent and CRM."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pytest_crmeval.domain.json import Json, copied

Speaker = Literal["system", "user", "agent", "crm"]
"""``system`` is the first message of a conversation with rules of the company, and of no other."""
ErrorKind = Literal["not_found", "invalid_argument", "conflict", "refused_by_rule", "unknown_tool", "timeout"]
_THINK = r"<(?P<end>/?)think(?:ing)?(?:\s[^<>]{0,100})?>"
_TAG = re.compile(_THINK, re.IGNORECASE)
"""``<think>`` or ``<thinking>``."""
_TAG_OR_CODE = re.compile(rf"(?P<block>(?:^ *|(?<=>))```)|(?P<code>`[^`\n]+`)|{_THINK}", re.IGNORECASE | re.MULTILINE)
"""The same, or the beginning of a block of code, or code in a line."""


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
    """Why a tool refused: a kind for programs, and a message that helps an agent recover."""

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
    """The thoughts of a reasoning model: kept in the transcript, never scored."""
    input_tokens: int = 0
    """Tokens that the agent used for this reply, if it calls models itself."""
    output_tokens: int = 0
    cost: float | None = None
    """Its cost in US dollars; None if it is unknown."""

    @property
    def has_only_thoughts(self) -> bool:
        """Whether the model returned thoughts, but no text and no call."""
        return bool(self.thoughts) and not self.text.strip() and not self.calls


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of the dialogue; ``results`` answer the calls of the previous message."""

    speaker: Speaker
    text: str = ""
    calls: Sequence[ToolCall] = ()
    results: Sequence[ToolResult] = ()
    thoughts: str = ""
    """The agent's thoughts, for readers of the transcript; messages sent to an agent have none."""
    model: str = ""
    """The model that wrote a user's message; empty if the case defines it, and in messages sent to an agent."""


def rules_apart(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """Return the rules of the company, empty if the conversation has none, and the dialogue."""
    if messages and messages[0].speaker == "system":
        return messages[0].text, messages[1:]
    return "", messages


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
    return copy_of(replace(message, thoughts="", model="") if message.thoughts or message.model else message)


def copy_of(message: Message) -> Message:
    """Return a message that shares nothing that can be changed with the given one."""
    if not message.calls and not message.results:
        return message
    calls = [ToolCall(tool=call.tool, arguments=copied(call.arguments)) for call in message.calls]  # type: ignore[arg-type] # an object stays one
    results = [replace(result, value=copied(result.value)) for result in message.results]
    return replace(message, calls=tuple(calls), results=tuple(results))


def separated(text: str) -> tuple[str, str]:
    """Return the thoughts in ``text`` and the rest, which is for the user; ``text`` unchanged if there are no thoughts.

    A block without an end goes to the end of the text: the model ran out of tokens. An end without a beginning ends a
    block that began with the text: some templates put the first tag into the prompt. After a complete block, an end
    that is the last word of the text is ignored.
    """
    said: list[str] = []
    thought: list[str] = []
    done, depth, thinking = 0, 0, False
    while tag := _next_tag(text, done, thinking=thinking):
        (thought if thinking else said).append(text[done : tag.start()])
        is_slip = thought and not depth and not text[tag.end() :].strip()
        if tag["end"] and not thinking and not is_slip:
            thought, said = [*thought, *said], []
        depth = max(0, depth - 1) if tag["end"] else depth + 1
        done, thinking = tag.end(), not tag["end"]
    if not done:
        return "", text
    (thought if thinking else said).append(text[done:])
    return "\n\n".join(filter(None, map(str.strip, thought))), "".join(said).strip()


def _next_tag(text: str, start: int, *, thinking: bool) -> re.Match[str] | None:
    """Return the next tag that is not in backticks and, outside of thoughts, not in code.

    Code within thoughts is ignored, because it may be incomplete.
    """
    while found := (_TAG if thinking else _TAG_OR_CODE).search(text, start):
        start = found.end()
        if not thinking and found["block"]:
            start = max(start, text.find("\n```", start) + len("\n```"))
        elif thinking or not found["code"]:
            begin, end = found.span()
            quoted = text.endswith("`", 0, begin) and text.startswith("`", end) and not text.startswith("```", end)
            if not quoted:
                return found
    return None
