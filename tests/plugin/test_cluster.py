"""``--crmeval-cluster``: cases are played on the nodes of a Ray cluster."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

import pytest

from tests.comparable_reports import figures
from tests.fake_sandbox import PROBLEMS, TEST, solution, write_lines
from tests.plugin.conftest import CANARY
from tests.plugin.test_inflight import M, many
from tests.postgres.processes import SECONDS, eventually
from tests.providers.answers import Answer
from tests.providers.loopback import Loopback, Seen, crm_brain
from tests.ray_nodes import RayNodes

pytest.importorskip("ray")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[RayNodes]:
    """Return a cluster with two nodes; each player brings its own PostgreSQL."""
    monkeypatch.delenv("CRMEVAL_DSN", raising=False)
    with RayNodes() as started:
        started.wait(started.add())
        for name, value in started.environment.items():
            monkeypatch.setenv(name, value)
        yield started


class Trouble:
    """A model during whose calls one node dies; later calls are answered when another node has joined."""

    def __init__(self, nodes: RayNodes) -> None:
        self._nodes = nodes
        self._early = self._late = 0
        self._lock = Lock()
        self._died = Event()

    def answer(self, seen: Seen) -> Answer:
        """Play the cases rightly."""
        with self._lock:
            self._early += 1
            if self._early == 20:
                Thread(target=self._happen).start()
            waits = self._died.is_set()
            self._late += waits
        if self._early > 20:
            assert self._died.wait(SECONDS)
        if waits:  # the node that is left has only eight calls in flight
            eventually(lambda: self._late > 8, "the new node calls the model")
        return crm_brain(seen)

    def _happen(self) -> None:
        self._nodes.add()
        self._nodes.kill(1)
        self._died.set()


def kill_later(nodes: RayNodes, results: Path) -> None:
    """Kill the node that has joined, when the first programs are judged."""
    eventually(lambda: verdicts(results) > 5, "the first programs are judged")
    nodes.kill(2)


@pytest.mark.usefixtures("local")
def test_report_is_the_same_although_nodes_died_and_joined(
    project: Project, providers: Providers, nodes: RayNodes
) -> None:
    """The journal has each case once, a solution file runs on all nodes, and the key is in no file of Ray's."""
    pytester = project(many(60))
    right, wrong = ("for _ in range(2_000_000): pass\nprint(5)", "print(4)")
    programs = [solution("a", right if number % 3 else wrong) for number in range(90)]
    write_lines(pytester.path / "runs" / "checkpoint-1" / "s.jsonl", *programs, solution("unknown"), "not JSON")
    write_lines(pytester.path / "problems.jsonl", *PROBLEMS)
    pytester.makepyfile(test_programs=TEST)
    providers(Trouble(nodes).answer)
    killing = Thread(target=kill_later, args=[nodes, pytester.path / "reports" / "cluster"])
    killing.start()

    result = pytester.runpytest_subprocess(
        *M, "--crmeval-cluster", nodes.address, "--crmeval-run", "cluster", timeout=400
    )
    killing.join()
    providers()
    pytester.runpytest(*M, "-p", "no:xdist", "--crmeval-run", "here", "--crmeval-fresh")

    victim, joined = nodes.address_of(1), nodes.address_of(2)
    for line in ("2 players on *", f"* ({victim}) has ended", f"* ({joined}) has joined", f"* ({joined}) has ended"):
        result.stdout.fnmatch_lines([f"crmeval cluster: {line}"])
    there, here = report(pytester, "cluster"), report(pytester, "here")
    assert figures(here) == figures(there)
    assert 90 == next(each["checkpoint"]["judged"] for each in there["results"] if each["checkpoint"])
    journal = (pytester.path / "reports" / "cluster" / "trials.jsonl").read_text()
    assert 61 == journal.count('{"trial"')
    assert not found(CANARY, nodes.folder)
    assert found("NodePlayer", nodes.folder)


def test_agent_of_the_user_comes_with_the_runtime_environment(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cluster is started for the run, with a token; a node that can't import the agent would end the run."""
    monkeypatch.delenv("CRMEVAL_DSN", raising=False)
    pytester = project(ini='crmeval_cluster_runtime_env = {"working_dir": "."}')

    pytester.makepyfile(
        test_signal="""
        import signal

        def test_sigterm_is_not_handled_by_ray():
            assert signal.getsignal(signal.SIGTERM).__module__.startswith("pytest_crmeval.")
        """
    )

    result = pytester.runpytest_subprocess("--crmeval-cluster", "local", "--crmeval-agent", "bots:Half", timeout=400)

    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["crmeval cluster: 1 player on 127.0.0.2:* (Ray *)"])


def report(pytester: pytest.Pytester, run: str) -> dict[str, Any]:
    """Return the report of a run."""
    document: dict[str, Any] = json.loads((pytester.path / "reports" / f"{run}.json").read_text())
    return document


def verdicts(folder: Path) -> int:
    """Count the verdicts in the results of a run."""
    return sum(path.read_bytes().count(b"\n") - 1 for path in folder.glob("eval_*/*.jsonl"))


def found(text: str, folder: Path) -> list[str]:
    """Return the files below a folder that contain a text."""
    searched = subprocess.run(
        ["/usr/bin/env", "grep", "-rlaF", "--devices=skip", "--", text, str(folder)],
        check=False,
        capture_output=True,
        text=True,
    )
    return searched.stdout.splitlines()
