"""Who learns from what he has played."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pytest_crmeval.domain.learning import Lesson, Reward
from pytest_crmeval.domain.messages import Message, ToolCall
from pytest_crmeval.domain.playbook import Playbook
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.chat_model import ChatModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One proposal of a student, and what its teacher said."""

    turn: int
    number: int
    """Which attempt at the same step it is, from 1."""
    calls: Sequence[ToolCall]
    review: str
    guidance: str = ""
    instead: Sequence[ToolCall] = ()
    """What the teacher did, if he took over."""


class LearningLog(Protocol):
    """Where it is written down, as it happens."""

    def attempted(self, attempt: Attempt) -> None:
        """Note a proposal and its review."""
        ...

    def rewarded(self, reward: Reward) -> None:
        """Note what the conversation was worth."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """What an agent that learns is given for one conversation: nothing about the case."""

    key: str
    student: str
    """Spec of the student's model, for those who compare."""
    playbook: Playbook
    held_out: bool
    models: Mapping[str, ChatModel]
    """Role -> the model that plays it."""
    log: LearningLog


class Session(Agent, Protocol):
    """The agent in one conversation."""

    @property
    def lesson(self) -> Lesson:
        """What is known of the conversation so far."""
        ...

    def finished(self, messages: Sequence[Message]) -> Lesson:
        """Learn from the dialogue as it was seen on the agent's side; ModelError if a model can't be asked."""
        ...

    def unlearned(self, why: str) -> Lesson:
        """Return what is known of the conversation though not all was learnt from it."""
        ...


@runtime_checkable
class Learner(Agent, Protocol):
    """An agent that plays each conversation with what it has learnt from those before."""

    @property
    def learns(self) -> bool:
        """Whether its conversations are to be played one after the other."""
        ...

    def begin(self, occasion: Occasion) -> Session:
        """Return the agent for one conversation."""
        ...
