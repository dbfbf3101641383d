"""What all workers of a run share: who may still ask, how fast, and for how much money."""

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
    """Key of the trial; empty if the call belongs to none."""
    agent: str = ""
    """The spec of the agent whose trial it is."""


NO_CHARGE = Charge()


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """How a call went, for whoever gives the permits."""

    ok: bool
    throttled: bool = False
    """Whether the server said 429 or 529."""
    retry_after: float | None = None
    tokens: int | None = None
    """What the call took, input and output; None if nobody knows."""
    heard: str = ""
    """The model, as it was acquired, whose server said something, if only no; empty if nothing came back."""
    cost: float | None = 0.0
    """Cost in dollars; None if the call was paid, but the server does not report its usage."""
    trouble: str = ""
    """Why there is no answer, if the model is the cause and not the request; empty otherwise."""
    headers: Mapping[str, str] = field(default_factory=dict)


class Control(Protocol):
    """The one place that decides, in the process that owns the run; workers ask it over their line."""

    def objection(self, agent: str) -> str:
        """Return why no trial of ``agent`` may be started any more; nothing if it may."""
        ...

    def stop(self, agent: str, why: str) -> None:
        """Have no further trial of ``agent``, or of EVERYBODY, started."""
        ...

    def acquire(self, model: str, tokens: int, patience: float | None = None, charge: Charge = NO_CHARGE) -> int | None:
        """Wait until a call to ``model`` that may take so many tokens is allowed; return a permit.

        A first attempt has no ``patience``, and waits as long as necessary. A retry goes before first attempts, and
        waits at most ``patience`` seconds, then returns None. None also if no further call is allowed: ``refusal``
        says why.

        The model is provider:model, and after a space the address, where it is asked at one of its own: servers that
        have a model of the same name have nothing else in common. Caps look at what is before the space.
        """
        ...

    def release(self, permit: int, feedback: Feedback) -> None:
        """Give a permit back, and tell how it went."""
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
        """Whether the server of ``model`` has said anything in this run, to anybody."""
        ...
