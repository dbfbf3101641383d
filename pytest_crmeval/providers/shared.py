"""The control of a run, in the process that owns it."""

from collections.abc import Iterable, Mapping, Sequence
from threading import Lock

from pytest_crmeval.domain.usage import money
from pytest_crmeval.providers.control import EVERYBODY, Feedback
from pytest_crmeval.providers.limits import Cap, Limits


class SharedControl:
    """Knows who was stopped, what was spent, and how fast anybody may ask."""

    def __init__(self, caps: Sequence[Cap] = (), budget: float | None = None) -> None:
        self._limits = Limits(caps)
        self._budget = budget
        self._spent = 0.0
        self._stopped: dict[str, str] = {}
        self._heard: set[str] = set()
        self._again = self._throttled = 0
        self._guard = Lock()

    @property
    def stopped(self) -> Mapping[str, str]:
        """Whose trials are not started any more, and why; EVERYBODY when the money is gone."""
        with self._guard:
            return dict(self._stopped)

    @property
    def spent(self) -> float:
        """What the run has cost so far, call by call: also what no trial tells of, because it was interrupted."""
        return self._spent

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
        with self._guard:
            if self._budget is not None and self._spent >= self._budget:
                self._stopped.setdefault(EVERYBODY, f"the budget of {money(self._budget)} is spent")
            return self._stopped.get(EVERYBODY) or self._stopped.get(agent, "")

    def stop(self, agent: str, why: str) -> None:
        """Have no further trial of ``agent`` started; the first reason stays."""
        with self._guard:
            self._stopped.setdefault(agent, why)

    def spend(self, cost: float) -> None:
        """Take money from the budget."""
        with self._guard:
            self._spent += cost

    def acquire(self, model: str, tokens: int, patience: float | None = None) -> int | None:
        """Wait until a call to ``model`` is allowed; None if it is not in time."""
        if patience is not None:
            with self._guard:
                self._again += 1
        return self._limits.acquire(model, tokens, patience)

    def release(self, permit: int, feedback: Feedback) -> None:
        """Give a permit back, and pay."""
        self.spend(feedback.cost)
        if feedback.throttled:
            with self._guard:
                self._throttled += 1
        if feedback.heard:
            self._heard.add(feedback.heard)
        self._limits.release(permit, feedback)

    def has_answered(self, model: str) -> bool:
        """Whether the server of ``model`` has said anything in this run, to anybody."""
        return model in self._heard

    def forget(self, permits: Iterable[int]) -> None:
        """Take back the permits of somebody who is gone."""
        self._limits.forget(permits)

    def close(self) -> None:
        """Let go whoever waits for a permit: the run is over."""
        self._limits.close()
