"""The cluster, as Ray has it: the only module that imports Ray."""

import logging
import os
import secrets
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from pytest_crmeval.cluster.node import NodePlayer
from pytest_crmeval.cluster.pipe import PlayerLostError
from pytest_crmeval.options.values import ClusterOptions
from pytest_crmeval.player.context import SetupError

LOCAL = "local"
LOOPBACK = "127.0.0.2"
"""The address of a local cluster. Ray replaces 127.0.0.1 by an address that other machines can reach."""
HINT = "; if it uses token authentication, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN"
PAUSE = 1.0
"""Seconds before a call to a node that can't be reached is repeated."""
METHODS = 4
"""Calls of a player that run at the same time: one waits for messages, one delivers answers."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A node of the cluster."""

    id: str
    address: str
    cpus: int


class RayCluster:
    """A connection to a cluster; one per process."""

    def __init__(self, options: ClusterOptions) -> None:
        """Connect, or start a cluster on this machine; SetupError if that fails."""
        # Ray reads them when it is imported. A local cluster has a token of its own, so that none is left in the home.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if options.address == LOCAL:
            os.environ.setdefault("RAY_AUTH_MODE", "token")
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        try:
            import ray
        except ImportError:
            raise SetupError("crmeval: --crmeval-cluster needs Ray: pip install 'pytest-crmeval[ray]'") from None
        self._ray: Any = ray
        self._options = options
        ends = signal.getsignal(signal.SIGTERM)
        try:
            ray.init(
                options.address,
                runtime_env=dict(options.runtime_env),
                log_to_driver=False,
                logging_level=logging.ERROR,
                **_addressed(options.address),
            )
        except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            reason = str(error).strip().splitlines()[0]
            token = "" if os.environ.get("RAY_AUTH_MODE") == "token" else HINT
            raise SetupError(f"crmeval: --crmeval-cluster {options.address}: {reason}{token}") from None
        signal.signal(signal.SIGTERM, ends)  # Ray would end the process at once

    def __str__(self) -> str:
        """Return the address of the cluster and the version of Ray."""
        return f"{self._ray.get_runtime_context().gcs_address} (Ray {self._ray.__version__})"

    @property
    def nodes(self) -> Sequence[Node]:
        """The nodes that are alive and have CPUs."""
        return [
            Node(id=node["NodeID"], address=node["NodeManagerAddress"], cpus=int(node["Resources"]["CPU"]))
            for node in self._ray.nodes()
            if node["Alive"] and node["Resources"].get("CPU", 0) >= 1
        ]

    def cores(self, node: Node) -> int:
        """Return the number of cores that a player has on a node."""
        share = node.cpus // self._options.players
        return max(1, int(self._options.resources.get("CPU", share)))

    def start(self, node: Node) -> "RayPlayer":
        """Start a player on a node."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        asked: Mapping[str, float] = {"CPU": self.cores(node), **self._options.resources}
        actor = (
            self._ray.remote(NodePlayer)
            .options(
                num_cpus=asked["CPU"],
                resources={name: amount for name, amount in asked.items() if name != "CPU"},
                max_concurrency=METHODS,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False),
            )
            .remote()
        )
        return RayPlayer(self._ray, actor)

    def close(self) -> None:
        """Disconnect, and end a local cluster."""
        self._ray.shutdown()


class RayPlayer:
    """A player on a node, as an actor of Ray."""

    def __init__(self, ray: Any, actor: Any) -> None:  # noqa: ANN401 (Ray's classes are made at run time)
        self._ray = ray
        self._actor = actor

    def call(self, method: str, *arguments: object, seconds: float | None = None) -> Any:  # noqa: ANN401 (of any method)
        """Call a method and wait for its result; PlayerLostError if the player is gone, or takes too long."""
        errors = self._ray.exceptions
        while True:
            try:
                return self._ray.get(getattr(self._actor, method).remote(*arguments), timeout=seconds)
            except errors.ActorUnavailableError:
                time.sleep(PAUSE)
            except errors.GetTimeoutError:
                raise PlayerLostError(f"no answer within {seconds:g} s") from None
            except errors.RayError as error:
                raise PlayerLostError(str(error).strip().splitlines()[0]) from error

    def kill(self) -> None:
        """End the player at once."""
        self._ray.kill(self._actor)


def _addressed(address: str) -> Mapping[str, Any]:
    """Return the address of this process in a cluster on loopback addresses; empty in any other."""
    if address == LOCAL:
        return {"_node_ip_address": LOOPBACK}
    host = address.rpartition(":")[0]
    try:
        return {"_node_ip_address": host} if ip_address(host).is_loopback else {}
    except ValueError:  # a name
        return {}
