"""Who may ask a model next: one queue for each model, and quotas that queues may share. No clock, no waiting."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from math import inf

from pytest_crmeval.models.control import Feedback
from pytest_crmeval.models.limits.breaker import FAILURES, Breaker
from pytest_crmeval.models.limits.caps import Cap
from pytest_crmeval.models.limits.concurrency import ConcurrencyLimit
from pytest_crmeval.models.limits.headers import Kind, Reading, bounded, readings
from pytest_crmeval.models.limits.quotas import Draft, Quota
from pytest_crmeval.models.limits.token_ratio import TokenRatio

OUTPUT = 800
"""Tokens that a call writes at most, where nobody says how its tokens are made up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Now, by both clocks."""

    time: float
    """By the clock that never jumps."""
    date: datetime


@dataclass(slots=True, eq=False, kw_only=True)
class Ticket:
    """One call, from its place in the line to its answer."""

    number: int
    model: str
    tokens: int
    """The most that it may take."""
    again: bool = False
    """Whether it was made before, in vain: it goes before those that were not."""
    costs: Mapping[Kind, float] = field(default_factory=dict)
    """What it is expected to take, from when it is let in."""
    order: int = 0
    """The how manyeth of its model it is that was let in; 0 until then."""
    drafts: Sequence[tuple[Quota, Draft]] = ()


@dataclass(slots=True, kw_only=True)
class Stock:
    """What a server said that it has left."""

    kind: Kind
    remaining: float
    until: float
    """From then on nobody knows."""


class ModelQueue:
    """Those who wait for one model, and those who are asking it."""

    def __init__(self, quotas: Sequence[Quota], failures: int = FAILURES) -> None:
        self.quotas = quotas
        self.breaker = Breaker(failures)
        self._returning: deque[Ticket] = deque()
        self._waiting: deque[Ticket] = deque()
        self.asking: dict[int, Ticket] = {}
        self._concurrency = ConcurrencyLimit()
        self._shares = TokenRatio()
        self._stocks: dict[str, Stock] = {}
        self._paused_until = -inf
        self._let_in = 0

    @property
    def line(self) -> deque[Ticket]:
        """Those who go next: who asks again goes before who has not asked yet."""
        return self._returning or self._waiting

    def join(self, ticket: Ticket) -> None:
        """Have a call stand in line."""
        (self._returning if ticket.again else self._waiting).append(ticket)

    def leave(self, ticket: Ticket) -> None:
        """Remove a call from the queue, if it is still there."""
        line = self._returning if ticket.again else self._waiting
        if ticket in line:
            line.remove(ticket)

    def wait(self, now: float) -> float | None:
        """Return for how many seconds the first in line can't go; None: until somebody is back."""
        own = self.own_wait(now)
        if own is None:
            return None
        costs = self._costs(self.line[0])
        return max([own, *(quota.wait(now, costs[quota.kind]) for quota in self.quotas)])

    def own_wait(self, now: float) -> float | None:
        """Return the same, quotas aside, which others may want, too."""
        held = self.breaker.wait(now)
        # A probe goes out even if earlier calls hang.
        if held is None or (len(self.asking) >= self._concurrency.limit and not self.breaker.is_open):
            return None
        costs = self._costs(self.line[0]) if self._stocks else {}
        short = (stock.until for stock in self._stocks.values() if stock.remaining < costs[stock.kind])
        return max(held, max([self._paused_until, *short]) - now)

    def let_in(self, now: float) -> Ticket:
        """Let the first in line go."""
        ticket = self.line.popleft()
        self._let_in += 1
        ticket.order, ticket.costs = self._let_in, self._costs(ticket)
        ticket.drafts = [(quota, quota.draw(now, ticket.costs[quota.kind])) for quota in self.quotas]
        for stock in self._stocks.values():
            stock.remaining -= ticket.costs[stock.kind]
        self.asking[ticket.number] = ticket
        self.breaker.let_in(ticket.number)
        return ticket

    def learn(self, ticket: Ticket, feedback: Feedback, now: Moment) -> None:
        """Take somebody back, and heed what came of it."""
        if feedback.throttled:
            self._concurrency.shrink(ticket.order, self._let_in)
        elif feedback.ok:
            self._concurrency.grow(len(self.asking))
        del self.asking[ticket.number]
        self.breaker.back(ticket.number, feedback.trouble, now.time)
        if feedback.ok:
            self.breaker.answered()
        if feedback.tokens is not None:
            self._settle(ticket, feedback.tokens)
        if not feedback.ok:
            self._pause(feedback.retry_after, now.time)
        for reading in readings(feedback.headers, now.date):
            self._take_stock(reading, now.time)

    def forget(self, number: int) -> None:
        """Take a call back, and learn nothing."""
        del self.asking[number]
        self.breaker.back(number)

    def dismiss(self) -> Sequence[Ticket]:
        """Remove all calls from the queue, and return them."""
        left = [*self._returning, *self._waiting]
        self._returning.clear()
        self._waiting.clear()
        return left

    def _costs(self, ticket: Ticket) -> dict[Kind, float]:
        """Return what a call will take, by what those before took of what they might have taken."""
        tokens = ticket.tokens * self._shares.expected(len(self.asking) + 1)
        return {"requests": 1.0, "tokens": tokens, "output": min(tokens, OUTPUT)}

    def _settle(self, ticket: Ticket, tokens: int) -> None:
        if ticket.tokens > 0:
            self._shares.note(tokens / ticket.tokens)
        for quota, draft in ticket.drafts:
            if quota.kind == "tokens":
                quota.settle(draft, tokens)

    def _pause(self, seconds: float | None, now: float) -> None:
        if seconds is not None:
            self._paused_until = max(self._paused_until, now + bounded(seconds))

    def _take_stock(self, reading: Reading, now: float) -> None:
        """Note what remains; those under way may not have been counted yet."""
        under_way = sum(ticket.costs[reading.kind] for ticket in self.asking.values())
        self._stocks[reading.limit] = Stock(
            kind=reading.kind, remaining=reading.remaining - under_way, until=now + reading.seconds
        )


