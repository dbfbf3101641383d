"""A pool of servers: which one is used next, which ones have failed, and when those are used again."""

import random
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from pytest_crmeval.ports.sandbox import Language, SandboxError
from pytest_crmeval.sandboxes.piston.addresses import PistonAddress
from pytest_crmeval.sandboxes.piston.answers import TroubleError
from pytest_crmeval.sandboxes.piston.wire import Wire

Named = tuple[Language, str]
"""A language, and the version or standard of it that a solution names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often and how long failures are retried."""

    attempts: int = 6
    """At one run."""
    first_delay: float = 0.5
    """Seconds before the second attempt; twice as many before each further one."""
    longest_delay: float = 10.0
    failures: int = 3
    """Troubles one after the other after which a server is sick."""
    looks: int = 3
    """At every sick server, before waiting runs fail because no server is left."""
    grace_seconds: float = 60.0
    """For an answer, besides the time that the run may take: a server may have others to serve."""

    def delay(self, count: int) -> float:
        """Return the seconds to wait after so many failures; a part is left to chance, lest all come at once."""
        full = min(self.longest_delay, self.first_delay * 2.0 ** (count - 1))
        return full * random.uniform(0.5, 1.0)  # noqa: S311  (no secret)


@dataclass(slots=True, eq=False, kw_only=True)
class Endpoint:
    """One server, and what is known of it; the pool's lock guards what changes."""

    address: PistonAddress
    bound: int
    """Requests that it may have under way."""
    wire: Wire
    in_flight: int = 0
    served: int = 0
    failures: int = 0
    """One after the other."""
    reason: str = ""
    """Why it is sick; empty if it is well."""
    looks: int = 0
    """In vain, since it is sick."""
    look_at: float = 0.0
    """When a sick one is looked at again."""
    versions: dict[Language, dict[str, str]] = field(default_factory=dict)
    """By language: version -> what the server calls the language."""
    maxima: dict[Named, dict[str, int]] = field(default_factory=dict)
    """What it grants at most, of the languages that were seen to run there."""
    overheads: dict[Named, float] = field(default_factory=dict)
    """Seconds of CPU time that it needs to compile a program while it runs it."""
    proving: threading.Lock = field(default_factory=threading.Lock)


class Pool:
    """Lends servers for runs: the least busy first, and none that has failed."""

    def __init__(self, endpoints: Sequence[Endpoint], patience: Patience, look: Callable[[Endpoint], None]) -> None:
        self.endpoints = endpoints
        self._patience = patience
        self._look = look
        self._changed = threading.Condition()
        self._closed = False

    @property
    def healthy(self) -> Sequence[Endpoint]:
        """Those that are not sick."""
        return [endpoint for endpoint in self.endpoints if not endpoint.reason]

    @contextmanager
    def lent(self, avoided: Endpoint | None = None, refused: Collection[str] = ()) -> Iterator[Endpoint]:
        """Wait for a server that has room, and take it; another one than was avoided, if there is one.

        Those whose addresses are refused are only taken where all others are sick.
        """
        endpoint = self._taken(avoided, refused)
        try:
            yield endpoint
        finally:
            with self._changed:
                endpoint.in_flight -= 1
                self._changed.notify_all()

    def fared(self, endpoint: Endpoint, trouble: TroubleError | None) -> None:
        """Note how a request went."""
        with self._changed:
            endpoint.failures = 0 if trouble is None else endpoint.failures + 1
            if trouble is not None and (trouble.sick or endpoint.failures >= self._patience.failures):
                self._drop(endpoint, str(trouble))
            self._changed.notify_all()

    def pause(self, seconds: float) -> None:
        """Wait; SandboxError if the pool is closed meanwhile."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed, seconds)
            self._check_open()

    def look_at_all(self) -> None:
        """Look at every server, before there is anything to run."""
        threads = [threading.Thread(target=self._looked, args=(each,), daemon=True) for each in self.endpoints]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if not self.healthy:
            raise SandboxError(self.sick_ones())

    def distrust(self, address: str, reason: str) -> None:
        """Drop a server whose results can't be trusted; it is looked at again later."""
        with self._changed:
            for endpoint in self.endpoints:
                if str(endpoint.address) == address:
                    self._drop(endpoint, reason)

    def sick_ones(self) -> str:
        """Return an error message that names the servers that can't be used, and why."""
        reasons = "; ".join(f"{each.address}: {each.reason}" for each in self.endpoints if each.reason)
        return f"no Piston server can be used ({reasons}); start one, or correct --crmeval-sandbox"

    def close(self) -> None:
        """End all waiting, and close all connections."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for endpoint in self.endpoints:
            endpoint.wire.close()

    def _taken(self, avoided: Endpoint | None, refused: Collection[str]) -> Endpoint:
        with self._changed:
            while True:
                self._check_open()
                able = [each for each in self.healthy if str(each.address) not in refused] or self.healthy
                free = [each for each in able if each.in_flight < each.bound]
                if free:
                    return self._take(
                        min(free, key=lambda each: (each is avoided, each.in_flight / each.bound, each.served))
                    )
                due = self._due()
                if due is not None:
                    self._look_again(due)
                elif not self.healthy and all(each.looks >= self._patience.looks for each in self.endpoints):
                    raise SandboxError(self.sick_ones())
                else:
                    self._changed.wait(self._until_due())

    def _take(self, endpoint: Endpoint) -> Endpoint:
        endpoint.in_flight += 1
        endpoint.served += 1
        due = self._due()
        if due is not None:  # in a thread: a run that has a server must not wait for the check of another one
            due.look_at = time.monotonic() + self._patience.grace_seconds
            threading.Thread(target=self._looked, args=(due,), daemon=True).start()
        return endpoint

    def _due(self) -> Endpoint | None:
        now = time.monotonic()
        return next((each for each in self.endpoints if each.reason and each.look_at <= now), None)

    def _until_due(self) -> float | None:
        sick = [each.look_at for each in self.endpoints if each.reason]
        return max(0.0, min(sick) - time.monotonic()) if sick else None

    def _look_again(self, endpoint: Endpoint) -> None:
        """Look at a sick server without the lock; the others wait for what comes of it."""
        endpoint.look_at = time.monotonic() + self._patience.grace_seconds
        self._changed.release()
        try:
            self._looked(endpoint)
        finally:
            self._changed.acquire()

    def _looked(self, endpoint: Endpoint) -> None:
        trouble = None
        try:
            self._look(endpoint)
        except TroubleError as error:
            trouble = error
        with self._changed:
            if trouble is None:
                endpoint.reason, endpoint.failures, endpoint.looks = "", 0, 0
            else:
                self._drop(endpoint, str(trouble))
                endpoint.looks += 1
            self._changed.notify_all()

    def _drop(self, endpoint: Endpoint, reason: str) -> None:
        endpoint.reason = reason
        endpoint.look_at = time.monotonic() + self._patience.delay(endpoint.looks + 1)

    def _check_open(self) -> None:
        if self._closed:
            raise SandboxError("the sandbox is closed")
