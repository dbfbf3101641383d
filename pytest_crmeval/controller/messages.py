"""The handlers of the workers' messages; they run in the controller's thread."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, Protocol

from pytest_crmeval import channel
from pytest_crmeval.channel import ChannelMessage, ExecnetChannel, decode_message, encode
from pytest_crmeval.cluster import messages as cluster
from pytest_crmeval.controller.loop import ControllerLoop, WaitingThreads
from pytest_crmeval.controller.programs import ProgramQueue
from pytest_crmeval.controller.queue import LATER, JobQueue
from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.models.control import Feedback
from pytest_crmeval.models.shared_control import SharedControl


class Run(Protocol):
    """The part of the run that messages need, besides the queue and the control."""

    sandbox_level: str

    def start_server(self) -> None:
        """Start the PostgreSQL of the run in the background."""
        ...

    def server_address(self) -> tuple[str, bool]:
        """Wait for the PostgreSQL of the run; return its address, and whether it is embedded."""
        ...

    def server_back(self) -> str:
        """Wait for an unreachable server; return why the run can't continue, or empty."""
        ...

    def needs_plan(self) -> bool:
        """Whether no worker has sent the plan yet."""
        ...

    def take_plan(self, plan: channel.CollectedPlan) -> None:
        """Accept the plan of the first worker that sends one."""
        ...

    def refuse_later(self, reason: str) -> None:
        """End the run when the worker has collected."""
        ...

    def keep(self, files: Mapping[str, bytes]) -> None:
        """Keep files that several transcripts share, whichever of the trials are recorded."""
        ...

    def record(self, message: channel.Finished) -> None:
        """Record an outcome."""
        ...

    def sync(self) -> None:
        """Wait until everything recorded is on disk."""
        ...

    def spec_of(self, key: str) -> str:
        """Return the spec of the agent that plays a case."""
        ...

    def lost_outcome(self, key: str, reason: str) -> channel.Finished:
        """Return the errored outcome of a case that can't be played."""
        ...

    def progress(self, key: str, judged: int, lines: int, solved: int) -> None:
        """Show the progress of a solution file."""
        ...

    def case(self, key: str) -> bytes:
        """Return a case with its content, for a player on another machine."""
        ...

    def playbook(self, key: str) -> Mapping[str, Any]:
        """Return the playbook of a learner."""
        ...


