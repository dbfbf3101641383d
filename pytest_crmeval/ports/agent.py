"""The interface of agents."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from pytest_crmeval.domain.messages import Message, Reply, Tool


@runtime_checkable
class Agent(Protocol):
    """Answers a user with the help of tools.

    An agent sees the dialogue and the tools, never a turn or an expectation.
    """

    @property
    def name(self) -> str:
        """What the agent is called in reports."""
        ...

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Answer the last message: with calls to be made, or with words and no calls."""
        ...
