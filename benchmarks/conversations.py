"""How many conversations a second the oracle plays on PostgreSQL. Run by ``make bench``; takes under two minutes.

The contenders go through the same conversations in turn, each process in a database of its own as workers of xdist:

bare
    What the conversations need in SQL and nothing more, as plain psycopg executes it: the seed, a savepoint before each
    call, the statements that the call really executes, all rows fetched, a rollback.
exact
    The same with the savepoints that *play* really makes, which are fewer.
play
    Seed, turns and rollback; nothing is scored. The aims are half of the bare speed, and 150 conversations a second,
    per process, on a quiet core.
trial
    All that a trial costs: the reference plays and then the agent, three snapshots, three scorers, outcomes.

*By CPU* is what there would be on a quiet core: conversations per CPU second of the process and its server process, of
which one always waits for the other.

Then as a user does it, with pytest, alone and with ``-n 2``. *Played* goes by the seconds in the report, which are the
agent's part of a trial. *Wall* goes by what each further conversation adds to a run: the difference to the same run
with a sample of one, so all but the fixed start. A wide middle half says that the machine was busy.
"""

import json
import os
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

from benchmarks.desk import BARE, CONTENDERS, EXACT, PLAY, TRIAL, Desk, Pass
from benchmarks.measuring import Spread, embedded_server, heading, pytest_command, take_turns, timed
from pytest_crmeval.conversations.dataset.files import index
from pytest_crmeval.postgres.databases import Address, RunDatabases

EVALS = Path(__file__).parents[1] / "evals"
SOURCES = (EVALS / "data" / "crm.jsonl", Path(__file__).parents[2] / "shared" / "data" / "clbench_dev.jsonl")
"""Our conversations, and the published ones where they are at hand; the last is played with pytest, too."""
ENOUGH = 120
"""Conversations of one pass; a file that has fewer is repeated."""
ROUNDS, RUNS = 4, 3
SHARE, QUICK = 0.5, 150.0
"""The aims."""
PROCESSES: Mapping[str, Sequence[str]] = {"one process": ("-p", "no:xdist"), "two processes": ("-n", "2")}
"""The arguments of pytest for each."""


class Worker:
    """A desk in a process of its own."""

    def __init__(self, address: Address, path: Path) -> None:
        context = get_context("spawn")
        self._wire, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, address, path), daemon=True)
        self._process.start()
        theirs.close()

    def ask(self, contender: str) -> None:
        """Let it go through its conversations."""
        self._wire.send(contender)

    def result(self) -> Pass:
        """Wait for the end, and return how it went."""
        gone: Pass = self._wire.recv()
        return gone

    def close(self) -> None:
        """Send it home."""
        self._wire.close()
        self._process.join()


def _serve(wire: Wire, address: Address, path: Path) -> None:
    desk = Desk(address, [ref.read() for ref in index([path])])
    with suppress(EOFError):
        while True:
            wire.send(desk.passed(wire.recv()))


def together(workers: Sequence[Worker], contender: str) -> Sequence[Pass]:
    """Let all go through their conversations at the same time."""
    for worker in workers:
        worker.ask(contender)
    return [worker.result() for worker in workers]


def measure(databases: RunDatabases, path: Path) -> None:
    """Print how fast one file is gone through."""
    with (
        closing(Worker(databases.clone(f"{path.stem}-1"), path)) as one,
        closing(Worker(databases.clone(f"{path.stem}-2"), path)) as other,
    ):
        together([one, other], BARE)  # both have recorded then
        workers = dict(zip(PROCESSES, ([one], [one, other]), strict=True))
        contenders = {
            f"{name}, {processes}": partial(together, workers[processes], name)
            for processes, name in product(PROCESSES, CONTENDERS)
        }
        passes = take_turns(contenders, ROUNDS)
    for processes in PROCESSES:
        print(f"{processes}, conversations a second each")
        print("\n".join(_lines({name: passes[f"{name}, {processes}"] for name in CONTENDERS})), flush=True)


def _lines(passes: Mapping[str, Sequence[Sequence[Pass]]]) -> Iterator[str]:
    rates = {name: [mean(gone.rate for gone in each) for each in passes[name]] for name in CONTENDERS}
    quiet = {name: median(gone.quiet_rate for each in passes[name] for gone in each) for name in CONTENDERS}
    for name in CONTENDERS:
        aim = _aim(QUICK, quiet[name]) if name == PLAY else ""
        yield f"  {name:<14} {Spread(rates[name]).shown('/s', digits=0)}, by CPU {quiet[name]:.0f} /s{aim}"
    for name, peer in product((PLAY, TRIAL), (BARE, EXACT)):
        ratio = Spread([this / that for this, that in zip(rates[name], rates[peer], strict=True)])
        by_cpu = quiet[name] / quiet[peer]
        aim = _aim(SHARE, by_cpu) if (name, peer) == (PLAY, BARE) else ""
        yield f"  {f'{name} / {peer}':<14} {ratio.shown('of it')}, by CPU {by_cpu:.2f}{aim}"


