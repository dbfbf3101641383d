"""The line to the servers: one event loop in a thread of its own, and the clients that live on it."""

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
"""Seconds for a loop that is busy; whoever waits longer waits for nothing."""


class TooLargeError(Exception):
    """A server sends more than anybody wants to read."""


class Closable(Protocol):
    """A client of an SDK."""

    async def close(self) -> None:
        """Close its connections."""
        ...


T = TypeVar("T")
C = TypeVar("C", bound=Closable)


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that looks up names in daemon threads, one each.

    Those of an executor are waited for when the process ends, and a lookup that hangs can't be cancelled: nobody could
    leave, though everything has been said. Nor could anybody else look something up meanwhile.
    """

    async def getaddrinfo(self, *name: Any, **hints: Any) -> Any:  # noqa: ANN401 (as its parent, all of it passed on)
        """Return the addresses that a name stands for."""
        found: asyncio.Future[Any] = self.create_future()

        def look_up() -> None:
            try:
                tell = partial(found.set_result, socket.getaddrinfo(*name, **hints))
            except Exception as error:  # noqa: BLE001 (told to whoever asked)
                tell = partial(found.set_exception, error)
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self.call_soon_threadsafe(lambda: found.done() or tell())

        threading.Thread(target=look_up, name="crmeval-lookup", daemon=True).start()
        return await found


class _Line:
    """A running event loop, and what was opened on it."""

    def __init__(self) -> None:
        self.loop = _Loop()
        self.clients: dict[Hashable, Closable] = {}
        self._thread = threading.Thread(target=self._work, name="crmeval-wire", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End every call, close every client, and wait until the thread is gone."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(_GRACE)

    def _work(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            self.loop.run_until_complete(self._leave())
        finally:
            self.loop.close()

    async def _leave(self) -> None:
        calls = asyncio.all_tasks() - {asyncio.current_task()}
        for call in calls:
            call.cancel()
        clients = [client.close() for client in self.clients.values()]
        await asyncio.gather(*calls, *clients, return_exceptions=True)
        await self.loop.shutdown_asyncgens()
        await self.loop.shutdown_default_executor()


_LOCK = threading.Lock()
_line: _Line | None = None


def run(coroutine: Coroutine[Any, Any, T], seconds: float) -> T:
    """Return what ``coroutine`` returns; TimeoutError after ``seconds``, whatever it is waiting for.

    Any thread may ask, and waits; if it is interrupted, so is the coroutine.
    """
    loop, begun = _open_line().loop, list[asyncio.Task[Any]]()
    try:
        return asyncio.run_coroutine_threadsafe(_within(coroutine, seconds, begun), loop).result(seconds + _GRACE)
    except BaseException:  # Ctrl-C may come before there is a future to be cancelled
        with contextlib.suppress(RuntimeError):  # the loop is closed, and so is the call
            loop.call_soon_threadsafe(_cancel, begun)
        raise


def client(key: Hashable, make: Callable[[], C]) -> C:
    """Return the one client of this process that is known by ``key``."""
    clients = _open_line().clients
    with _LOCK:
        if key not in clients:
            clients[key] = make()
        return cast("C", clients[key])


def close() -> None:
    """Close the line, if it is open; the next call opens another."""
    global _line
    with _LOCK:
        line, _line = _line, None
    if line is not None:
        line.close()


async def _within(coroutine: Coroutine[Any, Any, T], seconds: float, begun: list[asyncio.Task[Any]]) -> T:
    begun += filter(None, [asyncio.current_task()])
    async with asyncio.timeout(seconds):
        return await coroutine


def _cancel(calls: Iterable[asyncio.Task[Any]]) -> None:
    for call in calls:
        call.cancel()


def _open_line() -> _Line:
    global _line  # noqa: PLW0603 (there is one line per process)
    with _LOCK:
        if _line is None:
            _line = _Line()
        return _line


def _forget() -> None:
    """Leave the line to the parent: a forked child has its memory, but not its threads."""
    global _line, _LOCK
    _line, _LOCK = None, threading.Lock()


atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
