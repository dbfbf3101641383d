"""A minute of demand in no time: askers who want more than they may have, and a server that counts what arrives."""

import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from math import inf

from pytest_crmeval.models.caps import Cap
from pytest_crmeval.models.control import Feedback
from pytest_crmeval.models.limits.queues import ModelQueues, Moment, Ticket

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
BRIEFLY = 1e-6
"""Seconds; no call may start too early."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A call, as the server sees it."""

    time: float
    tokens: int


@dataclass(kw_only=True)
class Rush:
    """Many who ask one model again and again; everything about them is random, and always the same."""

    caps: Sequence[str]
    seconds: float = 60.0
    askers: int = 48
    latest: float = 0.3
    """Seconds that a call may take to arrive."""
    latencies: tuple[float, float] = (0.1, 1.0)
    """Seconds from its arrival to its answer."""
    tokens: Callable[[random.Random], tuple[int, int]] = lambda _: (0, 0)
    """The bound that an asker knows, and what the call will really take."""
    model: str = "openai:gpt-4.1"
    arrivals: list[Arrival] = field(default_factory=list)
    dice: random.Random = field(default_factory=lambda: random.Random(5))  # noqa: S311 (no secret)

    def run(self) -> Sequence[Arrival]:
        """Let time pass; return what arrived in it."""
        self._lanes = ModelQueues([Cap.parse(text) for text in self.caps])
        self._taken: dict[int, int] = {}
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._now = 0.0
        for _ in range(self.askers):
            self._later(self.dice.uniform(0.0, 0.2), self._join)
        wake = inf
        while self._now <= self.seconds:
            self._now = min(wake, self._events[0][0] if self._events else inf)
            while self._events and self._events[0][0] <= self._now:
                heapq.heappop(self._events)[2]()
            wake = self._now + BRIEFLY + self._admit()
        return sorted((seen for seen in self.arrivals if seen.time <= self.seconds), key=lambda seen: seen.time)

    def _later(self, seconds: float, happen: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self._now + seconds, next(self._order), happen))

    def _join(self) -> None:
        bound, real = self.tokens(self.dice)
        self._taken[self._lanes.join(self.model, bound).number] = real

    def _admit(self) -> float:
        """Let the calls in that may start; return when more may start."""
        admitted, delay = self._lanes.admit(self._now)
        for ticket in admitted:
            self._travel(ticket)
        return inf if delay is None else delay

    def _travel(self, ticket: Ticket) -> None:
        late = self.dice.uniform(0.0, self.latest)
        real = self._taken.pop(ticket.number)
        self.arrivals.append(Arrival(time=self._now + late, tokens=real))
        self._later(late + self.dice.uniform(*self.latencies), lambda: self._answer(ticket, real))

    def _answer(self, ticket: Ticket, real: int) -> None:
        date = EPOCH + timedelta(seconds=self._now)
        self._lanes.learn(ticket.number, Feedback(ok=True, tokens=real), Moment(time=self._now, date=date))
        self._join()


def fullest(arrivals: Sequence[Arrival], seconds: float, weight: Callable[[Arrival], int]) -> int:
    """Return the most that arrived in any window of so many seconds."""
    found, total, start = 0, 0, 0
    for seen in arrivals:
        total += weight(seen)
        while arrivals[start].time <= seen.time - seconds:
            total -= weight(arrivals[start])
            start += 1
        found = max(found, total)
    return found
