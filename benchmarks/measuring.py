"""Shared by all benchmarks: timed processes, contenders that take turns, medians.

The machine is noisy, so no result is compared with one from another day. Contenders run in the same minute, in turn,
and the medians of each contender and of the differences between neighbouring measurements are printed.
"""

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from psycopg.conninfo import conninfo_to_dict

from pytest_crmeval.postgres.embedded import EmbeddedServer, find_binaries

NOT_FOR_CHILDREN = ("PYTHONDONTWRITEBYTECODE", "PYTEST_", "CRMEVAL_", "GITHUB_STEP_SUMMARY")
"""Variables (or prefixes of names) that a user's process would not have."""

SMALL = "BENCH_SMALL" in os.environ
"""Whether numbers are tiny, only to see that a script works."""
TEST_PLUGINS = ("syrupy", "respx", "hypothesispytest", "timeout", "anyio")
"""Plugins that only our own tests need."""
TICKS = os.sysconf("SC_CLK_TCK")

Measured = TypeVar("Measured")


def sized(full: Measured, small: Measured) -> Measured:
    """Return a number of rounds, cases and the like: ``small`` if a test only checks that the script works."""
    return small if SMALL else full


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The time of one process, including its children."""

    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Several measurements of the same thing."""

    values: Sequence[float]

    @property
    def median(self) -> float:
        """The median."""
        return statistics.median(self.values)

    def shown(self, unit: str, factor: float = 1.0, digits: int = 2) -> str:
        """Return the median and the interquartile range as text."""
        values = self.values if len(self.values) > 1 else [*self.values] * 2
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
        numbers = (f"{value * factor:.{digits}f}" for value in (self.median, low, high))
        return "{} {unit} (middle 50 % {} to {})".format(*numbers, unit=unit)


def differences(these: Sequence[float], those: Sequence[float]) -> Spread:
    """Return the differences between neighbouring measurements."""
    return Spread([this - that for this, that in zip(these, those, strict=True)])


def warm_up(contenders: Mapping[str, Callable[[], object]]) -> None:
    """Run each once, to fill the caches of compiled modules and of the disk."""
    for measure in () if SMALL else contenders.values():
        measure()


def take_turns(contenders: Mapping[str, Callable[[], Measured]], rounds: int) -> dict[str, list[Measured]]:
    """Measure all contenders in each round, in alternating order."""
    measured: dict[str, list[Measured]] = {name: [] for name in contenders}
    for number in range(rounds):
        order = list(contenders) if number % 2 == 0 else list(contenders)[::-1]
        for name in order:
            measured[name].append(contenders[name]())
    return measured


def pytest_command(*arguments: str) -> list[str]:
    """Return the command that runs pytest, without plugins that only our own tests need."""
    off = [option for name in TEST_PLUGINS for option in ("-p", f"no:{name}")]
    return [sys.executable, "-m", "pytest", "-q", *off, *arguments]


def child_environment(**variables: str) -> dict[str, str]:
    """Return an environment without options of ours, in which compiled modules are cached."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_FOR_CHILDREN)}
    return {**kept, **variables}


def timed(command: Sequence[str], folder: Path, **variables: str) -> Timing:
    """Run ``command`` and return its time; SystemExit if it fails."""
    cpu, start = _cpu_of_children(), time.perf_counter()
    ended = subprocess.run(
        command,
        cwd=folder,
        env=child_environment(**variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - start
    if ended.returncode:
        raise SystemExit(f"{' '.join(command)} ended with status {ended.returncode}:\n{ended.stdout[-2000:]}")
    return Timing(seconds=seconds, cpu_seconds=_cpu_of_children() - cpu)


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def embedded_server() -> Iterator[str]:
    """Run a server that is not part of the measurement, and yield its conninfo."""
    server = EmbeddedServer(find_binaries())
    try:
        server.wait()
        yield server.conninfo
    finally:
        server.stop()


def cpu_of_server(dsn: str) -> float:
    """Return the CPU seconds of the server's ended processes; after a run, all of its processes have ended."""
    home = Path(str(conninfo_to_dict(dsn)["host"]))
    postmaster = (home / "data" / "postmaster.pid").read_text().splitlines()[0]
    fields = Path(f"/proc/{postmaster}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / TICKS


def heading(text: str) -> None:
    """Print a heading."""
    print(f"\n{text}\n{'-' * len(text)}", flush=True)
