"""What a worker sees of the controller: the run's server and the run's control, at the other end of the line."""

from collections.abc import Callable, Mapping
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pytest_crmeval.channel.line import LineToController
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.playbook import Playbook
from pytest_crmeval.models.control import NO_CHARGE, Charge, Control, Feedback

if TYPE_CHECKING:  # psycopg takes 0.3 s and is wanted only when a case is played
    from pytest_crmeval.postgres.databases import RunDatabases


class RemoteServer:
    """The run's server."""

    def __init__(self, line: LineToController, run: str) -> None:
        self._line = line
        self._run = run
        self.out_of_reach = False

    def begin(self) -> None:
        """Ask the controller to start it; CollectError if this worker is on a machine that has no line to it."""
        try:
            self._line.ask("begin")
        except OSError as error:
            self.out_of_reach = True
            raise pytest.Collector.CollectError(
                f"this worker can't reach the controller on loopback ({error.strerror}): workers have to be on the "
                "machine of the controller; --crmeval-shard splits an evaluation over several"
            ) from None

    def databases(self) -> "RunDatabases":
        """Wait until the controller says that it is ready."""
        from pytest_crmeval.postgres.databases import Address, RunDatabases

        return RunDatabases(Address(*self._line.ask("address")), self._run)

    def wait_until_back(self) -> str:
        """Wait until the controller reaches the server again; return why the run can't continue if it does not."""
        return str(self._line.ask("server_back"))


class RemoteControl:
    """The run's control."""

    def __init__(self, line: LineToController) -> None:
        self._line = line

    def objection(self, agent: str) -> str:
        """Ask whether a trial may be started."""
        return str(self._line.ask("objection", agent))

    def stop(self, agent: str, why: str) -> None:
        """Have no further trial of ``agent`` started, by any worker."""
        self._line.ask("stop", [agent, why])

    def acquire(self, model: str, tokens: int, patience: float | None = None, charge: Charge = NO_CHARGE) -> int | None:
        """Wait for a permit; None if there was none, or not in time."""
        permit = self._line.ask("acquire", [model, tokens, patience, charge.most, charge.trial, charge.agent])
        return None if permit is None else int(permit)

    def refusal(self, model: str) -> str:
        """Ask why no further call is allowed."""
        return str(self._line.ask("refusal", model))

    def fail(self, model: str) -> None:
        """Count a call that ended without an answer."""
        self._line.ask("fail", model)

    def end(self, trial: str) -> None:
        """Say that a trial makes no more calls."""
        self._line.ask("end", trial)

    def release(self, permit: int, feedback: Feedback) -> None:
        """Give a permit back."""
        told = {name: getattr(feedback, name) for name in Feedback.__slots__}  # asdict can't copy every mapping
        self._line.ask("release", [permit, {**told, "headers": dict(feedback.headers)}])

    def has_answered(self, model: str) -> bool:
        """Ask whether anybody has had an answer."""
        return bool(self._line.ask("has_answered", model))


class RemoteQueue:
    """The run's queue: who plays what."""

    def __init__(self, line: LineToController) -> None:
        self._line = line

    def join(self, player: str, slots: int) -> None:
        """Tell that somebody is going to play."""
        self._line.ask("join", [player, slots])

    def quit(self, player: str, why: str = "") -> None:
        """Tell that he plays one less."""
        self._line.ask("quit", [player, why])

    def settle(self, player: str, *, over: bool) -> None:
        """Wait until there is nothing more to play here."""
        self._line.ask("settle", [player, over])

    def next(self, player: str) -> str | None:
        """Wait for a case to play."""
        key: str | None = self._line.ask("next", player)
        return key

    def finish(self, key: str, outcome: JsonObject) -> None:
        """Tell how a case was played."""
        self._line.ask("finish", [key, outcome])

    def drop(self, key: str) -> None:
        """Give a case back."""
        self._line.ask("drop", key)

    def take(
        self, key: str, player: str, *, patient: bool
    ) -> tuple[Literal["played", "alone", "over"], JsonObject | None]:
        """Wait for how a case was played."""
        told, outcome = self._line.ask("take", [key, player, patient])
        return told, outcome

    def leave(self, key: str) -> None:
        """Have nothing more played ahead for the test of this case."""
        self._line.ask("leave", key)


class RemotePlaybooks:
    """What learners know."""

    def __init__(self, line: LineToController) -> None:
        self._line = line

    def find(self, key: str) -> Playbook:
        """Ask what was learnt under a key."""
        return Playbook.from_dict(self._line.ask("playbook", key))


class ControlAnswers:
    """The controller's side of it: a worker that dies does not take its permits with it."""

    def __init__(self, control: Control, forget: Callable[[set[int]], None]) -> None:
        self._control = control
        self._forget = forget
        self._holders: dict[int, int] = {}
        """The thread of the call on which each permit was given; it may come back on another."""
        self._trials: dict[str, int] = {}
        """The same of each trial that has asked for a permit."""
        self._guard = Lock()

    def answers(self) -> Mapping[str, Callable[[Any], Any]]:
        """Return what can be asked."""
        return {
            "objection": self._control.objection,
            "stop": lambda about: self._control.stop(*about),
            "acquire": self._acquire,
            "release": self._release,
            "refusal": self._control.refusal,
            "fail": self._control.fail,
            "end": self._end,
            "has_answered": self._control.has_answered,
        }

    def hung_up(self) -> None:
        """Take back what the caller of this thread still holds."""
        caller = get_ident()
        with self._guard:
            held = {permit for permit, holder in self._holders.items() if holder == caller}
            for permit in held:
                del self._holders[permit]
            trials = [trial for trial, holder in self._trials.items() if holder == caller]
        self._forget(held)
        for trial in trials:
            self._end(trial)

    def _acquire(self, about: tuple[str, int, float | None, float, str, str]) -> int | None:
        model, tokens, patience, most, trial, agent = about
        if trial:  # before there is a permit: money is reserved for the trial though the call is not let in
            with self._guard:
                self._trials[trial] = get_ident()
        permit = self._control.acquire(model, tokens, patience, Charge(most=most, trial=trial, agent=agent))
        if permit is not None:
            with self._guard:
                self._holders[permit] = get_ident()
        return permit

    def _end(self, trial: str) -> None:
        with self._guard:
            self._trials.pop(trial, None)
        self._control.end(trial)

    def _release(self, about: tuple[int, Mapping[str, Any]]) -> None:
        permit, feedback = about
        with self._guard:
            self._holders.pop(permit, None)
        self._control.release(permit, Feedback(**feedback))
