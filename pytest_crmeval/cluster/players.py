"""The players of a run: one per node that joins the cluster, replaced when it dies."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from itertools import count
from threading import Event, Thread
from typing import Any, Protocol

from pytest_crmeval.cluster.pipe import PlayerLostError, PlayerPipe, RemotePlayer
from pytest_crmeval.cluster.ray_cluster import Node
from pytest_crmeval.cluster.setup import Begun, NodeFacts, NodeSandbox, PlayerSetup
from pytest_crmeval.options.values import ClusterOptions
from pytest_crmeval.player.context import SetupError
from pytest_crmeval.sandboxes.local.probing import LEVELS

START_SECONDS = 120.0
"""Seconds that a player has to start: Ray may first have to install a runtime environment."""
END_SECONDS = 10.0
WATCH_SECONDS = 1.0
ALONE_SECONDS = 60.0
"""Seconds that a run without players waits for one."""
STARTS = 3
"""How often a player is started in one place of a node."""
INSECURE = (
    "the cluster has no token authentication, so any machine on its network can run programs on it; "
    "start the cluster with RAY_AUTH_MODE=token, or add --crmeval-cluster-insecure"
)


class RefusedError(Exception):
    """A node can't be used; the message says why."""


class StartedPlayer(RemotePlayer, Protocol):
    """A player that can be ended."""

    def call(self, method: str, *arguments: object, seconds: float | None = None) -> Any:  # noqa: ANN401 (of any method)
        """Call a method and wait for its result; PlayerLostError if the player is gone, or takes too long."""
        ...

    def kill(self) -> None:
        """End the player at once."""
        ...


class Cluster(Protocol):
    """The part of a cluster that we use."""

    @property
    def nodes(self) -> Sequence[Node]:
        """The nodes that are alive and have CPUs."""
        ...

    def cores(self, node: Node) -> int:
        """Return the number of cores that a player has on a node."""
        ...

    def start(self, node: Node) -> StartedPlayer:
        """Start a player on a node."""
        ...

    def close(self) -> None:
        """Disconnect."""
        ...


@dataclass(eq=False, kw_only=True)
class _Player:
    """A player that has begun."""

    name: str
    node: Node
    number: int
    """Its number among the players of its node."""
    remote: StartedPlayer
    level: str
    """The strongest level at which its machine can isolate programs; empty if there are none."""
    sandbox: NodeSandbox | None = None
    ended: bool = False


Connect = Callable[[PlayerPipe, str, str], object]
"""Connects a player to the controller: its pipe, its name, and what is said of cases that are lost with it."""


