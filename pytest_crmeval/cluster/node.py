"""A player on a node of the cluster: it plays the cases of the controller's queue, one per slot at a time."""

import os
import pickle
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from tempfile import mkdtemp

from pytest_crmeval.channel import Channel, WorkerChannel
from pytest_crmeval.cluster.messages import NextCase
from pytest_crmeval.cluster.pipe import Messages, NodePipe
from pytest_crmeval.cluster.programs import ProgramThreads
from pytest_crmeval.cluster.services import NodeServices
from pytest_crmeval.cluster.setup import Begun, NodeFacts, NodeSandbox, PlayerSetup
from pytest_crmeval.options.secrets import redactor_for
from pytest_crmeval.options.values import Options
from pytest_crmeval.player.closing import close_models
from pytest_crmeval.player.context import Context, SetupError
from pytest_crmeval.player.job import Job
from pytest_crmeval.player.kinds import KINDS
from pytest_crmeval.player.models import check_models, known_agent
from pytest_crmeval.player.player import Player
from pytest_crmeval.player.sandboxes import known_sandbox
from pytest_crmeval.player.slots import PlayCase, Slots
from pytest_crmeval.ports.sandbox import SandboxError
from pytest_crmeval.sandboxes.local import LocalSandbox


class NodePlayer:
    """Plays cases on one node. Ray runs it in a process of its own, and calls its methods."""

    def __init__(self) -> None:
        self._pipe = NodePipe()
        self._folder = Path()
        self._services: NodeServices | None = None
        self._sandbox: LocalSandbox | None = None

    def facts(self) -> NodeFacts:
        """Return what the controller checks before it sends anything."""
        token = os.environ.get("RAY_AUTH_MODE", "").lower() == "token"  # inherited from the node's own process of Ray
        return NodeFacts(version=version("pytest-crmeval"), has_token=token)

    def begin(self, name: str, setup: PlayerSetup) -> Begun:
        """Begin to play, if this node can."""
        os.environ.update(setup.environment)
        self._folder = Path(mkdtemp(prefix="crmeval-player-"))
        options = _in_folder(setup.options, self._folder, setup.opinions)
        channel = WorkerChannel(self._pipe)
        self._services = NodeServices(options.run, channel, close=self._pipe.close)
        context = _context(name, options, self._services, colored=setup.colored)
        kinds = [kind for kind in KINDS if kind.marker in setup.markers]
        needs_server = any(kind.needs_server for kind in kinds)
        try:
            check_models(context, setup.specs)
            if needs_server:
                self._services.open_server(setup.shared_server)
            level = _strongest(setup) if setup.programs else ""
        except (SetupError, SandboxError) as error:
            return Begun(refusal=str(error).removeprefix("crmeval: "))
        jobs: dict[str, Job] = {}
        player = Player(context, jobs, needs_server=needs_server)
        player.load(kinds)

        @contextmanager
        def seat(number: int) -> Iterator[PlayCase]:
            with player.seat(number) as play:
                yield lambda key: (play(key), jobs.pop(key))[0]

        Slots(setup.slots, channel, seat, lambda: _next(channel, jobs)).start()
        return Begun(level=level)

    def judge_programs(self, level: str, cores: int, setup: PlayerSetup) -> NodeSandbox:
        """Begin to judge programs at a level of isolation, on a number of cores."""
        assert self._services is not None  # noqa: S101 (begun before)
        try:
            self._sandbox = _sandbox(level, cores, setup)
            found = NodeSandbox(name=self._sandbox.name, identity=self._sandbox.identity)
        except SandboxError as error:
            return NodeSandbox(refusal=str(error))
        ProgramThreads(self._services.channel, self._sandbox).start()
        return found

    def fetch(self, known: int) -> Messages | None:
        """Return the messages for the controller; see ``NodePipe``."""
        return self._pipe.fetch(known)

    def deliver(self, first: int, answers: list[bytes]) -> None:
        """Take answers of the controller; see ``NodePipe``."""
        self._pipe.deliver(first, answers)

    def end(self) -> None:
        """Stop the server of this node, and remove its files."""
        close_models()
        if self._sandbox:
            self._sandbox.close()
        if self._services:
            self._services.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _sandbox(level: str, cores: int, setup: PlayerSetup) -> LocalSandbox:
    checkpoints = setup.options.checkpoints
    packages = [str(path) for path in checkpoints.packages]
    return LocalSandbox(level, cores, unsafe=checkpoints.unsafe, packages=packages, hidden=setup.hidden)


def _strongest(setup: PlayerSetup) -> str:
    """Return the strongest level at which this machine can isolate programs."""
    with closing(_sandbox("auto", 1, setup)) as sandbox:
        return sandbox.level


def _next(channel: Channel, jobs: dict[str, Job]) -> str | None:
    """Wait for a case; return its key, or None when there are no more."""
    content = channel.ask(NextCase())
    if content is None:
        return None
    job: Job = pickle.loads(content)  # noqa: S301 (from the controller, as this object itself)
    jobs[job.planned.key] = job
    return job.planned.key


def _in_folder(options: Options, folder: Path, files: Mapping[str, bytes]) -> Options:
    """Return the options with a folder of this machine for what a player writes, which already has ``files``."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return replace(options, reports=folder)


class _NoPytestError(BaseException):
    """Stands for the exceptions of pytest, which a player does not have."""


def _context(name: str, options: Options, services: NodeServices, *, colored: bool) -> Context:
    context = Context(
        options=options,
        redactor=redactor_for(options),
        services=lambda: services,
        make_agent=lambda spec: known_agent(context, spec),
        make_sandbox=lambda spec: known_sandbox(context, spec),
        worker=name,
        workers=1,
        root=Path.cwd(),
        env_error="",
        colored=colored,
        is_dry_run=False,
        skips=_NoPytestError,
        exits=_NoPytestError,
    )
    return context
