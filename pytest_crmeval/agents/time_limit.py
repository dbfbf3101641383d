"""A time limit for calls of the user's code in this process."""

import sys
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import Context, copy_context
from queue import SimpleQueue
from threading import Thread, local
from types import FrameType
from typing import TypeVar

T = TypeVar("T")
_Task = tuple[Context, Callable[[], object], "Future[object]"]


class OverdueError(Exception):
    """A call has not ended in time; the message says where it is."""


class _Caller:
    """A thread that makes the calls of another thread, which can stop waiting for them.

    It is a daemon: a call that never ends does not keep the process from ending.
    """

    def __init__(self) -> None:
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._thread = Thread(target=make_calls, args=[self._tasks], name="crmeval-agent", daemon=True)
        self._thread.start()

    def begin(self, function: Callable[[], object]) -> "Future[object]":
        """Call a function in the thread, in a copy of the caller's context."""
        future: Future[object] = Future()
        self._tasks.put((copy_context(), function, future))
        return future

    def place(self) -> str:
        """Return file and line where the thread is in the file of the function that it calls."""
        frame = sys._current_frames().get(self._thread.ident or 0)  # noqa: SLF001 (documented)
        frames: list[FrameType] = []
        while frame is not None and frame.f_code is not make_calls.__code__:
            frames.insert(0, frame)
            frame = frame.f_back
        lines = [each.f_lineno for each in frames if each.f_code.co_filename == frames[0].f_code.co_filename]
        return f"it is at {frames[0].f_code.co_filename}:{lines[-1]}" if frames else ""

    def __del__(self) -> None:
        """Let the thread end when its calls have ended."""
        self._tasks.put(None)


class _Callers(local):
    caller: _Caller | None = None


_CALLERS = _Callers()


def call_within(seconds: float, function: Callable[[], T]) -> T:
    """Return what a function returns; OverdueError if it takes longer than ``seconds``, and then it is left to itself.

    All calls of one thread are made in one other thread, until one is overdue.
    """
    caller = _CALLERS.caller = _CALLERS.caller or _Caller()
    future = caller.begin(function)
    try:
        wait([future], seconds)
    finally:  # also if this thread is interrupted
        is_overdue = not future.done()
        if is_overdue:
            _CALLERS.caller = None
    if is_overdue:
        raise OverdueError(caller.place())
    return future.result()  # type: ignore[return-value] # of the function


def make_calls(tasks: "SimpleQueue[_Task | None]") -> None:
    """Make the calls of a queue, until it has None."""
    while task := tasks.get():
        context, function, future = task
        try:
            future.set_result(context.run(function))
        except BaseException as error:  # noqa: BLE001 (an agent may raise anything; it is raised in the caller)
            future.set_exception(error)
        del task, context, function, future
