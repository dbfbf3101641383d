"""Shared control over model calls for all workers of a run: stopped agents, rate limits, budget."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

EVERYBODY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """The maximum cost of a call, and the trial that it belongs to."""

    most: float = 0.0
    """Dollars; 0 if the price is not known."""
    trial: str = ""
    """Key of the trial; empty if the call belongs to no trial."""
    agent: str = ""
    """The spec of the agent whose trial it is."""


NO_CHARGE = Charge()


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """The result of a call, for the rate limits and the budget."""

    ok: bool
    throttled: bool = False
    """Whether the server answered 429 or 529."""
    retry_after: float | None = None
    tokens: int | None = None
    """Input and output tokens of the call; None if unknown."""
    heard: str = ""
    """The model, as it was acquired, if its server answered anything at all; else empty."""
    cost: float | None = 0.0
    """Cost in dollars; None if the call was paid, but the server does not report its usage."""
    trouble: str = ""
    """Why there is no answer, if the model is the cause and not the request; empty otherwise."""
    headers: Mapping[str, str] = field(default_factory=dict)


class Control(Protocol):
    """Decides about calls, in the process that owns the run; workers reach it over their channel."""

    def objection(self, agent: str) -> str:
        """Return why no further trial of ``agent`` may be started; empty if it may."""
        ...

    def stop(self, agent: str, why: str) -> None:
        """Start no further trial of ``agent``, or of EVERYBODY."""
        ...

    def acquire(self, model: str, tokens: int, patience: float | None = None, charge: Charge = NO_CHARGE) -> int | None:
        """Wait until a call to ``model`` with at most ``tokens`` is allowed; return a permit.

        A first attempt has no ``patience``, and waits as long as necessary. A retry goes before first attempts, and
        waits at most ``patience`` seconds, then returns None. None also if no further call is allowed: ``refusal``
        has the reason.

        The model is provider:model, followed by a space and the address if it is not the provider's own: models of the
        same name on different servers have separate limits. Caps ignore the address.
        """
        ...

    def release(self, permit: int, feedback: Feedback) -> None:
        """Give a permit back, with the result of the call."""
        ...

    def refusal(self, model: str) -> str:
        """Return why no further call to ``model`` is allowed; empty if calls are."""
        ...

    def fail(self, model: str) -> None:
        """Count a call to ``model`` that ended without an answer, after all its attempts."""
        ...

    def end(self, trial: str) -> None:
        """Note that a trial makes no more calls, and release its reserved money."""
        ...

    def has_answered(self, model: str) -> bool:
        """Whether the server of ``model`` has answered any call of this run."""
        ...
