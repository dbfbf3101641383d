"""Messages between the workers and the controller, on a separate execnet channel.

Each worker of xdist gets its channel in ``workerinput``. Messages arrive in the order in which they were sent; those
of a worker that dies arrive before the notification of its end. Without xdist the controller is called directly.

A new message is a new class here, and a handler for it in ``controller/messages.py``.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import Any, Generic, Protocol, TypeVar

from pytest_crmeval.domain.wire import plain
from pytest_crmeval.models.control import Charge, Feedback

Reply = TypeVar("Reply")


class ControllerGoneError(Exception):
    """The controller is unreachable, or has answered with an error."""


@dataclass(frozen=True)
class ChannelMessage(Generic[Reply]):
    """A message of a worker to the controller; ``Reply`` is the type of the answer.

    Dataclasses, and not structs of msgspec, which is loaded when the first message is sent: with xdist this module is
    loaded in every pytest run of the environment.
    """


@dataclass(frozen=True)
class StartServer(ChannelMessage[None]):
    """Start the PostgreSQL of the run in the background."""


@dataclass(frozen=True)
class ServerAddress(ChannelMessage[tuple[str, bool]]):
    """Wait for the PostgreSQL of the run; the answer is its address, and whether it is embedded."""


@dataclass(frozen=True)
class ServerBack(ChannelMessage[str]):
    """Wait for an unreachable server; the answer is why the run can't continue, or empty."""


@dataclass(frozen=True)
class NeedsPlan(ChannelMessage[bool]):
    """Ask whether no worker has sent the plan yet."""


@dataclass(frozen=True)
class CollectedPlan(ChannelMessage[None]):
    """The collected items with their cases, which of them may be prefetched, and the shard they belong to."""

    cases: bytes
    """The output of ``controller.plan.encode_cases``, which decodes tens of thousands of cases quickly."""
    prefetch: Mapping[str, Any]
    shard: Mapping[str, Any]


@dataclass(frozen=True)
class Refuse(ChannelMessage[None]):
    """End the run before anything is played."""

    reason: str


@dataclass(frozen=True)
class Join(ChannelMessage[None]):
    """The worker plays up to ``slots`` cases at the same time."""

    slots: int


@dataclass(frozen=True)
class Quit(ChannelMessage[None]):
    """The worker has one slot less from now on; the reason is empty if there is nothing left to play."""

    reason: str = ""


@dataclass(frozen=True)
class Settle(ChannelMessage[None]):
    """Wait until the worker, whose own items are done, has nothing left to play; ``over`` ends the run."""

    over: bool


@dataclass(frozen=True)
class NextJob(ChannelMessage[str | None]):
    """Wait for a case to play; the answer is its key, or None when there are no more."""


@dataclass(frozen=True)
class Finished(ChannelMessage[None]):
    """A case was played, by a slot or by its item."""

    key: str
    outcome: tuple[bytes, bytes]
    """The recorded trial, empty if there is none, and the other data that its item needs; both as JSON."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """The files of the trial, by their paths in the folder of transcripts."""
    in_item: bool = False


@dataclass(frozen=True)
class SharedFiles(ChannelMessage[None]):
    """Files that several transcripts refer to, by their paths in the folder of transcripts; sent before the first."""

    files: Mapping[str, bytes]


@dataclass(frozen=True)
class Dropped(ChannelMessage[None]):
    """A case was interrupted; its item will play it."""

    key: str


@dataclass(frozen=True)
class Take(ChannelMessage[tuple[str, tuple[bytes, bytes]]]):
    """Wait for the outcome of an item's case.

    The answer is "played" with the outcome, or "alone" if the item has to play the case itself, or "over" if the run
    was stopped. If ``patient``, a case that is not being played yet is given to a slot next.
    """

    key: str
    patient: bool


@dataclass(frozen=True)
class StopPrefetch(ChannelMessage[None]):
    """Stop prefetching for the test of this case, because it does not use the outcome."""

    key: str


@dataclass(frozen=True)
class FileProgress(ChannelMessage[None]):
    """The progress of a solution file: graded, total and solved lines."""

    key: str
    judged: int
    lines: int
    solved: int


@dataclass(frozen=True)
class SandboxLevel(ChannelMessage[str]):
    """Ask for the level of isolation at which programs run; the answer is empty if there are none."""


@dataclass(frozen=True)
class FindPlaybook(ChannelMessage[Mapping[str, Any]]):
    """Ask for a learner's playbook from all recorded conversations."""

    key: str


@dataclass(frozen=True)
class Objection(ChannelMessage[str]):
    """Ask why no further trial of an agent may start; the answer is empty if trials may."""

    agent: str


@dataclass(frozen=True)
class Stop(ChannelMessage[None]):
    """Start no further trial of an agent."""

    agent: str
    reason: str


