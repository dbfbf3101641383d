"""The dialogue as it was played."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, ToolCall, ToolResult

Fields = Mapping[str, Json]
Outputs = Mapping[int, Fields]
"""Turn, counted from 1 -> the fields of its result."""
Answered = Sequence[tuple[ToolCall, ToolResult]]
"""The calls of a turn with their results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One turn as played: the user's utterance and all messages after it."""

    messages: Sequence[Message]
    cut: bool = False
    """Whether the agent was still calling tools when its steps ran out."""

    output: Fields | None = None
    """The fields that later turns can refer to."""

    @property
    def calls(self) -> Answered:
        """Every call of the turn with its result."""
        return answered_in(self.messages)

    @property
    def reply(self) -> str:
        """The final text of the agent; empty if there is none, or the agent was still calling tools."""
        last = self.messages[-1] if self.messages else None
        return last.text if last and last.speaker == "agent" and not last.calls else ""

    @property
    def steps(self) -> int:
        """Number of calls of the agent."""
        return sum(message.speaker == "agent" for message in self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """All turns of one conversation as played."""

    exchanges: Sequence[Exchange] = ()

    @property
    def outputs(self) -> Outputs:
        """The output of each turn, by its number."""
        turns = enumerate(self.exchanges, start=1)
        return {number: exchange.output for number, exchange in turns if exchange.output is not None}


def answered_in(messages: Sequence[Message]) -> Answered:
    """Return the calls in a part of a dialogue, with their results."""
    pairs = pairwise(messages)
    return [pair for before, after in pairs for pair in zip(before.calls, after.results, strict=False)]
