"""What a process needs to play cases: the options of the run, its shared services, and what is made once."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from pytest_crmeval.domain.redaction import Redactor
from pytest_crmeval.models.control import Control
from pytest_crmeval.options.values import Options
from pytest_crmeval.player.playbooks import Playbooks
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
    """What all players of a run share; in a worker these are proxies of the controller's."""

    @property
    def server(self) -> Server:
        """The PostgreSQL of the run."""
        ...

    @property
    def control(self) -> Control:
        """Rate limits, budget and stops."""
        ...

    @property
    def playbooks(self) -> Playbooks:
        """What learners know."""
        ...

    def progress(self, key: str, judged: int, lines: int, solved: int) -> None:
        """Report how far a solution file is: its key, lines judged, lines in all, lines solved."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Context:
    """Everything that players get from the process they run in; one per process."""

    options: Options
    redactor: Redactor
    services: Callable[[], Services]
    """The shared services, connected on first use."""
    make_agent: Callable[[str], Agent | None]
    """Makes the agent that a spec names; None if no plugin knows it."""
    make_sandbox: Callable[[str], Sandbox | None]
    """Makes the sandbox that a spec names; None if no plugin knows it."""
    worker: str
    """Name of the process: ``main`` or that of an xdist worker."""
    workers: int
    """How many processes play."""
    root: Path
    """The project's folder."""
    env_error: str
    """What is wrong with the .env file; empty if nothing is."""
    colored: bool
    """Whether the terminal shows colours."""
    is_dry_run: bool
    """Whether nothing is played: models need no keys."""
    skips: type[BaseException]
    """What an agent or a scorer raises to skip its test."""
    exits: type[BaseException]
    """What an agent or a scorer raises to end the run."""
    _made: dict[object, object] = field(default_factory=dict)
    _making: RLock = field(default_factory=RLock)

    def once(self, make: Callable[["Context"], Made]) -> Made:
        """Return what ``make`` makes from this context; it is called once per process."""
        with self._making:  # a thread that plays ahead may ask at the same time; what is made may ask for more
            if make not in self._made:
                self._made[make] = make(self)
            return cast("Made", self._made[make])
