"""The level of this machine: the strongest that can be entered and that programs then fail to escape from."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_crmeval.domain.cutting import cut_end
from pytest_crmeval.ports.sandbox import Limits, ProgramInput, SandboxError
from pytest_crmeval.sandboxes.local.fork_servers import ForkServerLost, ForkServerProcess, Unavailable
from pytest_crmeval.sandboxes.local.inside.messages import LANDLOCK, NAMESPACES, PYTHON, RLIMITS, SECCOMP
from pytest_crmeval.sandboxes.local.runs import Runnable, opened, run

AUTO = "auto"
_ATTEMPTS = 3
"""At each level: another process of the machine may have been in the way, and the next level is a weaker one."""
LEVELS = (NAMESPACES, LANDLOCK, SECCOMP, RLIMITS)
"""The strongest first."""
_PROMISES = {
    NAMESPACES: ("files", "writes", "network"),
    LANDLOCK: ("files", "writes", "network", "processes"),
    SECCOMP: ("writes", "network", "processes"),
    RLIMITS: (),
}
_PROBE_LIMITS = Limits(cpu_seconds=30.0, wall_seconds=120.0, memory_bytes=1 << 30, output_bytes=1 << 16)
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
class FoundLevel:
    """The level that was found, and why it is no stronger one."""

    level: str
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Stronger level -> why it is not available."""

    def shown(self) -> str:
        """Return the level as the header of a run shows it."""
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
    SECCOMP: "programs can read what this user can read" if os.getuid() else "programs can read world-readable files",
    RLIMITS: "programs can do what this user can do",
}


def strongest(
    asked: str, start: Callable[[str], ForkServerProcess], *, unsafe: bool
) -> tuple[FoundLevel, ForkServerProcess]:
    """Return the strongest available level, or the requested one, with a fork server of it."""
    lacking: dict[str, str] = {}
    for level in _allowed(asked, unsafe=unsafe):
        for _ in range(_ATTEMPTS):
            fork_server = start(level)
            try:
                fork_server.wait()
                _try(fork_server, level)
            except (Unavailable, ForkServerLost, SandboxError) as error:
                fork_server.close()
                lacking[level] = str(error)
            except BaseException:
                fork_server.close()
                raise
            else:
                lacking.pop(level, None)
                return FoundLevel(level=level, lacking=lacking), fork_server
    reasons = "; ".join(f"{level}: {reason}" for level, reason in lacking.items())
    raise SandboxError(_refusal(asked, reasons))


def _allowed(asked: str, *, unsafe: bool) -> Sequence[str]:
    if asked not in (AUTO, *LEVELS):
        raise SandboxError(f"unknown level of the local sandbox {asked!r}; levels: {', '.join((AUTO, *LEVELS))}")
    levels = LEVELS if asked == AUTO else (asked,)
    return [level for level in levels if unsafe or level != RLIMITS]


def _refusal(asked: str, reasons: str) -> str:
    if asked in (AUTO, RLIMITS):
        return (
            "this machine can't isolate untrusted programs, so they are not run"
            f" ({reasons or 'no other level was requested'}). Use a Piston server (--crmeval-sandbox"
            " http://localhost:2000), or, if you trust the programs, --crmeval-set unsafe_sandbox=true"
        )
    return f"the local sandbox does not reach the level {asked!r} here ({reasons})"


def _try(fork_server: ForkServerProcess, level: str) -> None:
    """Run a program that tries what the level must prevent."""
    with opened("probe", _PROBE) as program:
        ended = run(
            lambda use: use(fork_server),
            Runnable(kind=PYTHON, descriptor=program),
            ProgramInput(args=_PROMISES[level]),
            _PROBE_LIMITS,
        )
    if not ended.succeeded:
        said = cut_end(ended.stderr.decode(errors="replace"), 400)
        raise Unavailable(f"a program can't be run in it: {said}")
    if escapes := ended.stdout.split():
        raise Unavailable(f"programs can escape from it: {b', '.join(escapes).decode()}")
