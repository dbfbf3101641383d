"""The interface of agents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from pytest_crmeval.domain.messages import Message, Reply, Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServer:
    """An MCP server (streamable HTTP) with the tools of one conversation."""

    url: str
    token: str = field(repr=False)
    """Valid during the conversation."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers that a client must send."""
        return {"Authorization": f"Bearer {self.token}"}


@runtime_checkable
class Agent(Protocol):
    """Answers a user with the help of tools.

    An agent sees the dialogue and the tools, never a turn or an expectation. ``reply`` may be ``async``, and may return
    a string instead of a Reply. Optional attributes: with ``thread_safe = False``, a process plays one case at a time
    with the agent; ``new_conversation()`` returns the agent for one conversation, which may have state of its own;
    ``reply_timeout`` is the time limit for a reply in seconds, 0 for no limit. An agent that makes its calls itself has
    a parameter ``tool_server`` instead of ``tools``: it gets a ToolServer, or None for a question, and returns text.
    """

    @property
    def name(self) -> str:
        """The name of the agent in reports."""
        ...

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Answer the last message, with calls to make or, without calls, with text for the user."""
        ...
