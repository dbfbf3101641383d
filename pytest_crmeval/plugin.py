"""When: the pytest hooks. Other modules know how."""

from collections.abc import Generator
from typing import Any, Protocol

import pytest

from pytest_crmeval import hookspecs
from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.fixtures import DATABASES, agent, agent_of, conversation, crm, evaluate, scorers
from pytest_crmeval.fixtures.cases import MARKER, deselect_done, parametrize, plan_of, remember_cases
from pytest_crmeval.fixtures.evaluation import attach_trial
from pytest_crmeval.options import Options, add_options, is_dry_run
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.recorder import Recorder
from pytest_crmeval.server import Line, LineToController, LinkedServer, RunServer

__all__ = ["agent", "conversation", "crm", "evaluate", "scorers"]

Plan = list[tuple[str, PlannedCase]]


class Node(Protocol):
    """What we use of an xdist worker's controller."""

    workerinput: dict[str, Any]


class Controller:
    """The process that owns the run: its server, its books, and the line on which workers ask."""

    def __init__(self, config: pytest.Config) -> None:
        self.server = RunServer(config)
        self.recorder = Recorder(config, self.server.databases, lambda: str(self.server))
        self._run = Options.from_config(config).run
        self._line: Line | None = None
        self._told: Plan = []

    @property
    def done(self) -> set[tuple[str, ...]]:
        """What need not be played again."""
        return self.recorder.done

    def tell(self, plan: Plan) -> None:
        """Take the plan of this very process."""
        self.recorder.plan(plan)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: "Node") -> None:
        """Tell a worker, also one that replaces a crashed one later, what all workers must know alike."""
        if self._line is None:
            self._done = sorted(self.done)
            self._line = Line({"begin": self._begin, "address": self._address, "plan": self._take})
        node.workerinput["crmeval"] = {"run": self._run, "line": self._line.address, "done": self._done}

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        """Begin with the plan that the first worker told before it said that it has collected."""
        self.recorder.plan(self._told)
        self.recorder.begin()

    def pytest_unconfigure(self) -> None:
        """Leave nothing behind."""
        if self._line is not None:
            self._line.close()
        self.server.stop()

    def _begin(self, _: object) -> None:
        self.server.begin()

    def _address(self, _: object) -> tuple[str, bool]:
        address = self.server.databases().address
        return address.conninfo, address.embedded

    def _take(self, cases: list[tuple[str, dict[str, str]]]) -> None:
        self._told = self._told or [(nodeid, PlannedCase.from_dict(planned)) for nodeid, planned in cases]


class Worker:
    """An xdist worker."""

    def __init__(self, config: pytest.Config) -> None:
        told: dict[str, Any] = config.workerinput["crmeval"]  # type: ignore[attr-defined] # xdist's own
        self._line = LineToController(*told["line"])
        self.server = LinkedServer(self._line, told["run"])
        self.done = set(map(tuple, told["done"]))

    def tell(self, plan: Plan) -> None:
        """Tell the controller what is to be played."""
        if plan:
            self._line.ask("plan", [(nodeid, planned.to_dict()) for nodeid, planned in plan])

    def pytest_unconfigure(self) -> None:
        """Hang up."""
        self._line.close()


_SIDE = pytest.StashKey[Controller | Worker]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare options."""
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare hooks."""
    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    """Take a side: controller or worker."""
    config.addinivalue_line("markers", f"{MARKER}(path, suite=...): play each conversation of a JSON Lines file")
    side = Worker(config) if hasattr(config, "workerinput") else Controller(config)
    config.stash[_SIDE] = side
    config.stash[DATABASES] = side.server.databases
    config.pluginmanager.register(side, "crmeval-side")
    if isinstance(side, Controller):
        config.pluginmanager.register(side.recorder, "crmeval-recorder")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Refuse an agent that can't be had before anything is started for it."""
    options = Options.from_config(session.config)
    for spec in {options.spec(name) for name in options.agents} - {"oracle"}:
        agent_of(session.config, spec)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give marked tests their cases, and have the server started while the rest is collected."""
    if parametrize(metafunc) and not is_dry_run(metafunc.config):
        metafunc.config.stash[_SIDE].server.begin()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Know our cases, and leave out what an earlier part of the run has done."""
    remember_cases(items)
    deselect_done(config, items, config.stash[_SIDE].done)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Tell what will be played; before xdist says that the worker has collected."""
    session.config.stash[_SIDE].tell(plan_of(session.items))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Send the trial along with its report."""
    report = yield
    attach_trial(item, call, report)
    return report


@pytest.hookimpl(trylast=True)
def pytest_crmeval_agent(spec: str) -> Agent | None:
    """Know the agents that come with the package."""
    from pytest_crmeval.agents.specs import AgentUnavailable, make_agent

    try:
        return make_agent(spec)
    except AgentUnavailable as error:
        raise pytest.UsageError(f"crmeval: {error}") from error
