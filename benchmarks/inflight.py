"""Measure the gain and the cost of ``--crmeval-inflight``. Takes about eight minutes.

A model server in its own process answers every call after 300 ms. 300 conversations of four calls each are played with
``-n 3``: one at a time, and 16, 32 and 50 at a time per worker. Everything is real: SDK, PostgreSQL, scores, journal.
Plugins that only our own tests need are turned off.

calls per second
    From the first call to the last. With 16 per worker, 160 is the maximum: 48 concurrent calls of 300 ms each.
    inspect_ai is measured in the same run, on the same server, with the same tools in every request and the same number
    of concurrent samples and connections; its display and sample logs are off. It has no CRM, no scores and no tool
    calls to handle. It is installed into a temporary folder. The better of its rates counts.
in flight
    The mean number of conversations in flight, from when all slots are busy until the last one has started; the limit
    is n × K.
tail
    From when the first worker runs out of work until the last answer.
CPU, memory
    Of the workers; CPU from the first conversation on. Then 5,000 conversations, to see whether memory grows.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import urllib.request
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measuring import embedded_server, heading, pytest_command, timed
from pytest_crmeval.conversations.crm.tools import TOOLS

WORKERS, SLOTS, CASES, CALLS = 3, 16, 300, 4
MORE = (32, 50)
"""Further numbers of slots: with 50 each, 300 conversations are exactly two rounds."""
SECONDS, SOON = 0.3, 0.01
LONG = 5_000
TEST_TOOLS = ("syrupy", "respx", "hypothesispytest", "timeout")
"""Plugins that only our own tests need."""
SERVER = Path(__file__).with_name("slow_model.py")
PEER = Path(__file__).with_name("peer_inspect.py")

TEST = """
import pytest

@pytest.mark.conversations("cases.jsonl", suite="crm")
def test_conversation(conversation, evaluate):
    trial = evaluate(conversation)
    assert trial.passed, trial.explain()
"""

RECORDER = """
import json
import os
import time
from pathlib import Path

from pytest_crmeval.player.evaluation import Evaluation

PLAYED, HELD = [], []
play = Evaluation.__call__


def recorded(self, conversation):
    PLAYED.append((time.monotonic(), time.process_time(), 1))
    try:
        return play(self, conversation)
    finally:
        PLAYED.append((time.monotonic(), time.process_time(), -1))


Evaluation.__call__ = recorded


def pytest_runtest_logfinish():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    HELD.append(pages * os.sysconf("SC_PAGE_SIZE"))


def pytest_sessionfinish(session):
    worker = getattr(session.config, "workerinput", {}).get("workerid")
    if worker:
        Path(session.config.rootpath, f"{worker}.json").write_text(json.dumps([PLAYED, HELD]))
"""
"""A conftest in which each worker records when conversations begin and end, and its memory in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigures:
    """The figures of one run."""

    wall: float
    calls: int
    span: float
    """Seconds from the first call to the last answer."""
    in_flight: float
    tail: float
    cpu: float
    """Seconds of all workers together, from the first conversation on."""
    held: Sequence[Sequence[int]]
    """Memory of each worker in bytes after each item."""

    @property
    def rate(self) -> float:
        """Calls per second."""
        return self.calls / self.span


Seen = list[tuple[float, int]]


