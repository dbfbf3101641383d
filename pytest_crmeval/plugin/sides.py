"""The two sides of a run: the process that owns it, and xdist's workers. Made when there is something to evaluate."""

from typing import Any, Protocol

import pytest

from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.options import Options, is_colored
from pytest_crmeval.recorder import Recorder
from pytest_crmeval.server import Line, LineToController, LinkedServer, RunServer

Plan = list[tuple[str, PlannedCase]]


class Node(Protocol):
    """What we use of an xdist worker's controller."""

    config: pytest.Config
    workerinput: dict[str, Any]


class Controller:
    """The process that owns the run: its server, its books, and the line on which workers ask."""

    def __init__(self, config: pytest.Config) -> None:
        self.server = RunServer(config)
        self.recorder = Recorder(config, self.server.databases, lambda: str(self.server))
        self._run = Options.from_config(config).run
        self._line: Line | None = None
        self._told: Plan | None = None
        self._refused = ""

    @property
    def done(self) -> set[tuple[str, ...]]:
        """What need not be played again."""
        return self.recorder.done

    def tell(self, plan: Plan) -> None:
        """Take the plan of this very process."""
        self.recorder.plan(plan)

    def refuse(self, why: str) -> None:
        """End the run before anything is played."""
        raise pytest.UsageError(why)

    def brief(self, node: Node) -> None:
        """Tell a worker, also one that replaces a crashed one later, what all workers must know alike."""
        if self._line is None:
            self._done = sorted(self.done)
            self._line = Line(
                {"begin": self._begin, "address": self._address, "plan": self._take, "refuse": self._note}
            )
        node.workerinput["crmeval"] = {
            "run": self._run,
            "line": self._line.address,
            "done": self._done,
            "colored": is_colored(node.config),
        }

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        """Begin with the plan that the first worker told before it said that it has collected; or end with its no."""
        if self._refused:
            self.refuse(self._refused)
        if self._told is not None:
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

    def _note(self, why: str) -> None:
        self._refused = why

    def _take(self, cases: list[tuple[str, dict[str, str]]]) -> None:
        if self._told is None:
            self._told = [(nodeid, PlannedCase.from_dict(planned)) for nodeid, planned in cases]


class Worker:
    """An xdist worker."""

    def __init__(self, config: pytest.Config) -> None:
        told: dict[str, Any] = config.workerinput["crmeval"]  # type: ignore[attr-defined] # xdist's own
        self._line = LineToController(*told["line"])
        self.server = LinkedServer(self._line, told["run"])
        self.done = set(map(tuple, told["done"]))

    def tell(self, plan: Plan) -> None:
        """Tell the controller what is to be played."""
        self._line.ask("plan", [(nodeid, planned.to_dict()) for nodeid, planned in plan])

    def refuse(self, why: str) -> None:
        """Have the controller end the run: a worker's own error would be a crash."""
        self._line.ask("refuse", why)

    def pytest_unconfigure(self) -> None:
        """Hang up."""
        self._line.close()


Side = Controller | Worker


def take_side(config: pytest.Config) -> Side:
    """Make this process's side, and let it hear the hooks."""
    if hasattr(config, "workerinput"):
        worker = Worker(config)
        config.pluginmanager.register(worker, "crmeval-worker")
        return worker
    controller = Controller(config)
    config.pluginmanager.register(controller, "crmeval-controller")
    config.pluginmanager.register(controller.recorder, "crmeval-recorder")
    return controller
