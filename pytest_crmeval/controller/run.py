"""The process that owns a run: it starts the run, and serves its workers and players."""

from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property

import pytest

from pytest_crmeval.agents.atlas.specs import is_atlas
from pytest_crmeval.channel import CollectedPlan as PlanMessage
from pytest_crmeval.channel import Finished
from pytest_crmeval.collect.context import context_of, usage_errors
from pytest_crmeval.collect.names import PROCESS
from pytest_crmeval.collect.prefetch import PrefetchPlan
from pytest_crmeval.controller.cluster import ClusterRun
from pytest_crmeval.controller.header import announcement, omissions, say
from pytest_crmeval.controller.in_flight import InFlight
from pytest_crmeval.controller.job_log import JobLog
from pytest_crmeval.controller.local_channel import LocalChannel
from pytest_crmeval.controller.locking import RunLock
from pytest_crmeval.controller.loop import ControllerLoop
from pytest_crmeval.controller.messages import MessageHandler
from pytest_crmeval.controller.parts import check_rules, part_of
from pytest_crmeval.controller.plan import Cases, RunPlan
from pytest_crmeval.controller.prefetch import at_once, in_flight
from pytest_crmeval.controller.programs import ClusterPrograms
from pytest_crmeval.controller.progress.live import Live
from pytest_crmeval.controller.progress.live_file import LiveFile
from pytest_crmeval.controller.progress.snapshot import Files, ProgressSnapshot
from pytest_crmeval.controller.queue import JobQueue
from pytest_crmeval.controller.recorder import Recorder
from pytest_crmeval.controller.redaction import redact_secrets
from pytest_crmeval.controller.report_sharing import ReportSharing
from pytest_crmeval.controller.result import RunReporter
from pytest_crmeval.controller.server import RunServer, given_server
from pytest_crmeval.controller.workers import Node, Workers
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.wire import encoded
from pytest_crmeval.journal.gc_pause import gc_paused
from pytest_crmeval.models.shared_control import SharedControl
from pytest_crmeval.options.environment import redactor_of
from pytest_crmeval.options.reading import is_dry_run, options_of
from pytest_crmeval.player.closing import close_models
from pytest_crmeval.player.kinds import Conversations
from pytest_crmeval.player.outcome import Outcome
from pytest_crmeval.player.remote import Playbooks


