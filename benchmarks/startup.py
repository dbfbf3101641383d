"""Measure start-up times, and a whole run of the bundled cases. Part of ``make bench``; takes two minutes.

Cold start
    From nothing to a server that answers, then to the open databases of a run, in memory and on disk. Measured without
    pytest and with psycopg already imported (a run imports it while the server starts).

First trial
    From the command ``pytest evals/ -n 3``, in a copy of the evals, to the first trial in the journal. The peer is
    ``pytest -n 3`` without our plugin, with as many trivial tests, up to the first one that the controller reports.

Bundled cases
    The whole run. The peer is the version of 17 November 2026, from the history of the repository if it is there.

Bystanders
    The cost of our plugin for a pytest run that does not use it: ``pytest trivial_test.py`` with the plugin and with
    ``-p no:crmeval``. pytest-postgresql, which is installed with the package, loads psycopg in every run; its cost is
    listed separately.

An interquartile range as wide as the median means that the machine was too busy for a conclusion.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from unittest import mock

from psycopg.conninfo import conninfo_to_dict

from benchmarks.measuring import (
    SMALL,
    Spread,
    Timing,
    child_environment,
    differences,
    heading,
    pytest_command,
    sized,
    take_turns,
    timed,
    warm_up,
)
from benchmarks.rows import Row, report
from pytest_crmeval.postgres import embedded
from pytest_crmeval.postgres.databases import Address, RunDatabases

ROOT = Path(__file__).parents[1]
EVALS = ROOT / "evals"
EARLIER = "3db06e3"
"""The version with which a whole run is compared."""
WORKERS = sized("3", small="1")
COLD_STARTS = sized(3, small=1)
FIRST_TRIALS = sized(5, small=1)
BYSTANDERS = sized(15, small=1)
PATIENCE = 120.0
"""Seconds after which a run without a result counts as failed."""

TRIVIAL_TEST = """
def test_nothing():
    assert True
"""

TRIVIAL_TESTS = """
import pytest

@pytest.mark.parametrize("number", range({count}))
def test_nothing(number):
    assert True
"""

MARKING_CONFTEST = """
import os
from pathlib import Path

def pytest_runtest_logreport(report):
    if report.when == "call" and "PYTEST_XDIST_WORKER" not in os.environ:
        Path("finished").touch()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdStart:
    """The times of one server start."""

    folder: Path
    ready: float
    opened: float
    """Until the run's databases are open, including the start of the server."""


def cold_start() -> ColdStart:
    """Start a server in its default place, open a run's databases, and remove both."""
    start = time.perf_counter()
    server = embedded.EmbeddedServer(embedded.find_binaries())
    try:
        server.wait()
        ready = time.perf_counter() - start
        RunDatabases(Address(server.conninfo, embedded=True), "bench").open().close()
        opened = time.perf_counter() - start
    finally:
        server.stop()
    return ColdStart(folder=_home(server.conninfo).parent, ready=ready, opened=opened)


def cold_start_on_disk() -> ColdStart:
    """Start a server as on a machine with too little shared memory."""
    with mock.patch.object(embedded, "ROOM_NEEDED", sys.maxsize):
        return cold_start()


def _home(conninfo: str) -> Path:
    return Path(str(conninfo_to_dict(conninfo)["host"]))


