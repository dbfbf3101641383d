"""Threads that play ahead: as many as there are seats, and none of them dies silently."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from threading import Barrier

from pytest_crmeval.controller.queue import JobQueue
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.player.slots import Seat, Slots

SOON = 60.0


@dataclass
class Table:
    """A seat."""

    play: Callable[[str], JsonObject]

    def __call__(self, key: str) -> JsonObject:
        """Play."""
        return self.play(key)


def seats(play: Callable[[str], JsonObject], *, missing: int = 0) -> Callable[[int], AbstractContextManager[Seat]]:
    """Return what lends seats, except for the first few numbers."""

    @contextmanager
    def lend(number: int) -> Iterator[Seat]:
        if number <= missing:
            raise ConnectionError("sorry, too many clients already")
        yield Table(play)

    return lend


def played(key: str) -> JsonObject:
    """Return what is told of a case."""
    return {"trial": None, "key": key}


def begun(count: int) -> tuple[JobQueue, list[JsonObject]]:
    """Return an open queue, and what it records."""
    recorded: list[JsonObject] = []
    queue = JobQueue(recorded.append)
    queue.open({f"c{number}": 1.0 for number in range(count)}, at_once=4)
    return queue, recorded


def test_so_many_are_in_flight() -> None:
    """Each waits until all four are there."""
    together = Barrier(4, timeout=SOON)
    queue, recorded = begun(8)

    def meet(key: str) -> JsonObject:
        together.wait()
        return played(key)

    slots = Slots(4, queue, "gw0", seats(meet))
    slots.start()
    slots.drain()

    assert 8 == len(recorded)


def test_a_slot_without_a_desk_is_told_of_and_the_others_go_on() -> None:
    """A server has only so many connections."""
    queue, recorded = begun(5)
    slots = Slots(3, queue, "gw0", seats(played, missing=2))
    slots.start()
    slots.drain()

    assert 5 == len(recorded)
    assert "gw0: sorry, too many clients already" == queue.lacking


def test_a_case_whose_play_breaks_is_left_to_its_item() -> None:
    """Nobody waits for it for ever."""
    queue, recorded = begun(1)

    def broken(_: str) -> JsonObject:
        raise RuntimeError("a fault of ours")

    slots = Slots(1, queue, "gw0", seats(broken))
    slots.start()
    slots.drain()

    assert ("alone", None) == queue.take("c0", "gw0", patient=True)
    assert ([], "gw0: a fault of ours") == (recorded, queue.lacking)


def test_a_case_that_cannot_be_told_is_left_to_its_item() -> None:
    """Whatever an agent has put into it."""
    queue = JobQueue(_refuse)
    queue.open({"c0": 1.0}, at_once=1)
    slots = Slots(1, queue, "gw0", seats(played))
    slots.start()
    slots.drain()

    assert ("alone", None) == queue.take("c0", "gw0", patient=True)
    assert "gw0: no JSON" == queue.lacking


def _refuse(_: JsonObject) -> None:
    raise TypeError("no JSON")