class MessageHandler:
    """Handles the messages of all workers in order of arrival; an answer that is not known yet is sent later."""

    def __init__(self, queue: JobQueue, control: SharedControl, run: Run) -> None:
        self.queue = queue
        self.control = control
        self.run = run
        self.programs = ProgramQueue()
        self._waiting: dict[type[ChannelMessage[Any]], list[tuple[ChannelMessage[Any], Sender]]] = {channel.Take: []}
        """Messages to be handled again when something has changed; items first: they may decide which case is next."""
        self._idle: list[Future[None]] = []
        self._permits: dict[int, str] = {}
        """Permit -> the worker that holds it."""
        self._trials: dict[str, str] = {}
        """Trial that has requested a permit -> its worker."""
        self._gone: set[str] = set()
        self._threads = WaitingThreads()

    def received(self, message: ChannelMessage[Any], sender: "Sender") -> None:
        """Handle a message, and answer it."""
        if not self._answered(message, sender):
            self._waiting.setdefault(type(message), []).append((message, sender))

    def gone(self, worker: str, lost: str = "") -> None:
        """Take back everything that a dead worker holds, and requeue its cases; ``lost`` is said of those that are."""
        self._gone.add(worker)
        self.control.forget(self._held_by(worker))
        for trial in [trial for trial, holder in self._trials.items() if holder == worker]:
            self.end_trial(trial)
        self.programs.gone(worker, lost)
        for key in self.queue.gone(worker):
            why = lost or f"worker {worker!r} crashed while playing it, as another worker had before"
            self.lose(key, worker, why)

    def idle(self) -> "Future[None]":
        """Return a future that is done when no case is being played."""
        done = Future[None]()
        self._idle.append(done)
        return done

    def settle(self) -> None:
        """Answer all messages that can be answered now."""
        for kind, waiting in self._waiting.items():
            refused: set[str] = set()
            left = []
            for message, sender in waiting:
                # The slots of a worker are alike: if one has to wait, all have.
                if sender.worker in refused or not self._answered(message, sender):
                    left.append((message, sender))
                    refused |= {sender.worker} if kind in NEXT else set()
            self._waiting[kind] = left
        if self._idle and not self.queue.playing:
            for done in self._idle:
                done.set_result(None)
            self._idle.clear()

    def next_job(self, worker: str) -> object:
        """Return a case to play.

        While a model is paused, one case of each agent that needs it is enough to probe it. More of them would only
        wait, in slots that other agents can use.
        """
        if not (paused := self.control.paused_agents):
            return self.queue.next(worker)
        probing = paused.intersection(map(self.run.spec_of, self.queue.playing))
        return self.queue.next(worker, is_held=lambda key: self.run.spec_of(key) in probing)

    def next_case(self, worker: str) -> object:
        """Return a case with its content; one that can't be read is errored."""
        while isinstance(key := self.next_job(worker), str):
            try:
                return self.run.case(key)
            except DatasetError as error:
                self.lose(key, worker, str(error))
        return key

    def finished(self, message: channel.Finished, worker: str) -> None:
        """Record an outcome, unless the case has one."""
        if message.in_item:
            take = [(channel.Take(message.key, patient), worker) for patient in (True, False)]
            waiting = self._waiting[channel.Take]  # the item gave up waiting, for example because of a time limit
            waiting[:] = [each for each in waiting if (each[0], each[1].worker) not in take]
            self.queue.finish_in_item(message.key)
            self.run.record(message)
        elif self.queue.finish(message.key, worker, message.outcome):
            self.run.record(message)

    def dropped(self, key: str, worker: str) -> None:
        """Requeue an interrupted case; one that only slots may play is errored."""
        if self.queue.drop(key):
            self.lose(key, worker, "it was interrupted")

    def lose(self, key: str, worker: str, reason: str) -> None:
        """Record a case as errored."""
        self.finished(self.run.lost_outcome(key, reason), worker)

    def settled(self, worker: str, *, over: bool) -> object:
        """Wait for the slots of a worker whose own items are done."""
        self.queue.retire(worker, over=over)
        return None if self.queue.is_settled(worker) else LATER

    def acquired(self, message: channel.Acquire, worker: str) -> "Future[int | None]":
        """Wait for a permit, in a thread."""
        if message.charge.trial:  # before the permit: money is reserved while the call waits
            self._trials[message.charge.trial] = worker

        def acquire() -> int | None:
            permit = self.control.acquire(message.model, message.tokens, message.patience, message.charge)
            if permit is not None:
                self._permits[permit] = worker
            if worker in self._gone:  # it died while it waited
                for unused in self._held_by(worker):
                    self.control.release(unused, Feedback(ok=True))
            return permit

        return self.in_thread(acquire)

    def _held_by(self, worker: str) -> list[int]:
        held = [permit for permit, holder in tuple(self._permits.items()) if holder == worker]
        return [permit for permit in held if self._permits.pop(permit, None)]

    def released(self, message: channel.Release) -> None:
        """Take a permit back, and learn from the result of the call."""
        self._permits.pop(message.permit, None)
        self.control.release(message.permit, message.feedback)

    def withdrawn(self, permit: int) -> None:
        """Take an unused permit back."""
        self._permits.pop(permit, None)
        self.control.release(permit, Feedback(ok=True))

    def end_trial(self, trial: str) -> None:
        """Note that a trial makes no more calls."""
        self._trials.pop(trial, None)
        self.control.end(trial)

    def in_thread(self, wait: Callable[[], Any]) -> "Future[Any]":
        """Wait for a permit or for the server in a thread, so that other messages are answered meanwhile."""
        return self._threads.submit(wait)

    def _answered(self, message: ChannelMessage[Any], sender: "Sender") -> bool:
        try:
            value = HANDLERS[type(message)](self, message, sender.worker)
        except Exception as error:  # noqa: BLE001 (raised in the worker that has asked)
            sender.answer(None, str(error) or type(error).__name__)
            return True
        if isinstance(message, channel.Take) and value is not LATER:
            self.run.sync()  # an item gets the outcome of its case only when it is on disk
        if isinstance(value, Future):
            value.add_done_callback(sender.forward)
        elif value is not LATER:
            sender.answer(value)
        return value is not LATER


