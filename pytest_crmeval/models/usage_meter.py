"""The model calls of one trial, their usage and cost, and the patience that is left for retries."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock

from pytest_crmeval.domain.messages import Reply
from pytest_crmeval.domain.usage import Bill, Service, Usage, served
from pytest_crmeval.ports.chat_model import ModelCall

PATIENCE = 300.0
"""Seconds that a trial may spend on failed attempts and the pauses after them, over all its calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPurpose:
    """What a call is made for; it determines the cassette."""

    suite: str = ""
    subject: str = ""
    case: str = ""
    trial: int = 1
    """The number of the attempt at the case."""
    role: str = "agent"
    """``agent``, ``judge``, or another role of the subject, such as a teacher."""


@dataclass(slots=True, kw_only=True)
class UsageMeter:
    """The usage of the calls for one purpose; models write into it while it is open."""

    purpose: CallPurpose = field(default_factory=CallPurpose)
    agent: str = ""
    """The spec of the agent."""
    trial: str = ""
    """The key of the trial, used by the budget; empty if there is no budget."""
    patience: float = PATIENCE
    calls: list[ModelCall] = field(default_factory=list)
    bill: Bill | None = None
    """None until the first call."""
    service: Service | None = None
    """None until a model has answered."""
    ends: list[tuple[int, float | None]] = field(default_factory=list)
    """When each call ended, in nanoseconds since 1970, and what it cost."""
    notes: list[str] = field(default_factory=list)
    """Notes for the reader of the trial, such as a parameter that the model refused."""

    def take(self, call: ModelCall, cost: float | None, *, replayed: bool = False) -> None:
        """Record an answered call and its cost, with a note if its tokens ran out or it has only thoughts."""
        self.calls.append(call)
        self.ends.append((time.time_ns(), None if replayed else cost))
        if call.completion.ending == "length":
            most = call.identity.settings.get("max_output_tokens")
            had = f"its {most} output tokens" if most else "its output tokens"
            self.note(f"{call.identity.model} ran out of {had}; ?max_output_tokens= gives it more")
        if call.completion.reply.has_only_thoughts:
            self.note(f"{call.identity.model} returned only thoughts: the reply is empty")
        self._charge(Bill(usage=call.completion.usage, cost=cost, replayed=replayed))

    def record_service(self, service: Service) -> None:
        """Record how fast a model has answered."""
        with _GUARD:
            self.service = served((self.service, service))

    def record_useless(self, usage: Usage, cost: float | None) -> None:
        """Record the cost of an unusable answer."""
        self._charge(Bill(usage=usage, cost=cost))

    def record_failures(self, attempts: int) -> None:
        """Record the attempts of a call that was never answered."""
        self._charge(Bill(usage=Usage(retries=attempts)))

    def record_reply(self, reply: Reply) -> None:
        """Record what an agent says that it has used for a reply."""
        if reply.input_tokens or reply.output_tokens or reply.cost:
            usage = Usage(input=reply.input_tokens, output=reply.output_tokens, calls=1)
            self._charge(Bill(usage=usage, cost=reply.cost))

    def note(self, text: str) -> None:
        """Add a note, unless it is empty or there already."""
        if text and text not in self.notes:
            self.notes.append(text)

    def _charge(self, bill: Bill) -> None:
        with _GUARD:
            self.bill = bill if self.bill is None else self.bill + bill


_OPEN: ContextVar[UsageMeter | None] = ContextVar("crmeval_account", default=None)
_ALL_OPEN: dict[int, UsageMeter] = {}
_GUARD = Lock()
"""An agent may call models in several threads."""


@contextmanager
def opened(meter: UsageMeter) -> Iterator[UsageMeter]:
    """Let every model that is called in this context write into ``meter``."""
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
    """Return the open meter; outside of a trial, a new one that is not read.

    A thread that an agent starts does not have our context: it writes into the only open meter, if there is just one.
    """
    meter = _OPEN.get()
    if meter is not None:
        return meter
    with _GUARD:
        found = list(_ALL_OPEN.values())
    return found[0] if found and all(each is found[0] for each in found) else UsageMeter()
