"""Agents whose every word is known beforehand."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_crmeval.domain.messages import Message, Reply, Tool


@dataclass(frozen=True, kw_only=True)
class Scripted:
    """Gives the same reply to every user's utterance, and calls nothing afterwards."""

    name: str
    answer: Reply = field(default_factory=Reply)

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Recite."""
        del tools
        return Reply(text=self.answer.text) if messages[-1].speaker == "crm" else self.answer


def mute() -> Scripted:
    """Return the agent that says nothing and does nothing; it must score 0.000."""
    return Scripted(name="mute")
