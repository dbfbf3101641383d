"""Check that the cost per case does not grow with the size of the run.

Part of ``make bench``, with 2,500 conversations, which takes a minute.

    .venv/bin/python -m benchmarks.scale --cases 50000        about ten minutes on two quiet cores

The bundled conversations are repeated under new ids, and the oracle plays them with ``-n 2`` on PostgreSQL, in a small
run and a large one. The large run is then resumed with nothing left to play, and compared with itself. For reference,
plain pytest-xdist runs the same number of tests that assert True: its memory and traffic per test are the minimum.

*Cost per case* is the CPU time of the controller, both workers and the server between the first and the last trial.
Other seconds are wall time, with the CPU seconds after them. On a busy machine rely on the CPU seconds, and on the
ratio of the costs only if the load was the same during both runs. Some aims hold only for 50,000 conversations.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from benchmarks.measuring import Timing, cpu_of_server, embedded_server, heading, pytest_command, sized, timed
from benchmarks.rows import Row, report

BUNDLED = Path(__file__).parents[1] / "evals"
SMALL, LARGE = sized((500, 2_500), small=(2, 4))
HUGE = 50_000
OWN_TEMP = ("--basetemp", "temporary")
"""Otherwise pytest deletes folders of earlier sessions at the end, which takes seconds after a run of the tests."""
_FIRST = ("controller", "first")
PROBE = """
import json, os, resource, time
import pytest

WHO = os.environ.get("PYTEST_XDIST_WORKER", "controller")
SEEN = set()

def note(event):
    if event not in SEEN:
        SEEN.add(event)
        used = resource.getrusage(resource.RUSAGE_SELF)
        line = dict(who=WHO, event=event, at=time.time(), cpu=used.ru_utime + used.ru_stime, mb=used.ru_maxrss / 1024)
        with open("probe.jsonl", "a") as file:
            file.write(json.dumps(line) + "\\n")

@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish():
    note("first")

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop(session):
    try:
        return (yield)
    finally:
        note("over")

@pytest.hookimpl(trylast=True)
def pytest_xdist_node_collection_finished():
    note("collected")

@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown():
    note("down")

@pytest.hookimpl(trylast=True)
def pytest_unconfigure():
    note("end")
"""

PLAIN = """
import pytest

@pytest.mark.parametrize("conversation", [f"oracle-case-{{number:05d}}" for number in range({cases})])
def test_conversation(conversation):
    assert True
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The resource usage of a process at an event."""

    at: float
    cpu: float
    mb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The figures of one pytest run."""

    cases: int
    began: float
    timing: Timing
    server: float
    """CPU seconds of the server's processes."""
    moments: Mapping[tuple[str, str], Moment]

    def moment(self, event: str, who: str = "controller") -> Moment:
        """Return the usage of a process at an event."""
        return self.moments[who, event]

    @property
    def peak(self) -> float:
        """Peak memory of the controller in megabytes."""
        return self.moment("end").mb

    @property
    def worker_peak(self) -> float:
        """Peak memory of a worker in megabytes."""
        return max(moment.mb for (who, _), moment in self.moments.items() if who != "controller")

    @property
    def per_case(self) -> float:
        """CPU seconds per case while cases were played."""
        playing = [
            self.moment("over" if who != "controller" else "down", who).cpu - moment.cpu
            for (who, event), moment in self.moments.items()
            if event == "first"
        ]
        return (sum(playing) + self.server) / self.cases

    @property
    def first(self) -> tuple[float, float]:
        """Seconds until the first trial was on record, and the CPU seconds of one worker and the controller."""
        workers = [
            moment.cpu for (who, event), moment in self.moments.items() if (who, event) != _FIRST and event == "first"
        ]
        return self.moment("first").at - self.began, max(workers) + self.moment("first").cpu

    @property
    def end(self) -> tuple[float, float]:
        """Seconds from the end of the first worker to the end of the controller, and its CPU seconds."""
        down, end = self.moment("down"), self.moment("end")
        return end.at - down.at, end.cpu - down.cpu


