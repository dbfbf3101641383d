"""Agents whose replies are known beforehand."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from pytest_crmeval.domain.messages import Message, Reply, Tool


@dataclass(frozen=True, kw_only=True)
class Scripted:
    """Gives the same reply to every utterance of the user, and makes no further calls."""

    reply_timeout: ClassVar[float] = 0
    name: str
    answer: Reply = field(default_factory=Reply)

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Return the reply; only its text after the CRM has answered."""
        del tools
        return Reply(text=self.answer.text) if messages[-1].speaker == "crm" else self.answer


@dataclass(frozen=True, kw_only=True)
class Parrot:
    """Makes no calls, and repeats the user's words with vague claims that fit any request."""

    reply_timeout: ClassVar[float] = 0
    name: str = "parrot"

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Bluff: claim a change, an answer, a refusal and an empty search at once."""
        del tools
        heard = " ".join(message.text for message in messages if message.speaker == "user")
        return Reply(text=f"Done: {heard}\nThere was nothing else, and what could not be done was not done.")


def mute() -> Scripted:
    """Return the agent that says nothing and does nothing; it must score 0.000."""
    return Scripted(name="mute")


def parrot() -> Parrot:
    """Return the agent that says a lot and does nothing; it must score 0.000."""
    return Parrot()


class Absent:
    """Stands for a checkpoint, of which only solution files exist."""

    def __init__(self, name: str) -> None:
        self.name = name

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Refuse."""
        del messages, tools
        raise RuntimeError(f"{self.name} is a checkpoint: it is evaluated by its solution files, and can't be called")