class Lanes:
    """All queues. Within a queue, and where queues share a quota, who came first goes first; nobody else waits.

    Only who asks again goes before all who don't: he has lost time already, and has only so much to lose.
    """

    def __init__(self, caps: Sequence[Cap], failures: int = FAILURES) -> None:
        self._failures = failures
        self._caps = [(cap, _quotas(cap)) for cap in caps]
        self._queues: dict[str, ModelQueue] = {}
        self._numbers = count(1)
        self._asking: dict[int, ModelQueue] = {}

    def join(self, model: str, tokens: int, *, again: bool = False) -> Ticket:
        """Stand in line."""
        ticket = Ticket(number=next(self._numbers), model=model, tokens=max(tokens, 0), again=again)
        self._lane(model).join(ticket)
        return ticket

    def admit(self, now: float) -> tuple[Sequence[Ticket], float | None]:
        """Let in whoever may go; return them, and in how many seconds there may be more.

        None says: not before somebody comes or goes.
        """
        admitted: list[Ticket] = []
        queue, delay = self._look(now)
        while queue is not None:
            ticket = queue.let_in(now)
            self._asking[ticket.number] = queue
            admitted.append(ticket)
            queue, delay = self._look(now)
        return admitted, delay

    def learn(self, number: int, feedback: Feedback, now: Moment) -> None:
        """Take somebody back who was let in, and learn; who is not in there is passed over."""
        queue = self._asking.pop(number, None)
        if queue is not None:
            queue.learn(queue.asking[number], feedback, now)

    def forget(self, number: int) -> None:
        """Take somebody back who was let in, and learn nothing: the call may have been made, or not."""
        queue = self._asking.pop(number, None)
        if queue is not None:
            queue.forget(number)

    def withdraw(self, ticket: Ticket) -> None:
        """Have somebody leave, wherever he stands."""
        if ticket.order:
            self.forget(ticket.number)
        else:
            self._lane(ticket.model).leave(ticket)

    def fail(self, model: str, now: float) -> None:
        """Count a call that ended without an answer, after all its attempts."""
        self._lane(model).breaker.failed(now)

    def given_up(self, model: str) -> str:
        """Return why a model was given up; empty if it was not."""
        return self._lane(model).breaker.given_up

    @property
    def paused(self) -> Sequence[str]:
        """The models that are only probed, because they have stopped answering."""
        breakers = {model: queue.breaker for model, queue in self._queues.items()}
        return [model for model, breaker in breakers.items() if breaker.is_open and not breaker.given_up]

    def dismissed(self) -> Sequence[Ticket]:
        """Remove all calls that wait for a model that was given up, and return them."""
        return [ticket for queue in self._queues.values() if queue.breaker.given_up for ticket in queue.dismiss()]

    def _lane(self, model: str) -> ModelQueue:
        if model not in self._queues:
            quotas = [quota for cap, made in self._caps if cap.holds_for(model) for quota in made]
            self._queues[model] = ModelQueue(quotas, self._failures)
        return self._queues[model]

    def _look(self, now: float) -> tuple[ModelQueue | None, float | None]:
        """Find the queue whose first may go now, or the delay until one may."""
        claimed: set[Quota] = set()
        delays = []
        for queue in self._by_age():
            if not claimed.isdisjoint(queue.quotas):
                continue
            wait = queue.wait(now)
            if wait == 0.0:
                return queue, 0.0
            if wait is not None:
                delays.append(wait)
                if queue.own_wait(now) == 0.0:  # only its quotas are missing: nobody takes them away from under it
                    claimed.update(queue.quotas)
        return None, min(delays, default=None)

    def _by_age(self) -> Sequence[ModelQueue]:
        return sorted((queue for queue in self._queues.values() if queue.line), key=_age)


def _age(queue: ModelQueue) -> tuple[bool, int]:
    first = queue.line[0]
    return not first.again, first.number


def _quotas(cap: Cap) -> Sequence[Quota]:
    rates: Sequence[tuple[Kind, int | None]] = (("requests", cap.requests), ("tokens", cap.tokens))
    return [Quota(kind, per_minute) for kind, per_minute in rates if per_minute is not None]
