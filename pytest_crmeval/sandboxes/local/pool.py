"""Cells are kept warm, lent to one run at a time, and replaced when they are lost."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pytest_crmeval.domain.program import Execution, Feed, Limits
from pytest_crmeval.ports.sandbox import SandboxError
from pytest_crmeval.sandboxes.local import slots
from pytest_crmeval.sandboxes.local.cells import Cell, CellLost, Unavailable
from pytest_crmeval.sandboxes.local.runs import Runnable, checked, run

_ATTEMPTS = 3


class Pool:
    """As many cells as there are runs at once, and no more than are allowed."""

    def __init__(self, start: Callable[[], Cell], first: Cell, size: int) -> None:
        self._start = start
        self._idle = [first]
        self._cells = {first}
        self._free = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._closed = False
        self._place = slots.place()

    def run(self, runnable: Runnable, feed: Feed, limits: Limits) -> Execution:
        """Run once, in the next cell that is free and on the next core that is; again if the cell is lost."""
        feed = checked(feed)
        losses = []
        for _ in range(_ATTEMPTS):
            try:
                return run(self._lent, runnable, feed, limits)
            except (CellLost, Unavailable) as loss:
                losses.append(str(loss))
        raise SandboxError(f"the process of the sandbox was lost {_ATTEMPTS} times in one run: {'; '.join(losses)}")

    @contextmanager
    def _lent(self) -> Iterator[Cell]:
        with self._free, slots.slot(self._place), self._whole() as cell:
            yield cell

    @contextmanager
    def _whole(self) -> Iterator[Cell]:
        """Take a cell, and give it back if nothing has happened to it."""
        cell = self._taken()
        try:
            yield cell
        except BaseException:
            self._drop(cell)
            raise
        with self._lock:
            self._idle.append(cell)

    def _taken(self) -> Cell:
        with self._lock:
            self._refuse_if_closed()
            if self._idle:
                return self._idle.pop()
        cell = self._start()
        with self._lock:
            self._cells.add(cell)
        try:
            cell.wait()
        except BaseException:
            self._drop(cell)
            raise
        return cell

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise SandboxError("the sandbox was closed while programs were to be run in it")

    def _drop(self, cell: Cell) -> None:
        with self._lock:
            self._cells.discard(cell)
        cell.close()

    def close(self) -> None:
        """End every cell, and whatever runs in it."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = self._cells.difference(idle)
            self._cells.clear()
        for cell in busy:
            cell.hang_up()
        for cell in idle:
            cell.close()
