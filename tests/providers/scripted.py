"""A brain for the loopback server that plays whole conversations rightly: it has heard the oracle play them.

It is shown the dialogue of a request and knows what was answered to it, word for word: a request that leaves something
out, or tells it otherwise than it was, is answered by nobody.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.conversations.play import observe, play_reference
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall
from pytest_crmeval.models.sdks.encoding import result_text
from pytest_crmeval.ports.crm import Crm
from tests.providers.answers import Answer, Call, Say, Status
from tests.providers.delivery import Seen
from tests.providers.dialects import Body

Said = tuple[str, ...]
"""Who, or what, and its words."""
Dialogue = tuple[Said, ...]
Script = Mapping[Dialogue, Reply]
"""What is answered to each dialogue."""


class Prompted:
    """Notes what an oracle is shown and what it answers."""

    name = "prompted"

    def __init__(self, conversation: Conversation) -> None:
        self._oracle = Oracle(conversation)
        self.noted: list[tuple[Sequence[Message], Reply]] = []

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Answer as the oracle does."""
        reply = self._oracle.reply(messages, tools)
        self.noted.append((messages, reply))
        return reply


def rehearsed(case: Conversation, crm: Crm) -> list[tuple[Sequence[Message], Reply]]:
    """Return what the oracle is shown, and what it answers, when a conversation is played as it will be again."""
    prompted = Prompted(case)
    observe(case, prompted, crm, play_reference(case, Oracle(case), crm))
    return prompted.noted


def script_of(cases: Iterable[Conversation], crm: Crm) -> Script:
    """Return what is to be answered in ``cases``; ValueError if the same dialogue has two answers."""
    script: dict[Dialogue, Reply] = {}
    for case in cases:
        for messages, reply in rehearsed(case, crm):
            if script.setdefault(_told(messages), reply) != reply:
                raise ValueError(f"{case.id}: nobody could know what to answer to {messages}")
    return script


def scripted_brain(script: Script) -> Callable[[Seen], Answer]:
    """Return a brain that answers as it is written."""

    def answer(seen: Seen) -> Answer:
        dialogue = tuple(_READ[seen.path.partition("?")[0]](seen.body))
        if dialogue not in script:
            return Status(400, f"nobody knows what to answer to {dialogue[-3:]}")
        reply = script[dialogue]
        return Call(*reply.calls, text=reply.text) if reply.calls else Say(reply.text)

    return answer


def _told(messages: Iterable[Message]) -> Dialogue:
    """Return a dialogue as it was, whatever the dialect."""
    return tuple(said for message in messages for said in _parts(message))


def _parts(message: Message) -> Iterator[Said]:
    if message.text or not (message.calls or message.results):
        yield message.speaker, message.text
    yield from (_called(call) for call in message.calls)
    yield from (("result", result_text(result)) for result in message.results)


def _called(call: ToolCall) -> Said:
    return "call", call.tool, _canonical(call.arguments)


def _canonical(arguments: Mapping[str, Json]) -> str:
    return json.dumps(arguments, sort_keys=True)


def _of_chat(body: Body) -> Iterator[Said]:
    for message in body["messages"]:
        match message["role"]:
            case "user":
                yield "user", message["content"]
            case "tool":
                yield "result", message["content"]
            case "assistant":
                yield from [("agent", message["content"])] if message["content"] else []
                for call in message.get("tool_calls", ()):
                    yield _called_by(call["function"])


def _of_responses(body: Body) -> Iterator[Said]:
    for item in body["input"]:
        match item:
            case {"type": "function_call"}:
                yield _called_by(item)
            case {"type": "function_call_output"}:
                yield "result", item["output"]
            case _:
                yield "user" if item["role"] == "user" else "agent", item["content"]


def _of_messages(body: Body) -> Iterator[Said]:
    for message in body["messages"]:
        for block in message["content"]:
            match block["type"]:
                case "tool_use":
                    yield "call", block["name"], _canonical(block["input"])
                case "tool_result":
                    yield "result", block["content"]
                case _:
                    yield "user" if message["role"] == "user" else "agent", block["text"]


def _called_by(function: Mapping[str, Any]) -> Said:
    return "call", function["name"], _canonical(json.loads(function["arguments"]))


_READ: Mapping[str, Callable[[Body], Iterator[Said]]] = {
    "/v1/chat/completions": _of_chat,
    "/v1/responses": _of_responses,
    "/v1/messages": _of_messages,
}
