"""Which level this machine allows: the strongest that can be entered and that then holds when it is tried."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

from pytest_crmeval.domain.cutting import cut_end
from pytest_crmeval.domain.program import Feed, Limits
from pytest_crmeval.ports.sandbox import SandboxError
from pytest_crmeval.sandboxes.local.cells import Cell, CellLost, Unavailable
from pytest_crmeval.sandboxes.local.inside.orders import LANDLOCK, NAMESPACES, PYTHON, RLIMITS, SECCOMP
from pytest_crmeval.sandboxes.local.runs import Runnable, opened, run

AUTO = "auto"
LEVELS = (NAMESPACES, LANDLOCK, SECCOMP, RLIMITS)
"""The strongest first."""
_PROMISES = {
    NAMESPACES: ("files", "writes", "network"),
    LANDLOCK: ("files", "writes", "network", "processes"),
    SECCOMP: ("writes", "network", "processes"),
    RLIMITS: (),
}
_PATIENT = Limits(cpu_seconds=30.0, wall_seconds=120.0, memory_bytes=1 << 30, output_bytes=1 << 16)
_PROBE = b"""
import os, socket, sys

def files():
    open("/etc/passwd").close()

def writes():
    place = "/var/tmp/crmeval-probe-%d" % os.getpid()
    open(place, "w").close()
    os.unlink(place)

def network():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("127.0.0.1", 9))

def processes():
    if os.fork() == 0:
        os._exit(0)

for promise in sys.argv[1:]:
    try:
        globals()[promise]()
    except OSError:
        continue
    print(promise)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The level that was found, and why it is no stronger one."""

    level: str
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Stronger level -> what stands against it."""

    def shown(self) -> str:
        """Return what the header of a run tells."""
        weakness = f": {_WEAKNESSES[self.level]}" if self.level in _WEAKNESSES else ""
        reasons = "".join(f"; no {level}: {reason}" for level, reason in self.lacking.items())
        return f"local ({_LABELS[self.level]}{weakness}{reasons})"


_LABELS = {
    NAMESPACES: "namespaces + seccomp",
    LANDLOCK: "Landlock + seccomp",
    SECCOMP: "seccomp",
    RLIMITS: "rlimits only, UNSAFE",
}
_WEAKNESSES = {
    SECCOMP: "programs can read what this user can read" if os.getuid() else "programs can read what everybody can",
    RLIMITS: "programs can do what this user can do",
}


def strongest(asked: str, start: Callable[[str], Cell], *, unsafe: bool) -> tuple[Standing, Cell]:
    """Return the strongest level that can be had, or the one that was asked for, with a cell of it."""
    lacking: dict[str, str] = {}
    for level in _allowed(asked, unsafe=unsafe):
        cell = start(level)
        try:
            cell.wait()
            _try(cell, level)
        except (Unavailable, CellLost, SandboxError) as error:
            cell.close()
            lacking[level] = str(error)
        except BaseException:
            cell.close()
            raise
        else:
            return Standing(level=level, lacking=lacking), cell
    reasons = "; ".join(f"{level}: {reason}" for level, reason in lacking.items())
    raise SandboxError(_refusal(asked, reasons))


def _allowed(asked: str, *, unsafe: bool) -> Sequence[str]:
    if asked not in (AUTO, *LEVELS):
        raise SandboxError(f"no level of the local sandbox is called {asked!r}; try {', '.join((AUTO, *LEVELS))}")
    levels = LEVELS if asked == AUTO else (asked,)
    return [level for level in levels if unsafe or level != RLIMITS]


def _refusal(asked: str, reasons: str) -> str:
    if asked in (AUTO, RLIMITS):
        return (
            "this machine has no way to wall in programs that nobody trusts, and they are not run unprotected"
            f" ({reasons or 'nothing else was asked for'}). Use a Piston server (--crmeval-sandbox"
            " http://localhost:2000), or, if you trust the programs as you trust yourself, --crmeval-unsafe-sandbox"
        )
    return f"the local sandbox can't be had at the level that was asked for ({reasons})"


def _try(cell: Cell, level: str) -> None:
    """Really try what a level is there to prevent."""
    with opened("probe", _PROBE) as program:
        ended = run(
            lambda: nullcontext(cell), Runnable(kind=PYTHON, descriptor=program), Feed(args=_PROMISES[level]), _PATIENT
        )
    if not ended.succeeded:
        said = cut_end(ended.stderr.decode(errors="replace"), 400)
        raise Unavailable(f"a program can't be run in it: {said}")
    if escapes := ended.stdout.split():
        raise Unavailable(f"it does not hold: {b', '.join(escapes).decode()}")
