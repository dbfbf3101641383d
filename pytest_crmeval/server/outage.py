"""A server that is away: all players wait for it in one place, which probes it, and gives it up in the end."""

import time
from collections.abc import Callable
from threading import Lock
from typing import Protocol

from pytest_crmeval.providers.control import EVERYBODY
from pytest_crmeval.providers.shared import SharedControl

PAUSE = 0.25
"""Seconds from one probe to the next."""


class Probed(Protocol):
    """The server, as far as a probe goes."""

    def answers(self) -> bool:
        """Whether it is there now."""
        ...

    @property
    def has_ended(self) -> bool:
        """Whether it is known that it won't come back."""
        ...


class Outage:
    """Knows whether the run's server is away, and since when; any thread may ask."""

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
        """Return how long the server has been away; nothing if it is there, or was given up."""
        since = self._since
        if since is None:
            return ""
        return f"waiting for PostgreSQL (away for {self._clock() - since:.0f} s, at most {self._limit:.0f} s)"

    def wait(self) -> str:
        """Wait until the server answers; return why nothing more can be played, if it does not within the limit.

        One thread probes, and those that come later wait for it. If the run is stopped meanwhile, nobody waits on.
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
        """Return why nobody waits any longer; nothing if there is time left."""
        if self._given_up:
            return self._given_up
        if self._since is not None and self._server.has_ended:
            self._give_up("the embedded PostgreSQL has ended, and with it the databases of the run")
        elif self._since is not None and self._clock() - self._since >= self._limit:
            self._give_up(f"PostgreSQL has been away for {self._limit:.0f} s (crmeval_server_wait)")
        return self._given_up or self._control.stopped.get(EVERYBODY, "")

    def _give_up(self, why: str) -> None:
        self._given_up = why
        self._control.stop(EVERYBODY, why)
