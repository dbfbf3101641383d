"""Measure how many conversations per second the oracle plays on PostgreSQL. Part of ``make bench``; about a minute.

The contenders process the same conversations in turn. Each process has its own database, as xdist workers do:

bare
    Only the SQL that the conversations need, executed with plain psycopg: the seed, a savepoint before each call, the
    statements of the call, fetching all rows, a rollback.
exact
    The same, but only with the savepoints that *play* really creates, which are fewer.
play
    Seed, turns and rollback, without scoring.
trial
    A complete trial: the reference, the agent, three snapshots, three scorers, outcomes.

*By CPU* is the rate on an idle core: conversations per CPU second of the process and its PostgreSQL backend. One of
the two always waits for the other.

Then pytest plays them as a user would, alone and with ``-n 2``. *Played* is based on the seconds in the report, which
cover the agent's part of a trial. *Wall* is based on the time that each further conversation adds to a run: the
difference from the same run with a sample of one, which excludes the fixed start. A wide interquartile range means
that the machine was busy.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import product
from multiprocessing import get_context
from multiprocessing.connection import Connection as Wire
from pathlib import Path
from statistics import mean, median

from benchmarks.conversation_runner import BARE, CONTENDERS, EXACT, PLAY, TRIAL, ConversationRunner, Pass
from benchmarks.measuring import Spread, embedded_server, heading, pytest_command, sized, take_turns, timed
from benchmarks.rows import Row, report
from pytest_crmeval.conversations.dataset.files import index
from pytest_crmeval.postgres.databases import Address, RunDatabases

EVALS = Path(__file__).parents[1] / "evals"
BUNDLE = EVALS / "data" / "crm.jsonl"
CASES, EVERY = sized((1_200, 8), small=(4, 2))
"""Conversations that pytest plays, and which of them are in a pass of the contenders: one out of so many."""
ROUNDS, RUNS = sized((4, 2), small=(1, 1))
PROCESSES: Mapping[str, Sequence[str]] = {"one process": ("-p", "no:xdist"), "two processes": ("-n", "2")}
"""Number of processes -> arguments of pytest."""


class Worker:
    """A runner in its own process."""

    def __init__(self, address: Address, path: Path) -> None:
        context = get_context("spawn")
        self._wire, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, address, path), daemon=True)
        self._process.start()
        theirs.close()

    def start(self, contender: str) -> None:
        """Start a pass."""
        self._wire.send(contender)

    def result(self) -> Pass:
        """Wait for the end of the pass and return its result."""
        done: Pass = self._wire.recv()
        return done

    def close(self) -> None:
        """End the process."""
        self._wire.close()
        self._process.join()


def _serve(wire: Wire, address: Address, path: Path) -> None:
    runner = ConversationRunner(address, [ref.read() for ref in index([path])])
    with suppress(EOFError):
        while True:
            wire.send(runner.run(wire.recv()))


def together(workers: Sequence[Worker], contender: str) -> Sequence[Pass]:
    """Run a pass in all workers at the same time."""
    for worker in workers:
        worker.start(contender)
    return [worker.result() for worker in workers]


def measure(databases: RunDatabases, path: Path) -> None:
    """Print the rate of each contender."""
    with (
        closing(Worker(databases.create(f"{path.stem}-1"), path)) as one,
        closing(Worker(databases.create(f"{path.stem}-2"), path)) as other,
    ):
        together([one, other], BARE)  # both have recorded the SQL by then
        workers = dict(zip(PROCESSES, ([one], [one, other]), strict=True))
        contenders = {
            f"{name}, {processes}": partial(together, workers[processes], name)
            for processes, name in product(PROCESSES, CONTENDERS)
        }
        passes = take_turns(contenders, ROUNDS)
    for processes in PROCESSES:
        print(f"{processes}, conversations per second and process")
        print("\n".join(_lines({name: passes[f"{name}, {processes}"] for name in CONTENDERS})), flush=True)
    (alone, *_) = PROCESSES
    report(
        Row(
            name="playing conversations, by CPU time",
            unit="/s",
            ours=_by_cpu(passes[f"{PLAY}, {alone}"]),
            peer="their SQL with psycopg",
            theirs=_by_cpu(passes[f"{BARE}, {alone}"]),
            least=0.9,
            of="ratio",
        )
    )


def _by_cpu(passes: Sequence[Sequence[Pass]]) -> float:
    return median(done.quiet_rate for each in passes for done in each)


def _lines(passes: Mapping[str, Sequence[Sequence[Pass]]]) -> Iterator[str]:
    rates = {name: [mean(done.rate for done in each) for each in passes[name]] for name in CONTENDERS}
    quiet = {name: _by_cpu(passes[name]) for name in CONTENDERS}
    for name in CONTENDERS:
        yield f"  {name:<14} {Spread(rates[name]).shown('/s', digits=0)}, by CPU {quiet[name]:.0f} /s"
    for name, peer in product((PLAY, TRIAL), (BARE, EXACT)):
        ratio = Spread([this / that for this, that in zip(rates[name], rates[peer], strict=True)])
        yield f"  {f'{name} / {peer}':<14} {ratio.shown('times')}, by CPU {quiet[name] / quiet[peer]:.2f}"


def explain(databases: RunDatabases, path: Path) -> None:
    """Print the time of each part of a trial."""
    refs = index([path])
    start = time.perf_counter()
    conversations = [ref.read() for ref in refs]
    read = time.perf_counter() - start
    with closing(ConversationRunner(databases.create(f"{path.stem}-explained"), conversations)) as runner:
        runner.timed_trials()  # warm up
        watch, passed = runner.timed_trials()
    turns = sum(len(conversation.turns) for conversation in conversations) / len(refs)
    print(f"{turns:.1f} turns, {runner.statements(BARE):.1f} statements bare, {runner.statements(EXACT):.1f} exact")
    print(f"a trial, ms per conversation  total        SQL    (the oracle passed {passed} of {len(refs)})")
    parts = {part: seconds for part, seconds in watch.seconds.items() if part}
    for part, seconds in sorted(parts.items(), key=lambda item: -item[1]):
        _print_part(part, seconds / len(refs), watch.waited.get(part, 0.0) / len(refs))
    _print_part("total", sum(parts.values()) / len(refs), sum(watch.waited.values()) / len(refs))
    _print_part("reading the file", read / len(refs), 0.0)


def _print_part(part: str, seconds: float, waited: float) -> None:
    print(f"  {part:<24} {seconds * 1e3:9.3f} {waited * 1e3:9.3f}", flush=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The size and times of one pytest run."""

    cases: int
    wall: float
    played: float


