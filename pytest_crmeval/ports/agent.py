"""The interface of agents."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from pytest_crmeval.domain.messages import Message, Reply, Tool


@runtime_checkable
class Agent(Protocol):
    """Answers a user with the help of tools.

    An agent sees the dialogue and the tools, never a turn or an expectation. ``reply`` may be ``async``, and may return
    a text. With ``thread_safe = False`` a process plays one case at a time with it. With ``new_conversation()`` it
    returns another agent for each conversation, which may have state of its own. ``reply_timeout`` is its time for a
    reply in seconds; 0: no limit.
    """

    @property
    def name(self) -> str:
        """The name of the agent in reports."""
        ...

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Answer the last message: with calls to be made, or with words and no calls."""
        ...
