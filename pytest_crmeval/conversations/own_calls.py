"""Turns of an agent that makes its calls itself, on a tool server."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pytest_crmeval.agents.calling import BadReplyError, reply_of
from pytest_crmeval.conversations.tool_server import ToolSession, serving
from pytest_crmeval.domain.messages import (
    Message,
    Reply,
    ToolCall,
    ToolError,
    ToolResult,
    agent_says,
    copy_of,
    crm_says,
    shown_to_agent,
)
from pytest_crmeval.models.usage_meter import current
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.crm import CallableCrm

Answering = Callable[[list[Message], list[Message]], bool]
"""Adds an agent's answer to the first list; the second has the copies of it that the agent is shown.

It returns False if the agent's steps run out before it has replied.
"""
_NO_MORE = ToolError(kind="refused_by_rule", message="Too many calls in this turn; this call was not made.")
_NOT_CALLED = "agent {!r}: it has a tool server, so it must make its calls there and return text, but returned calls"


@contextmanager
def answering_itself(agent: Agent, crm: CallableCrm, max_steps: int) -> Iterator[Answering]:
    """Yield how an agent answers that makes its calls itself; its tool server lasts as long as the conversation."""
    session = ToolSession(crm.tools)
    with serving(session) as server:

        def answer(messages: list[Message], shown: list[Message]) -> bool:
            shown += map(shown_to_agent, messages[len(shown) :])
            calls = _Calls(messages, crm, max_steps)
            try:
                with session.open(calls):
                    reply = reply_of(agent, tuple(shown), server)
            finally:
                if calls.error:
                    raise calls.error
            current().record_reply(reply)
            if reply.calls:
                raise BadReplyError(_NOT_CALLED.format(agent.name))
            if calls.made >= max_steps:
                return False
            messages.append(copy_of(agent_says(reply)))
            return True

        yield answer


class _Calls:
    """The calls of one turn: each is a step of the dialogue, as if the agent had replied with it."""

    def __init__(self, messages: list[Message], crm: CallableCrm, most: int) -> None:
        self._messages = messages
        self._crm = crm
        self._most = most
        self.made = 0
        self.error: Exception | None = None
        """Why the CRM has not answered."""

    def __call__(self, call: ToolCall) -> ToolResult:
        """Make a call and add it to the dialogue."""
        if self.made >= self._most or self.error:
            return ToolResult(error=_NO_MORE)
        self.made += 1
        self._messages.append(copy_of(agent_says(Reply(calls=[call]))))
        try:
            result = self._crm.call(self._messages[-1].calls[0])
        except Exception as error:  # noqa: BLE001 (raised in the thread of the conversation)
            self.error = error
            return ToolResult(error=_NO_MORE)
        self._messages.append(crm_says([result]))
        return result
