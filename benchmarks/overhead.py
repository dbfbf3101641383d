"""Measure the overhead of one case beyond playing it. Part of ``make bench``; takes two minutes.

    .venv/bin/python -m benchmarks.overhead --cases 50000
    .venv/bin/python -m benchmarks.overhead --profile        also shows which functions take the time

Each trivial case passes through every stage: marker, dataset, fixtures, play, score, trial on the report, fsynced
journal, written report. Only the CRM is a fake that answers from memory, so no SQL is measured. The peer is plain
pytest-xdist with as many tests that assert True, under the same node ids. Both use ``-n 2``.

    overhead per case = (ours - plain) / N     nothing else is subtracted

It includes a fixed part per run (imports, the run's databases, closing connections), so it is larger for few cases.
*Each further case* is the slope between the two sizes, and *fixed* is the intercept at zero cases. The ratio of the two
overheads is 1 if the cost is linear without a fixed part. A ratio well above 1 means that a case costs more in a larger
run.

The same is measured with deepeval: a metric that does nothing, in its own environment, compared with the same tests
without it.

cProfile makes small functions look two to three times as expensive as they are, so rely on its order and not on its
sums. It sees only the main thread: CPU time that no profile explains was used by another thread.
"""

import argparse
import json
import pstats
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.measuring import (
    Spread,
    Timing,
    differences,
    embedded_server,
    heading,
    pytest_command,
    sized,
    take_turns,
    timed,
    warm_up,
)
from benchmarks.peers import installed
from benchmarks.rows import Row, report

FEW, MANY = sized((500, 5_000), small=(2, 4))
ROUNDS, ROUNDS_OF_MANY = sized((5, 2), small=(1, 1))
PEER_CASES = 200
PROFILED = 1_000
SHOWN = 24
OURS, PLAIN = "ours", "plain pytest-xdist"
PEER = Path(__file__).with_name("peer_deepeval.py")

FREE_CRM = """
from contextlib import nullcontext

import pytest

from pytest_crmeval import ToolResult


class FreeCrm:
    '''A CRM that costs nothing.'''

    tools = ()

    def seeded(self, seed, now, salt=""):
        return nullcontext()

    def call(self, call):
        return ToolResult(value={"client_id": "1"})

    def snapshot(self):
        return {}


@pytest.fixture(scope="session")
def crm():
    return FreeCrm()
"""

OUR_TEST = """
import pytest

@pytest.mark.conversations("cases.jsonl", suite="bench")
def test_case(conversation, evaluate):
    trial = evaluate(conversation)
    assert trial.passed, trial.explain()
"""

PLAIN_TEST = """
import pytest

@pytest.mark.parametrize("conversation", [f"oracle-case-{{number:05d}}" for number in range({cases})])
def test_case(conversation):
    assert True
"""

