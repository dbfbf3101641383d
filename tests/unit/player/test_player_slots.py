"""Threads that play ahead: as many as there are seats, and none of them dies silently."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Barrier

from pytest_crmeval.channel import Finished, Take
from pytest_crmeval.controller.local_channel import LocalChannel
from pytest_crmeval.controller.queue import NOTHING
from pytest_crmeval.player.slots import PlayCase, Slots
from tests.channels import Controller, controller

SOON = 300.0
Play = Callable[[str], Finished]


def finished(key: str) -> Finished:
    """Return the outcome of a case."""
    return Finished(key, (key.encode(), b""))


def seats(play: Play, *, missing: int = 0) -> Callable[[int], AbstractContextManager[PlayCase]]:
    """Return a function that lends seats, except for the first few numbers."""

    @contextmanager
    def lend(number: int) -> Iterator[PlayCase]:
        if number <= missing:
            raise ConnectionError("sorry, too many clients already")
        yield play

    return lend


def played(run: Controller, cases: int, slots: int, play: Play = finished, *, missing: int = 0) -> LocalChannel:
    """Play cases to their end."""
    channel = LocalChannel(run.loop, run.handler)
    run.loop.call(run.queue.open, {f"c{number}": 1.0 for number in range(cases)}, at_once=4)
    threads = Slots(slots, channel, seats(play, missing=missing))
    threads.start()
    threads.drain()
    return channel


def test_as_many_cases_as_slots_are_played_at_the_same_time() -> None:
    together = Barrier(4, timeout=SOON)

    def meet(key: str) -> Finished:
        together.wait()
        return finished(key)

    with controller() as run:
        played(run, 8, 4, meet)

        assert 8 == len(run.run.recorded)


def test_slot_without_a_seat_is_reported_and_the_others_continue() -> None:
    """A server has a limited number of connections."""
    with controller() as run:
        played(run, 5, 3, missing=2)

        assert 5 == len(run.run.recorded)
        assert "main: sorry, too many clients already" == run.queue.shortage


def test_case_that_a_slot_cannot_play_is_left_to_its_item() -> None:
    """After an internal error, for example; no item waits forever."""

    def broken(_: str) -> Finished:
        raise RuntimeError("a fault of ours")

    with controller() as run:
        channel = played(run, 1, 1, broken)

        assert ("alone", NOTHING) == channel.ask(Take("c0", patient=True))
        assert ([], "main: a fault of ours") == (run.run.recorded, run.queue.shortage)
