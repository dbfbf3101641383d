"""What a process needs to play cases: the options of the run, its shared services, and its cached objects."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from pytest_crmeval.channel import Channel
from pytest_crmeval.domain.redaction import Redactor
from pytest_crmeval.models.control import Control
from pytest_crmeval.options.values import Options
from pytest_crmeval.player.remote import Playbooks
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.sandbox import Sandbox

if TYPE_CHECKING:  # psycopg takes 0.3 s
    from pytest_crmeval.postgres.databases import RunDatabases

Made = TypeVar("Made")


class SetupError(Exception):
    """The run can't start as it is configured; the message says what to change."""


class Server(Protocol):
    """The PostgreSQL of the run."""

    def databases(self) -> "RunDatabases":
        """Return the databases of the run; waits until the server is ready."""
        ...

    def wait_until_back(self) -> str:
        """Wait for an unreachable server; return why the run can't continue if it does not come back, else ''."""
        ...


class Services(Protocol):
    """The services that all players of a run share; in a worker they are proxies of the controller's."""

    @property
    def server(self) -> Server:
        """The PostgreSQL of the run."""
        ...

    @property
    def control(self) -> Control:
        """Rate limits, budget and stops."""
        ...

    @property
    def channel(self) -> Channel:
        """The channel to the controller."""
        ...

    @property
    def playbooks(self) -> Playbooks:
        """The playbooks of learners."""
        ...

    @property
    def sandbox_level(self) -> str:
        """The level of the local sandbox that the controller has chosen for all processes; empty: none yet."""
        ...

    @property
    def programs(self) -> "Sandbox | None":
        """The nodes of a cluster, where programs run instead of in the local sandbox; None if there is no cluster."""
        ...

    def finishing(self) -> AbstractContextManager[None]:
        """Delay an interrupt until the case that a test plays itself is finished."""
        ...

    def refuse(self, why: str) -> None:
        """End the run, because it can't continue as it is configured."""
        ...

    def progress(self, key: str, judged: int, lines: int, solved: int) -> None:
        """Report the progress of a solution file: its key, graded lines, all lines, solved lines."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Context:
    """Everything that players get from their process; there is one per process."""

    options: Options
    redactor: Redactor
    services: Callable[[], Services]
    """The shared services, connected on first use."""
    make_agent: Callable[[str], Agent | None]
    """Creates the agent of a spec; None if no plugin knows it."""
    make_sandbox: Callable[[str], Sandbox | None]
    """Creates the sandbox of a spec; None if no plugin knows it."""
    worker: str
    """Name of the process: ``main`` or that of an xdist worker."""
    workers: int
    """Number of processes that play cases."""
    root: Path
    """The project's folder."""
    env_error: str
    """Why the .env file can't be read; empty if it can."""
    colored: bool
    """Whether the terminal shows colours."""
    is_dry_run: bool
    """Whether no case is played, so that models need no keys."""
    skips: type[BaseException]
    """Exception that an agent or a scorer raises to skip its test."""
    exits: type[BaseException]
    """Exception that an agent or a scorer raises to end the run."""
    _made: dict[object, object] = field(default_factory=dict)
    _making: RLock = field(default_factory=RLock)

    def once(self, make: Callable[["Context"], Made]) -> Made:
        """Return the result of ``make`` with this context; ``make`` is called once per process."""
        with self._making:  # several threads may call this, and ``make`` may call it again
            if make not in self._made:
                self._made[make] = make(self)
            return cast("Made", self._made[make])
