"""The process that owns a run. It is made when there is something to evaluate."""

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, nullcontext
from threading import Thread
from typing import Any, Protocol

import pytest

from pytest_crmeval.agents.atlas.specs import is_atlas
from pytest_crmeval.channel.line import Line
from pytest_crmeval.channel.remote import ControlAnswers
from pytest_crmeval.channel.trial_transport import Unpacking
from pytest_crmeval.collect.context import context_of, usage_errors
from pytest_crmeval.collect.keys import FINISHING
from pytest_crmeval.collect.prefetch import PrefetchPlan
from pytest_crmeval.controller.plan import described, weighed
from pytest_crmeval.controller.prefetch import GRACE, at_once, in_flight
from pytest_crmeval.controller.progress.live import Live
from pytest_crmeval.controller.progress.snapshot import Files, Gauge
from pytest_crmeval.controller.queue import JobQueue
from pytest_crmeval.controller.recorder import Recorder
from pytest_crmeval.controller.redaction import keep_secrets
from pytest_crmeval.controller.server import RunServer
from pytest_crmeval.controller.signals import Signals
from pytest_crmeval.controller.worker import Plan, hang_up_models
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.trial import PlannedCase, is_of_checkpoint
from pytest_crmeval.domain.wire import encoded
from pytest_crmeval.models.control import EVERYBODY
from pytest_crmeval.models.shared_control import SharedControl
from pytest_crmeval.options.environment import addresses_of
from pytest_crmeval.options.reading import is_colored, options_of


class Node(Protocol):
    """What we use of an xdist worker's controller."""

    config: pytest.Config
    workerinput: dict[str, Any]