PHASES: Mapping[str, tuple[str, str]] = {
    "collection": ("_pytest/main.py", "perform_collect"),
    "setup, with fixtures": ("_pytest/runner.py", "pytest_runtest_setup"),
    "call": ("_pytest/runner.py", "pytest_runtest_call"),
    "teardown": ("_pytest/runner.py", "pytest_runtest_teardown"),
    "trial on the report": ("pytest_crmeval/plugin.py", "pytest_runtest_makereport"),
    "trial to the journal": ("pytest_crmeval/controller/recorder.py", "pytest_runtest_logreport"),
    "report": ("pytest_crmeval/controller/recorder.py", "_conclude"),
}
"""Part of a run -> its function in a profile; the last three are only ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projects:
    """The two projects: the same number of cases under the same node ids."""

    ours: Path
    plain: Path
    cases: int
    dsn: str

    @classmethod
    def written(cls, folder: Path, cases: int, dsn: str) -> "Projects":
        """Write both projects."""
        ours, plain = folder / "ours", folder / "plain"
        for project in (ours, plain):
            project.mkdir(parents=True)
            (project / "pytest.ini").write_text("[pytest]\n")
        (ours / "conftest.py").write_text(FREE_CRM)
        (ours / "cases.jsonl").write_text("".join(_line(number) for number in range(cases)))
        (ours / "test_cases.py").write_text(OUR_TEST)
        (plain / "test_cases.py").write_text(PLAIN_TEST.format(cases=cases))
        return cls(ours=ours, plain=plain, cases=cases, dsn=dsn)

    def contenders(self) -> dict[str, Callable[[], Timing]]:
        """Return the contenders."""
        return {
            OURS: partial(timed, pytest_command("-n", "2"), self.ours, CRMEVAL_DSN=self.dsn),
            PLAIN: partial(timed, pytest_command("-n", "2", "-p", "no:crmeval"), self.plain),
        }

    def profiled(self, folder: Path, *how: str) -> pstats.Stats:
        """Return the profile of a run, only of the process that was started."""
        path = folder / "profile"
        command = pytest_command(*how)
        profiling = [command[0], "-m", "cProfile", "-o", str(path), *command[1:]]
        timed(profiling, folder, CRMEVAL_DSN=self.dsn)
        return pstats.Stats(str(path))


def _line(number: int) -> str:
    turn = {
        "turn_id": 1,
        "user_utterance": "Add Ada Ltd, ada@ada.example, active.",
        "expected_tool": "create_new_client",
        "expected_args": {"name": "Ada Ltd", "email": "ada@ada.example", "status": "Active"},
    }
    return json.dumps({"conversation_id": f"case-{number:05d}", "turns": [turn]}) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """The measurements for one number of cases."""

    cases: int
    timings: Mapping[str, Sequence[Timing]]

    def wall(self, contender: str) -> list[float]:
        """Return the wall time of each round in seconds."""
        return [timing.seconds for timing in self.timings[contender]]

    def cpu(self, contender: str) -> list[float]:
        """Return the CPU seconds of each round, for all processes together."""
        return [timing.cpu_seconds for timing in self.timings[contender]]

    @property
    def added(self) -> Spread:
        """The overhead of a run in seconds."""
        return differences(self.wall(OURS), self.wall(PLAIN))

    @property
    def per_case(self) -> float:
        """The overhead per case in seconds."""
        return self.added.median / self.cases

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report."""
        for contender in self.timings:
            yield f"{contender:<24} {Spread(self.wall(contender)).shown('s')}"
        per_case = 1e3 / self.cases
        yield f"overhead per case        {self.added.shown('ms', per_case)}"
        cpu = differences(self.cpu(OURS), self.cpu(PLAIN))
        yield f"  as CPU, all processes  {cpu.shown('ms', per_case)}"


def measure(folder: Path, cases: int, rounds: int, dsn: str) -> Overhead:
    """Measure one number of cases, and print the result."""
    heading(f"{cases} trivial cases, -n 2 ({rounds} each, in turn)")
    contenders = Projects.written(folder / str(cases), cases, dsn).contenders()
    if cases == FEW:
        warm_up(contenders)
    overhead = Overhead(cases=cases, timings=take_turns(contenders, rounds))
    print("\n".join(overhead.lines()), flush=True)
    report(
        Row(
            name=f"a trivial case, {cases:,} in a run",
            unit="ms",
            ours=median(overhead.wall(OURS)) / cases * 1e3,
            peer=PLAIN,
            theirs=median(overhead.wall(PLAIN)) / cases * 1e3,
            most=1,
            of="difference",
        )
    )
    return overhead


def measure_peer(folder: Path) -> float | None:
    """Return the overhead per case of deepeval in seconds; None if it can't be installed."""
    peer = installed("deepeval")
    if peer is None:
        return None
    folder.mkdir()
    (folder / "test_peer.py").write_text(PEER.read_text())
    run = partial(timed, [str(peer.python), "-m", "pytest", "-q", "test_peer.py"], folder, BENCH_CASES=str(PEER_CASES))
    run()  # compiles its modules
    wall = {name: run(**variables).seconds for name, variables in (("peer", {}), ("plain", {"BENCH_PLAIN": "1"}))}
    return (wall["peer"] - wall["plain"]) / PEER_CASES


