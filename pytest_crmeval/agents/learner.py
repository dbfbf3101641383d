"""Agents that learn from the conversations they play."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pytest_crmeval.agents.playbook import Playbook
from pytest_crmeval.domain.learning import Lesson, Reward
from pytest_crmeval.domain.messages import Message, ToolCall
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.chat_model import ChatModel


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedProposal:
    """One proposal of a student, and its teacher's review."""

    turn: int
    number: int
    """Number of the attempt at the same step, from 1."""
    calls: Sequence[ToolCall]
    review: str
    guidance: str = ""
    instead: Sequence[ToolCall] = ()
    """The calls of the teacher, if it took over."""


class LearningLog(Protocol):
    """Records proposals and rewards as they happen."""

    def attempted(self, attempt: ReviewedProposal) -> None:
        """Record a proposal and its review."""
        ...

    def rewarded(self, reward: Reward) -> None:
        """Record the reward of the conversation."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSetup:
    """The input of a learner for one conversation, without any information about the case."""

    key: str
    student: str
    """Spec of the student's model, for comparisons."""
    playbook: Playbook
    held_out: bool
    models: Mapping[str, ChatModel]
    """Role -> its model."""
    log: LearningLog


class Session(Agent, Protocol):
    """The agent in one conversation."""

    @property
    def lesson(self) -> Lesson:
        """The lesson so far."""
        ...

    def finished(self, messages: Sequence[Message]) -> Lesson:
        """Return the lesson from the dialogue as the agent saw it; ModelError if a model gives no answer."""
        ...

    def unlearned(self, why: str) -> Lesson:
        """Return an incomplete lesson with the reason ``why`` learning failed."""
        ...


@runtime_checkable
class Learner(Agent, Protocol):
    """An agent that uses in each conversation what it has learned from earlier ones."""

    @property
    def learns(self) -> bool:
        """Whether its conversations must be played one after the other."""
        ...

    def begin(self, setup: SessionSetup) -> Session:
        """Return the agent for one conversation."""
        ...
