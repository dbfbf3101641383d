"""Permits for calls to models, for all workers of a run."""

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from math import inf
from threading import Condition, Event, Lock, Thread

from pytest_crmeval.models.caps import Cap
from pytest_crmeval.models.control import Feedback
from pytest_crmeval.models.limits.breaker import FAILURES
from pytest_crmeval.models.limits.queues import ModelQueues, Moment, Ticket


class LimitsClosed(Exception):  # noqa: N818 (the normal end of waiting when a run is over)
    """No further permits are given: the run is over."""


class RateLimits:
    """Gives permits, and takes them back. Thread-safe.

    It applies the caps, and learns from the answers how many concurrent calls a model allows. Waiting calls sleep until
    their turn. A timer thread, started when the first call has to wait, wakes them.
    """

    def __init__(
        self,
        caps: Sequence[Cap] = (),
        *,
        failures: int = FAILURES,
        clock: Callable[[], float] = time.monotonic,
        calendar: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._queues = ModelQueues(caps, failures)
        self._clock, self._calendar = clock, calendar
        self._changed = Condition(Lock())
        self._turns: dict[int, Event] = {}
        self._timer: Thread | None = None
        self._due = inf
        """When the timer checks again."""
        self._closed = False

    @property
    def waiting(self) -> int:
        """The number of calls that wait for a permit."""
        return len(self._turns)

    def acquire(self, model: str, tokens: int, patience: float | None = None) -> int | None:
        """Wait until a call to ``model`` with at most ``tokens`` is allowed; LimitsClosed if the run is over.

        A call with ``patience`` is a retry: it goes before first attempts, and gets None after ``patience`` seconds.
        All calls get None when the model is given up.
        """
        with self._changed:
            if self._closed:
                raise LimitsClosed("the run is over")
            if self._queues.given_up(model):
                return None
            ticket = self._queues.join(model, tokens, again=patience is not None)
            self._admit()
            if ticket.order:
                return ticket.number
            turn = self._turns[ticket.number] = Event()
            if self._timer is None:
                self._timer = Thread(target=self._watch, name="crmeval-limits", daemon=True)
                self._timer.start()
        try:
            woken = turn.wait(patience)
        except BaseException:  # also Ctrl-C: otherwise the permit would never be given back
            self._withdraw(ticket)
            raise
        if woken and ticket.order:
            return ticket.number
        self._withdraw(ticket)
        if woken and self._closed:
            raise LimitsClosed("the run is over")
        return None  # out of patience, or the model was given up

    def release(self, permit: int, feedback: Feedback) -> None:
        """Take a permit back, and learn from the result; an unknown permit is ignored."""
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
        """Take back the permits of a lost worker, and learn nothing."""
        with self._changed:
            for permit in permits:
                self._queues.forget(permit)
            self._admit()

    def close(self) -> None:
        """Give no further permits; waiting calls get LimitsClosed."""
        with self._changed:
            self._closed = True
            for turn in self._turns.values():
                turn.set()
            self._changed.notify()
        if self._timer is not None:
            self._timer.join()

    def _withdraw(self, ticket: Ticket) -> None:
        with self._changed:
            self._turns.pop(ticket.number, None)
            self._queues.withdraw(ticket)
            self._admit()

    def _admit(self) -> None:
        """Admit the calls that are allowed now, and set the timer for the next ones."""
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

    def _watch(self) -> None:
        with self._changed:
            while not self._closed:
                self._due = inf
                self._admit()
                self._changed.wait(None if self._due == inf else max(0.0, self._due - self._clock()))
