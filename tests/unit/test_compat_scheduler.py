"""Items are dealt out again when a worker has crashed: by the installed xdist, to workers that behave as its own do."""

from collections import deque
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from xdist.scheduler import (  # type: ignore[import-untyped] # it has no types
    LoadFileScheduling,
    LoadGroupScheduling,
    LoadScopeScheduling,
)

from pytest_crmeval.compat import fixed_scheduler

SCOPED = pytest.mark.parametrize("kind", [LoadScopeScheduling, LoadFileScheduling, LoadGroupScheduling])
ITEMS = [f"test_{letter}.py::test_it[{number}]" for letter in "abcd" for number in range(2)]


class Worker:
    """One that begins an item when it knows the next one, or that there is none; as xdist's workers do."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.shutting_down = False
        self.dealt: deque[int] = deque()
        self.ran: list[str] = []

    def send_runtest_some(self, indices: Sequence[int]) -> None:
        """Take items."""
        self.dealt.extend(indices)

    def shutdown(self) -> None:
        """Know that there are no more."""
        self.shutting_down = True

    @property
    def is_busy(self) -> bool:
        """Whether it runs an item, or would."""
        return len(self.dealt) > (0 if self.shutting_down else 1)


class Config(SimpleNamespace):
    """What schedulers want to know of the configuration."""

    option = SimpleNamespace(loadscopereorder=True)

    def getvalue(self, name: str) -> list[str]:
        """Say that there are two workers."""
        return ["2*popen"] * (name == "tx")


def dealer(kind: type[LoadScopeScheduling]) -> Any:  # noqa: ANN401 (xdist's own, with workers of ours)
    """Return who deals items out."""
    config: Any = Config()
    return fixed_scheduler(kind(config))


def ready(scheduler: Any, *workers: Worker, items: Sequence[str] = ITEMS) -> None:  # noqa: ANN401
    """Have workers begin, with what they have collected."""
    for worker in workers:
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, items)
        if scheduler.collection_is_completed:
            scheduler.schedule()


def run(scheduler: Any, workers: Iterable[Worker], most: int = 100) -> None:  # noqa: ANN401
    """Have workers run items, in turn, as long as any of them can."""
    staff = list(workers)
    while most and any(worker.is_busy for worker in staff):
        worker = next(worker for worker in staff if worker.is_busy)
        index = worker.dealt.popleft()
        worker.ran.append(ITEMS[index])
        scheduler.mark_test_complete(worker, index)
        staff = [*(other for other in staff if other is not worker), worker]
        most -= 1


@SCOPED
@pytest.mark.parametrize("before", range(7))
def test_items_of_a_crashed_worker_are_run_by_others(kind: type[LoadScopeScheduling], before: int) -> None:
    """Once each, whenever it crashes; not what it crashed in: that would crash its successor, too."""
    scheduler, first, second, third = dealer(kind), Worker("gw0"), Worker("gw1"), Worker("gw2")
    ready(scheduler, first, second)
    run(scheduler, [first, second], most=before)

    crashed = scheduler.remove_node(first)
    ready(scheduler, third)
    run(scheduler, [second, third])

    assert crashed not in first.ran
    assert sorted(ITEMS) == sorted([*first.ran, crashed, *second.ran, *third.ran])
    assert scheduler.tests_finished
    assert (True, True) == (second.shutting_down, third.shutting_down)


def test_items_of_a_crashed_worker_are_assigned_first() -> None:
    """In its order: who waits for what comes before his own is not to wait for the end."""
    scheduler, first, second, third = dealer(LoadGroupScheduling), Worker("gw0"), Worker("gw1"), Worker("gw2")
    items = [f"{item}@pair" for item in ITEMS[:2]] + [f"{item}@two" for item in ITEMS[2:4]] + ITEMS[4:]
    ready(scheduler, first, second, items=items)
    known, left = len(second.dealt), [*first.dealt][1:]

    scheduler.remove_node(first)
    ready(scheduler, third, items=items)

    assert [1, 4] == left
    assert left == [*second.dealt, *third.dealt][known:]


@SCOPED
def test_a_worker_that_still_collects_is_dealt_nothing(kind: type[LoadScopeScheduling]) -> None:
    """Another one may crash meanwhile."""
    scheduler, first, second, third, fourth = dealer(kind), *map(Worker, ["gw0", "gw1", "gw2", "gw3"])
    ready(scheduler, first, second)
    lost = [scheduler.remove_node(first)]
    scheduler.add_node(third)
    lost.append(scheduler.remove_node(second))

    assert [] == list(third.dealt)
    scheduler.add_node_collection(third, ITEMS)
    scheduler.schedule()
    ready(scheduler, fourth)
    run(scheduler, [third, fourth])
    assert sorted(ITEMS) == sorted([*lost, *third.ran, *fourth.ran])


@SCOPED
def test_a_worker_that_crashes_before_anything_is_dealt_out_is_replaced(kind: type[LoadScopeScheduling]) -> None:
    """It has collected, and others have not: what it has collected does not count as one of theirs."""
    scheduler, first, second, third = dealer(kind), *map(Worker, ["gw0", "gw1", "gw2"])
    for worker in (first, second):
        scheduler.add_node(worker)
    scheduler.add_node_collection(first, ITEMS)

    assert scheduler.remove_node(first) is None
    ready(scheduler, third)
    assert [] == [*second.dealt, *third.dealt]
    scheduler.add_node_collection(second, ITEMS)
    scheduler.schedule()
    run(scheduler, [second, third])
    assert sorted(ITEMS) == sorted([*second.ran, *third.ran])


@SCOPED
def test_without_crashes_items_are_scheduled_as_usual(kind: type[LoadScopeScheduling]) -> None:
    """What is given out early can't be balanced any more."""
    config: Any = Config()
    ours, theirs = [Worker("gw0"), Worker("gw1")], [Worker("gw0"), Worker("gw1")]
    ready(dealer(kind), *ours)
    ready(kind(config), *theirs)

    assert [worker.dealt for worker in theirs] == [worker.dealt for worker in ours]


def test_a_successor_that_collects_something_else_ends_the_run() -> None:
    scheduler = dealer(LoadFileScheduling)
    ready(scheduler, Worker("gw0"), gone := Worker("gw1"))
    scheduler.remove_node(gone)

    with pytest.raises(RuntimeError, match="gw2, which replaces a crashed worker, collected different tests"):
        ready(scheduler, Worker("gw2"), items=ITEMS[1:])


class Own(LoadFileScheduling):  # type: ignore[misc] # it has no types
    """Another plugin's way of dealing, which knows what to do after a crash."""

    def remove_node(self, node: Worker) -> None:
        """Do as that plugin likes."""


def test_other_schedulers_are_not_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of a later xdist, and those of plugins that see to a crash themselves."""
    config: Any = Config()
    assert config is fixed_scheduler(config)
    assert Own is type(fixed_scheduler(Own(config)))

    monkeypatch.setattr("xdist.__version__", "3.9.0")
    assert LoadFileScheduling is type(fixed_scheduler(LoadFileScheduling(config)))
