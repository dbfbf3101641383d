"""Which call goes next: one queue for each model, and quotas that queues may share. No clock, no waiting."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from math import inf

from pytest_crmeval.models.caps import Cap
from pytest_crmeval.models.control import Feedback
from pytest_crmeval.models.limits.breaker import FAILURES, Breaker
from pytest_crmeval.models.limits.headers import Kind, bounded, readings
from pytest_crmeval.models.limits.throttles import ConcurrencyLimit, Quota, QuotaShare, TokenRatio

OUTPUT = 800
"""Assumed maximum of output tokens of a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The present time on both clocks."""

    time: float
    """Of the monotonic clock."""
    date: datetime


@dataclass(slots=True, eq=False, kw_only=True)
class Ticket:
    """One call, from the queue to its answer."""

    number: int
    model: str
    tokens: int
    """Upper bound."""
    again: bool = False
    """Whether it is a retry, which goes before first attempts."""
    costs: Mapping[Kind, float] = field(default_factory=dict)
    """Expected costs, set when it is admitted."""
    order: int = 0
    """Its number among the admitted calls of its model; 0 until it is admitted."""
    drafts: Sequence[tuple[Quota, QuotaShare]] = ()


@dataclass(slots=True, kw_only=True)
class Stock:
    """What remains of a limit according to the server."""

    kind: Kind
    remaining: float
    until: float
    """When the limit is reset."""


class ModelQueue:
    """The calls to one model that wait, and those in progress."""

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
        """The calls that go next: retries before first attempts."""
        return self._returning or self._waiting

    def join(self, ticket: Ticket) -> None:
        """Add a call to the queue."""
        (self._returning if ticket.again else self._waiting).append(ticket)

    def leave(self, ticket: Ticket) -> None:
        """Remove a call from the queue, if it is still there."""
        line = self._returning if ticket.again else self._waiting
        if ticket in line:
            line.remove(ticket)

    def wait(self, now: float) -> float | None:
        """Return the seconds until the first call may go; None if that depends on a call in progress."""
        own = self.own_wait(now)
        if own is None:
            return None
        costs = self._costs(self.line[0])
        return max([own, *(quota.wait(now, costs[quota.kind]) for quota in self.quotas)])

    def own_wait(self, now: float) -> float | None:
        """Return the same without the quotas, which other queues share."""
        held = self.breaker.wait(now)
        # A probe goes out even if earlier calls hang.
        if held is None or (len(self.asking) >= self._concurrency.limit and not self.breaker.is_open):
            return None
        costs = self._costs(self.line[0]) if self._stocks else {}
        short = (stock.until for stock in self._stocks.values() if stock.remaining < costs[stock.kind])
        return max(held, max([self._paused_until, *short]) - now)

    def let_in(self, now: float) -> Ticket:
        """Admit the first call of the queue."""
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
        """Remove a call in progress, and learn from its result."""
        if feedback.throttled:
            self._concurrency.shrink(ticket.order, self._let_in)
        elif feedback.ok:
            self._concurrency.grow(len(self.asking))
        del self.asking[ticket.number]
        self.breaker.back(ticket.number, feedback.trouble, now.time)
        if feedback.ok:
            self.breaker.answered()
        if feedback.tokens is not None:
            if ticket.tokens > 0:
                self._shares.note(feedback.tokens / ticket.tokens)
            for quota, draft in ticket.drafts:
                if quota.kind == "tokens":
                    quota.settle(draft, feedback.tokens)
        if not feedback.ok and feedback.retry_after is not None:
            self._paused_until = max(self._paused_until, now.time + bounded(feedback.retry_after))
        for reading in readings(feedback.headers, now.date):  # calls in progress may not be counted in it yet
            in_progress = sum(ticket.costs[reading.kind] for ticket in self.asking.values())
            remaining, until = reading.remaining - in_progress, now.time + reading.seconds
            self._stocks[reading.limit] = Stock(kind=reading.kind, remaining=remaining, until=until)

    def forget(self, number: int) -> None:
        """Remove a call in progress, and learn nothing."""
        del self.asking[number]
        self.breaker.back(number)

    def dismiss(self) -> Sequence[Ticket]:
        """Remove all calls from the queue, and return them."""
        left = [*self._returning, *self._waiting]
        self._returning.clear()
        self._waiting.clear()
        return left

    def _costs(self, ticket: Ticket) -> dict[Kind, float]:
        """Return the expected costs of a call, by the share of their bounds that earlier calls used."""
        tokens = ticket.tokens * self._shares.expected(len(self.asking) + 1)
        return {"requests": 1.0, "tokens": tokens, "output": min(tokens, OUTPUT)}


class ModelQueues:
    """All queues. Calls of one model, and of models that share a quota, go in the order of their arrival.

    Retries go before all first attempts: they have lost time already, and wait for a limited time only.
    """

    def __init__(self, caps: Sequence[Cap], failures: int = FAILURES) -> None:
        self._failures = failures
        self._caps = []
        for cap in caps:
            rates: Sequence[tuple[Kind, int | None]] = (("requests", cap.requests), ("tokens", cap.tokens))
            self._caps.append((cap, [Quota(kind, rate) for kind, rate in rates if rate is not None]))
        self._queues: dict[str, ModelQueue] = {}
        self._numbers = count(1)
        self._asking: dict[int, ModelQueue] = {}

    def join(self, model: str, tokens: int, *, again: bool = False) -> Ticket:
        """Add a call to the queue of its model."""
        ticket = Ticket(number=next(self._numbers), model=model, tokens=max(tokens, 0), again=again)
        self._queue(model).join(ticket)
        return ticket

    def admit(self, now: float) -> tuple[Sequence[Ticket], float | None]:
        """Admit the calls that are allowed now; return them, and the seconds until there may be more.

        None: not before another call arrives or ends.
        """
        admitted: list[Ticket] = []
        queue, delay = self._next(now)
        while queue is not None:
            ticket = queue.let_in(now)
            self._asking[ticket.number] = queue
            admitted.append(ticket)
            queue, delay = self._next(now)
        return admitted, delay

    def learn(self, number: int, feedback: Feedback, now: Moment) -> None:
        """Remove a call in progress, and learn from its result; an unknown call is ignored."""
        queue = self._asking.pop(number, None)
        if queue is not None:
            queue.learn(queue.asking[number], feedback, now)

    def forget(self, number: int) -> None:
        """Remove a call in progress, and learn nothing: it may have been made or not."""
        queue = self._asking.pop(number, None)
        if queue is not None:
            queue.forget(number)

    def withdraw(self, ticket: Ticket) -> None:
        """Remove a call, whether it waits or is in progress."""
        if ticket.order:
            self.forget(ticket.number)
        else:
            self._queue(ticket.model).leave(ticket)

    def fail(self, model: str, now: float) -> None:
        """Count a call that ended without an answer, after all its attempts."""
        self._queue(model).breaker.failed(now)

    def given_up(self, model: str) -> str:
        """Return why a model was given up; empty if it was not."""
        return self._queue(model).breaker.given_up

    @property
    def paused(self) -> Sequence[str]:
        """The models that are only probed, because they have stopped answering."""
        breakers = {model: queue.breaker for model, queue in self._queues.items()}
        return [model for model, breaker in breakers.items() if breaker.is_open and not breaker.given_up]

    def dismissed(self) -> Sequence[Ticket]:
        """Remove all calls that wait for a model that was given up, and return them."""
        return [ticket for queue in self._queues.values() if queue.breaker.given_up for ticket in queue.dismiss()]

    def _queue(self, model: str) -> ModelQueue:
        if model not in self._queues:
            quotas = [quota for cap, made in self._caps if cap.holds_for(model) for quota in made]
            self._queues[model] = ModelQueue(quotas, self._failures)
        return self._queues[model]

    def _next(self, now: float) -> tuple[ModelQueue | None, float | None]:
        """Return the queue whose first call may go now, or the delay until one may."""
        claimed: set[Quota] = set()
        delays = []
        queues = (queue for queue in self._queues.values() if queue.line)
        for queue in sorted(queues, key=lambda queue: (not queue.line[0].again, queue.line[0].number)):
            if not claimed.isdisjoint(queue.quotas):
                continue
            wait = queue.wait(now)
            if wait == 0.0:
                return queue, 0.0
            if wait is not None:
                delays.append(wait)
                if queue.own_wait(now) == 0.0:  # it waits only for its quotas: later calls must not take them
                    claimed.update(queue.quotas)
        return None, min(delays, default=None)
