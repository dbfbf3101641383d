"""The control over model calls of a run, in the process that owns the run."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock

from pytest_crmeval.models.budget import Budget
from pytest_crmeval.models.caps import Cap
from pytest_crmeval.models.control import EVERYBODY, NO_CHARGE, Charge, Feedback
from pytest_crmeval.models.limits import RateLimits
from pytest_crmeval.models.limits.breaker import FAILURES


class SharedControl:
    """Keeps the stopped agents, the budget and the rate limits."""

    def __init__(
        self,
        caps: Sequence[Cap] = (),
        budget: float | None = None,
        *,
        failures: int = FAILURES,
        call_failed: Callable[[str], object] = str,
    ) -> None:
        self._limits = RateLimits(caps, failures=failures)
        self._budget = Budget(budget)
        self._reserved: dict[int, int] = {}
        """Permit -> the reservation for its call."""
        self._stopped: dict[str, str] = {}
        self._heard: set[str] = set()
        self._agents: dict[str, set[str]] = {}
        """Model -> the agents whose trials have asked for it."""
        self._again = self._throttled = 0
        self._guard = Lock()
        self._call_failed = call_failed
        """Called with the reason when a model did not answer a call."""

    @property
    def stopped(self) -> Mapping[str, str]:
        """The agents whose trials are not started any more, with the reason; EVERYBODY if the budget is spent."""
        with self._guard:
            return dict(self._stopped)

    @property
    def spent(self) -> float:
        """The cost of all calls of the run so far, also of trials that were interrupted."""
        return self._budget.spent

    @property
    def estimated(self) -> float:
        """The part of ``spent`` that is the expected cost of calls whose answer was lost with a worker, or given up."""
        return self._budget.estimated

    @property
    def paused(self) -> Sequence[str]:
        """The models (provider:model) that are only probed, because they have stopped answering."""
        return [model.partition(" ")[0] for model in self._limits.paused]

    @property
    def paused_agents(self) -> frozenset[str]:
        """The agents whose trials need a model that is paused."""
        models = self._limits.paused
        with self._guard:
            return frozenset(agent for model in models for agent in self._agents.get(model, ()))

    @property
    def waiting(self) -> int:
        """The number of calls that wait because of a cap or the concurrency limit of a server."""
        return self._limits.waiting

    @property
    def again(self) -> int:
        """The number of retries so far."""
        return self._again

    @property
    def throttled(self) -> int:
        """How often a server has throttled a call so far."""
        return self._throttled

    def objection(self, agent: str) -> str:
        """Return why no further trial of ``agent`` may be started; empty if it may."""
        broke = self._budget.check()
        with self._guard:
            if broke:
                self._stopped.setdefault(EVERYBODY, broke)
            return self._stopped.get(EVERYBODY) or self._stopped.get(agent, "")

    def stop(self, agent: str, why: str) -> None:
        """Start no further trial of ``agent``; the first reason stays, and one for all agents takes precedence."""
        if not self.objection(EVERYBODY):
            with self._guard:
                self._stopped.setdefault(agent, why)

    def learn(self, agent: str, cost: float) -> None:
        """Learn the cost of a trial of ``agent`` from an earlier part of the run."""
        self._budget.learn(agent, cost)

    def spend(self, cost: float) -> None:
        """Count a cost that was not reserved."""
        self._budget.spend(cost)

    def acquire(self, model: str, tokens: int, patience: float | None = None, charge: Charge = NO_CHARGE) -> int | None:
        """Wait until the budget covers a call to ``model`` and the call is allowed; None if that won't happen."""
        with self._guard:
            self._again += patience is not None
            self._agents.setdefault(model, set()).add(charge.agent)
        begun = time.monotonic()
        reserved = self._budget.reserve(model, charge, patience)
        if reserved is None:
            return None
        left = None if patience is None else max(0.0, patience - (time.monotonic() - begun))
        permit: int | None = None
        try:
            permit = self._limits.acquire(model, tokens, left)
        finally:
            if permit is None:
                self._budget.forget(reserved)
            else:
                self._reserved[permit] = reserved
        return permit

    def refusal(self, model: str) -> str:
        """Return why no further call to ``model`` is allowed; empty if calls are."""
        return self._budget.check() or self._limits.given_up(model)

    def fail(self, model: str) -> None:
        """Count a call to ``model`` that ended without an answer, after all its attempts."""
        self._limits.fail(model)

    def end(self, trial: str) -> None:
        """Note that a trial makes no more calls, and release its reserved money."""
        self._budget.end(trial)

    def release(self, permit: int, feedback: Feedback) -> None:
        """Take a permit back, and count the cost of its call."""
        if permit in self._reserved:  # not if it was taken back
            self._budget.settle(self._reserved.pop(permit), feedback.cost)
        if feedback.throttled:
            with self._guard:
                self._throttled += 1
        if feedback.heard:
            self._heard.add(feedback.heard)
        if feedback.trouble:
            self._call_failed(feedback.trouble)
        self._limits.release(permit, feedback)

    def has_answered(self, model: str) -> bool:
        """Whether the server of ``model`` has answered any call of this run."""
        return model in self._heard

    def forget(self, permits: Iterable[int]) -> None:
        """Take back the permits of a lost worker; its calls may be billed, so their expected cost counts."""
        gone = list(permits)
        for permit in gone:
            self._budget.lose(self._reserved.pop(permit, 0))
        self._limits.forget(gone)

    def abandon(self) -> None:
        """Take back all permits: the answers of calls in progress are not waited for."""
        self.forget(tuple(self._reserved))

    def close(self) -> None:
        """Release all threads that wait for a permit: the run is over."""
        self._budget.close()
        self._limits.close()
