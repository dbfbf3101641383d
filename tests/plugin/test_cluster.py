"""``--crmeval-cluster``: cases are played on the nodes of a Ray cluster."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Lock, Thread

import pytest

from tests.comparable_reports import figures
from tests.plugin.conftest import CANARY
from tests.plugin.test_inflight import M, many
from tests.postgres.processes import SECONDS, eventually
from tests.providers.answers import Answer
from tests.providers.loopback import Loopback, Seen, crm_brain
from tests.ray_nodes import RayNodes

pytest.importorskip("ray")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]


@pytest.fixture(scope="module")
def nodes() -> Iterator[RayNodes]:
    """Return a cluster with two nodes that play."""
    with RayNodes() as started:
        started.wait(started.add())
        yield started


@pytest.fixture
def cluster(nodes: RayNodes, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Return the option for the cluster; each player brings its own PostgreSQL."""
    monkeypatch.delenv("CRMEVAL_DSN", raising=False)
    for name, value in nodes.environment.items():
        monkeypatch.setenv(name, value)
    return "--crmeval-cluster", nodes.address


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


def test_report_is_the_same_although_a_node_died_and_another_joined(
    project: Project, providers: Providers, nodes: RayNodes, cluster: tuple[str, str]
) -> None:
    """The journal has each case once, and the key is in no file of Ray's."""
    pytester = project(many(60))
    providers(Trouble(nodes).answer)

    result = pytester.runpytest_subprocess(*M, *cluster, "--crmeval-run", "cluster", timeout=300)
    providers()
    pytester.runpytest(*M, "-p", "no:xdist", "--crmeval-run", "here")

    for line in ("crmeval cluster: 2 players on *", "crmeval cluster: * has ended", "crmeval cluster: * has joined"):
        result.stdout.fnmatch_lines([line])
    there, here = (json.loads(Path(pytester.path, "reports", f"{run}.json").read_text()) for run in ("cluster", "here"))
    assert figures(here) == figures(there)
    lines = Path(pytester.path, "reports", "cluster", "trials.jsonl").read_text().splitlines()
    assert 60 == sum('{"trial"' in line for line in lines)
    assert not found(CANARY, nodes.folder)
    assert found("NodePlayer", nodes.folder)


def found(text: str, folder: Path) -> list[str]:
    """Return the files below a folder that contain a text."""
    searched = subprocess.run(
        ["/usr/bin/env", "grep", "-rlaF", "--devices=skip", "--", text, str(folder)],
        check=False,
        capture_output=True,
        text=True,
    )
    return searched.stdout.splitlines()