class Project:
    """A folder with so many conversations and a test that plays them."""

    def __init__(self, folder: Path, cases: int, dsn: str) -> None:
        self._folder, self._cases, self._dsn = folder, cases, dsn
        folder.mkdir(parents=True)
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "conftest.py").write_text(PROBE)
        shutil.copy(BUNDLED / "test_crm.py", folder)
        (folder / "data").mkdir()
        with (folder / "data" / "crm.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(_repeated(BUNDLED / "data" / "crm.jsonl", cases))

    def run(self, name: str = "scale") -> Run:
        """Play the remaining cases of a run."""
        return self._measured("-n", "2", "--crmeval-run", name, CRMEVAL_DSN=self._dsn)

    def plain(self) -> Run:
        """Run as many tests with plain pytest-xdist."""
        (self._folder / "test_crm.py").write_text(PLAIN.format(cases=self._cases))
        return self._measured("-n", "2", "-p", "no:crmeval")

    def compare(self, name: str = "scale") -> Timing:
        """Compare a run with itself."""
        report = f"reports/{name}.json"
        return timed([sys.executable, "-m", "pytest_crmeval.cli", "compare", report, report], self._folder)

    def _measured(self, *arguments: str, **variables: str) -> Run:
        probe = self._folder / "probe.jsonl"
        probe.unlink(missing_ok=True)
        server, began = cpu_of_server(self._dsn), time.time()
        timing = timed(
            pytest_command(*OWN_TEMP, "-p", "no:cacheprovider", "test_crm.py", *arguments), self._folder, **variables
        )
        moments = {}
        for line in probe.read_text().splitlines():
            record = json.loads(line)
            moment = Moment(at=record["at"], cpu=record["cpu"], mb=record["mb"])
            moments[record["who"], record["event"]] = moment
        return Run(
            cases=self._cases,
            began=began,
            timing=timing,
            server=cpu_of_server(self._dsn) - server,
            moments=moments,
        )


def _repeated(source: Path, cases: int) -> Iterator[str]:
    """Yield ``cases`` lines by repeating a file of conversations with new ids and chains.

    One at a time: the peak memory of a process that is started includes that of its parent.
    """
    records = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    for number, record in enumerate(islice(cycle(records), cases)):
        again = {"conversation_id": f"{record['conversation_id']}-{number:05d}"}
        if record.get("chain_id"):
            again["chain_id"] = f"{record['chain_id']}-{number // len(records)}"
        yield json.dumps({**record, **again}) + "\n"


def measure(folder: Path, cases: int, dsn: str) -> None:
    """Measure both sizes."""
    heading(f"{SMALL} and {cases} conversations, -n 2 (load average {os.getloadavg()[0]:.1f})")
    few, project = Project(folder / "small", SMALL, dsn), Project(folder / "large", cases, dsn)
    small, large = few.run(), project.run()
    resumed, compared = project.run(), project.compare()
    few_plain, plain = few.plain(), project.plain()
    for run in (small, large):
        server = run.server / run.cases
        print(f"  {run.cases:6d} cases: {run.per_case * 1e3:.1f} ms CPU per case, the server's part {server * 1e3:.1f}")
    print(f"  peak memory: controller {large.peak:.0f} MB, worker {large.worker_peak:.0f} MB, ", end="")
    print(f"plain pytest-xdist {plain.peak:.0f} and {plain.worker_peak:.0f} MB")
    print(
        f"  first trial: CPU {large.first[1]:.1f} s, plain {plain.first[0]:.1f} s; end phase: CPU {large.end[1]:.1f} s"
    )
    print(f"  resume: CPU of all processes {resumed.timing.cpu_seconds:.1f} s, peak {resumed.peak:.0f} MB", flush=True)
    report(
        Row(
            name=f"CPU time per conversation, {cases:,} in a run",
            unit="ms",
            ours=large.per_case * 1e3,
            peer=f"{SMALL:,} in a run",
            theirs=small.per_case * 1e3,
            most=1.2,
            of="ratio",
        )
    )
    thousands = (cases - SMALL) / 1e3
    memory = (
        ("the controller", large.peak - small.peak, plain.peak - few_plain.peak),
        ("a worker", large.worker_peak - small.worker_peak, plain.worker_peak - few_plain.worker_peak),
    )
    for who, ours, theirs in memory:
        report(
            Row(
                name=f"memory of {who} per 1,000 trials, {cases:,} trials",
                unit="MB",
                ours=ours / thousands,
                peer="plain pytest-xdist",
                theirs=theirs / thousands,
                most=1,
                of="difference",
            )
        )
    for name, ours, most in (
        ("first trial", large.first[0], 8),
        ("end phase", large.end[0], 15),
        ("resume of a finished run", resumed.timing.seconds, 10),
        ("crmeval compare", compared.seconds, 10),
    ):
        report(Row(name=f"{name}, {cases:,} trials", unit="s", ours=ours, most=most if cases >= HUGE else None))


def main() -> None:
    """Run the benchmark and clean up."""
    parser = argparse.ArgumentParser(description="Check that the cost per case does not grow with the size of the run.")
    parser.add_argument("--cases", type=int, default=LARGE, help=f"conversations of the large run (default: {LARGE})")
    cases = parser.parse_args().cases
    with tempfile.TemporaryDirectory(prefix="crmeval-bench-") as name, embedded_server() as dsn:
        measure(Path(name), cases, dsn)


if __name__ == "__main__":
    main()
