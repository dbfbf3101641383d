"""Measure how many model calls per second a run makes, and what a call costs. Part of ``make bench``.

A model server in its own process answers every call after 300 ms. Conversations of four calls each are played with
``-n 3``, with 16 and with 50 in flight per worker. Everything is real: SDK, PostgreSQL, scores, journal.

calls per second
    From the first call to the last. With 16 per worker, 160 is the maximum: 48 concurrent calls of 300 ms each.
    inspect_ai is measured in the same run, on the same server, with the same tools in every request and the same number
    of concurrent samples and connections; its display and sample logs are off. It has no CRM, no scores and no tool
    calls to handle. The better of its rates counts.
in flight
    The mean number of conversations in flight, from when all slots are busy until the last one has started.
tail
    From when the first worker runs out of work until the last answer.
CPU per call
    Of the controller, the workers and PostgreSQL: the difference between a long and a short run, so without the start.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measuring import cpu_of_server, embedded_server, heading, pytest_command, sized, timed
from benchmarks.peers import Peer, installed
from benchmarks.rows import Row, report
from pytest_crmeval.conversations.crm.tools import TOOLS

WORKERS, CALLS = sized(3, small=1), 4
SOME, MANY = sized((16, 50), small=(2, 3))
"""Slots of a worker."""
SHORT, MEDIUM, LONG = sized((300, 600, 1_500), small=(4, 4, 8))
"""Conversations of a run: many, because the number of concurrent calls doubles with each round of answers."""
PEER_SAMPLES = 300
SECONDS = sized(0.3, small=0.01)
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
    """Seconds of the controller, all workers and PostgreSQL."""
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
    options = ("-n", str(WORKERS), "--crmeval-agent", agent, "--crmeval-inflight", str(slots))
    server = cpu_of_server(dsn)
    timing = timed(pytest_command(*options), folder, CRMEVAL_DSN=dsn)
    server = cpu_of_server(dsn) - server
    seen = seen_by(url)
    recorded = [json.loads((folder / f"gw{number}.json").read_text()) for number in range(WORKERS)]
    played = [played for played, _ in recorded]
    return RunFigures(
        wall=timing.seconds,
        calls=len(seen) // 2,
        span=seen[-1][0] - seen[0][0],
        in_flight=_average(played, slots),
        tail=seen[-1][0] - min(events[-1][0] for events in played),
        cpu=timing.cpu_seconds + server,
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


def measure_peer(peer: Peer, folder: Path, url: str, at_once: int) -> float:
    """Make the same calls with inspect_ai, and return its calls per second."""
    tools = [
        {"name": name, "description": entry.tool.description, "parameters": entry.tool.parameters}
        for name, entry in TOOLS.items()
    ]
    (folder / "tools.json").write_text(json.dumps(tools))
    seen_by(url)
    arguments = (f"{url}/v1", str(folder / "tools.json"), str(PEER_SAMPLES), str(CALLS), str(at_once))
    subprocess.run([peer.python, PEER, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    seen = seen_by(url)
    rate = len(seen) // 2 / (seen[-1][0] - seen[0][0])
    print(f"{peer.name}, {at_once} connections: {rate:.1f} calls per second", flush=True)
    return rate


def show(name: str, run: RunFigures, limit: int) -> None:
    """Print the figures of a run."""
    print(f"{name}: {run.wall:.1f} s in all, {run.span:.1f} s from the first call to the last")
    print(f"  {run.rate:.1f} calls per second; {run.in_flight:.1f} in flight on average, limit {limit}")
    print(f"  tail {run.tail:.2f} s, {run.tail / run.span:.1%} of that")
    held = ", ".join(f"{each[0] / 1e6:.0f} to {each[-1] / 1e6:.0f}" for each in run.held)
    print(f"  memory of workers {held} MB", flush=True)


def main() -> None:
    """Run the benchmark and clean up."""
    heading(f"Conversations of {CALLS} calls at {SECONDS * 1e3:.0f} ms, -n {WORKERS}")
    with tempfile.TemporaryDirectory(prefix="crmeval-bench-") as name, embedded_server() as dsn, model(SECONDS) as url:
        folder = Path(name)
        for project, cases in (("short", SHORT), ("medium", MEDIUM), ("long", LONG)):
            write_project(folder / project, cases)
        few = play_all(folder / "medium", dsn, url, SOME)
        short, long = (play_all(folder / project, dsn, url, MANY) for project in ("short", "long"))
        for run, slots in ((few, SOME), (short, MANY), (long, MANY)):
            show(f"{run.calls // CALLS} conversations, {slots} in flight per worker", run, WORKERS * slots)
        peer = installed("inspect_ai", "openai")
        best = max(measure_peer(peer, folder, url, WORKERS * slots) for slots in (SOME, MANY)) if peer else None
    peer_name = f"{peer.name}, best rate" if peer else "inspect_ai"
    report(
        Row(
            name=f"model calls, {MANY} in flight per worker",
            unit="/s",
            ours=long.rate,
            peer=peer_name,
            theirs=best,
            least=9,
            of="ratio",
        )
    )
    report(
        Row(
            name=f"model calls, {SOME} in flight per worker",
            unit="/s",
            ours=few.rate,
            peer="limit, in flight / latency",
            theirs=WORKERS * SOME / SECONDS,
            least=0.9,
            of="ratio",
        )
    )
    per_call = (long.cpu - short.cpu) / (long.calls - short.calls)
    report(Row(name="CPU time per model call, all processes", unit="ms", ours=per_call * 1e3, most=4.5))


if __name__ == "__main__":
    main()
