"""Cases whose order counts: one after the other, whoever plays them, while all others are played beside them."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from pytest_crmeval.controller.queue import JobQueue
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.stream import Stream

SOON, A_WHILE = 60.0, 0.1
ORDERED, AFTER = ("t[s0]", "t[s1]", "t[s2]"), ("t[h0]", "t[h1]")
STREAM = Stream(ordered=ORDERED, after=AFTER)
WEIGHTS = dict.fromkeys((*ORDERED, *AFTER), 1.0)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Give those who wait."""
    with ThreadPoolExecutor(16) as pool:
        yield pool


@pytest.fixture
def queue(threads: ThreadPoolExecutor) -> Iterator[JobQueue]:
    """Give a queue that is closed in the end, so that nobody waits for ever."""
    del threads  # they end after it was closed
    made = JobQueue(lambda _: None)
    yield made
    made.close()


def outcome(key: str) -> JsonObject:
    """Return what is told of a case."""
    return {"trial": {"key": key}}


def is_waiting(future: "Future[Any]") -> bool:
    """Whether somebody waits, and goes on waiting."""
    with pytest.raises(TimeoutError):
        future.result(A_WHILE)
    return True


def play(queue: JobQueue, player: str = "gw0") -> str | None:
    """Play what is next."""
    key = queue.next(player)
    if key is not None:
        queue.finish(key, outcome(key))
    return key


def test_one_is_played_after_the_other(queue: JobQueue, threads: ThreadPoolExecutor) -> None:
    """Nobody begins the second before the first is on record; others are played meanwhile."""
    queue.open({**WEIGHTS, "t[x]": 1.0}, at_once=4, streams=[STREAM])
    queue.join("gw0", 2)
    first, other = queue.next("gw0"), queue.next("gw0")
    third = threads.submit(queue.next, "gw1")

    assert ("t[s0]", "t[x]") == (first, other)
    assert is_waiting(third)
    queue.finish("t[s0]", outcome("t[s0]"))
    assert "t[s1]" == third.result(SOON)


def test_what_comes_after_is_played_by_many_at_once(queue: JobQueue) -> None:
    """When all of the stream is over, and then there is no more."""
    queue.open(WEIGHTS, at_once=4, streams=[STREAM])

    assert [*ORDERED] == [play(queue) for _ in ORDERED]
    assert [*AFTER, None] == [queue.next("gw0") for _ in (*AFTER, "no more")]


def test_streams_don_t_wait_for_each_other(queue: JobQueue) -> None:
    """Each learner has its own."""
    other = Stream(ordered=("u[a]", "u[b]"))
    queue.open({**WEIGHTS, "u[a]": 1.0, "u[b]": 1.0}, at_once=4, streams=[STREAM, other])

    assert {"t[s0]", "u[a]"} == {queue.next("gw0"), queue.next("gw1")}


@pytest.mark.parametrize("patient", [True, False])
def test_an_item_waits_for_its_turn_and_gets_what_was_played(
    queue: JobQueue, threads: ThreadPoolExecutor, *, patient: bool
) -> None:
    """In whatever order xdist has dealt the items out; also where it has a time limit."""
    queue.open(WEIGHTS, at_once=4, streams=[STREAM])
    queue.join("gw0", 1)
    last = threads.submit(queue.take, "t[s2]", "gw0", patient=patient)

    assert is_waiting(last)
    assert [*ORDERED] == [play(queue) for _ in ORDERED]
    assert ("played", outcome("t[s2]")) == last.result(SOON)


def test_a_stream_does_not_take_the_room_of_others(queue: JobQueue) -> None:
    """However many of it were played before their items are reported."""
    many = {f"t[s{number}]": 1.0 for number in range(60)}
    queue.open({**many, "t[x]": 1.0}, at_once=1, streams=[Stream(ordered=tuple(many))])

    assert [*many, "t[x]"] == [play(queue) for _ in (*many, "t[x]")]


def test_slots_stay_until_the_stream_is_over(queue: JobQueue, threads: ThreadPoolExecutor) -> None:
    """Whose own items are done goes home."""
    queue.open(WEIGHTS, at_once=4, streams=[STREAM])
    queue.join("gw0", 1)
    queue.join("gw1", 1)
    queue.next("gw0")
    idle = threads.submit(queue.next, "gw1")

    assert is_waiting(idle)
    settled = threads.submit(queue.settle, "gw1", over=False)
    assert None is idle.result(SOON)
    queue.quit("gw1")
    settled.result(SOON)


