"""The money of a run: what is spent, and what is reserved for calls and trials that are under way."""

from collections import deque
from dataclasses import dataclass, field
from itertools import count
from threading import Condition

from pytest_crmeval.domain.usage import money
from pytest_crmeval.providers.control import Charge

CALLS = 12
"""Calls that a trial is taken to make as long as none has ended."""
LEAST = 1e-9
"""Dollars; less is what adding up leaves."""
RECENT = 64
"""Calls and trials of a model that we learn from."""


@dataclass(slots=True)
class _Costs:
    """What one model has cost lately."""

    calls: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))
    shares: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))
    """Of what a call might have cost at most, how much it did cost."""

    def of_call(self, most: float) -> float:
        """Return what a call is expected to cost that may cost ``most``; rather too much than too little."""
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
    """A trial under way."""

    agent: str
    expected: float
    spent: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A call under way."""

    model: str
    charge: Charge
    expected: float


class Budget:
    """Reserves what a call is expected to cost before it is made, and corrects that by what it did cost.

    The first call of a trial reserves what the whole trial is expected to cost: a trial that is begun should end.
    Without a ``limit`` it only adds up what is spent. Any thread may ask.
    """

    def __init__(self, limit: float | None = None) -> None:
        self._limit = limit
        self.spent = 0.0
        self._exhausted = ""
        """Why nothing more may be spent; empty if something may."""
        self._calls: dict[int, _Call] = {}
        self._trials: dict[str, _Trial] = {}
        self._models: dict[str, _Costs] = {}
        self._agents: dict[str, deque[float]] = {}
        """What trials of each agent have cost lately."""
        self._numbers = count(1)
        self._closed = False
        self._changed = Condition()

    def check(self) -> str:
        """Return why nothing more may be spent; nothing if something may."""
        with self._changed:
            if self._limit is not None and self.spent >= self._limit and not self._exhausted:
                self._exhausted = f"the budget of {money(self._limit)} is spent"
            return self._exhausted

    def spend(self, cost: float) -> None:
        """Count what was spent without a reservation."""
        with self._changed:
            self.spent += cost
            self._changed.notify_all()

    def reserve(self, model: str, charge: Charge, patience: float | None = None) -> int | None:
        """Wait until there is money for a call; None if there is none, or not within ``patience`` seconds."""
        limit = self._limit
        if limit is None:
            return 0
        with self._changed:
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
        """Count what a call did cost; None: it was paid, but its price is not known, so what was reserved counts."""
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

    def forget(self, number: int) -> None:
        """Take back what was reserved for a call that nothing more is heard of."""
        self.settle(number, 0.0)

    def end(self, trial: str) -> None:
        """Reserve nothing more for a trial; learn what it did cost."""
        with self._changed:
            ended = self._trials.pop(trial, None)
            if ended:
                self.learn(ended.agent, ended.spent)
            self._changed.notify_all()

    def learn(self, agent: str, cost: float) -> None:
        """Learn what a trial of an agent did cost."""
        if cost:
            self._agents.setdefault(agent, deque(maxlen=RECENT)).append(cost)

    def close(self) -> None:
        """Let go of all who wait."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _is_decided(self, model: str, charge: Charge, limit: float) -> bool:
        """Whether there is money for a call, or never will be; not as long as others may leave some of theirs."""
        if self._exhausted or self._may_go(model, charge, limit):
            return True
        if self._calls or (self._trials and charge.trial not in self._trials):
            return False
        costs = self._costs(model)
        what, cost = ("call", costs.of_call(charge.most))
        if charge.trial and charge.trial not in self._trials:
            what, cost = ("trial", self._of_trial(costs, charge))
        self._exhausted = (
            f"the budget of {money(limit)} has no room for another {what}: {money(self.spent)} is spent, and one costs "
            f"about {money(cost)}"
        )
        self._changed.notify_all()
        return True

    def _may_go(self, model: str, charge: Charge, limit: float) -> bool:
        """Whether there is money for a call now."""
        costs, is_known = self._costs(model), charge.agent in self._agents
        if not (costs.calls or self._calls or is_known):  # what a model charges is known when it has charged something
            return self.spent < limit
        is_new = charge.trial and charge.trial not in self._trials
        if is_new and (is_known or self._trials):  # what nobody has seen yet is no reason to begin nothing at all
            return self._committed() + self._of_trial(costs, charge) <= limit + LEAST
        reserved = sum(call.expected for call in self._calls.values())
        return self.spent + reserved + costs.of_call(charge.most) <= limit + LEAST

    def _committed(self) -> float:
        """Return what will be spent when all that is under way has ended."""
        reserved: dict[str, float] = {}
        for call in self._calls.values():
            reserved[call.charge.trial] = reserved.get(call.charge.trial, 0.0) + call.expected
        rest = (
            max(0.0, trial.expected - trial.spent - reserved.get(name, 0.0)) for name, trial in self._trials.items()
        )
        return self.spent + sum(reserved.values()) + sum(rest)

    def _of_trial(self, costs: _Costs, charge: Charge) -> float:
        """Return what a trial is expected to cost, by others of its agent, or by what its first call may cost."""
        if known := self._agents.get(charge.agent):
            return sum(known) / len(known)
        return CALLS * costs.of_call(charge.most)

    def _costs(self, model: str) -> _Costs:
        return self._models.setdefault(model, _Costs())
