"""An unreachable server: all players wait in one place, which probes the server and gives up after a time limit."""

import time
from collections.abc import Callable
from threading import Lock
from typing import Protocol

from pytest_crmeval.models.control import EVERYBODY
from pytest_crmeval.models.shared_control import SharedControl

PAUSE = 0.25
"""Seconds between two probes."""


class Probed(Protocol):
    """What a probe needs to know about the server."""

    def answers(self) -> bool:
        """Whether the server accepts connections now."""
        ...

    @property
    def has_ended(self) -> bool:
        """Whether the server is known to be gone for good."""
        ...


class OutageWatch:
    """Tracks whether the run's server is unreachable, and since when; thread-safe."""

    def __init__(
        self, server: Probed, control: SharedControl, limit: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._server = server
        self._control = control
        self._limit = limit
        self._clock = clock
        self._since: float | None = None
        self._given_up = ""
        self._probing = Lock()

    def __str__(self) -> str:
        """Return how long the server has been unreachable; empty if it is reachable or was given up."""
        since = self._since
        if since is None:
            return ""
        return f"waiting for PostgreSQL (unreachable for {self._clock() - since:.0f} s, limit {self._limit:.0f} s)"

    def wait(self) -> str:
        """Wait until the server answers; return why the run can't continue if it does not answer within the limit.

        One thread probes, and the others wait for it. If the run is stopped meanwhile, all threads stop waiting.
        """
        with self._probing:
            try:
                while not (why := self._end()) and not self._server.answers():
                    self._since = self._since or self._clock()
                    time.sleep(PAUSE)
            finally:
                self._since = None
        return why

    def _end(self) -> str:
        """Return why the wait is over; empty if there is time left."""
        if self._given_up:
            return self._given_up
        if self._since is not None and self._server.has_ended:
            self._give_up("the embedded PostgreSQL has stopped, so the databases of the run are lost")
        elif self._since is not None and self._clock() - self._since >= self._limit:
            self._give_up(f"PostgreSQL was unreachable for {self._limit:.0f} s (crmeval_server_wait)")
        return self._given_up or self._control.stopped.get(EVERYBODY, "")

    def _give_up(self, why: str) -> None:
        self._given_up = why
        self._control.stop(EVERYBODY, why)