NEXT = {channel.NextJob, cluster.NextCase, cluster.NextProgram}
HANDLERS: Mapping[type[ChannelMessage[Any]], Callable[[MessageHandler, Any, str], object]] = {
    channel.StartServer: lambda here, _message, _worker: here.run.start_server(),
    channel.ServerAddress: lambda here, _message, _worker: here.in_thread(here.run.server_address),
    channel.ServerBack: lambda here, _message, _worker: here.in_thread(here.run.server_back),
    channel.NeedsPlan: lambda here, _message, _worker: here.run.needs_plan(),
    channel.CollectedPlan: lambda here, message, _worker: here.run.take_plan(message),
    channel.Refuse: lambda here, message, _worker: here.run.refuse_later(message.reason),
    channel.Join: lambda here, message, worker: here.queue.join(worker, message.slots),
    channel.Quit: lambda here, message, worker: here.queue.quit(
        worker, f"{worker}: {message.reason}" if message.reason else ""
    ),
    channel.Settle: lambda here, message, worker: here.settled(worker, over=message.over),
    channel.NextJob: lambda here, _message, worker: here.next_job(worker),
    cluster.NextCase: lambda here, _message, worker: here.next_case(worker),
    cluster.NextProgram: lambda here, _message, worker: here.programs.next(worker),
    cluster.ProgramJudged: lambda here, message, _worker: here.programs.judged(message),
    cluster.FindProblem: lambda here, message, _worker: here.in_thread(
        lambda: here.programs.problem(message.file, message.problem)
    ),
    channel.Take: lambda here, message, worker: here.queue.take(message.key, worker, patient=message.patient),
    channel.Finished: lambda here, message, worker: here.finished(message, worker),
    channel.SharedFiles: lambda here, message, _worker: here.run.keep(message.files),
    channel.Dropped: lambda here, message, worker: here.dropped(message.key, worker),
    channel.StopPrefetch: lambda here, message, _worker: here.queue.stop_prefetch(message.key),
    channel.FileProgress: lambda here, message, _worker: here.run.progress(
        message.key, message.judged, message.lines, message.solved
    ),
    channel.SandboxLevel: lambda here, _message, _worker: here.run.sandbox_level,
    channel.FindPlaybook: lambda here, message, _worker: here.run.playbook(message.key),
    channel.Objection: lambda here, message, _worker: here.control.objection(message.agent),
    channel.Stop: lambda here, message, _worker: here.control.stop(message.agent, message.reason),
    channel.Acquire: lambda here, message, worker: here.acquired(message, worker),
    channel.Release: lambda here, message, _worker: here.released(message),
    channel.Withdraw: lambda here, message, _worker: here.withdrawn(message.permit),
    channel.FindRefusal: lambda here, message, _worker: here.control.refusal(message.model),
    channel.Fail: lambda here, message, _worker: here.control.fail(message.model),
    channel.EndTrial: lambda here, message, _worker: here.end_trial(message.trial),
    channel.HasAnswered: lambda here, message, _worker: here.control.has_answered(message.model),
}
"""One line for each message."""


class Sender:
    """The sender of a message: a thread of this process, or a worker."""

    def __init__(self, worker: str, answer: Callable[[object, str], None]) -> None:
        self.worker = worker
        self._answer = answer

    def answer(self, value: object, error: str = "") -> None:
        """Send the answer."""
        self._answer(value, error)

    def forward(self, done: "Future[Any]") -> None:
        """Send an answer that was not known at once."""
        error = done.exception()
        self.answer(None if error else done.result(), str(error) or type(error).__name__ if error else "")


class WorkerEnd:
    """The controller's end of a worker's channel.

    Messages arrive in execnet's thread and are only posted there. Answers are sent in a separate thread, because a
    worker that does not read must not block the others.
    """

    def __init__(
        self, execnet: ExecnetChannel, worker: str, loop: ControllerLoop, handler: MessageHandler, lost: str = ""
    ) -> None:
        """Serve a worker; ``lost`` is said of a case that is lost with it and with another worker."""
        self._execnet = execnet
        self._lost = lost
        self._worker = worker
        self._loop = loop
        self._handler = handler
        self._answers: SimpleQueue[bytes | None] = SimpleQueue()
        Thread(target=self._send, name=f"crmeval-answers-{worker}", daemon=True).start()
        execnet.setcallback(self._arrived, endmarker=None)

    def _arrived(self, data: bytes | None) -> None:
        self._loop.post(self._handle, data)

    def _handle(self, data: bytes | None) -> None:
        if data is None:
            self._handler.gone(self._worker, self._lost)
            self._answers.put(None)
            return
        number, message = decode_message(data)

        def answer(value: object, error: str) -> None:
            if number:
                self._answers.put(encode((number, error, value)))

        self._handler.received(message, Sender(self._worker, answer))

    def _send(self) -> None:
        with suppress(OSError):  # the worker is gone
            while (answer := self._answers.get()) is not None:
                self._execnet.send(answer)
