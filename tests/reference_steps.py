"""The reference calls of a case step by step: what was known before each call, and its result."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime

from pytest_crmeval.domain.conversation import Conversation, Seed
from pytest_crmeval.domain.expectation import NO_CALL
from pytest_crmeval.domain.messages import Tool, ToolCall, ToolResult
from pytest_crmeval.domain.state import State
from pytest_crmeval.domain.transcript import Exchange
from pytest_crmeval.ports.crm import Crm
from pytest_crmeval.ports.crm_calls import canonical, writes
from tests.readings import requests
from tests.referents import Event, Moment, World

PAIR = 2


@dataclass
class WatchedCrm:
    """A CRM that notes what it held before each call."""

    crm: Crm
    worlds: list[World] = field(default_factory=list)
    stale: bool = True

    @property
    def tools(self) -> Sequence[Tool]:
        """What can be called."""
        return self.crm.tools

    def seeded(self, seed: Seed, now: datetime, salt: str = "", page_size: int = 0) -> AbstractContextManager[None]:
        """Hold the rows of a case."""
        return self.crm.seeded(seed, now, salt, page_size)

    def call(self, call: ToolCall) -> ToolResult:
        """Do what an agent asks."""
        self.worlds.append(World(state=self.crm.snapshot()) if self.stale else self.worlds[-1])
        self.stale = writes(call.tool)
        return self.crm.call(call)

    def snapshot(self) -> State:
        """Return all rows."""
        return self.crm.snapshot()


@dataclass(frozen=True, kw_only=True)
class Step:
    """One call of a case, or none where nothing is to be called."""

    turn: int
    said: Sequence[str]
    """Every utterance up to now."""
    event: Event
    moments: Sequence[Moment]
    """One, or where the user wants two things at once, one for each way to tell them apart."""


def steps_of(case: Conversation, exchanges: Sequence[Exchange], before: Sequence[World]) -> Iterator[Step]:
    """Yield each reference call of a case as it was played, with what was known by then.

    ``before`` is what the CRM held before each call.
    """
    events: list[Event] = []
    words: list[str] = []
    worlds = [*before, World(state={})]  # nothing is looked at after the last call
    for number, exchange in enumerate(exchanges, start=1):
        said = [each.messages[0].text for each in exchanges[:number]]
        for event, parts in _events(exchange, worlds, sum(bool(event.call.tool) for event in events)):
            past = tuple(events[::-1])
            moments = [Moment(words=(*words, part), events=past, world=event.world) for part in parts]
            yield Step(turn=number, said=said, event=event, moments=moments)
            events.append(event)
        words = [] if _is_settled(case, number, exchange) else [*words, said[-1]]


def _events(exchange: Exchange, worlds: Sequence[World], done: int) -> Iterator[tuple[Event, Sequence[str]]]:
    """Yield what was asked for in a turn, with the words that may have asked for it."""
    text, answered = exchange.messages[0].text, exchange.calls or [(NO_CALL, ToolResult())]
    for place, (call, result) in enumerate(answered):
        parts = [each[place] for each in requests(text)] if len(answered) == PAIR else []
        parts = parts or [text]
        seen = Event(
            text=parts[0], call=canonical(call), result=result, world=worlds[done + place], reply=exchange.reply
        )
        yield seen, parts


def _is_settled(case: Conversation, number: int, exchange: Exchange) -> bool:
    """Whether nothing is left open for the turn after: nothing was refused or missing, and no question was asked."""
    expectation = case.turns[number - 1].expectation
    came_to_nothing = any(result.value == [] for _, result in exchange.calls)
    return bool(exchange.calls) and expectation.succeeds and not expectation.asks and not came_to_nothing