class Players:
    """Starts players, connects them to the controller, and watches for nodes that join or die."""

    def __init__(
        self, cluster: Cluster, options: ClusterOptions, setup: PlayerSetup, report: Callable[[str], object]
    ) -> None:
        self._cluster = cluster
        self._options = options
        self._setup = setup
        self._report = report
        """Called with what the user should know about nodes that join or die."""
        self._programs = setup.programs
        self.level = ""
        """The level at which all nodes isolate programs; empty if there are none."""
        self._players: list[_Player] = []
        self._starts: Counter[tuple[str, int]] = Counter()
        """How often a player was started, by node and number."""
        self._names = count(1)
        self._closing = Event()
        self._watching: Thread | None = None

    def __len__(self) -> int:
        """Return the number of players that have begun and not ended."""
        return sum(not player.ended for player in self._players)

    @property
    def sandbox(self) -> tuple[str, str]:
        """The name and the identity of the sandboxes of all nodes: the name is that of the weakest."""
        found = [player.sandbox for player in self._players if player.sandbox]
        weakest = next(player for player in self._players if player.level == self.level)
        name = weakest.sandbox.name if weakest.sandbox else ""
        return name, "; ".join(sorted({sandbox.identity for sandbox in found}))

    @property
    def cores(self) -> int:
        """The number of programs that run at the same time."""
        return sum(self._cluster.cores(player.node) for player in self._players if not player.ended)

    def __str__(self) -> str:
        """Return the cluster."""
        return str(self._cluster)

    def open(self) -> None:
        """Start a player on each node; SetupError if one can't be used."""
        places = self._vacant()
        if not places:
            raise SetupError("crmeval: the cluster has no node with a CPU")
        with ThreadPoolExecutor(len(places)) as starting:
            begun = [starting.submit(self._start, *place) for place in places]
        try:
            for each in begun:
                each.result()
            self.level = max((player.level for player in self._players), key=LEVELS.index) if self._programs else ""
            for player in self._players:
                self._run_programs(player)
        except (RefusedError, PlayerLostError) as error:
            raise SetupError(f"crmeval: {error}") from None

    def connect(self, connect: Connect, give_up: Callable[[str], object]) -> None:
        """Connect the players to the controller, and each that begins later; ``give_up`` is called if none is left."""
        for player in self._players:
            self._attach(player, connect)
        self._watching = Thread(target=self._watch, args=[connect, give_up], name="crmeval-cluster", daemon=True)
        self._watching.start()

    def close(self) -> None:
        """End all players."""
        self._closing.set()
        if self._watching:
            self._watching.join()
        with ThreadPoolExecutor(max(1, len(self._players))) as ending:
            for player in self._players:
                ending.submit(self._end, player)
        self._cluster.close()

    def _watch(self, connect: Connect, give_up: Callable[[str], object]) -> None:
        """Start a player wherever one is missing, once a second."""
        since = time.monotonic()
        while not self._closing.wait(WATCH_SECONDS):
            for place in self._vacant():
                try:
                    player = self._start(*place)
                    self._run_programs(player)
                except (RefusedError, PlayerLostError) as error:
                    self._report(f"not used: {error}")
                else:
                    self._report(f"{player.name} ({player.node.address}) has joined")
                    self._attach(player, connect)
            if len(self):
                since = time.monotonic()
            elif time.monotonic() - since > ALONE_SECONDS:
                give_up("no node of the cluster is left")
                return

    def _vacant(self) -> Sequence[tuple[Node, int]]:
        """Return where a player is missing: nodes with the number of the player."""
        taken = {(player.node.id, player.number) for player in self._players if not player.ended}
        places = [(node, number) for node in self._cluster.nodes for number in range(self._options.players)]
        return [
            (node, number)
            for node, number in places
            if (node.id, number) not in taken and self._starts[node.id, number] < STARTS
        ]

    def _start(self, node: Node, number: int) -> _Player:
        """Start a player; RefusedError or PlayerLostError if it can't play."""
        self._starts[node.id, number] += 1
        name, remote = f"node{next(self._names)}", self._cluster.start(node)
        try:
            self._check(remote.call("facts", seconds=START_SECONDS))
            begun: Begun = remote.call("begin", name, self._setup, seconds=START_SECONDS)
            self._accept(begun.refusal)
        except (RefusedError, PlayerLostError) as error:
            remote.kill()
            raise type(error)(f"the node {node.address}: {error}") from None
        player = _Player(name=name, node=node, number=number, remote=remote, level=begun.level)
        self._players.append(player)
        return player

    def _run_programs(self, player: _Player) -> None:
        """Have a player judge programs at the level of the run; RefusedError if it can't."""
        if self._programs:
            cores = self._cluster.cores(player.node)
            seconds = START_SECONDS
            player.sandbox = player.remote.call("judge_programs", self.level, cores, self._setup, seconds=seconds)
            if why := player.sandbox.refusal:
                player.ended = True
                player.remote.kill()
                raise RefusedError(f"the node {player.node.address}: {why}")

    def _accept(self, why: str) -> None:
        """Raise RefusedError if a player can't play."""
        if why:
            raise RefusedError(why)

    def _check(self, facts: NodeFacts) -> None:
        """Raise RefusedError if a node may not be given any case or key."""
        if not facts.has_token and not self._options.insecure:
            raise RefusedError(INSECURE)
        if facts.version != version("pytest-crmeval"):
            raise RefusedError(f"it has pytest-crmeval {facts.version}, and this machine {version('pytest-crmeval')}")

    def _attach(self, player: _Player, connect: Connect) -> None:
        def ended() -> None:
            player.ended = True
            if not self._closing.is_set():
                self._report(f"{player.name} ({player.node.address}) has ended")

        lost = f"node lost: {player.name} ({player.node.address}) ended while playing it, as another had before"
        connect(PlayerPipe(player.remote, player.name, ended), player.name, lost)

    def _end(self, player: _Player) -> None:
        with suppress(PlayerLostError):
            if not player.ended:
                player.remote.call("end", seconds=END_SECONDS)
        player.remote.kill()
