"""The threads of the controller: one owns its state and runs the calls that others post; further threads only wait."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Semaphore, Thread, current_thread
from typing import Any, ParamSpec, TypeVar

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")
_Call = tuple[Callable[[], Any], Future[Any] | None]
PATIENCE = 10.0
"""Seconds that the last calls may take: one may be waiting for a disk that hangs."""
BATCH = 1000
"""Maximum number of calls before ``settle`` is called."""


class ControllerLoop:
    """Runs calls one after the other, in the order in which they were posted.

    After each batch of calls ``settle`` is called. It returns the seconds after which it wants to be called again,
    even if nothing was posted; None if it does not.
    """

    def __init__(self, settle: Callable[[], float | None]) -> None:
        self._inbox: SimpleQueue[_Call | None] = SimpleQueue()  # may be filled in signal handlers
        self._settle = settle
        self._error: Exception | None = None
        self._owner = current_thread()
        self._thread = Thread(target=self._run, name="crmeval-controller", daemon=True)
        self._thread.start()

    def post(self, call: Callable[Arguments, object], *args: Arguments.args, **named: Arguments.kwargs) -> None:
        """Run a call later; its error is raised by the next ``call`` of the thread that created the loop."""
        self._inbox.put((lambda: call(*args, **named), None))

    def call(self, call: Callable[Arguments, Result], *args: Arguments.args, **named: Arguments.kwargs) -> Result:
        """Run a call and return its result, or raise its error."""
        if current_thread() is self._thread:
            return call(*args, **named)
        result = Future[Result]()
        self._inbox.put((lambda: call(*args, **named), result))
        found = result.result()
        if self._error is not None and current_thread() is self._owner:
            error, self._error = self._error, None
            raise error
        return found

    def stop(self) -> None:
        """Run the remaining calls, and end the thread."""
        self._inbox.put(None)
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        wait: float | None = None
        while True:
            for call in self._batch(wait):
                if call is None:
                    self._guarded(self._settle)
                    return
                self._make(*call)
            wait = self._guarded(self._settle)

    def _batch(self, wait: float | None) -> Iterator[_Call | None]:
        """Yield the posted calls; wait at most ``wait`` seconds for the first."""
        try:
            yield self._inbox.get(timeout=wait)
            for _ in range(BATCH):
                yield self._inbox.get_nowait()
        except Empty:
            return

    def _make(self, call: Callable[[], Any], result: "Future[Any] | None") -> None:
        if result is None:
            self._guarded(call)
            return
        try:
            result.set_result(call())
        except BaseException as error:  # noqa: BLE001 (raised where the call was posted)
            result.set_exception(error)

    def _guarded(self, call: Callable[[], Result]) -> Result | None:
        try:
            return call()
        except Exception as error:  # noqa: BLE001 (raised by the next call)
            self._error = self._error or error
            return None


class WaitingThreads:
    """One thread per waiting call. Unlike the threads of an executor, they don't keep the process alive."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        self._idle = Semaphore(0)

    def submit(self, wait: Callable[[], Any]) -> "Future[Any]":
        """Run a call that may wait in a thread."""
        done = Future[Any]()
        self._calls.put((wait, done))
        if not self._idle.acquire(blocking=False):
            Thread(target=self._work, name="crmeval-waiting", daemon=True).start()
        return done

    def _work(self) -> None:
        while True:
            wait, done = self._calls.get()
            try:
                done.set_result(wait())
            except Exception as error:  # noqa: BLE001 (raised in the worker that has asked)
                done.set_exception(error)
            self._idle.release()
