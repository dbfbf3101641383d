"""One event loop in its own thread for all calls to servers, with the SDK clients that use it."""

import asyncio
import atexit
import contextlib
import os
import socket
import threading
from collections.abc import Callable, Coroutine, Hashable, Iterable
from functools import partial
from typing import Any, Protocol, TypeVar, cast

MAX_BYTES = 8_000_000
"""The largest answer that is read."""
_GRACE = 5.0
"""Seconds beyond the deadline for a busy loop."""


class TooLargeError(Exception):
    """A server sends a larger answer than we read."""


class Closable(Protocol):
    """A client of an SDK."""

    async def close(self) -> None:
        """Close its connections."""
        ...


T = TypeVar("T")
C = TypeVar("C", bound=Closable)


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that resolves each name in a daemon thread.

    The process waits for threads of an executor when it ends, and a lookup that hangs can't be cancelled: it would keep
    the process from ending, and block other lookups.
    """

    async def getaddrinfo(self, *name: Any, **hints: Any) -> Any:  # noqa: ANN401 (the signature of its parent)
        """Return the addresses of a name."""
        found: asyncio.Future[Any] = self.create_future()

        def look_up() -> None:
            try:
                finish = partial(found.set_result, socket.getaddrinfo(*name, **hints))
            except Exception as error:  # noqa: BLE001 (raised in the caller)
                finish = partial(found.set_exception, error)
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self.call_soon_threadsafe(lambda: found.done() or finish())

        threading.Thread(target=look_up, name="crmeval-lookup", daemon=True).start()
        return await found


class _LoopThread:
    """A running event loop, with its clients."""

    def __init__(self) -> None:
        self.loop = _Loop()
        self.clients: dict[Hashable, Closable] = {}
        self._thread = threading.Thread(target=self._work, name="crmeval-models", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Cancel every call, close every client, and wait for the thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(_GRACE)

    def _work(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            self.loop.run_until_complete(self._shut_down())
        finally:
            self.loop.close()

    async def _shut_down(self) -> None:
        calls = asyncio.all_tasks() - {asyncio.current_task()}
        for call in calls:
            call.cancel()
        clients = [client.close() for client in self.clients.values()]
        await asyncio.gather(*calls, *clients, return_exceptions=True)
        await self.loop.shutdown_asyncgens()
        await self.loop.shutdown_default_executor()


_LOCK = threading.Lock()
_loop_thread: _LoopThread | None = None


def run(coroutine: Coroutine[Any, Any, T], seconds: float) -> T:
    """Return the result of ``coroutine``; TimeoutError after ``seconds``, whatever it is waiting for.

    Blocks the calling thread; if that is interrupted, the coroutine is cancelled.
    """
    loop, begun = _running().loop, list[asyncio.Task[Any]]()
    try:
        return asyncio.run_coroutine_threadsafe(_within(coroutine, seconds, begun), loop).result(seconds + _GRACE)
    except BaseException:  # Ctrl-C may come before there is a future to cancel
        with contextlib.suppress(RuntimeError):  # the loop is closed, and the call with it
            loop.call_soon_threadsafe(_cancel, begun)
        raise


def client(key: Hashable, make: Callable[[], C]) -> C:
    """Return the client of this process for ``key``; ``make`` makes it once."""
    clients = _running().clients
    with _LOCK:
        if key not in clients:
            clients[key] = make()
        return cast("C", clients[key])


def close() -> None:
    """Stop the loop, if it is running; the next call starts another."""
    global _loop_thread
    with _LOCK:
        running, _loop_thread = _loop_thread, None
    if running is not None:
        running.close()


async def _within(coroutine: Coroutine[Any, Any, T], seconds: float, begun: list[asyncio.Task[Any]]) -> T:
    begun += filter(None, [asyncio.current_task()])
    async with asyncio.timeout(seconds):
        return await coroutine


def _cancel(calls: Iterable[asyncio.Task[Any]]) -> None:
    for call in calls:
        call.cancel()


def _running() -> _LoopThread:
    global _loop_thread  # noqa: PLW0603 (there is one loop per process)
    with _LOCK:
        if _loop_thread is None:
            _loop_thread = _LoopThread()
        return _loop_thread


def _forget() -> None:
    """Drop the loop in a forked child, which has the parent's memory, but not its threads."""
    global _loop_thread, _LOCK
    _loop_thread, _LOCK = None, threading.Lock()


atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
