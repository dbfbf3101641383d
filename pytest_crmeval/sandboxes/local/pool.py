"""Fork servers are kept warm, lent to one run at a time, and replaced when they are lost."""

import threading
from collections.abc import Callable
from typing import TypeVar

from pytest_crmeval.ports.sandbox import Execution, Limits, ProgramInput, SandboxError
from pytest_crmeval.sandboxes.local import slots
from pytest_crmeval.sandboxes.local.fork_servers import ForkServerLost, ForkServerProcess, Unavailable
from pytest_crmeval.sandboxes.local.runs import Runnable, check, run

_ATTEMPTS = 3
Used = TypeVar("Used")


class ForkServerPool:
    """As many fork servers as there are runs at once, and no more than are allowed."""

    def __init__(self, start: Callable[[], ForkServerProcess], first: ForkServerProcess, size: int) -> None:
        self._start = start
        self._idle = [first]
        self._fork_servers = {first}
        self._free = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._closed = False
        self._place = slots.place()

    def run(self, runnable: Runnable, feed: ProgramInput, limits: Limits) -> Execution:
        """Run once, in the next free fork server and on the next free core; again if the fork server is lost."""
        check(feed)
        losses = []
        for _ in range(_ATTEMPTS):
            try:
                return run(self._lend, runnable, feed, limits)
            except (ForkServerLost, Unavailable) as loss:
                losses.append(str(loss))
        raise SandboxError(f"the process of the sandbox was lost {_ATTEMPTS} times in one run: {'; '.join(losses)}")

    def _lend(self, use: Callable[[ForkServerProcess], Used]) -> Used:
        """Use a fork server, and return it to the pool unless it was lost."""
        with self._free, slots.slot(self._place):
            fork_server = self._taken()
            try:
                used = use(fork_server)
            except BaseException:
                self._drop(fork_server)
                raise
            with self._lock:
                self._idle.append(fork_server)
            return used

    def _taken(self) -> ForkServerProcess:
        with self._lock:
            if self._closed:
                raise SandboxError("the sandbox was closed while programs were waiting to run in it")
            if self._idle:
                return self._idle.pop()
        fork_server = self._start()
        with self._lock:
            self._fork_servers.add(fork_server)
        try:
            fork_server.wait()
        except BaseException:
            self._drop(fork_server)
            raise
        return fork_server

    def _drop(self, fork_server: ForkServerProcess) -> None:
        with self._lock:
            self._fork_servers.discard(fork_server)
        fork_server.close()

    def close(self) -> None:
        """End every fork server, and whatever runs in it."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = self._fork_servers.difference(idle)
            self._fork_servers.clear()
        for fork_server in busy:
            fork_server.hang_up()
        for fork_server in idle:
            fork_server.close()
