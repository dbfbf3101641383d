"""The interface of agents."""

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, runtime_checkable

from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall

_EXAMPLE = """\
    from pytest_crmeval import Reply, ToolCall
    return Reply(calls=[ToolCall(tool="client_search", arguments={"name": "Acme"})])  # call tools
    return Reply(text="Acme is an active client.")  # or answer the user"""


@runtime_checkable
class Agent(Protocol):
    """Answers a user with the help of tools.

    An agent sees the dialogue and the tools, never a turn or an expectation.
    """

    @property
    def name(self) -> str:
        """The name of the agent in reports."""
        ...

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Answer the last message: with calls to be made, or with words and no calls."""
        ...


class BadReplyError(TypeError):
    """What an agent returned is not a reply; the message shows how to make one."""


def reply_of(agent: Agent, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
    """Return the agent's reply; BadReplyError if it returns anything else."""
    reply = agent.reply(messages, tools)
    if wrong := _wrong_with(reply):
        raise BadReplyError(f"agent {agent.name!r}: reply() must return a Reply, {wrong}. For example:\n{_EXAMPLE}")
    return reply


def agent_traceback(error: BaseException) -> TracebackType | None:
    """Return the frames of the agent that raised ``error``; None if it was not raised by an agent."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code is not reply_of.__code__:
        frames = frames.tb_next
    return frames and frames.tb_next


def _wrong_with(reply: object) -> str:
    if not isinstance(reply, Reply):
        return f"but returned {_a(reply)}"
    if not isinstance(reply.text, str):
        return f"but its text is {_a(reply.text)}"
    strays = [call for call in reply.calls if not isinstance(call, ToolCall)]
    return f"but its calls contain {_a(strays[0])} instead of a ToolCall" if strays else ""


def _a(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__!r}"
