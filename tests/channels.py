"""Workers as xdist starts them, less xdist: processes of their own, each with a channel to a controller."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import execnet

from pytest_crmeval.channel import CollectedPlan, ExecnetChannel, Finished
from pytest_crmeval.controller.loop import ControllerLoop
from pytest_crmeval.controller.messages import MessageHandler, WorkerEnd
from pytest_crmeval.controller.queue import JobQueue
from pytest_crmeval.models.shared_control import SharedControl

_START = """
import importlib, sys
path, module, name, ours, arguments = channel.receive()
sys.path[:] = path
channel.send(getattr(importlib.import_module(module), name)(ours, *arguments))
"""


class Nothing:
    """A run of which nothing but the queue and the control is asked; it notes what is recorded."""

    sandbox_level = ""

    def __init__(self) -> None:
        self.recorded: list[bytes] = []
        self.steps: list[str] = []
        self.progressed: list[tuple[object, ...]] = []

    def start_server(self) -> None:
        """Start nothing."""

    def server_address(self) -> tuple[str, bool]:
        """Have no server."""
        raise ValueError("there is no server")

    def server_back(self) -> str:
        """Have no server."""
        return ""

    def needs_plan(self) -> bool:
        """Need none."""
        return False

    def take_plan(self, plan: CollectedPlan) -> None:
        """Take none."""

    def refuse_later(self, reason: str) -> None:
        """Refuse nothing."""

    def keep(self, files: Mapping[str, bytes]) -> None:
        """Keep none."""

    def record(self, message: Finished) -> None:
        """Note it."""
        self.recorded.append(message.outcome[0])
        self.steps.append("record")

    def sync(self) -> None:
        """Note it."""
        self.steps.append("sync")

    def spec_of(self, key: str) -> str:
        """Return the first word of the key."""
        return key.partition(" ")[0]

    def lost_outcome(self, key: str, reason: str) -> Finished:
        """Return the reason."""
        return Finished(key, (f"{key}: {reason}".encode(), b""))

    def progress(self, key: str, judged: int, lines: int, solved: int) -> None:
        """Note it."""
        self.progressed.append((key, judged, lines, solved))

    def case(self, key: str) -> bytes:
        """Return a case that no test needs."""
        return key.encode()

    def playbook(self, key: str) -> Mapping[str, Any]:
        """Know nothing."""
        return {"key": key}


class Controller:
    """The controller's thread, with a queue and a control, and no pytest."""

    def __init__(self, control: SharedControl | None = None) -> None:
        self.control = control or SharedControl()
        self.queue = JobQueue()
        self.run = Nothing()
        self.handler = MessageHandler(self.queue, self.control, self.run)
        self.loop = ControllerLoop(self.handler.settle)

    def connect(self, channel: ExecnetChannel, worker: str) -> WorkerEnd:
        """Connect a worker."""
        return WorkerEnd(channel, worker, self.loop, self.handler)

    def close(self) -> None:
        """End the thread."""
        self.control.close()
        self.loop.stop()


@contextmanager
def controller(control: SharedControl | None = None) -> Iterator[Controller]:
    """Have a controller until the end of the block."""
    with closing(Controller(control)) as made:
        yield made


class Worker:
    """A process that calls a function with its channel to the controller."""

    def __init__(self, run: Controller, name: str, work: Callable[..., object], *arguments: object) -> None:
        self._run = run
        self._gateway: Any = execnet.makegateway("popen//python=" + sys.executable)
        ours = self._gateway.newchannel()
        run.connect(ours, name)
        self._result = self._gateway.remote_exec(_START)
        self._result.send((sys.path, work.__module__, work.__name__, ours, arguments))
        self._kept = ours

    def result(self) -> object:
        """Wait for what the function returns."""
        return self._result.receive(timeout=300)

    def at_end(self, call: Callable[[], object]) -> None:
        """Have a call made in execnet's thread when it is known that the process is gone, as xdist has."""
        self._result.setcallback(lambda end: call() if end else None, endmarker="end")

    def wait(self) -> None:
        """Wait until the process is gone, and the controller knows."""
        self._gateway.join(timeout=300)
        self._run.loop.call(int)

    def kill(self) -> None:
        """Kill the process, and wait until the controller knows."""
        self._gateway._io.popen.kill()  # noqa: SLF001 (execnet has no other way)
        self.wait()

    def close(self) -> None:
        """Kill the process, if it lives."""
        self._gateway._io.popen.kill()  # noqa: SLF001
        self._gateway._io.popen.wait()  # noqa: SLF001


@contextmanager
def worker(run: Controller, name: str, work: Callable[..., object], *arguments: object) -> Iterator[Worker]:
    """Have a process call a function; it is gone at the end."""
    with closing(Worker(run, name, work, *arguments)) as made:
        yield made