def test_what_a_dead_worker_was_playing_is_played_by_another(queue: JobQueue) -> None:
    """In its turn; a second death is enough, and then its item plays it."""
    queue.open(WEIGHTS, at_once=4, streams=[STREAM])
    for worker in ("gw0", "gw1", "gw2"):
        queue.join(worker, 1)
    begun = [queue.next("gw0")]
    queue.gone("gw0")
    begun.append(queue.next("gw1"))
    queue.gone("gw1")
    begun.append(queue.next("gw2"))

    assert ["t[s0]", "t[s0]", "t[s1]"] == begun
    assert ("alone", None) == queue.take("t[s0]", "gw2", patient=True)


def test_an_item_that_was_skipped_holds_up_nobody(queue: JobQueue) -> None:
    """Its test did not want it played."""
    queue.open(WEIGHTS, at_once=4, streams=[STREAM])
    queue.reported("t[s0]")

    assert "t[s1]" == queue.next("gw0")


class TestInItems:
    """Where slots must not play for a test, its items do, each when it is its turn."""

    def test_it_waits_for_those_before_it(self, queue: JobQueue, threads: ThreadPoolExecutor) -> None:
        """On another worker."""
        queue.open({}, at_once=4, streams=[STREAM], players=2)
        queue.join("gw0", 0)
        queue.join("gw1", 0)
        second = threads.submit(queue.take, "t[s1]", "gw1", patient=True)

        assert is_waiting(second)
        assert ("alone", None) == queue.take("t[s0]", "gw0", patient=True)
        assert is_waiting(second)
        queue.finish("t[s0]", outcome("t[s0]"))
        assert ("alone", None) == second.result(SOON)

    def test_who_breaks_off_lets_the_next_one_go(self, queue: JobQueue) -> None:
        """An item of its own that has not come to its end does not come again."""
        queue.open({}, at_once=4, streams=[STREAM])
        queue.take("t[s0]", "main", patient=True)
        queue.drop("t[s0]")

        assert ("alone", None) == queue.take("t[s1]", "main", patient=True)

    def test_nobody_waits_for_what_nobody_can_play(self, queue: JobQueue, threads: ThreadPoolExecutor) -> None:
        """If all workers wait for others, whoever comes first in the order goes on."""
        queue.open({}, at_once=4, streams=[STREAM], players=2)
        queue.join("gw0", 0)
        queue.join("gw1", 0)
        last = threads.submit(queue.take, "t[s2]", "gw1", patient=True)

        assert is_waiting(last)
        assert ("alone", None) == queue.take("t[s1]", "gw0", patient=True)
        assert is_waiting(last)
        queue.finish("t[s1]", outcome("t[s1]"))
        queue.gone("gw0")
        assert ("alone", None) == last.result(SOON)

    def test_who_replaces_a_dead_worker_is_waited_for(self, queue: JobQueue, threads: ThreadPoolExecutor) -> None:
        """He is dealt what the dead one had; if he has nothing to play, either, nobody waits."""
        queue.open({}, at_once=4, streams=[STREAM], players=2)
        queue.join("gw0", 0)
        queue.join("gw1", 0)
        last = threads.submit(queue.take, "t[s2]", "gw1", patient=True)
        queue.gone("gw0", replaced=True)

        assert is_waiting(last)
        queue.join("gw2", 0)
        assert is_waiting(last)
        assert ("alone", None) == queue.take("t[s0]", "gw2", patient=True)
        queue.finish("t[s0]", outcome("t[s0]"))
        assert is_waiting(last)
        queue.settle("gw2", over=False)
        assert ("alone", None) == last.result(SOON)

    def test_a_closed_ledger_keeps_nobody_waiting(self, queue: JobQueue, threads: ThreadPoolExecutor) -> None:
        """The run is over."""
        queue.open({}, at_once=4, streams=[STREAM], players=2)
        waiting = threads.submit(queue.take, "t[s1]", "gw1", patient=True)

        assert is_waiting(waiting)
        queue.close()
        assert ("over", None) == waiting.result(SOON)


def test_a_worker_that_crashed_does_not_have_two_played_at_once(queue: JobQueue, threads: ThreadPoolExecutor) -> None:
    """Its item is reported as crashed while somebody else plays the case again: the next waits until that is over."""
    queue.open(WEIGHTS, at_once=4, streams=[STREAM])
    queue.join("gw0", 1)
    queue.join("gw1", 2)
    begun = queue.next("gw0")
    queue.gone("gw0")
    again = queue.next("gw1")
    queue.reported(ORDERED[0], crashed=True)
    second = threads.submit(queue.next, "gw1")

    assert ORDERED[0] == begun == again
    assert is_waiting(second)
    queue.finish(ORDERED[0], outcome(ORDERED[0]))
    assert ORDERED[1] == second.result(SOON)