def seconds_until(happened: Callable[[Path], bool], command: list[str], folder: Path) -> float:
    """Start ``command``, return the seconds until its first result, and end it."""
    with tempfile.TemporaryFile("w+") as output:
        start = time.perf_counter()
        run = subprocess.Popen(
            command,
            cwd=folder,
            env=child_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            while not happened(folder) and run.poll() is None and time.perf_counter() - start < PATIENCE:
                time.sleep(0.002)
            seconds = time.perf_counter() - start
        finally:
            run.terminate()
            run.wait(PATIENCE)
        if not happened(folder):
            output.seek(0)
            raise SystemExit(f"{' '.join(command)} ended with status {run.returncode}:\n{output.read()[-2000:]}")
    return seconds


def first_trial(project: Path) -> float:
    """Return the seconds until the journal has a trial."""
    shutil.rmtree(project / "reports", ignore_errors=True)
    return seconds_until(_has_trial, pytest_command("evals", "-n", WORKERS), project)


def _has_trial(project: Path) -> bool:
    return any(b'\n{"trial"' in journal.read_bytes() for journal in project.glob("reports/*/trials.jsonl"))


def first_finished(project: Path) -> float:
    """Return the seconds until the controller reports a finished trivial test."""
    (project / "finished").unlink(missing_ok=True)
    return seconds_until(_has_finished, pytest_command("tests", "-n", WORKERS, "-p", "no:crmeval"), project)


def _has_finished(project: Path) -> bool:
    return (project / "finished").exists()


def evals_project(folder: Path) -> Path:
    """Create a project with a copy of the evals and default settings."""
    shutil.copytree(EVALS, folder / "evals", ignore=shutil.ignore_patterns("__pycache__"))
    if SMALL:
        for test in ("test_checkpoints.py", "test_crm_hard.py"):
            (folder / "evals" / test).unlink()
        data = folder / "evals" / "data" / "crm.jsonl"
        data.write_text("".join(data.read_text().splitlines(keepends=True)[:5]))
    (folder / "pytest.ini").write_text("[pytest]\n")
    return folder


def trivial_project(folder: Path, count: int) -> Path:
    """Create a project of ``count`` trivial tests that records when the first one has finished."""
    (folder / "tests").mkdir(parents=True)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(MARKING_CONFTEST)
    (folder / "tests" / "test_nothing.py").write_text(TRIVIAL_TESTS.format(count=count))
    return folder


def measure_cold_start() -> None:
    """Print the start times of the server."""
    heading(f"Cold start of the embedded server ({COLD_STARTS} each, in turn)")
    print(embedded.find_binaries())
    contenders = {"in memory": cold_start, "on disk": cold_start_on_disk}
    warm_up(contenders)
    measured = take_turns(contenders, COLD_STARTS)
    for name, starts in measured.items():
        print(f"{name} ({starts[0].folder})")
        print("  server ready    ", Spread([start.ready for start in starts]).shown("s"))
        print("  databases open  ", Spread([start.opened for start in starts]).shown("s"), flush=True)


def measure_first_trial(folder: Path) -> None:
    """Print the time until the first trial."""
    heading(f"From the command to the first result, -n 3 ({FIRST_TRIALS} each, in turn)")
    ours = evals_project(folder / "ours")
    count = sum(1 for line in (ours / "evals" / "data" / "crm.jsonl").open() if line.strip())
    plain = trivial_project(folder / "plain", count)
    contenders = {"ours": partial(first_trial, ours), "plain": partial(first_finished, plain)}
    warm_up(contenders)
    measured = take_turns(contenders, FIRST_TRIALS)
    print("pytest evals/, first trial in the journal  ", Spread(measured["ours"]).shown("s"))
    print("plain pytest, first test finished          ", Spread(measured["plain"]).shown("s"))
    report(
        Row(
            name=f"first trial of pytest evals/ -n {WORKERS}",
            unit="s",
            ours=median(measured["ours"]),
            peer="plain pytest-xdist, first test",
            theirs=median(measured["plain"]),
            most=0.6,
            of="difference",
        )
    )


def measure_whole_run(folder: Path) -> None:
    """Print the time of all bundled cases, now and in an earlier version."""
    heading("All bundled cases")
    as_then = ("--ignore", "evals/test_crm_hard.py")
    now = timed(pytest_command("evals", "-n", WORKERS, *as_then), evals_project(folder / "now"))
    print(f"now                  {now.seconds:.1f} s, CPU {now.cpu_seconds:.1f} s", flush=True)
    then = earlier_run(folder / "then")
    if then:
        print(f"{EARLIER}              {then.seconds:.1f} s, CPU {then.cpu_seconds:.1f} s", flush=True)
    report(
        Row(
            name="make evals without the hard conversations",
            unit="s",
            ours=now.seconds,
            peer=f"version of 17 November 2026 ({EARLIER})",
            theirs=then.seconds if then else None,
            most=0.6,
            of="ratio",
        )
    )


def earlier_run(folder: Path) -> Timing | None:
    """Run the bundled cases as an earlier version did; None if it is not in the history."""
    archive = folder.with_suffix(".tar")
    command = ["git", "archive", "--output", str(archive), EARLIER, "pytest_crmeval", "evals", "conftest.py"]
    if SMALL or subprocess.run(command, cwd=ROOT, check=False, stderr=subprocess.DEVNULL).returncode:
        return None
    shutil.unpack_archive(archive, folder, filter="data")
    (folder / "pytest.ini").write_text("[pytest]\n")
    run = [sys.executable, "-m", "pytest", "-q", "evals", "-n", WORKERS]
    timed([*run, "--collect-only"], folder, PYTHONPATH=str(folder))  # compiles its modules
    return timed(run, folder, PYTHONPATH=str(folder))


def measure_bystanders(folder: Path) -> None:
    """Print the cost for runs that don't use the plugin."""
    heading(f"What a pytest run that does not use us pays ({BYSTANDERS} each, in turn)")
    folder.mkdir(parents=True)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "trivial_test.py").write_text(TRIVIAL_TEST)
    commands = {
        "installed": pytest_command("trivial_test.py"),
        "no crmeval": pytest_command("trivial_test.py", "-p", "no:crmeval"),
        "neither": pytest_command("trivial_test.py", "-p", "no:crmeval", "-p", "no:postgresql"),
    }
    contenders = {name: partial(timed, command, folder) for name, command in commands.items()}
    warm_up(contenders)
    measured = take_turns(contenders, BYSTANDERS)
    wall = {name: [timing.seconds for timing in timings] for name, timings in measured.items()}
    cpu = {name: [timing.cpu_seconds for timing in timings] for name, timings in measured.items()}
    print("pytest trivial_test.py                     ", Spread(wall["installed"]).shown("ms", 1e3, 0))
    print("with -p no:crmeval                         ", Spread(wall["no crmeval"]).shown("ms", 1e3, 0))
    print("with -p no:crmeval -p no:postgresql        ", Spread(wall["neither"]).shown("ms", 1e3, 0))
    for what, with_it, without, most in (
        ("our plugin, in a run that does not use it", "installed", "no crmeval", 20),
        ("pytest-postgresql, in a run that does not use it", "no crmeval", "neither", None),
    ):
        print(f"{what}: wall {differences(wall[with_it], wall[without]).shown('ms', 1e3, 0)}")
        print(f"{what}: CPU  {differences(cpu[with_it], cpu[without]).shown('ms', 1e3, 0)}")
        report(
            Row(
                name=what,
                unit="ms of CPU time",
                ours=median(cpu[with_it]) * 1e3,
                peer="without it",
                theirs=median(cpu[without]) * 1e3,
                most=most,
                of="difference",
            )
        )


def main() -> None:
    """Run the benchmark and clean up."""
    with tempfile.TemporaryDirectory(prefix="crmeval-bench-") as folder:
        measure_cold_start()
        measure_first_trial(Path(folder) / "first")
        measure_whole_run(Path(folder) / "whole")
        measure_bystanders(Path(folder) / "bystander")


if __name__ == "__main__":
    main()