@dataclass(frozen=True)
class Acquire(ChannelMessage[int | None]):
    """Wait for a permit for one model call; the answer is None if there is none."""

    model: str
    tokens: int
    patience: float | None
    charge: Charge


@dataclass(frozen=True)
class Release(ChannelMessage[None]):
    """Return a permit, with the result of the call."""

    permit: int
    feedback: Feedback


@dataclass(frozen=True)
class Withdraw(ChannelMessage[None]):
    """Return an unused permit."""

    permit: int


@dataclass(frozen=True)
class FindRefusal(ChannelMessage[str]):
    """Ask why no further call to a model is allowed; the answer is empty if calls are."""

    model: str


@dataclass(frozen=True)
class Fail(ChannelMessage[None]):
    """Count a call that ended without an answer."""

    model: str


@dataclass(frozen=True)
class EndTrial(ChannelMessage[None]):
    """A trial makes no more calls."""

    trial: str


@dataclass(frozen=True)
class HasAnswered(ChannelMessage[bool]):
    """Ask whether the server of a model has answered any call of this run."""

    model: str


class Channel(Protocol):
    """The connection to the controller: from a worker, or within the controller's own process."""

    def ask(self, message: ChannelMessage[Reply]) -> Reply:
        """Send a message and wait for the answer; ControllerGoneError if there is none."""
        ...

    def tell(self, message: ChannelMessage[Any]) -> None:
        """Send a message that needs no answer."""
        ...


class ExecnetChannel(Protocol):
    """The part of execnet's Channel that we use."""

    def send(self, item: object) -> None:
        """Send; OSError if the other end is gone."""
        ...

    def setcallback(self, callback: Callable[[Any], Any], endmarker: object = ...) -> None:
        """Call ``callback`` with each received item, and with ``endmarker`` after the last one."""
        ...

    def close(self) -> None:
        """Send no more; the other end receives its endmarker."""
        ...


class WorkerChannel:
    """The worker's end of its channel; any thread may use it."""

    def __init__(self, channel: ExecnetChannel) -> None:
        self._channel = channel
        self._numbers = count(1)
        self._answers: dict[int, Future[Any]] = {}
        self._gone = False
        channel.setcallback(self._received, endmarker=None)

    def ask(self, message: ChannelMessage[Reply]) -> Reply:
        """Send a message and wait for the answer; ControllerGoneError if there is none."""
        return self.begin(message).result()

    def begin(self, message: ChannelMessage[Reply]) -> "Future[Reply]":
        """Send a message and return its answer, which may come later."""
        number, answer = next(self._numbers), Future[Reply]()
        self._answers[number] = answer
        try:
            self._send(number, message)
        except BaseException:
            self._answers.pop(number, None)
            raise
        if self._gone:  # it may have closed just now
            self._received(None)
        return answer

    def tell(self, message: ChannelMessage[Any]) -> None:
        """Send a message that needs no answer."""
        self._send(0, message)

    def close(self) -> None:
        """Close it: the controller takes back all that this worker holds, such as the case of an interrupted item."""
        self._channel.close()

    def _send(self, number: int, message: ChannelMessage[Any]) -> None:
        try:
            self._channel.send(encode((number, type(message).__name__, message)))
        except OSError as error:
            raise ControllerGoneError("the controller is gone") from error

    def _received(self, data: bytes | None) -> None:
        """Receive an answer; called in execnet's receiver thread."""
        if data is None:
            self._gone = True
            while self._answers:
                with suppress(KeyError):  # the other thread has just taken it
                    self._answers.popitem()[1].set_exception(ControllerGoneError("the controller is gone"))
            return
        import msgspec

        number, error, value = msgspec.msgpack.decode(data)
        answer = self._answers.pop(number, None)
        if answer is not None:
            answer.set_exception(ControllerGoneError(error)) if error else answer.set_result(value)


def encode(value: object) -> bytes:
    """Return a message or an answer as bytes; halves of surrogate pairs in texts become escapes."""
    import msgspec

    try:
        return msgspec.msgpack.encode(value, enc_hook=plain)
    except UnicodeEncodeError:
        return msgspec.msgpack.encode(_escaped(msgspec.to_builtins(value, builtin_types=(bytes,), enc_hook=plain)))


def _escaped(value: Any) -> Any:  # noqa: ANN401 (plain data)
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_escaped(key): _escaped(item) for key, item in value.items()}
    return [_escaped(item) for item in value] if isinstance(value, list | tuple) else value


def decode_message(data: bytes) -> tuple[int, ChannelMessage[Any]]:
    """Return the number and the message that a worker has sent."""
    import msgspec

    number, name, content = msgspec.msgpack.decode(data, type=tuple[int, str, msgspec.Raw])
    return number, msgspec.msgpack.decode(content, type=_message_types()[name])


@lru_cache(1)
def _message_types() -> Mapping[str, type[ChannelMessage[Any]]]:
    return {kind.__name__: kind for kind in ChannelMessage.__subclasses__()}
