"""The control of a run, in the process that owns it."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock

from pytest_crmeval.models.budget import Budget
from pytest_crmeval.models.control import EVERYBODY, NO_CHARGE, Charge, Feedback
from pytest_crmeval.models.limits import Cap, Limits
from pytest_crmeval.models.limits.breaker import FAILURES


class SharedControl:
    """Knows which agents were stopped, what was spent, and how fast models may be asked."""

    def __init__(self, caps: Sequence[Cap] = (), budget: float | None = None, *, failures: int = FAILURES) -> None:
        self._limits = Limits(caps, failures=failures)
        self._budget = Budget(budget)
        self._reserved: dict[int, int] = {}
        """Permit -> what was reserved for its call."""
        self._stopped: dict[str, str] = {}
        self._heard: set[str] = set()
        self._again = self._throttled = 0
        self._guard = Lock()
        self.call_failed: Callable[[str], None] = lambda reason: None  # noqa: ARG005 (its signature)
        """Called with the reason when a model did not answer a call."""

    @property
    def stopped(self) -> Mapping[str, str]:
        """Whose trials are not started any more, and why; EVERYBODY when the money is gone."""
        with self._guard:
            return dict(self._stopped)

    @property
    def spent(self) -> float:
        """What the run has cost so far, call by call: also what no trial tells of, because it was interrupted."""
        return self._budget.spent

    @property
    def paused(self) -> Sequence[str]:
        """The models (provider:model) that are only probed, because they have stopped answering."""
        return [model.partition(" ")[0] for model in self._limits.paused]

    @property
    def waiting(self) -> int:
        """How many calls wait for their turn now: because of a cap, or because a server bears no more."""
        return self._limits.waiting

    @property
    def again(self) -> int:
        """How many calls had to be made again so far."""
        return self._again

    @property
    def throttled(self) -> int:
        """How often a server has said so far that it was too much."""
        return self._throttled

    def objection(self, agent: str) -> str:
        """Return why no trial of ``agent`` may be started any more; nothing if it may."""
        broke = self._budget.check()
        with self._guard:
            if broke:
                self._stopped.setdefault(EVERYBODY, broke)
            return self._stopped.get(EVERYBODY) or self._stopped.get(agent, "")

    def stop(self, agent: str, why: str) -> None:
        """Have no further trial of ``agent`` started; the first reason stays, and one for all goes before."""
        if not self.objection(EVERYBODY):
            with self._guard:
                self._stopped.setdefault(agent, why)

    def learn(self, agent: str, cost: float) -> None:
        """Learn the cost of a trial of ``agent`` from an earlier part of the run."""
        self._budget.learn(agent, cost)

    def spend(self, cost: float) -> None:
        """Take money from the budget."""
        self._budget.spend(cost)

    def acquire(self, model: str, tokens: int, patience: float | None = None, charge: Charge = NO_CHARGE) -> int | None:
        """Wait until the budget covers a call to ``model`` and the call is allowed; None if that won't happen."""
        if patience is not None:
            with self._guard:
                self._again += 1
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
        """Give a permit back, and pay."""
        self._budget.settle(self._reserved.pop(permit, 0), feedback.cost)
        if feedback.throttled:
            with self._guard:
                self._throttled += 1
        if feedback.heard:
            self._heard.add(feedback.heard)
        if feedback.trouble:
            self.call_failed(feedback.trouble)
        self._limits.release(permit, feedback)

    def has_answered(self, model: str) -> bool:
        """Whether the server of ``model`` has said anything in this run, to anybody."""
        return model in self._heard

    def forget(self, permits: Iterable[int]) -> None:
        """Take back the permits of a worker that is gone, and what was reserved for its calls."""
        gone = list(permits)
        for permit in gone:
            self._budget.forget(self._reserved.pop(permit, 0))
        self._limits.forget(gone)

    def close(self) -> None:
        """Release all threads that wait for a permit: the run is over."""
        self._budget.close()
        self._limits.close()