class Controller:
    """The process that owns the run: its server, its recorder, its queue, and the line on which workers ask."""

    def __init__(self, config: pytest.Config) -> None:
        options = options_of(config)
        self.control = SharedControl(options.rates, options.budget, failures=options.max_failures)
        self.server = RunServer(config, self.control)
        self.recorder = Recorder(config, self._ready, lambda: str(self.server), self.control)
        self.control.call_failed = self.recorder.log.call_failed
        self.playbooks = self.recorder.playbooks
        self.queue = JobQueue(self.recorder.take)
        self.recorder.lacking = lambda: self.queue.lacking
        self.files = Files()
        self._signals = Signals()
        self._signals.take()
        self._config = config
        self._run = options.run
        self._line: Line | None = None
        self._told: tuple[Plan, PrefetchPlan] | None = None
        self._workers = 0
        self._failures = self._crashes = 0
        self._refused = ""
        self._begun = False

    @property
    def done(self) -> set[tuple[str, ...]]:
        """What need not be played again."""
        return self.recorder.done

    def tell(self, plan: Plan, prefetch: PrefetchPlan) -> None:
        """Take the plan of this very process."""
        self._told = plan, prefetch
        self._understand()

    def deal(self, dealt: JsonObject) -> None:
        """Take what the shard is a part of."""
        self.recorder.dealt = dealt

    def foretell(self, lines: Sequence[str]) -> None:
        """Take what the run would take, for the summary."""
        self.recorder.forecast = lines

    def refuse(self, why: str) -> None:
        """End the run before anything is played."""
        raise pytest.UsageError(why)

    def brief(self, node: Node) -> None:
        """Tell a worker, also one that replaces a crashed one later, what all workers must know alike."""
        self._workers += 1
        if self._line is None:
            from pytest_crmeval.compat import xdist as dealing

            self._config.pluginmanager.register(dealing, "crmeval-dealing")
            self._done = encoded(sorted(self.done)).decode()  # one string: execnet's cost is per string
            shared = ControlAnswers(self.control, self.control.forget)
            self._line = Line(
                {
                    "begin": self._begin,
                    "address": self._address,
                    "server_back": lambda _: self.server.wait_until_back(),
                    "lacks_plan": lambda _: self._told is None,
                    "plan": self._take,
                    "deal": self.deal,
                    "refuse": self._note,
                    "progress": lambda about: self.progress(*about),
                    "playbook": lambda key: self.playbooks.find(key).to_dict(),
                    **shared.answers(),
                    **self._queue_answers(),
                },
                shared.hung_up,
            )
        node.workerinput["crmeval"] = {
            "run": self._run,
            "line": self._line.address,
            "done": self._done,
            "colored": is_colored(node.config),
        }

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take away what the recorder has taken over, for the terminal keeps every report; and see the end coming."""
        vars(report).pop("crmeval_trial", None)
        if report.failed and not hasattr(report, "wasxfail"):
            self._failures += 1
            if 0 < (self._config.getoption("maxfail") or 0) <= self._failures:
                self.queue.close()
        if report.when not in {"setup", "call", "teardown"}:  # the report of a crash
            self._end(report.nodeid, crashed=True)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Know that an item is over."""
        self._end(nodeid)

    def progress(self, key: str, judged: int, lines: int, solved: int) -> None:
        """Hear how far a solution file is."""
        self.files.note(key, judged, lines, solved)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        """Begin with the plan that the first worker told before it said that it has collected; or end with its no."""
        if self._refused:
            self.refuse(self._refused)
        if self._told is not None and not self._begun:
            self._begun = True
            self._understand()
            self.recorder.begin()
            self._take_off()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Node, error: object) -> None:
        """Know that a worker is gone, with all who played there; and that the run is over, if none replaces it."""
        self._crashes += error is not None
        is_last = self._crashes > _replacements(self._config)
        self.queue.gone(node.workerinput["workerid"], replaced=error is not None and not is_last)
        if is_last:
            self.control.stop(EVERYBODY, "a worker has crashed, and is not replaced")
            self.queue.close()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Have cases in flight while the loop runs, in this process if there are no workers; and land them.

        The recorder, which was registered later, is around this: the run has begun, if it is to begin.
        """
        with ExitStack() as stack:
            if self.recorder.has_begun:
                self._take_off()
                session.config.stash[FINISHING] = lambda: self._signals.postponed(self._finish_first, GRACE)
                stack.enter_context(in_flight(session, self.queue, "main"))
            stack.callback(self._keep_telemetry)
            stack.callback(self._land)
            try:
                return (yield)
            except BaseException as error:
                self.control.stop(EVERYBODY, str(error) or type(error).__name__)
                raise

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Interrupt after a test whose case was finished first, where there are no workers: it has its report."""
        result = yield
        self._signals.interrupt()
        return result

    def pytest_unconfigure(self) -> None:
        """Leave nothing behind."""
        hang_up_models()
        self.control.close()
        if self._line is not None:
            self._line.close()
        self.server.stop()
        self._signals.give_back()

    def _understand(self) -> None:
        """Hand the plan over."""
        plan, prefetch = self._plan
        self.recorder.plan(plan)
        self.recorder.ahead = described(prefetch, at_once(self._config))
        self.recorder.left_out = prefetch.left_out

    @property
    def _plan(self) -> tuple[Plan, PrefetchPlan]:
        plan, prefetch = self._told or ([], PrefetchPlan(weights={}, alone={}))
        if self._config.getoption("dist", "no") == "each":
            if prefetch.streams:
                raise pytest.UsageError("crmeval: an agent that learns plays each case once: choose another --dist")
            if any(is_of_checkpoint(planned) for _, planned in plan):
                raise pytest.UsageError(
                    "crmeval: a solution file is judged once, into one place: choose another --dist"
                )
            alone = {"every worker plays everything": len(plan)}
            prefetch = PrefetchPlan(weights={}, alone=alone, left_out=prefetch.left_out)
        return plan, prefetch

    def _take_off(self) -> None:
        """Let cases be begun."""
        plan, prefetch = self._plan
        self.queue.open(
            weighed(
                prefetch,
                [planned for _, planned in plan],
                options_of(self._config).reports,
                addresses_of(self._config),
            ),
            at_once=at_once(self._config) * max(1, self._workers),
            short_sighted=bool(self._config.getoption("maxfail")),
            far_sighted=any(is_of_checkpoint(planned) for _, planned in plan),
            streams=prefetch.streams,
            players=max(1, self._workers),
        )

    def _land(self) -> None:
        """Begin no more cases, and wait for those in flight: they are paid for."""
        left = self.queue.close()
        if left:
            self.recorder.say(
                f"crmeval: {left} case{'s are' if left != 1 else ' is'} in flight, and will be waited for, "
                f"at most {GRACE:.0f} s; Ctrl-C gives them up"
            )
            try:
                left = self.queue.close(GRACE)
            finally:  # also at a second Ctrl-C, which abandons the cases in flight
                if left and self._workers:
                    from pytest_crmeval.compat.xdist import end_workers_at_once

                    end_workers_at_once(self._config)

    def _finish_first(self) -> None:
        """Begin no more cases, and say that the one in this process is finished; in a signal handler."""
        Thread(target=self.queue.close, daemon=True).start()  # its lock may be held right now
        capturing = self._config.pluginmanager.get_plugin("capturemanager")
        with capturing.global_and_fixture_disabled() if capturing else nullcontext():
            self.recorder.say(
                f"crmeval: 1 case is in progress, and will be waited for, at most {GRACE:.0f} s; Ctrl-C gives it up"
            )

    def _keep_telemetry(self) -> None:
        """Keep what learners have written down where it would go with the server; all of them are done."""
        if self.recorder.asks_atlas:
            from pytest_crmeval.player.telemetry import kept

            self.recorder.telemetry = kept(context_of(self._config))

    def _ready(self) -> None:
        """Wait for the server, if anybody needs it; and see that there is a sandbox, if anybody needs one."""
        if self._plan[1].sandboxed:
            from pytest_crmeval.player.sandboxes import described_sandbox

            with usage_errors():
                self.recorder.sandbox = described_sandbox(context_of(self._config))
        if self.server.has_begun:
            self.server.databases()
        if any(is_atlas(planned.spec) for _, planned in self._plan[0]):
            from pytest_crmeval.player.telemetry import check_telemetry

            with usage_errors():
                check_telemetry(context_of(self._config))

    def _end(self, nodeid: str, *, crashed: bool = False) -> None:
        if key := self.recorder.key_of(nodeid):
            self.files.forget(key)
            self.control.end(key)  # also for an abandoned trial, whose thread may never return
            self.queue.reported(key, crashed=crashed)

    def _begin(self, _: object) -> None:
        self.server.begin()

    def _address(self, _: object) -> tuple[str, bool]:
        address = self.server.databases().address
        return address.conninfo, address.embedded

    def _note(self, why: str) -> None:
        self._refused = why

    def _take(self, about: tuple[list[tuple[str, dict[str, str]]], dict[str, Any]]) -> None:
        if self._told is None:
            cases, prefetch = about
            plan = [(nodeid, PlannedCase.from_dict(planned)) for nodeid, planned in cases]
            # Most node ids equal the key: share one string.
            plan = [(planned.key if planned.key == nodeid else nodeid, planned) for nodeid, planned in plan]
            self._told = plan, PrefetchPlan.from_dict(prefetch)

    def _queue_answers(self) -> dict[str, Callable[[Any], Any]]:
        queue = self.queue
        return {
            "join": lambda about: queue.join(*about),
            "quit": lambda about: queue.quit(*about),
            "settle": lambda about: queue.settle(about[0], over=about[1]),
            "next": queue.next,
            "finish": lambda about: queue.finish(*about),
            "drop": queue.drop,
            "take": lambda about: queue.take(about[0], about[1], patient=about[2]),
            "leave": queue.leave,
        }


def _replacements(config: pytest.Config) -> float:
    """Return how many crashed workers xdist replaces."""
    given, workers = config.getoption("maxworkerrestart", None), config.getoption("numprocesses", None)
    return float(given) if given is not None else 4 * workers if workers else math.inf


def begin_run(config: pytest.Config) -> Controller:
    """Make the controller of this process, and register its hooks."""
    keep_secrets(config)
    controller = Controller(config)
    config.pluginmanager.register(controller, "crmeval-controller")
    config.pluginmanager.register(Unpacking(), "crmeval-unpacking")
    config.pluginmanager.register(controller.recorder, "crmeval-recorder")
    outage = controller.server.outage
    gauge = Gauge(
        controller.recorder, controller.queue, controller.control, controller.files, outage=lambda: str(outage)
    )
    config.pluginmanager.register(Live(config, gauge), "crmeval-live")  # around them: it shows how they end, too
    return controller
