"""The workers of xdist, on the controller: connected when they start, cleaned up after when they die."""

import gc
import math
from threading import Thread
from typing import Any, Protocol

import pytest

from pytest_crmeval import compat
from pytest_crmeval.controller.loop import ControllerLoop
from pytest_crmeval.controller.messages import MessageHandler, WorkerEnd
from pytest_crmeval.controller.plan import RunPlan
from pytest_crmeval.controller.progress.snapshot import Files
from pytest_crmeval.controller.worker import this_machine
from pytest_crmeval.models.control import EVERYBODY
from pytest_crmeval.options.reading import is_colored, options_of

MANY = 1000
"""Number of cases above which the garbage collector is turned off when the run has ended."""


class Node(Protocol):
    """The part of xdist's WorkerController that we use."""

    config: pytest.Config
    workerinput: dict[str, Any]
    gateway: Any


class Workers:
    """Connects workers, and requeues the cases of dead workers."""

    def __init__(
        self, config: pytest.Config, plan: RunPlan, loop: ControllerLoop, handler: MessageHandler, files: Files
    ) -> None:
        self._config = config
        self._plan = plan
        self._loop = loop
        self._handler = handler
        self._files = files
        self._ends: list[WorkerEnd] = []
        self._crashes = 0
        self._refusal = ""
        self._ending: Thread | None = None

    def __len__(self) -> int:
        """Return the number of workers so far."""
        return len(self._ends)

    def connect(self, node: Node, done: str) -> None:
        """Give a worker, also one that replaces a crashed one, its channel and what all workers must know."""
        if not self._ends:
            self._config.pluginmanager.register(compat, "crmeval-scheduler")
        execnet, worker = node.gateway.newchannel(), node.workerinput["workerid"]
        self._ends.append(WorkerEnd(execnet, worker, self._loop, self._handler))
        node.workerinput["crmeval"] = {
            "run": options_of(self._config).run,
            "channel": execnet,
            "machine": this_machine(),
            "done": done,
            "colored": is_colored(node.config),
        }

    def refuse_later(self, reason: str) -> None:
        """Make ``check`` end the run; called in the controller's thread."""
        self._refusal = reason

    def check(self) -> None:
        """Raise UsageError if a worker has refused to play; all its messages so far are handled first."""
        if refusal := self._loop.call(lambda: self._refusal):
            raise pytest.UsageError(refusal)

    def end(self) -> None:
        """End all workers, which have run their last test, while the report is written; there may be none.

        Tests ran in the workers, so pytest's last collection can't find garbage of theirs here, but takes seconds.
        """
        if self._ends:
            self._ending = compat.end_workers(self._config)
            if len(self._plan.cases) >= MANY:
                gc.freeze()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Wait for the end of the workers before xdist does."""
        if self._ending is not None:
            self._ending.join()

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any, sched: object) -> None:  # noqa: ANN401 (xdist's)
        """Run an item again if only the item can play its case; ``pytest_testnodedown`` was called before."""
        if key := self._plan.key_of(crashitem):
            self._files.forget(key)
            if self._loop.call(self._handler.queue.crashed, key):
                compat.run_again(sched, crashitem, report.node)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Node, error: object) -> None:
        """Requeue the cases of a dead worker; end the run if the worker is not replaced.

        xdist is notified by the same execnet thread that has posted all messages of the worker, so they are handled
        before this.
        """
        self.check()
        self._loop.call(self._handler.gone, node.workerinput["workerid"])
        self._crashes += error is not None
        given, workers = (self._config.getoption(name, None) for name in ("maxworkerrestart", "numprocesses"))
        replaced = float(given) if given is not None else 4 * workers if workers else math.inf  # by xdist
        if self._crashes > replaced:
            self._handler.control.stop(EVERYBODY, "a worker crashed and was not replaced")
            self._loop.post(self._handler.queue.close)