@contextmanager
def model(seconds: float) -> Iterator[str]:
    """Run a model server that answers each call after ``seconds``."""
    with subprocess.Popen(
        [sys.executable, SERVER, str(seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None  # noqa: S101 (a pipe)
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.communicate()


def seen_by(url: str) -> Seen:
    """Return the times of calls and answers since the last request."""
    with urllib.request.urlopen(f"{url}/seen") as answer:  # noqa: S310 (loopback)
        seen: Seen = json.load(answer)
    return seen


def write_project(folder: Path, cases: int) -> None:
    """Write a project whose workers record their figures."""
    folder.mkdir()
    (folder / "cases.jsonl").write_text("".join(json.dumps(_case(number)) + "\n" for number in range(cases)))
    (folder / "test_crm.py").write_text(TEST)
    (folder / "conftest.py").write_text(RECORDER)
    (folder / "pytest.ini").write_text("[pytest]\n")


def _case(number: int) -> Mapping[str, Any]:
    turns = [
        {
            "turn_id": turn,
            "user_utterance": f"Add Ada {number} {turn} Ltd, ada{turn}@ada.example, active.",
            "expected_tool": "create_new_client",
            "expected_args": {
                "name": f"Ada {number} {turn} Ltd",
                "email": f"ada{turn}@ada.example",
                "status": "Active",
            },
        }
        for turn in range(1, CALLS // 2 + 1)
    ]
    return {"conversation_id": f"c{number:05d}", "turns": turns}


def play_all(folder: Path, dsn: str, url: str, slots: int) -> RunFigures:
    """Play all cases with three workers."""
    shutil.rmtree(folder / "reports", ignore_errors=True)
    agent = f"openai:m?base_url={url}/v1&price=2/8"
    off = [option for name in TEST_TOOLS for option in ("-p", f"no:{name}")]
    options = ("-n", str(WORKERS), "--crmeval-agent", agent, "--crmeval-inflight", str(slots), *off)
    timing = timed(pytest_command(*options), folder, CRMEVAL_DSN=dsn)
    seen = seen_by(url)
    recorded = [json.loads((folder / f"gw{number}.json").read_text()) for number in range(WORKERS)]
    played = [played for played, _ in recorded]
    return RunFigures(
        wall=timing.seconds,
        calls=len(seen) // 2,
        span=seen[-1][0] - seen[0][0],
        in_flight=_average(played, slots),
        tail=seen[-1][0] - min(events[-1][0] for events in played),
        cpu=sum(events[-1][1] - events[0][1] for events in played),
        held=[held for _, held in recorded],
    )


def _average(played: Sequence[Sequence[tuple[float, float, int]]], slots: int) -> float:
    """Return the mean number of conversations in flight while there was enough work."""
    events = sorted((time, change) for worker in played for time, _, change in worker)
    begun = [time for time, change in events if change > 0]
    start, end = begun[min(WORKERS * slots, len(begun)) - 1], begun[-1]
    count, area, last = 0, 0.0, events[0][0]
    for time, change in events:
        area += count * (min(max(time, start), end) - min(max(last, start), end))
        count, last = count + change, time
    return area / (end - start)


def install_peer(folder: Path) -> str:
    """Install inspect_ai and return its Python; empty if it can't be installed."""
    home = folder / "peer"
    venv.create(home, with_pip=True)
    python = str(home / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "inspect_ai", "openai"]
    if subprocess.run(install, check=False).returncode:
        return ""
    tools = [
        {"name": name, "description": entry.tool.description, "parameters": entry.tool.parameters}
        for name, entry in TOOLS.items()
    ]
    (folder / "tools.json").write_text(json.dumps(tools))
    return python


def measure_peer(python: str, folder: Path, url: str, at_once: int) -> float:
    """Make the same calls with inspect_ai, and return its calls per second."""
    seen_by(url)
    command = [python, str(PEER), f"{url}/v1", str(folder / "tools.json"), str(CASES), str(CALLS), str(at_once)]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    seen = seen_by(url)
    rate = len(seen) // 2 / (seen[-1][0] - seen[0][0])
    print(f"inspect_ai, {at_once} connections: {rate:.1f} calls per second", flush=True)
    return rate


def show(name: str, run: RunFigures, limit: int) -> None:
    """Print the figures of a run."""
    print(f"{name}: {run.wall:.1f} s in all, {run.span:.1f} s from the first call to the last")
    print(f"  {run.rate:.1f} calls per second; {run.in_flight:.1f} in flight on average, limit {limit}")
    print(f"  tail {run.tail:.2f} s, {run.tail / run.span:.1%} of that")
    cpu, held = run.cpu / run.calls, max(map(max, run.held))
    print(f"  CPU of workers {cpu * 1e3:.1f} ms per call, memory of a worker {held / 1e6:.0f} MB", flush=True)


def measure_concurrency(folder: Path, dsn: str) -> None:
    """Measure many at a time, the peer, and one at a time."""
    heading(f"{CASES} conversations × {CALLS} calls at {SECONDS * 1e3:.0f} ms, -n {WORKERS}")
    write_project(folder / "evals", CASES)
    with model(SECONDS) as url:
        runs = {slots: play_all(folder / "evals", dsn, url, slots) for slots in (SLOTS, *MORE)}
        for slots, run in runs.items():
            show(f"{slots} in flight per worker", run, WORKERS * slots)
        if python := install_peer(folder):
            best = max(measure_peer(python, folder, url, WORKERS * slots) for slots in (SLOTS, MORE[-1]))
            for slots, run in runs.items():
                print(f"{slots} in flight per worker: {run.rate / best:.1f} times the rate of inspect_ai", flush=True)
        one = play_all(folder / "evals", dsn, url, 1)
        show("one at a time", one, WORKERS)
        print(f"{SLOTS} in flight: {one.wall / runs[SLOTS].wall:.1f} times as fast as one at a time", flush=True)


def measure_memory(folder: Path, dsn: str) -> None:
    """Print the memory of workers during a long run."""
    heading(f"{LONG} conversations, model at {SOON * 1e3:.0f} ms")
    write_project(folder / "long", LONG)
    with model(SOON) as url:
        run = play_all(folder / "long", dsn, url, SLOTS)
    for number, held in enumerate(run.held):
        shown = ", ".join(f"{held[place] / 1e6:.0f}" for place in range(0, len(held), max(1, len(held) // 8)))
        print(f"  gw{number}: {shown} MB", flush=True)


def main() -> None:
    """Run the benchmark and clean up."""
    with tempfile.TemporaryDirectory(prefix="crmeval-bench-") as name, embedded_server() as dsn:
        measure_concurrency(Path(name), dsn)
        measure_memory(Path(name), dsn)


if __name__ == "__main__":
    main()
