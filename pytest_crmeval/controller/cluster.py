"""The players of a run on a Ray cluster, as workers of the controller."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from pytest_crmeval.agents import CONTROLS
from pytest_crmeval.agents.atlas.specs import is_atlas
from pytest_crmeval.collect.case_item import cases_of
from pytest_crmeval.collect.context import context_of, usage_errors
from pytest_crmeval.controller.header import say
from pytest_crmeval.controller.loop import ControllerLoop
from pytest_crmeval.controller.messages import MessageHandler, WorkerEnd
from pytest_crmeval.controller.plan import RunPlan
from pytest_crmeval.controller.programs import ClusterPrograms
from pytest_crmeval.controller.server import given_server
from pytest_crmeval.models.control import EVERYBODY
from pytest_crmeval.options.reading import options_of
from pytest_crmeval.options.values import INFLIGHT, LOCAL, ClusterOptions
from pytest_crmeval.player.carried import carried, environment, opinions
from pytest_crmeval.player.context import SetupError
from pytest_crmeval.player.job import Job
from pytest_crmeval.player.kinds import Conversations
from pytest_crmeval.player.sandboxes import hidden_paths
from pytest_crmeval.player.subjects import asks_models
from pytest_crmeval.player.telemetry import VARIABLE, given_database

if TYPE_CHECKING:  # Ray takes a second
    from pytest_crmeval.cluster.players import Players
    from pytest_crmeval.cluster.setup import PlayerSetup


class ClusterRun:
    """Has the cases of a run played on a cluster."""

    def __init__(self, config: pytest.Config, plan: RunPlan, loop: ControllerLoop, handler: MessageHandler) -> None:
        self._config = config
        self._plan = plan
        self._loop = loop
        self._handler = handler
        self._players: Players | None = None
        self._jobs: Mapping[str, Job] = {}
        self._events: list[str] = []
        self.programs: ClusterPrograms | None = None
        """Judges programs on the nodes; None if there are none."""

    @property
    def each(self) -> int:
        """The number of cases that a player plays at the same time; an agent of the user may not be thread-safe."""
        options = options_of(self._config)
        ours = all(spec in CONTROLS or asks_models(spec) for spec in self._specs)
        return options.inflight or (INFLIGHT if ours else 1)

    def __str__(self) -> str:
        """Return the players and the cluster, for the header."""
        return f"{len(self)} player{'s' * (len(self) != 1)} on {self._players}" if self._players else "not needed"

    def __len__(self) -> int:
        """Return the number of players."""
        return len(self._players or ())

    def open(self, options: ClusterOptions) -> None:
        """Start the players; UsageError if one can't play."""
        with usage_errors():
            from pytest_crmeval.cluster.players import Players
            from pytest_crmeval.cluster.ray_cluster import RayCluster

            setup = self._setup()
            self._players = Players(RayCluster(options), options, setup, self._events.append)
            self._players.open()
        if setup.programs:
            name, identity = self._players.sandbox
            self.programs = ClusterPrograms(
                self._loop,
                self._handler.programs,
                name=name,
                level=self._players.level,
                identity=identity,
                slots=lambda: self._players.cores if self._players else 0,
            )

    @contextmanager
    def playing(self, session: pytest.Session) -> Iterator[None]:
        """Play while the loop runs; then show what happened to the cluster meanwhile."""
        assert self._players is not None  # noqa: S101 (opened before)
        self._jobs = {case.planned.key: case.job for case in cases_of(session.items) if case.may_be_ahead}
        self._players.connect(
            lambda pipe, name, lost: WorkerEnd(pipe, name, self._loop, self._handler, lost), self._give_up
        )
        try:
            yield
        finally:
            say(self._config, *(f"crmeval cluster: {event}" for event in self._events))

    def case(self, key: str) -> bytes:
        """Return a case with its content."""
        return carried(self._jobs[key])

    def close(self) -> None:
        """End all players."""
        if self._players:
            self._players.close()

    @property
    def has_servers(self) -> bool:
        """Whether each node has a PostgreSQL of its own."""
        has_conversations = Conversations.marker in self._plan.prefetch.kinds
        return bool(self._players) and has_conversations and given_server(self._config) is None

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to play on a cluster."""
        return bool(self._plan.prefetch.weights) or self._has_programs

    @property
    def _has_programs(self) -> bool:
        return self._plan.prefetch.sandboxed and options_of(self._config).checkpoints.sandbox_spec == LOCAL

    @property
    def _specs(self) -> set[str]:
        """The specs of the agents that play on the cluster."""
        cases = self._plan.cases.values()
        return {planned.spec for planned in cases if planned.key in self._plan.prefetch.weights}

    def _setup(self) -> "PlayerSetup":
        from pytest_crmeval.cluster.setup import PlayerSetup

        context, specs = context_of(self._config), self._specs
        shared_server = given_server(self._config) or ""
        if any(map(is_atlas, specs)) and not (shared_server or given_database()):
            raise SetupError(
                "crmeval: atlas keeps its telemetry in PostgreSQL, and each node of a cluster has its own; "
                f"set {VARIABLE} or CRMEVAL_DSN"
            )
        return PlayerSetup(
            options=context.options,
            specs=sorted(specs - {"oracle"}),
            markers=self._plan.prefetch.kinds,
            slots=self.each if specs else 0,
            shared_server=shared_server,
            environment=environment(context),
            opinions=opinions(context),
            colored=context.colored,
            programs=self._has_programs,
            hidden=hidden_paths(context),
        )

    def _give_up(self, reason: str) -> None:
        self._handler.control.stop(EVERYBODY, reason)
        self._loop.post(self._handler.queue.close)