class Controller:
    """The process that owns the run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._options = options = options_of(config)
        log = JobLog(config, options.folder)
        self.control = SharedControl(
            options.rates, options.budget, failures=options.max_failures, call_failed=log.call_failed
        )
        self.server = RunServer(config, self.control)
        self._lock = RunLock(config)
        self._recorder = Recorder(options, self.control, self._lock, log)
        self._plan = RunPlan()
        self._files = Files()
        self._handler = handler = MessageHandler(JobQueue(), self.control, self)
        self._loop = ControllerLoop(self._settle)
        self.channel = LocalChannel(self._loop, handler)
        self.playbooks = Playbooks(self.channel)
        self._workers = Workers(config, self._plan, self._loop, handler, self._files)
        self._in_flight = InFlight(config, self._plan, self._loop, handler, self._files)
        self._cluster = ClusterRun(config, self._plan, self._loop, handler)
        self._result = RunReporter(config, self._plan, self._recorder, self._loop, handler)
        self.sandbox_level = ""

    def register(self) -> None:
        """Register the hooks of all parts; wrappers that are registered later wrap the others."""
        snapshot = ProgressSnapshot(
            self._plan, self._recorder, self._loop, self._handler, files=self._files, outage=self.server.outage
        )
        parts: dict[str, object] = {
            "crmeval-lock": self._lock,
            "crmeval-session-end": self._result.end,
            "crmeval-terminal-summary": self._result.summary,
            "crmeval-workers": self._workers,
            "crmeval-in-flight": self._in_flight,
            PROCESS: self,
            "crmeval-report-sharing": ReportSharing(self._plan.same),
            "crmeval-result": self._result,
            "crmeval-live-file": LiveFile(self._options.folder, snapshot),
            "crmeval-live": Live(self._config, snapshot),  # wraps all others: it shows how they end
        }
        for name, part in parts.items():
            self._config.pluginmanager.register(part, name)

    @property
    def done(self) -> set[tuple[str, ...]]:
        """Cases that need not be played again."""
        return self._recorder.done

    def send_plan(self, cases: Cases, prefetch: PrefetchPlan, shard: JsonObject) -> None:
        """Accept the plan of this process."""
        self._plan.take(cases, prefetch, shard)
        self._check_dist()

    def refuse(self, why: str) -> None:
        """End the run before anything is played."""
        raise pytest.UsageError(why)

    def connect(self, node: Node) -> None:
        """Give a worker, also one that replaces a crashed one, what all workers must know."""
        self._workers.connect(node, self._encoded_done)

    def begin(self) -> None:
        """Wait for what the cases need, and open the journal; once, before the first case is played."""
        plan, past, options = self._plan, self._recorder.past, self._options
        has_content = plan.cases or past.trials or plan.has_shards
        if self._recorder.has_begun or is_dry_run(self._config) or not has_content:
            return
        cases = list(plan.cases.values())
        check_rules(past.parts, options, plan.shard)
        self._result.gates.load_baseline()
        self._recorder.playbooks.begin(past.parts, past.trials.values(), cases)
        done = len(self.done)
        sandbox = self._ready() if cases else ""
        part = part_of(self._config, str(self.server), plan.shard, plan.prefetch.left_out)
        if sandbox:
            part = {**part, "sandbox": sandbox}
        self._loop.call(self._recorder.open, part, cases, repeated=plan.repeated)
        if self._config.option.verbose >= 0:
            shown = announcement(
                context_of(self._config),
                cases,
                done,
                "one on each node" if self._cluster.has_servers else str(self.server),
                plan.described(self._at_once),
                has_crm=self.server.has_begun or Conversations.marker in plan.prefetch.kinds,
            )
            more = [f"crmeval cluster: {self._cluster}"] if options.cluster else []
            more += [f"crmeval sandbox: {sandbox}"] if sandbox else []
            say(self._config, *shown, *more, *omissions(plan.prefetch.left_out))
        at_once = self._at_once * max(1, len(self._cluster), len(self._workers))
        self._in_flight.open(at_once, elsewhere=options.cluster is not None)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Begin with the plan that the first worker has sent, or end the run if a worker has refused."""
        self._workers.check()
        with gc_paused():
            if self._plan.is_known and not self._recorder.has_begun:
                self._check_dist()
                self.begin()
            ids[:] = map(self._plan.same, ids)  # xdist keeps a list per worker

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Begin, unless xdist's workers have yet to send the plan; write the report after the loop."""
        hopeless = session.testsfailed and not session.config.option.continue_on_collection_errors
        if not hopeless and not session.config.pluginmanager.has_plugin("dsession"):
            self.begin()
        with self._in_flight.around_loop(self._playing(session)):
            result = yield
        self._workers.end()
        self._result.conclude()
        self._result.forgive(session)
        return result

    def pytest_unconfigure(self) -> None:
        """Clean up."""
        close_models()
        self.control.close()
        self._cluster.close()
        self._loop.stop()
        self.server.stop()

    # Services for players in this process.

    @property
    def programs(self) -> ClusterPrograms | None:
        """The nodes of a cluster, where programs run instead of in the local sandbox; None if there is no cluster."""
        return self._cluster.programs

    def finishing(self) -> AbstractContextManager[None]:
        """Delay an interrupt until the case that a test plays itself is finished."""
        return self._in_flight.finishing()

    # Handlers of messages.

    def start_server(self) -> None:
        """Start the PostgreSQL of the run in the background, unless each player brings its own."""
        if not self._options.cluster or given_server(self._config):
            self.server.begin()

    def server_address(self) -> tuple[str, bool]:
        """Wait for the PostgreSQL of the run; return its address, and whether it is embedded."""
        address = self.server.databases().address
        return address.conninfo, address.embedded

    def server_back(self) -> str:
        """Wait for an unreachable server; return why the run can't continue, or empty."""
        return self.server.wait_until_back()

    def needs_plan(self) -> bool:
        """Whether no worker has sent the plan yet."""
        return not self._plan.is_known

    def take_plan(self, message: PlanMessage) -> None:
        """Accept the plan of the first worker that sends one."""
        self._plan.receive(message)

    def refuse_later(self, reason: str) -> None:
        """End the run when the worker has collected."""
        self._workers.refuse_later(reason)

    def keep(self, files: Mapping[str, bytes]) -> None:
        """Keep files that several transcripts refer to."""
        self._recorder.keep(files)

    def record(self, message: Finished) -> None:
        """Record an outcome."""
        self._recorder.record(message)

    def sync(self) -> None:
        """Wait until everything recorded is on disk."""
        self._recorder.sync()

    def spec_of(self, key: str) -> str:
        """Return the spec of the agent that plays a case."""
        return self._recorder.past.planned[key].spec

    def lost_outcome(self, key: str, reason: str) -> Finished:
        """Return the errored outcome of a case that can't be played."""
        trial = Trial.errored(self._recorder.past.planned[key], reason)
        return Outcome(trial=trial, failed=f"errored: {reason}").message(key, {}, redactor_of(self._config))

    def progress(self, key: str, judged: int, lines: int, solved: int) -> None:
        """Show the progress of a solution file."""
        self._files.note(key, judged, lines, solved)

    def case(self, key: str) -> bytes:
        """Return a case with its content, for a player on another machine."""
        return self._cluster.case(key)

    def playbook(self, key: str) -> JsonObject:
        """Return the playbook of a learner."""
        return self._recorder.playbooks.find(key).to_dict()

    @cached_property
    def _encoded_done(self) -> str:
        return encoded(sorted(self.done)).decode()  # one string: execnet's cost is per string

    @property
    def _at_once(self) -> int:
        """The number of cases that a player plays at the same time."""
        return self._cluster.each if self._options.cluster else at_once(self._config)

    def _playing(self, session: pytest.Session) -> AbstractContextManager[object]:
        """Return the context in which cases are played ahead: on the cluster, or here if there are no workers."""
        if not self._recorder.has_begun or session.config.pluginmanager.has_plugin("dsession"):
            return nullcontext()
        return self._cluster.playing(session) if len(self._cluster) else in_flight(session, self.channel)

    def _check_dist(self) -> None:
        if self._config.getoption("dist", "no") == "each":
            self._plan.repeat()

    def _settle(self) -> float | None:
        """Answer messages, and sync what was recorded; in the controller's thread."""
        self._handler.settle()
        return self._recorder.sync(at_once=False)

    def _ready(self) -> str:
        """Wait for what the cases need: sandbox, server, telemetry; return the sandbox's name for the header."""
        sandbox = ""
        with usage_errors():
            if (options := self._options).cluster and self._cluster.is_needed:
                self._cluster.open(options.cluster)
            if self.programs:
                sandbox, self.sandbox_level = self.programs.name, self.programs.level
            elif self._plan.prefetch.sandboxed:
                from pytest_crmeval.player.sandboxes import described_sandbox

                sandbox, self.sandbox_level = described_sandbox(context_of(self._config))
            if self.server.has_begun:
                self.server.databases()
            if any(is_atlas(planned.spec) for planned in self._plan.cases.values()):
                from pytest_crmeval.player.telemetry import check_telemetry

                check_telemetry(context_of(self._config))
        return sandbox


def begin_run(config: pytest.Config) -> None:
    """Create the controller of this process, and register its hooks."""
    redact_secrets(config)
    Controller(config).register()
