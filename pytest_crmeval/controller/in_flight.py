"""Cases in flight, on the controller: started while pytest's loop runs, and finished at its end."""

from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress

import pytest

from pytest_crmeval.controller.header import say
from pytest_crmeval.controller.loop import ControllerLoop
from pytest_crmeval.controller.messages import MessageHandler
from pytest_crmeval.controller.plan import RunPlan
from pytest_crmeval.controller.prefetch import GRACE
from pytest_crmeval.controller.progress.snapshot import Files
from pytest_crmeval.controller.signals import Signals
from pytest_crmeval.models.control import EVERYBODY
from pytest_crmeval.options.environment import addresses_of
from pytest_crmeval.options.reading import options_of


class InFlight:
    """Opens the queue, closes it when pytest is about to stop, and waits for the cases in flight."""

    def __init__(
        self, config: pytest.Config, plan: RunPlan, loop: ControllerLoop, handler: MessageHandler, files: Files
    ) -> None:
        self._config = config
        self._plan = plan
        self._loop = loop
        self._handler = handler
        self._files = files
        self._failures = 0
        self._signals = Signals()
        self._signals.take()

    def open(self, at_once: int, *, elsewhere: bool) -> None:
        """Open the queue for a number of cases at the same time; ``elsewhere``: players are on other machines."""
        self._loop.call(
            self._handler.queue.open,
            self._plan.weights(options_of(self._config).reports, addresses_of(self._config)),
            at_once=at_once,
            few_ahead=bool(self._config.getoption("maxfail")),
            many_ahead=self._plan.has_checkpoints,
            only_slots=elsewhere,
            streams=self._plan.prefetch.streams,
        )

    @contextmanager
    def around_loop(self, playing: AbstractContextManager[object]) -> Iterator[None]:
        """Play ahead in the block, and wait for all cases in flight at its end."""
        with ExitStack() as stack:
            stack.enter_context(playing)
            stack.callback(self._finish)
            try:
                yield
            except BaseException as error:
                self._handler.control.stop(EVERYBODY, str(error) or type(error).__name__)
                raise

    def finishing(self) -> AbstractContextManager[None]:
        """Delay an interrupt until the case that a test plays itself is finished."""
        return self._signals.postponed(self._finish_first, GRACE)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Start no further case when pytest is about to stop (``-x``, ``--maxfail``)."""
        if report.failed and not hasattr(report, "wasxfail"):
            self._failures += 1
            if 0 < (self._config.getoption("maxfail") or 0) <= self._failures:
                self._loop.post(self._handler.queue.close)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Note that an item has ended."""
        if key := self._plan.key_of(nodeid):
            self._files.forget(key)
            self._handler.control.end(key)  # also for an abandoned trial, whose thread may never return
            self._loop.post(self._handler.queue.reported, key)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Deliver a delayed interrupt after the test, if there are no workers: the test has its report."""
        result = yield
        self._signals.interrupt()
        return result

    def pytest_unconfigure(self) -> None:
        """Restore the signal handlers."""
        self._signals.give_back()

    def _finish(self) -> None:
        """Start no further cases, and wait for those in flight, which are paid for."""
        queue = self._handler.queue
        self._loop.call(queue.close)
        left = len(self._loop.call(lambda: queue.playing))
        if not left:
            return
        idle = self._loop.call(self._handler.idle)
        try:
            say(
                self._config,
                f"crmeval: waiting for {left} case{'s' * (left != 1)} in flight, at most {GRACE:.0f} s; "
                "press Ctrl-C again to abandon them",
            )
            with suppress(TimeoutError):
                idle.result(GRACE)
        finally:  # also at a second Ctrl-C, which abandons the cases in flight
            if not idle.done():
                self._handler.control.abandon()
                if self._config.pluginmanager.has_plugin("dsession"):
                    from pytest_crmeval.compat import end_workers_at_once

                    end_workers_at_once(self._config)

    def _finish_first(self) -> None:
        """Start no further cases, and announce that the one in this process will be finished; a signal handler."""
        self._loop.post(self._handler.queue.close)
        capturing = self._config.pluginmanager.get_plugin("capturemanager")
        with capturing.global_and_fixture_disabled() if capturing else nullcontext():
            say(
                self._config,
                f"crmeval: waiting for 1 case in progress, at most {GRACE:.0f} s; press Ctrl-C again to abandon it",
            )
