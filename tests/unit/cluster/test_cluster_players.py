"""Which nodes of a cluster get a player."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any, cast

import pytest

from pytest_crmeval.cluster.players import Cluster, Players
from pytest_crmeval.cluster.ray_cluster import Node
from pytest_crmeval.cluster.setup import Begun, NodeFacts, NodeSandbox, PlayerSetup
from pytest_crmeval.options.values import ClusterOptions
from pytest_crmeval.player.context import SetupError

OPTIONS = ClusterOptions(address="10.0.0.1:6379", insecure=False, players=2, resources={}, runtime_env={})
SETUP = PlayerSetup(
    options=cast("Any", "no options"),
    specs=(),
    markers=(),
    slots=1,
    shared_server="",
    environment={"OPENAI_API_KEY": "sk-1"},
    opinions={},
    colored=False,
    programs=True,
    hidden=(),
)
GOOD = NodeFacts(version=version("pytest-crmeval"), has_token=True)


class FakePlayer:
    """A player that answers with what it was given."""

    def __init__(self, facts: NodeFacts, refusal: str, level: str) -> None:
        self._facts = facts
        self._begun = Begun(refusal=refusal, level=level)
        self.calls: list[str] = []

    def call(self, method: str, *arguments: object, seconds: float | None = None) -> Any:  # noqa: ANN401 (of any method)
        """Note the call, and answer it."""
        del seconds
        self.calls.append(method)
        found = NodeSandbox(name=f"local ({arguments[0]})", identity="python") if arguments else None
        return {"facts": self._facts, "begin": self._begun, "judge_programs": found}[method]

    def kill(self) -> None:
        """Note it."""
        self.calls.append("kill")


class FakeCluster:
    """A cluster with two nodes."""

    def __init__(self, facts: NodeFacts = GOOD, refusal: str = "") -> None:
        self.nodes: Sequence[Node] = [Node(id=name, address=name, cpus=1) for name in ("a", "b")]
        self.started: list[FakePlayer] = []
        self._answers = facts, refusal

    def cores(self, node: Node) -> int:
        """Return the CPUs of the node."""
        return node.cpus

    def start(self, node: Node) -> FakePlayer:
        """Start a player."""
        assert node in self.nodes
        level = {"a": "namespaces", "b": "landlock"}[node.id]
        self.started.append(FakePlayer(*self._answers, level))
        return self.started[-1]

    def close(self) -> None:
        """Do nothing."""


def players(cluster: Cluster, options: ClusterOptions = OPTIONS) -> Players:
    """Return the players of a cluster."""
    return Players(cluster, options, SETUP, print)


def test_each_node_gets_as_many_players_as_the_options_say() -> None:
    cluster = FakeCluster()
    opened = players(cluster)

    opened.open()

    assert 4 == len(opened) == len(cluster.started)
    assert 4 == opened.cores


def test_all_nodes_run_programs_at_the_level_of_the_weakest() -> None:
    opened = players(FakeCluster())

    opened.open()

    assert ("local (landlock)", "python") == opened.sandbox


@pytest.mark.parametrize(
    ("facts", "refusal", "message"),
    [
        (replace(GOOD, has_token=False), "", "no token authentication"),
        (replace(GOOD, version="0.0.1"), "", "has pytest-crmeval 0.0.1"),
        (GOOD, "unknown agent 'bots:Mine'", "the node [ab]: unknown agent 'bots:Mine'"),
    ],
)
def test_node_that_can_not_play_is_refused(facts: NodeFacts, refusal: str, message: str) -> None:
    """A player without a token, or of another version, is not sent the setup, which has the keys."""
    cluster = FakeCluster(facts, refusal)

    with pytest.raises(SetupError, match=message):
        players(cluster).open()

    assert all("kill" in player.calls for player in cluster.started)
    assert all(("begin" in player.calls) == (facts == GOOD) for player in cluster.started)


def test_cluster_without_tokens_can_be_accepted() -> None:
    cluster = FakeCluster(replace(GOOD, has_token=False))

    players(cluster, replace(OPTIONS, insecure=True)).open()

    assert all(["facts", "begin", "judge_programs"] == player.calls for player in cluster.started)


def test_setup_of_a_player_does_not_show_its_keys() -> None:
    """Ray logs the text of values in errors."""
    assert "sk-1" not in repr(SETUP)