def _aim(wanted: float, found: float) -> str:
    return f"; aim {wanted:g}: {'met' if found >= wanted else 'missed'}"


def explain(databases: RunDatabases, path: Path) -> None:
    """Print where the time of a trial goes."""
    refs = index([path])
    start = time.perf_counter()
    conversations = [ref.read() for ref in refs]
    read = time.perf_counter() - start
    with closing(Desk(databases.clone(f"{path.stem}-explained"), conversations)) as desk:
        desk.watched()  # warm
        watch, passed = desk.watched()
    turns = sum(len(conversation.turns) for conversation in conversations) / len(refs)
    print(f"{turns:.1f} turns, {desk.statements(BARE):.1f} statements bare, {desk.statements(EXACT):.1f} exact")
    print(f"a trial, ms per conversation    all  SQL of it    (the oracle passed {passed} of {len(refs)})")
    parts = {part: seconds for part, seconds in watch.seconds.items() if part}
    for part, seconds in sorted(parts.items(), key=lambda item: -item[1]):
        _print_part(part, seconds / len(refs), watch.waited.get(part, 0.0) / len(refs))
    _print_part("together", sum(parts.values()) / len(refs), sum(watch.waited.values()) / len(refs))
    _print_part("before it: to read it", read / len(refs), 0.0)


def _print_part(part: str, seconds: float, waited: float) -> None:
    print(f"  {part:<24} {seconds * 1e3:9.3f} {waited * 1e3:9.3f}", flush=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run of pytest took."""

    cases: int
    wall: float
    played: float


def run(project: Path, path: Path, dsn: str, *how: str) -> Run:
    """Let the oracle play a file as a user does."""
    shutil.rmtree(project / "reports", ignore_errors=True)
    command = pytest_command("evals/test_crm.py", "--crmeval-conversations", str(path), "--crmeval-invalid", "play")
    timing = timed([*command, *how], project, CRMEVAL_DSN=dsn)
    report = json.loads((project / "reports" / "latest.json").read_text(encoding="utf-8"))
    (result,) = report["results"]
    return Run(cases=result["planned"], wall=timing.seconds, played=result["seconds"])


def measure_pytest(project: Path, path: Path, dsn: str) -> None:
    """Print how fast a file is played by pytest."""
    shutil.copytree(EVALS, project / "evals", ignore=shutil.ignore_patterns("__pycache__"))
    (project / "pytest.ini").write_text("[pytest]\n")
    samples: Mapping[str, Sequence[str]] = {"all": (), "one": ("--crmeval-sample", "1")}
    contenders = {
        (processes, sample): partial(run, project, path, dsn, *PROCESSES[processes], *samples[sample])
        for processes, sample in product(PROCESSES, samples)
    }
    runs = take_turns({", ".join(names): contender for names, contender in contenders.items()}, RUNS)
    for processes, how in PROCESSES.items():
        every, fixed = runs[f"{processes}, all"], runs[f"{processes}, one"]
        further = [(run.cases - 1) / (run.wall - one.wall) for run, one in zip(every, fixed, strict=True)]
        print(f"pytest {' '.join(how)}, conversations a second")
        print("  played, each   ", Spread([run.cases / run.played for run in every]).shown("/s", digits=0))
        print("  wall, together ", Spread(further).shown("/s", digits=0))
        print("  fixed          ", Spread([one.wall for one in fixed]).shown("s"), flush=True)


def repeated(path: Path, folder: Path) -> Path:
    """Return a file that has enough of the conversations in ``path``."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if len(lines) >= ENOUGH:
        return path
    records = [{**json.loads(line), "conversation_id": f"case-{n}"} for n, line in enumerate(_times(lines))]
    copy = folder / path.name
    copy.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return copy


def _times(lines: Sequence[str]) -> Sequence[str]:
    return [*lines] * -(-ENOUGH // len(lines))


@contextmanager
def opened(dsn: str) -> Iterator[RunDatabases]:
    """Hold the databases of a run."""
    databases = RunDatabases(Address(dsn, embedded=True), "bench")
    alive = databases.open()
    try:
        yield databases
    finally:
        databases.close(alive)


def main() -> None:
    """Measure everything and leave nothing behind."""
    with tempfile.TemporaryDirectory(prefix="crmeval-bench-") as name, embedded_server() as dsn:
        folder = Path(name)
        files = [repeated(source, folder) for source in SOURCES if source.exists()]
        with opened(dsn) as databases:
            for path in files:
                heading(f"{path.name}: {len(index([path]))} conversations ({ROUNDS} passes each, in turn)")
                print(f"load of the machine {os.getloadavg()[0]:.1f}")
                measure(databases, path)
                explain(databases, path)
        heading(f"{files[-1].name}, as a user plays it ({RUNS} each, in turn)")
        measure_pytest(folder / "project", files[-1], dsn)


if __name__ == "__main__":
    main()
