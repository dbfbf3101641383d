"""An xdist worker of a run. It is made when there is something to evaluate."""

import sys
from collections.abc import Generator, Sequence
from typing import Any

import pytest

from pytest_crmeval.channel.line import LineToController
from pytest_crmeval.channel.remote import RemoteControl, RemotePlaybooks, RemoteQueue, RemoteServer
from pytest_crmeval.channel.trial_transport import Packing
from pytest_crmeval.collect.keys import FINISHING
from pytest_crmeval.collect.prefetch import PrefetchPlan
from pytest_crmeval.controller.prefetch import in_flight
from pytest_crmeval.controller.redaction import keep_secrets
from pytest_crmeval.controller.signals import Signals
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.domain.wire import decoded

Plan = list[tuple[str, PlannedCase]]
"""Node ids, as they are scheduled, and their cases."""


class Worker:
    """An xdist worker."""

    def __init__(self, config: pytest.Config) -> None:
        given: dict[str, Any] = config.workerinput["crmeval"]  # type: ignore[attr-defined] # xdist's own
        self._signals = Signals()  # a signal to the whole process group reaches workers as well
        self._signals.take()
        self._line = LineToController(*given["line"])
        self.server = RemoteServer(self._line, given["run"])
        self.control = RemoteControl(self._line)
        self.queue = RemoteQueue(self._line)
        self.playbooks = RemotePlaybooks(self._line)
        self.done = set(map(tuple, decoded(given["done"])))
        self._id: str = config.workerinput["workerid"]  # type: ignore[attr-defined] # xdist's own

    def tell(self, plan: Plan, prefetch: PrefetchPlan) -> None:
        """Tell the controller what is to be played; where it can't be told, nothing is, and the error goes by xdist."""
        if not self.server.out_of_reach and self._line.ask("lacks_plan", None):
            self._line.ask("plan", [[(nodeid, planned.to_dict()) for nodeid, planned in plan], prefetch.to_dict()])

    def deal(self, dealt: JsonObject) -> None:
        """Tell the controller what the shard is a part of."""
        if not self.server.out_of_reach:
            self._line.ask("deal", dealt)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Have cases in flight while the loop runs, and go on until there are no more: others' items want them.

        When it is interrupted, what is in flight is brought to its end.
        """
        if self.server.out_of_reach:
            return (yield)
        session.config.stash[FINISHING] = self._signals.postponed
        with in_flight(session, self.queue, self._id) as slots:
            over = True
            try:
                result = yield
                over = bool(session.shouldfail or session.shouldstop)
            finally:
                slots.drain(over=over)
            return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Interrupt after a test whose case was finished first; the controller ends the run, and limits the wait."""
        result = yield
        self._signals.interrupt()
        return result

    def progress(self, key: str, judged: int, lines: int, solved: int) -> None:
        """Tell the controller how far a solution file is."""
        self._line.ask("progress", [key, judged, lines, solved])

    def foretell(self, lines: Sequence[str]) -> None:
        """Say nothing: a run that is only estimated has no workers."""

    def refuse(self, why: str) -> None:
        """Have the controller end the run: a worker's own error would be a crash."""
        self._line.ask("refuse", why)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take away what xdist has sent: pytest keeps every report to the end."""
        vars(report).pop("crmeval_trial", None)

    def pytest_unconfigure(self) -> None:
        """Hang up."""
        hang_up_models()
        self._line.close()
        self._signals.give_back()


def join_run(config: pytest.Config) -> Worker:
    """Make the worker of this process, and register its hooks."""
    keep_secrets(config)
    worker = Worker(config)
    config.pluginmanager.register(worker, "crmeval-worker")
    config.pluginmanager.register(Packing(), "crmeval-packing")
    return worker


def hang_up_models() -> None:
    """Close the connections to models, if there ever were any."""
    if "pytest_crmeval.models.sdks.wire" in sys.modules:
        from pytest_crmeval.models.sdks.wire import close

        close()
