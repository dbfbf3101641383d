"""An xdist worker of a run. It is made when there is something to evaluate."""

import gc
import os
import platform
from collections.abc import Generator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.channel import (
    CollectedPlan,
    FileProgress,
    NeedsPlan,
    Refuse,
    SandboxLevel,
    WorkerChannel,
)
from pytest_crmeval.collect.names import PROCESS
from pytest_crmeval.collect.prefetch import PrefetchPlan
from pytest_crmeval.controller.plan import Cases, encode_cases
from pytest_crmeval.controller.prefetch import in_flight
from pytest_crmeval.controller.redaction import redact_secrets
from pytest_crmeval.controller.signals import Signals
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.wire import decoded
from pytest_crmeval.player.closing import close_models, close_telemetry
from pytest_crmeval.player.remote import Playbooks, RemoteControl, RemoteServer


class Worker:
    """An xdist worker."""

    def __init__(self, config: pytest.Config) -> None:
        given: dict[str, Any] = config.workerinput["crmeval"]  # type: ignore[attr-defined] # xdist's own
        if given["machine"] != this_machine():
            raise pytest.Collector.CollectError(
                f"this worker runs on another machine ({this_machine()}) than the controller ({given['machine']}): "
                "all workers must run on the machine of the controller; to use several machines, see --crmeval-cluster "
                "and --crmeval-shard"
            )
        self._signals = Signals()  # a signal to the whole process group reaches workers as well
        self._signals.take()
        self.channel = WorkerChannel(given["channel"])
        self.server = RemoteServer(self.channel, given["run"])
        self.control = RemoteControl(self.channel)
        self.playbooks = Playbooks(self.channel)
        self.done = set(map(tuple, decoded(given["done"])))

    def start_server(self) -> None:
        """Have the controller start the PostgreSQL of the run in the background."""
        self.server.begin()

    def send_plan(self, cases: Cases, prefetch: PrefetchPlan, shard: JsonObject) -> None:
        """Send the plan to the controller, if no other worker has."""
        if self.channel.ask(NeedsPlan()):
            self.channel.tell(CollectedPlan(encode_cases(cases), prefetch.to_dict(), shard))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Prefetch while the loop runs, and go on until there are no more cases.

        Items of other workers may wait for them. If the loop is interrupted, cases in flight are finished.
        """
        with in_flight(session, self.channel) as slots:
            over = True
            try:
                result = yield
                over = bool(session.shouldfail or session.shouldstop)
            finally:
                slots.drain(over=over)
            return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Deliver a delayed interrupt after the test; the controller ends the run, and limits the wait."""
        result = yield
        self._signals.interrupt()
        return result

    def finishing(self) -> AbstractContextManager[None]:
        """Delay an interrupt until the case that a test plays itself is finished."""
        return self._signals.postponed()

    @property
    def sandbox_level(self) -> str:
        """The level of the local sandbox that the controller has chosen."""
        return self.channel.ask(SandboxLevel())

    programs = None
    """Workers of xdist run programs in their own sandbox."""

    def progress(self, key: str, judged: int, lines: int, solved: int) -> None:
        """Send the progress of a solution file to the controller."""
        self.channel.tell(FileProgress(key, judged, lines, solved))

    def refuse(self, why: str) -> None:
        """Make the controller end the run, because an error in a worker would be a crash."""
        self.channel.tell(Refuse(why))

    def pytest_sessionfinish(self) -> None:
        """Send traces and metrics now: xdist ends a worker that lives longer than its session by a few seconds."""
        close_telemetry()

    def pytest_unconfigure(self) -> None:
        """Close connections, and restore the signal handlers.

        If the channel stayed open, the controller would wait for a case whose item was interrupted as it began,
        because the process lives until xdist ends it.
        """
        close_models()
        self.channel.close()
        self._signals.give_back()
        gc.freeze()  # xdist waits for the end of this process, and collecting thousands of cases takes seconds


def join_run(config: pytest.Config) -> None:
    """Create the worker of this process, and register its hooks."""
    redact_secrets(config)
    config.pluginmanager.register(Worker(config), PROCESS)


def this_machine() -> str:
    """Return the identity of this machine: its name, and its boot id if known."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return f"{platform.node()} {boot.read_text().strip() if os.access(boot, os.R_OK) else ''}".strip()
