"""The keeper: it starts a cell, waits outside until the cell is over, and leaves nothing behind."""

import gc
import os
import signal
import site
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from pytest_crmeval.sandboxes.local.inside import cleaning, kernel, levels
from pytest_crmeval.sandboxes.local.inside.cell import Cell
from pytest_crmeval.sandboxes.local.inside.orders import send
from pytest_crmeval.sandboxes.local.inside.prisoner import KEPT, Begin
from pytest_crmeval.sandboxes.local.inside.python_program import make_ready

WARM = [
    "abc",
    "bisect",
    "collections",
    "collections.abc",
    "contextlib",
    "copy",
    "dataclasses",
    "enum",
    "functools",
    "heapq",
    "io",
    "itertools",
    "math",
    "operator",
    "os",
    "re",
    "string",
    "struct",
    "time",
    "types",
    "typing",
    "encodings.ascii",
    "encodings.latin_1",
]
"""Modules that programs import often: loaded once, before the wall, and not again for every run."""


def keep(control: socket.socket, wish: Mapping[str, Any]) -> Begin | None:
    """Keep a cell until it ends. In the process of a run, return what begins the program."""
    _warm_up(wish["packages"])
    asked = levels.Wish(**{name: wish[name] for name in levels.Wish.__slots__})
    kernel.adopt_orphans()
    try:
        home = levels.leave(asked)
    except OSError as error:
        send(control, {"failed": str(error)})
        return None
    if cell := os.fork():
        control.close()
        _wait(cell, home.folder)
        return None
    return _serve(control, asked, home)


def _warm_up(packages: list[str]) -> None:
    for name in WARM:
        with suppress(ImportError):  # an interpreter that was built without it
            import_module(name)
    # Without -S these would be there: programs call exit().
    site.setquit()
    site.setcopyright()
    site.sethelper()
    sys.path.extend(packages)


def _serve(control: socket.socket, wish: levels.Wish, home: levels.Home) -> Begin | None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kernel.adopt_orphans()  # a fork does not inherit it, and the next run must not begin before they are gone
    try:
        ground = levels.enter(wish, home)
    except OSError as error:
        send(control, {"failed": str(error)})
        return None
    _hold_library(ground, wish.library)
    os.environ.pop("LD_BIND_NOW", None)
    os.environ["TMPDIR"] = ground.rooms[1]
    for made in ground.filters.values():
        made.of(0)
    make_ready(ground.box)
    gc.collect()
    gc.freeze()
    send(control, {"ready": True})
    return Cell(control, ground).serve()


def _hold_library(ground: levels.Ground, library: str) -> None:
    """Find modules by a descriptor where root's library can't be reached by the user that root has become."""
    if ground.library is None:
        return
    if not os.access(library, os.R_OK | os.X_OK):
        os.dup2(ground.library, KEPT, inheritable=False)
        # Packages that are loaded have their own: the rest of them is looked for there, encodings for one.
        for paths in (sys.path, *(getattr(module, "__path__", []) for module in list(sys.modules.values()))):
            paths[:] = [path.replace(library, f"/proc/self/fd/{KEPT}", 1) for path in paths]
    os.close(ground.library)


def _wait(cell: int, home: str) -> None:
    os.waitpid(cell, 0)
    with suppress(ChildProcessError):
        while True:
            _end_orphans()
            os.waitpid(-1, 0)
    if home:
        for room in levels.ROOMS:
            cleaning.empty(f"{home}/{room}")
            Path(home, room).rmdir()
        Path(home).rmdir()


def _end_orphans() -> None:
    """End what a cell has left that was killed itself."""
    with suppress(FileNotFoundError, ProcessLookupError):
        for orphan in Path(f"/proc/self/task/{os.getpid()}/children").read_bytes().split():
            os.kill(int(orphan), signal.SIGKILL)
