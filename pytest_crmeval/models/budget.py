"""The budget of a run: money spent, and money reserved for calls and trials in progress."""

from collections import deque
from dataclasses import dataclass, field
from itertools import count
from threading import Condition

from pytest_crmeval.domain.usage import money
from pytest_crmeval.models.control import Charge

CALLS = 12
"""Assumed number of calls per trial until the first trial has ended."""
LEAST = 1e-9
"""Dollars; smaller differences are rounding errors."""
RECENT = 64
"""How many recent calls and trials the expected cost is based on."""


@dataclass(slots=True)
class _Costs:
    """The recent cost of one model."""

    calls: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))
    shares: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))
    """Actual cost of recent calls as a share of their maximum cost."""

    def of_call(self, most: float) -> float:
        """Return the expected cost of a call with the maximum cost ``most``; rather too high than too low."""
        if not self.calls:
            return most
        return min(most, max(most * max(self.shares, default=1.0), *self.calls))

    def learn(self, cost: float, most: float) -> None:
        """Learn from a call."""
        self.calls.append(cost)
        if most > 0:
            self.shares.append(cost / most)


@dataclass(slots=True, kw_only=True)
class _Trial:
    """A trial in progress."""

    agent: str
    expected: float
    spent: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A call in progress."""

    model: str
    charge: Charge
    expected: float


class Budget:
    """Reserves the expected cost of a call before it is made, and replaces it by the actual cost afterwards.

    The first call of a trial reserves the expected cost of the whole trial, so that the trial can be finished.
    Without a ``limit`` it only adds up the costs. Thread-safe.
    """

    def __init__(self, limit: float | None = None) -> None:
        self._limit = limit
        self.spent = 0.0
        self.estimated = 0.0
        """The part of ``spent`` that is the expected cost of lost calls."""
        self._exhausted = ""
        """Why no more money may be spent; empty if it may."""
        self._calls: dict[int, _Call] = {}
        self._trials: dict[str, _Trial] = {}
        self._models: dict[str, _Costs] = {}
        self._agents: dict[str, deque[float]] = {}
        """Cost of recent trials, by agent."""
        self._numbers = count(1)
        self._closed = False
        self._changed = Condition()

    def check(self) -> str:
        """Return why no more money may be spent; empty if it may."""
        with self._changed:
            if self._limit is not None and self.spent >= self._limit and not self._exhausted:
                self._exhausted = f"the budget of {money(self._limit)} is spent"
            return self._exhausted

    def spend(self, cost: float) -> None:
        """Count a cost that was not reserved."""
        with self._changed:
            self.spent += cost
            self._changed.notify_all()

    def reserve(self, model: str, charge: Charge, patience: float | None = None) -> int | None:
        """Wait until the budget covers a call, and reserve it; None if it does not within ``patience`` seconds."""
        limit = self._limit
        with self._changed:
            if limit is None:
                number = next(self._numbers)
                self._calls[number] = _Call(model=model, charge=charge, expected=0.0)
                return number
            self._changed.wait_for(lambda: self._closed or self._is_decided(model, charge, limit), patience)
            if self._closed:
                return 0
            if self._exhausted or not self._may_go(model, charge, limit):
                return None
            costs, number = self._costs(model), next(self._numbers)
            if charge.trial and charge.trial not in self._trials:
                self._trials[charge.trial] = _Trial(agent=charge.agent, expected=self._of_trial(costs, charge))
            self._calls[number] = _Call(model=model, charge=charge, expected=costs.of_call(charge.most))
            return number

    def settle(self, number: int, cost: float | None) -> None:
        """Count the actual cost of a call; if it is None (paid, but unknown), the reserved amount counts."""
        with self._changed:
            call = self._calls.pop(number, None)
            if cost is None:
                cost = call.expected if call else 0.0
            self.spent += cost
            if call and (trial := self._trials.get(call.charge.trial)):
                trial.spent += cost
            if call and cost:
                self._costs(call.model).learn(cost, call.charge.most)
            self._changed.notify_all()

    def lose(self, number: int) -> None:
        """Count the expected cost of a call that may be billed, and whose answer is lost with its worker."""
        with self._changed:
            if not (call := self._calls.get(number)):
                return
            recent = self._costs(call.model).calls
            cost = call.expected or (sum(recent) / len(recent) if recent else 0.0)
            self.estimated += cost
        self.settle(number, cost)

    def forget(self, number: int) -> None:
        """Release the reservation of a call that was lost."""
        self.settle(number, 0.0)

    def end(self, trial: str) -> None:
        """Release the reservation of a trial, and learn from its cost."""
        with self._changed:
            ended = self._trials.pop(trial, None)
            if ended:
                self.learn(ended.agent, ended.spent)
            self._changed.notify_all()

    def learn(self, agent: str, cost: float) -> None:
        """Learn the cost of a trial of an agent."""
        if cost:
            self._agents.setdefault(agent, deque(maxlen=RECENT)).append(cost)

    def close(self) -> None:
        """Release all waiting threads."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _is_decided(self, model: str, charge: Charge, limit: float) -> bool:
        """Whether the budget covers a call or never will; undecided while calls in progress may cost less."""
        if self._exhausted or self._may_go(model, charge, limit):
            return True
        if self._calls or (self._trials and charge.trial not in self._trials):
            return False
        costs = self._costs(model)
        what, cost = ("call", costs.of_call(charge.most))
        if charge.trial and charge.trial not in self._trials:
            what, cost = ("trial", self._of_trial(costs, charge))
        self._exhausted = (
            f"the budget of {money(limit)} does not cover another {what}: {money(self.spent)} is spent, and a {what} "
            f"costs about {money(cost)}"
        )
        self._changed.notify_all()
        return True

    def _may_go(self, model: str, charge: Charge, limit: float) -> bool:
        """Whether the budget covers a call now."""
        costs, is_known = self._costs(model), charge.agent in self._agents
        if not (costs.calls or self._calls or is_known):  # the first call shows what the model costs
            return self.spent < limit
        is_new = charge.trial and charge.trial not in self._trials
        if is_new and (is_known or self._trials):  # the first trial is always allowed: its cost is unknown
            return self._committed() + self._of_trial(costs, charge) <= limit + LEAST
        reserved = sum(call.expected for call in self._calls.values())
        return self.spent + reserved + costs.of_call(charge.most) <= limit + LEAST

    def _committed(self) -> float:
        """Return the expected spending when all calls and trials in progress have ended."""
        reserved: dict[str, float] = {}
        for call in self._calls.values():
            reserved[call.charge.trial] = reserved.get(call.charge.trial, 0.0) + call.expected
        rest = (
            max(0.0, trial.expected - trial.spent - reserved.get(name, 0.0)) for name, trial in self._trials.items()
        )
        return self.spent + sum(reserved.values()) + sum(rest)

    def _of_trial(self, costs: _Costs, charge: Charge) -> float:
        """Return the expected cost of a trial, from other trials of its agent, else from its first call."""
        if known := self._agents.get(charge.agent):
            return sum(known) / len(known)
        return CALLS * costs.of_call(charge.most)

    def _costs(self, model: str) -> _Costs:
        return self._models.setdefault(model, _Costs())