def run(project: Path, path: Path, dsn: str, *how: str) -> Run:
    """Play a file with the oracle, in pytest."""
    shutil.rmtree(project / "reports", ignore_errors=True)
    command = pytest_command("evals/test_crm.py", "--crmeval-conversations", str(path), "--crmeval-invalid", "play")
    timing = timed([*command, *how], project, CRMEVAL_DSN=dsn)
    report = json.loads((project / "reports" / "latest.json").read_text(encoding="utf-8"))
    (result,) = report["results"]
    return Run(cases=result["planned"], wall=timing.seconds, played=result["seconds"])


def measure_pytest(project: Path, path: Path, dsn: str) -> None:
    """Print how fast pytest plays a file."""
    (project / "evals").mkdir(parents=True)
    shutil.copy(EVALS / "test_crm.py", project / "evals")
    (project / "pytest.ini").write_text("[pytest]\n")
    samples: Mapping[str, Sequence[str]] = {"all": (), "one": ("--crmeval-sample", "1")}
    contenders = {
        (processes, sample): partial(run, project, path, dsn, *PROCESSES[processes], *samples[sample])
        for processes, sample in product(PROCESSES, samples)
    }
    runs = take_turns({", ".join(names): contender for names, contender in contenders.items()}, RUNS)
    together_rates = {}
    for processes, how in PROCESSES.items():
        every, fixed = runs[f"{processes}, all"], runs[f"{processes}, one"]
        further = Spread([(run.cases - 1) / (run.wall - one.wall) for run, one in zip(every, fixed, strict=True)])
        together_rates[processes] = further.median
        print(f"pytest {' '.join(how)}, conversations per second")
        print("  played, each   ", Spread([run.cases / run.played for run in every]).shown("/s", digits=0))
        print("  wall, together ", further.shown("/s", digits=0))
        print("  fixed          ", Spread([one.wall for one in fixed]).shown("s"), flush=True)
    alone, two = together_rates.values()
    report(Row(name="conversations replayed by pytest, one process", unit="/s", ours=alone, least=150))
    report(
        Row(
            name="conversations replayed by pytest, -n 2",
            unit="/s",
            ours=two,
            peer="one process",
            theirs=alone,
            least=1.8,
            of="ratio",
        )
    )


def part_of(source: Path, copy: Path, most: int, every: int = 1) -> Path:
    """Write every so many lines of a file to another one."""
    copy.write_text("".join(source.read_text(encoding="utf-8").splitlines(keepends=True)[:most:every]))
    return copy


@contextmanager
def opened(dsn: str) -> Iterator[RunDatabases]:
    """Open the databases of a run, and drop them at the end."""
    databases = RunDatabases(Address(dsn, embedded=True), "bench")
    alive = databases.open()
    try:
        yield databases
    finally:
        databases.close(alive)


def main() -> None:
    """Run the benchmark and clean up."""
    with tempfile.TemporaryDirectory(prefix="crmeval-bench-") as name, embedded_server() as dsn:
        folder = Path(name)
        some, all_cases = (
            part_of(BUNDLE, folder / "some.jsonl", CASES, EVERY),
            part_of(BUNDLE, folder / "all.jsonl", CASES),
        )
        with opened(dsn) as databases:
            heading(f"{len(index([some]))} bundled conversations ({ROUNDS} passes each, in turn)")
            measure(databases, some)
            explain(databases, some)
        heading(f"{len(index([all_cases]))} conversations, played with pytest ({RUNS} each, in turn)")
        measure_pytest(folder / "project", all_cases, dsn)


if __name__ == "__main__":
    main()