def compare(few: Overhead, many: Overhead) -> None:
    """Print whether the overhead per case is the same in a large run."""
    heading("Is it linear?")
    slope = (many.added.median - few.added.median) / (many.cases - few.cases)
    print(f"each further case {slope * 1e3:.2f} ms, fixed {few.added.median - slope * few.cases:.2f} s per run")
    report(
        Row(
            name=f"overhead per case, {many.cases:,} cases",
            unit="ms",
            ours=many.per_case * 1e3,
            peer=f"{few.cases:,} cases",
            theirs=few.per_case * 1e3,
            most=1.2,
            of="ratio",
        )
    )


def explain(folder: Path, dsn: str) -> None:
    """Print profiles."""
    heading(f"Where it goes: {PROFILED} cases under cProfile, ms per case")
    projects = Projects.written(folder / "profiled", PROFILED, dsn)
    ours = projects.profiled(projects.ours, "-p", "no:xdist")
    plain = projects.profiled(projects.plain, "-p", "no:xdist", "-p", "no:crmeval")
    print("one process, by phase             ours   plain")
    for phase, where in PHASES.items():
        print(f"  {phase:<28}  {_cumulative(ours, *where):7.3f} {_cumulative(plain, *where):7.3f}")
    print("one process, our functions       total     own    calls")
    _print_functions(ours)
    print("controller of -n 2               total     own    calls")
    _print_functions(projects.profiled(projects.ours, "-n", "2"))


def _cumulative(profile: pstats.Stats, file: str, function: str) -> float:
    found = [row[3] for (path, _, name), row in _rows(profile) if path.endswith(file) and name == function]
    return sum(found) / PROFILED * 1e3


def _print_functions(profile: pstats.Stats) -> None:
    ours = [
        (row[3], row[2], row[1], f"{Path(path).name}:{line} {name}")
        for (path, line, name), row in _rows(profile)
        if "/pytest_crmeval/" in path or name.endswith("posix.fsync>")
    ]
    for total, own, calls, function in sorted(ours, reverse=True)[:SHOWN]:
        print(f"  {total / PROFILED * 1e3:35.3f} {own / PROFILED * 1e3:7.3f} {calls:8d}  {function}")


def _rows(profile: pstats.Stats) -> Iterator[tuple[tuple[str, int, str], tuple[int, int, float, float]]]:
    """Yield each function with its primitive calls, calls, own seconds and cumulative seconds."""
    stats = profile.stats  # type: ignore[attr-defined] # there for decades, but not in typeshed
    for function, row in stats.items():
        yield function, row[:4]


def main() -> None:
    """Run the benchmark and clean up."""
    parser = argparse.ArgumentParser(description="Measure the overhead of one case beyond playing it.")
    parser.add_argument("--cases", type=int, default=MANY, help=f"cases of the large run (default: {MANY})")
    parser.add_argument("--profile", action="store_true", help="show which functions take the time")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crmeval-bench-") as name, embedded_server() as dsn:
        folder = Path(name)
        few = measure(folder, FEW, ROUNDS, dsn)
        many = measure(folder, arguments.cases, ROUNDS_OF_MANY, dsn)
        compare(few, many)
        theirs = measure_peer(folder / "peer")
        report(
            Row(
                name="overhead per case",
                unit="ms",
                ours=few.per_case * 1e3,
                peer=f"deepeval, {PEER_CASES} cases",
                theirs=None if theirs is None else theirs * 1e3,
            )
        )
        if arguments.profile:
            explain(folder, dsn)


if __name__ == "__main__":
    main()
