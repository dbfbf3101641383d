"""Permits to ask a model, for all workers of a run: who has none waits here."""

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from math import inf
from threading import Condition, Event, Lock, Thread

from pytest_crmeval.models.control import Feedback
from pytest_crmeval.models.limits.breaker import FAILURES
from pytest_crmeval.models.limits.caps import Cap, CapError
from pytest_crmeval.models.limits.queues import Lanes, Moment, Ticket

__all__ = ["Cap", "CapError", "Limits", "LimitsClosed"]


class LimitsClosed(Exception):  # noqa: N818 (the normal end of waiting when a run is over)
    """There are no more permits: the run is over."""


class Limits:
    """Gives permits, and takes them back; any number of threads may ask.

    It knows the caps, and learns from what comes back how many calls at a time a model bears. Who waits sleeps until
    it is his turn. One thread of its own, made when somebody has to wait, knows when that is.
    """

    def __init__(
        self,
        caps: Sequence[Cap] = (),
        *,
        failures: int = FAILURES,
        clock: Callable[[], float] = time.monotonic,
        calendar: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._queues = Lanes(caps, failures)
        self._clock, self._calendar = clock, calendar
        self._changed = Condition(Lock())
        self._turns: dict[int, Event] = {}
        self._usher: Thread | None = None
        self._due = inf
        """When the usher looks again."""
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many wait for a permit."""
        return len(self._turns)

    def acquire(self, model: str, tokens: int, patience: float | None = None) -> int | None:
        """Wait until ``model`` may be asked for at most so many tokens; LimitsClosed if the run is over.

        A call with ``patience`` is a retry: it goes before first attempts, and gets None after ``patience`` seconds.
        All calls get None when the model is given up.
        """
        with self._changed:
            self._be_open()
            if self._queues.given_up(model):
                return None
            ticket = self._queues.join(model, tokens, again=patience is not None)
            self._admit()
            if ticket.order:
                return ticket.number
            turn = self._turns[ticket.number] = Event()
            self._have_usher()
        return self._wait(turn, ticket, patience)

    def release(self, permit: int, feedback: Feedback) -> None:
        """Take a permit back, and learn; one that is not known any more is passed over."""
        with self._changed:
            self._queues.learn(permit, feedback, Moment(time=self._clock(), date=self._calendar()))
            self._admit()

    def fail(self, model: str) -> None:
        """Count a call that ended without an answer, after all its attempts."""
        with self._changed:
            self._queues.fail(model, self._clock())
            self._admit()

    def given_up(self, model: str) -> str:
        """Return why a model was given up; empty if it was not."""
        with self._changed:
            return self._queues.given_up(model)

    @property
    def paused(self) -> Sequence[str]:
        """The models that are only probed, because they have stopped answering."""
        with self._changed:
            return self._queues.paused

    def forget(self, permits: Iterable[int]) -> None:
        """Take back the permits of somebody who is gone, and learn nothing."""
        with self._changed:
            for permit in permits:
                self._queues.forget(permit)
            self._admit()

    def close(self) -> None:
        """Give no more permits; whoever waits is told so."""
        with self._changed:
            self._closed = True
            for turn in self._turns.values():
                turn.set()
            self._changed.notify()
        if self._usher is not None:
            self._usher.join()

    def _be_open(self) -> None:
        if self._closed:
            raise LimitsClosed("the run is over")

    def _wait(self, turn: Event, ticket: Ticket, patience: float | None) -> int | None:
        try:
            if turn.wait(patience):
                if not ticket.order:
                    self._be_open()
                return ticket.number if ticket.order else None  # None: the model was given up
        except BaseException:  # Ctrl-C, too: a permit that nobody holds would be missing for ever
            self._withdraw(ticket)
            raise
        self._withdraw(ticket)
        return None

    def _withdraw(self, ticket: Ticket) -> None:
        with self._changed:
            self._turns.pop(ticket.number, None)
            self._queues.withdraw(ticket)
            self._admit()

    def _admit(self) -> None:
        """Let in whoever may go; have the usher look again when there may be more."""
        if self._closed:
            return
        now = self._clock()
        admitted, delay = self._queues.admit(now)
        for ticket in (*admitted, *self._queues.dismissed()):
            if turn := self._turns.pop(ticket.number, None):
                turn.set()
        if delay is not None and now + delay < self._due:
            self._due = now + delay
            self._changed.notify()

    def _have_usher(self) -> None:
        if self._usher is None:
            self._usher = Thread(target=self._watch, name="crmeval-limits", daemon=True)
            self._usher.start()

    def _watch(self) -> None:
        with self._changed:
            while not self._closed:
                self._due = inf
                self._admit()
                self._changed.wait(None if self._due == inf else max(0.0, self._due - self._clock()))
