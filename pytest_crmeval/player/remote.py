"""The run's server, control and playbooks, as a worker sees them: each call is a message to the controller."""

from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING

from pytest_crmeval.agents.playbook import Playbook
from pytest_crmeval.channel import (
    Acquire,
    Channel,
    ControllerGoneError,
    EndTrial,
    Fail,
    FindPlaybook,
    FindRefusal,
    HasAnswered,
    Objection,
    Release,
    ServerAddress,
    ServerBack,
    StartServer,
    Stop,
    Withdraw,
    WorkerChannel,
)
from pytest_crmeval.models.control import NO_CHARGE, Charge, Feedback

if TYPE_CHECKING:  # psycopg takes 0.3 s and is needed only when a case is played
    from pytest_crmeval.postgres.databases import RunDatabases


class RemoteServer:
    """A proxy of the run's server, for workers."""

    def __init__(self, channel: Channel, run: str) -> None:
        self._channel = channel
        self._run = run

    def begin(self) -> None:
        """Request that the controller starts the server."""
        self._channel.tell(StartServer())

    def databases(self) -> "RunDatabases":
        """Return the databases of the run; waits until the controller reports that the server is ready."""
        from pytest_crmeval.postgres.databases import Address, RunDatabases

        return RunDatabases(Address(*self._channel.ask(ServerAddress())), self._run)

    def wait_until_back(self) -> str:
        """Wait until the controller reaches the server again; return why the run can't continue if it does not."""
        return self._channel.ask(ServerBack())


class RemoteControl:
    """A proxy of the run's control, for workers."""

    def __init__(self, channel: WorkerChannel) -> None:
        self._channel = channel

    def objection(self, agent: str) -> str:
        """Return why no further trial of ``agent`` may start; empty if it may."""
        return self._channel.ask(Objection(agent))

    def stop(self, agent: str, why: str) -> None:
        """Start no further trial of ``agent`` in any worker."""
        self._channel.ask(Stop(agent, why))

    def acquire(self, model: str, tokens: int, patience: float | None = None, charge: Charge = NO_CHARGE) -> int | None:
        """Wait for a permit; None if it is refused or not available in time. After Ctrl-C the permit is given back."""
        permit = self._channel.begin(Acquire(model, tokens, patience, charge))
        try:
            return permit.result()
        except KeyboardInterrupt:
            permit.add_done_callback(self._withdraw)
            raise

    def refusal(self, model: str) -> str:
        """Return why no further call to ``model`` is allowed."""
        return self._channel.ask(FindRefusal(model))

    def fail(self, model: str) -> None:
        """Count a call that ended without an answer."""
        self._channel.tell(Fail(model))

    def end(self, trial: str) -> None:
        """Report that a trial makes no more calls."""
        self._channel.tell(EndTrial(trial))

    def release(self, permit: int, feedback: Feedback) -> None:
        """Give a permit back."""
        self._channel.tell(Release(permit, feedback))

    def has_answered(self, model: str) -> bool:
        """Return whether the model has answered any call."""
        return self._channel.ask(HasAnswered(model))

    def _withdraw(self, permit: "Future[int | None]") -> None:
        with suppress(ControllerGoneError):
            if (number := permit.result()) is not None:
                self._channel.tell(Withdraw(number))


class Playbooks:
    """A proxy of the playbooks of learners."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def find(self, key: str) -> Playbook:
        """Return the playbook of a key, learnt from all recorded conversations."""
        return Playbook.from_dict(self._channel.ask(FindPlaybook(key)))
