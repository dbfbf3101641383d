"""What one trial asks of models: every exchange, what it took, and how patient we still are."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock

from pytest_crmeval.domain.prompt import Asking, ModelIdentity
from pytest_crmeval.domain.usage import Bill, Usage

PATIENCE = 300.0
"""Seconds that a trial may lose to attempts that failed and to the pauses after them, all its calls together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPurpose:
    """What a call is made for; a cassette is found by it."""

    suite: str = ""
    subject: str = ""
    case: str = ""
    trial: int = 1
    """Which attempt at the case this is."""
    role: str = "agent"
    """``agent`` or ``judge``; or who else makes up the subject: a teacher."""


@dataclass(slots=True, kw_only=True)
class UsageMeter:
    """What the calls of one purpose have used; models write into it while it is open."""

    purpose: CallPurpose = field(default_factory=CallPurpose)
    agent: str = ""
    """The spec of the agent."""
    trial: str = ""
    """The key of the trial, used by the budget; empty if there is no budget."""
    patience: float = PATIENCE
    askings: list[Asking] = field(default_factory=list)
    bill: Bill | None = None
    """None until a model was asked."""
    notes: list[str] = field(default_factory=list)
    """What the reader of the trial has to know: a parameter that the model refused and that was left out."""

    def take(self, asking: Asking, cost: float | None, *, replayed: bool = False) -> None:
        """Note an answer and its price; and that it is not whole, if its tokens ran out."""
        self.askings.append(asking)
        if asking.completion.ending == "length":
            self.note(_cut_short(asking.identity))
        if asking.completion.reply.has_only_thoughts:
            self.note(f"{asking.identity.model} returned only thoughts: the reply is empty")
        self._charge(Bill(usage=asking.completion.usage, cost=cost, replayed=replayed))

    def take_useless(self, usage: Usage, cost: float | None) -> None:
        """Note what was paid for an answer that nobody can use."""
        self._charge(Bill(usage=usage, cost=cost))

    def take_failures(self, attempts: int) -> None:
        """Note attempts for a call that was never answered."""
        self._charge(Bill(usage=Usage(retries=attempts)))

    def note(self, text: str) -> None:
        """Note something once."""
        if text not in self.notes:
            self.notes.append(text)

    def _charge(self, bill: Bill) -> None:
        with _GUARD:
            self.bill = bill if self.bill is None else self.bill + bill


_OPEN: ContextVar[UsageMeter | None] = ContextVar("crmeval_account", default=None)
_ALL_OPEN: dict[int, UsageMeter] = {}
_GUARD = Lock()
"""An agent may ask in several threads."""


@contextmanager
def opened(meter: UsageMeter) -> Iterator[UsageMeter]:
    """Let every model that is asked in this context write into ``meter``."""
    token = _OPEN.set(meter)
    with _GUARD:
        _ALL_OPEN[id(token)] = meter
    try:
        yield meter
    finally:
        with _GUARD:
            del _ALL_OPEN[id(token)]
        _OPEN.reset(token)


def current() -> UsageMeter:
    """Return the open meter; whoever asks a model outside of a trial has one that nobody reads.

    A thread that an agent starts has no context of ours: it writes into the only meter that is open, if there is one.
    """
    return _OPEN.get() or _only_one() or UsageMeter()


def _only_one() -> UsageMeter | None:
    with _GUARD:
        found = list(_ALL_OPEN.values())
    return found[0] if found and all(each is found[0] for each in found) else None


def _cut_short(identity: ModelIdentity) -> str:
    most = identity.settings.get("max_output_tokens")
    had = f"its {most} output tokens" if most else "its output tokens"
    return f"{identity.model} ran out of {had}; ?max_output_tokens= gives it more"
