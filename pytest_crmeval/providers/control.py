"""What all workers of a run share: who may still ask, how fast, and for how much money."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

EVERYBODY = "*"


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
    cost: float = 0.0
    """Dollars that it took from the budget; none if nobody knows the price."""
    headers: Mapping[str, str] = field(default_factory=dict)


class Control(Protocol):
    """The one place that decides, in the process that owns the run; workers ask it over their line."""

    def objection(self, agent: str) -> str:
        """Return why no trial of ``agent`` may be started any more; nothing if it may."""
        ...

    def stop(self, agent: str, why: str) -> None:
        """Have no further trial of ``agent``, or of EVERYBODY, started."""
        ...

    def acquire(self, model: str, tokens: int, patience: float | None = None) -> int | None:
        """Wait until a call to ``model`` that may take so many tokens is allowed; return a permit.

        Who asks for the first time has no ``patience`` to lose, and waits as long as it takes. Who asks again goes
        before those, and waits no longer than so many seconds: None if his turn has not come.

        The model is provider:model, and after a space the address, where it is asked at one of its own: servers that
        have a model of the same name have nothing else in common. Caps look at what is before the space.
        """
        ...

    def release(self, permit: int, feedback: Feedback) -> None:
        """Give a permit back, and tell how it went."""
        ...

    def has_answered(self, model: str) -> bool:
        """Whether the server of ``model`` has said anything in this run, to anybody."""
        ...
