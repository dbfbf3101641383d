"""Measure runs on a Ray cluster on loopback addresses, whose nodes have one CPU each. Part of ``make bench``.

CPU per case
    Of the process of pytest, and of all processes of the cluster, Ray's own among them: the difference between a long
    and a short run with the oracle, so without the start. It is compared with the same runs in one process. All use the
    same PostgreSQL, which is not counted.
solution file
    Programs that only compute, in one file: on one node, and on three. On two cores, three nodes can be twice as fast.
model calls
    Calls per second to a model that answers after 300 ms, with three nodes and with ``-n 3``, 16 in flight each.
"""

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

from benchmarks.inflight import model, seen_by, write_project
from benchmarks.measuring import TICKS, embedded_server, heading, pytest_command, sized, timed
from benchmarks.rows import Row, report
from tests.ray_nodes import RayNodes

NODES, WORKERS, SLOTS = sized((3, 3, 16), small=(1, 1, 2))
SHORT, LONG = sized((100, 1_300), small=(2, 4))
CALLED = sized(600, small=4)
"""Conversations with the model."""
PROGRAMS = sized(40, small=2)
SECONDS = sized(0.3, small=0.01)
COMPUTING = "total = 0\nfor number in range(10_000_000):\n    total += number % 7\nprint(5)"
HERE = ("-p", "no:xdist")
TEST = """
import pytest

@pytest.mark.solutions("runs", problems="problems.jsonl", suite="programs")
def test_programs(solutions, evaluate):
    evaluate(solutions)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The CPU seconds of a run."""

    here: float
    """Of the process of pytest and its children."""
    nodes: float = 0.0
    """Of the processes of a cluster."""


class NodeCpu:
    """Adds up the CPU time of the processes of a cluster; those of players end with the run."""

    def __init__(self, nodes: RayNodes) -> None:
        self._nodes = nodes
        self._seconds: dict[int, float] = {}
        self._over = Event()

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Measure in the block."""
        self._look()
        before = dict(self._seconds)
        looking = Thread(target=self._watch)
        looking.start()
        try:
            yield
        finally:
            self._over.set()
            looking.join()
            self._look()
            self.seconds = sum(self._seconds.values()) - sum(before.values())

    def _watch(self) -> None:
        while not self._over.wait(0.2):
            self._look()

    def _look(self) -> None:
        for pid in self._nodes.processes():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            self._seconds[pid] = (int(fields[11]) + int(fields[12])) / TICKS


def cost_of(folder: Path, dsn: str, nodes: RayNodes | None) -> Cost:
    """Play all cases of a project with the oracle."""
    if nodes is None:
        return Cost(here=timed(pytest_command(*HERE), folder, CRMEVAL_DSN=dsn).cpu_seconds)
    cpu = NodeCpu(nodes)
    with cpu.measured():
        timing = timed(on(nodes), folder, CRMEVAL_DSN=dsn, **nodes.environment)
    return Cost(here=timing.cpu_seconds, nodes=cpu.seconds)


def on(nodes: RayNodes, *options: str) -> list[str]:
    """Return the command that plays on a cluster."""
    return pytest_command("--crmeval-cluster", nodes.address, *options)


def measure_overhead(folder: Path, nodes: RayNodes) -> None:
    """Report the CPU time per case, on a node and in one process."""
    with embedded_server() as dsn:
        for project, cases in (("short", SHORT), ("long", LONG)):
            write_project(folder / project, cases)
        cluster, local = (
            [cost_of(folder / project, dsn, where) for project in ("short", "long")] for where in (nodes, None)
        )
    more = LONG - SHORT
    home = (cluster[1].here - cluster[0].here) / more * 1e3
    node = (cluster[1].nodes - cluster[0].nodes) / more * 1e3
    print(
        f"on a cluster: {home:.2f} ms in the process of pytest, {node:.2f} ms on the nodes, Ray's included", flush=True
    )
    report(
        Row(
            name="CPU time per conversation on a cluster, Ray included",
            unit="ms",
            ours=max(home + node, 0.01),
            peer="one process",
            theirs=max((local[1].here - local[0].here) / more * 1e3, 0.01),
            of="difference",
        )
    )
    report(Row(name="CPU time of the controller per conversation on a cluster", unit="ms", ours=max(home, 0.01)))


def seconds_of_file(folder: Path, nodes: RayNodes) -> float:
    """Return how long the solution file of a project takes."""
    timed(on(nodes, "--crmeval-fresh", "--crmeval-run", "file"), folder, **nodes.environment)
    (trial,) = json.loads((folder / "reports" / "file.json").read_text())["trials"]
    seconds: float = trial["seconds"]
    for path in (folder / "reports").rglob("*"):
        if path.is_file() or path.is_symlink():
            path.unlink()
    return seconds


def write_programs(folder: Path) -> None:
    """Write a project with one solution file."""
    (folder / "runs" / "checkpoint-1").mkdir(parents=True)
    problem = {"id": "a", "official_tests": [{"input": "", "output": "5"}], "time_limit": 20.0, "memory_limit": 256.0}
    lines = "".join(json.dumps({"id": "a", "code": COMPUTING}) + "\n" for _ in range(PROGRAMS))
    (folder / "runs" / "checkpoint-1" / "s.jsonl").write_text(lines)
    (folder / "problems.jsonl").write_text(json.dumps(problem) + "\n")
    (folder / "test_programs.py").write_text(TEST)
    (folder / "pytest.ini").write_text("[pytest]\n")


def rate_of(folder: Path, url: str, options: Sequence[str], environment: dict[str, str]) -> float:
    """Return the model calls per second of a run."""
    agent = f"openai:m?base_url={url}/v1&price=2/8"
    asked = ("--crmeval-agent", agent, "--crmeval-inflight", str(SLOTS))
    timed(pytest_command(*options, *asked), folder, **environment)
    seen = seen_by(url)
    return len(seen) // 2 / (seen[-1][0] - seen[0][0])


def measure_programs(folder: Path, nodes: RayNodes) -> None:
    """Report how fast a solution file is judged by one node, and by several, which stay."""
    write_programs(folder)
    one = seconds_of_file(folder, nodes)
    for _ in range(NODES - 1):
        nodes.wait(nodes.add())
    several = seconds_of_file(folder, nodes) if NODES > 1 else one
    report(
        Row(
            name=f"programs of one solution file on {NODES} nodes",
            unit="/s",
            ours=PROGRAMS / several,
            peer="1 node",
            theirs=PROGRAMS / one,
            least=1.8,
            of="ratio",
        )
    )


def measure_calls(folder: Path, nodes: RayNodes) -> None:
    """Report the model calls per second on all nodes."""
    write_project(folder, CALLED)
    with model(SECONDS) as url:
        there = rate_of(folder, url, ("--crmeval-cluster", nodes.address), nodes.environment)
        here = rate_of(folder, url, ("-n", str(WORKERS)), {})
    report(
        Row(
            name=f"model calls on {NODES} nodes, {SLOTS} in flight each",
            unit="/s",
            ours=there,
            peer=f"-n {WORKERS}",
            theirs=here,
            least=0.8,
            of="ratio",
        )
    )


def main() -> None:
    """Run the benchmark and clean up."""
    heading(f"A Ray cluster of {NODES} nodes with one CPU each, on this machine")
    with tempfile.TemporaryDirectory(prefix="crmeval-bench-") as name, RayNodes() as nodes:
        folder = Path(name)
        measure_overhead(folder, nodes)
        measure_programs(folder / "programs", nodes)
        measure_calls(folder / "called", nodes)


if __name__ == "__main__":
    main()
