"""Who plays what: each case once, in order, and nothing is lost when somebody goes."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from pytest_crmeval.controller.queue import JobQueue
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.stream import Stream

SOON, A_WHILE = 60.0, 0.1


@pytest.fixture
def recorded() -> list[JsonObject]:
    """Give what is on record."""
    return []


@pytest.fixture
def queue(recorded: list[JsonObject], threads: ThreadPoolExecutor) -> Iterator[JobQueue]:
    """Give a queue that is closed in the end, so that nobody waits for ever."""
    del threads  # they end after it was closed
    made = JobQueue(recorded.append)
    yield made
    made.close()


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Give those who wait."""
    with ThreadPoolExecutor(16) as pool:
        yield pool


def cases(count: int) -> dict[str, float]:
    """Return cases of the same length."""
    return {f"test[c{number}]": 1.0 for number in range(count)}


def outcome(key: str) -> JsonObject:
    """Return what is told of a case."""
    return {"trial": {"key": key}}


def is_waiting(future: "Future[Any]") -> bool:
    """Whether somebody waits, and goes on waiting."""
    with pytest.raises(TimeoutError):
        future.result(A_WHILE)
    return True


def test_cases_are_given_out_in_order(queue: JobQueue) -> None:
    """And then there are no more."""
    queue.open(cases(3), at_once=2)

    assert [*cases(3), None] == [queue.next("gw0") for _ in range(4)]


def test_the_longest_of_those_that_are_near_each_other_come_first(queue: JobQueue) -> None:
    """The last block is a whole one: it is what the end of a run is made of."""
    weights = {str(number): float(number) for number in range(5)}
    queue.open(weights, at_once=1)

    assert ["0", "4", "3", "2", "1"] == [queue.next("gw0") for _ in range(5)]


def test_nobody_is_given_a_case_before_the_run_begins(queue: JobQueue, threads: ThreadPoolExecutor) -> None:
    """Workers may be ready before the plan is known."""
    asking = threads.submit(queue.next, "gw0")

    assert is_waiting(asking)
    queue.open(cases(1), at_once=1)
    assert "test[c0]" == asking.result(SOON)


def test_an_item_takes_what_was_played_ahead(queue: JobQueue, recorded: list[JsonObject]) -> None:
    """It was on record before."""
    queue.open(cases(1), at_once=1)
    key = queue.next("gw0")
    assert key
    queue.finish(key, outcome(key))

    assert [outcome(key)] == recorded
    assert ("played", outcome(key)) == queue.take(key, "gw1", patient=False)


def test_an_item_waits_for_what_is_being_played(queue: JobQueue, threads: ThreadPoolExecutor) -> None:
    """Whoever plays it."""
    queue.open(cases(1), at_once=1)
    queue.next("gw0")
    taking = threads.submit(queue.take, "test[c0]", "gw1", patient=False)

    assert is_waiting(taking)
    queue.finish("test[c0]", outcome("test[c0]"))
    assert ("played", outcome("test[c0]")) == taking.result(SOON)


def test_an_item_plays_what_nobody_has_begun(queue: JobQueue) -> None:
    """And nobody else does."""
    queue.open(cases(2), at_once=1)

    assert ("alone", None) == queue.take("test[c0]", "gw0", patient=False)
    assert ["test[c1]", None] == [queue.next("gw0"), queue.next("gw0")]


def test_who_is_not_in_the_ledger_plays_alone(queue: JobQueue, recorded: list[JsonObject]) -> None:
    """A fixture of the user's own, for one; it is on record at once all the same."""
    queue.open({}, at_once=1)

    assert ("alone", None) == queue.take("other", "gw0", patient=False)
    queue.finish("other", outcome("other"))
    assert [outcome("other")] == recorded


def test_an_item_that_is_run_again_plays_again(queue: JobQueue) -> None:
    """What was played ahead is taken once."""
    queue.open(cases(1), at_once=1)
    queue.next("gw0")
    queue.finish("test[c0]", outcome("test[c0]"))
    queue.take("test[c0]", "gw0", patient=False)

    assert ("alone", None) == queue.take("test[c0]", "gw0", patient=False)


def test_not_many_more_are_begun_than_items_are_reported(queue: JobQueue, threads: ThreadPoolExecutor) -> None:
    """What is played and not yet told of is kept in memory."""
    queue.open(cases(9), at_once=1)
    begun = [queue.next("gw0") for _ in range(8)]
    ninth = threads.submit(queue.next, "gw0")

    assert is_waiting(ninth)
    queue.reported(str(begun[0]))
    assert "test[c8]" == ninth.result(SOON)


def test_a_run_that_may_end_at_any_item_does_not_look_far_ahead(queue: JobQueue, threads: ThreadPoolExecutor) -> None:
    """No more than can be in flight at the same time."""
    queue.open(cases(3), at_once=2, short_sighted=True)
    begun = [queue.next("gw0"), queue.next("gw0")]
    third = threads.submit(queue.next, "gw0")

    assert is_waiting(third)
    queue.reported(str(begun[0]))
    assert "test[c2]" == third.result(SOON)


def test_what_a_dead_player_had_begun_is_played_by_its_item(queue: JobQueue, threads: ThreadPoolExecutor) -> None:
    """Not by another player, who might die of it, too: xdist will know which item it was."""
    queue.open(cases(2), at_once=2)
    queue.next("gw0")
    taking = threads.submit(queue.take, "test[c0]", "gw1", patient=False)
    assert is_waiting(taking)

    queue.gone("gw0")

    assert ("alone", None) == taking.result(SOON)
    assert ["test[c1]", None] == [queue.next("gw1"), queue.next("gw1")]


def test_cases_of_a_dead_player_do_not_wait_behind_the_items_of_a_learner(
    queue: JobQueue, threads: ThreadPoolExecutor
) -> None:
    """Workers wait for the learner's conversations; idle slots play the other cases."""
    learnt = [f"test[s{number}]" for number in range(3)]
    queue.open(cases(2) | dict.fromkeys(learnt, 1.0), at_once=4, streams=[Stream(ordered=learnt)], players=2)
    queue.join("gw0", 2)
    queue.join("gw1", 2)
    assert ["test[s0]", "test[c0]", "test[c1]"] == [queue.next(player) for player in ("gw0", "gw1", "gw1")]
    items = [threads.submit(queue.take, key, "gw0", patient=True) for key in learnt[1:]]
    assert all(map(is_waiting, items))

    queue.gone("gw1")

    assert "test[c0]" == threads.submit(queue.next, "gw0").result(SOON)
    second = threads.submit(queue.next, "gw0")
    assert is_waiting(second)  # one at a time: it may be the one that has killed the player
    queue.finish("test[c0]", outcome("test[c0]"))
    assert "test[c1]" == second.result(SOON)
    assert ("played", outcome("test[c0]")) == queue.take("test[c0]", "gw0", patient=True)


def test_case_that_killed_two_players_is_left_to_its_item(queue: JobQueue) -> None:
    """Then xdist knows which one it was."""
    queue.open(cases(1), at_once=1)
    for player in ("gw0", "gw1"):
        assert "test[c0]" == queue.next(player)
        queue.gone(player)

    assert None is queue.next("gw2")
    assert ("alone", None) == queue.take("test[c0]", "gw2", patient=True)


def test_what_a_player_finished_just_before_it_died_is_not_played_again(
    queue: JobQueue, recorded: list[JsonObject], threads: ThreadPoolExecutor
) -> None:
    """Its word may arrive after the news of its death; a learner would learn from the case twice."""
    learnt, begun = ("test[s0]", "test[s1]"), ("test[s0]", "test[c0]")
    queue.open(cases(1) | dict.fromkeys(learnt, 1.0), at_once=4, streams=[Stream(ordered=learnt)], players=2)
    queue.join("gw1", 1)
    assert begun == (queue.next("gw0"), queue.next("gw0"))

    queue.gone("gw0")
    for key in begun:
        queue.finish(key, outcome(key))

    assert "test[s1]" == queue.next("gw1")
    for key in begun:
        taking = threads.submit(queue.take, key, "gw1", patient=True)
        assert ("played", outcome(key)) == taking.result(SOON)
    assert 2 == len(recorded)


def test_what_a_dead_player_was_playing_is_not_tried_for_a_test_that_makes_no_use_of_it(queue: JobQueue) -> None:
    """As nothing else is played ahead for it."""
    queue.open(cases(2), at_once=1)
    queue.next("gw0")
    queue.gone("gw0")

    queue.leave("test[c1]")

    assert None is queue.next("gw1")


def test_what_others_play_is_not_touched_when_a_player_dies(queue: JobQueue, threads: ThreadPoolExecutor) -> None:
    """Only his own is lost."""
    queue.open(cases(1), at_once=1)
    queue.next("gw0")
    queue.gone("gw2")

    assert is_waiting(threads.submit(queue.take, "test[c0]", "gw1", patient=False))
    queue.finish("test[c0]", outcome("test[c0]"))


def test_a_dead_player_is_given_nothing(queue: JobQueue, threads: ThreadPoolExecutor) -> None:
    """Though he waited for it when he died; nor are his slots counted twice."""
    queue.open(cases(3), at_once=1, short_sighted=True)
    queue.join("gw0", 1)
    queue.join("gw1", 1)
    queue.next("gw1")
    waiting = threads.submit(queue.next, "gw0")
    assert is_waiting(waiting)

    queue.gone("gw0")
    queue.quit("gw0")

    assert None is waiting.result(SOON)
    assert ("over", None) == queue.take("test[c1]", "gw0", patient=True)
    assert is_waiting(threads.submit(queue.take, "test[c2]", "gw1", patient=True))  # one slot is left


def test_an_item_that_died_waiting_takes_nothing(queue: JobQueue, threads: ThreadPoolExecutor) -> None:
    """What it waited for is not lost on the way, and nothing is in flight for it."""
    queue.open(cases(1), at_once=1)
    queue.join("gw0", 1)
    waiting = threads.submit(queue.take, "test[c0]", "gw0", patient=True)
    assert is_waiting(waiting)

    queue.gone("gw0")

    assert ("over", None) == waiting.result(SOON)
    assert 0 == queue.in_flight


def test_who_has_no_more_items_plays_on_but_does_not_wait(queue: JobQueue, threads: ThreadPoolExecutor) -> None:
    """Nobody may ever report what would make room."""
    queue.open(cases(9), at_once=1)
    queue.join("gw0", 1)
    settling = threads.submit(queue.settle, "gw0", over=False)

    begun = [queue.next("gw0") for _ in range(9)]
    queue.quit("gw0")

    assert [*list(cases(8)), None] == begun
    settling.result(SOON)


def test_when_the_run_is_over_for_one_it_is_for_all(queue: JobQueue) -> None:
    """A worker that leaves early takes its items with it."""
    queue.open(cases(2), at_once=1)
    queue.settle("gw0", over=True)

    assert None is queue.next("gw1")


def test_what_nobody_waits_for_any_more_holds_nobody_up(queue: JobQueue, threads: ThreadPoolExecutor) -> None:
    """The time of its item was over; the slot may never come back."""
    queue.open(cases(1), at_once=1)
    queue.join("gw0", 1)
    queue.next("gw0")
    settling = threads.submit(queue.settle, "gw0", over=False)
    assert is_waiting(settling)

    queue.reported("test[c0]")

    settling.result(SOON)
    assert 0 == queue.close(SOON)


def test_a_slot_that_comes_back_is_waited_for_again(queue: JobQueue, threads: ThreadPoolExecutor) -> None:
    """It may play something else."""
    queue.open(cases(2), at_once=1)
    queue.join("gw0", 1)
    queue.next("gw0")
    queue.reported("test[c0]")
    queue.finish("test[c0]", outcome("test[c0]"))
    queue.next("gw0")

    settling = threads.submit(queue.settle, "gw0", over=False)

    assert is_waiting(settling)
    queue.quit("gw0")
    settling.result(SOON)


def test_what_could_not_be_played_is_given_back(queue: JobQueue) -> None:
    """To its item."""
    queue.open(cases(1), at_once=1)
    queue.next("gw0")
    queue.drop("test[c0]")

    assert ("alone", None) == queue.take("test[c0]", "gw0", patient=False)


def test_nothing_is_begun_when_the_run_is_over(queue: JobQueue, threads: ThreadPoolExecutor) -> None:
    """Whoever waits for a case is let go, and items of cases that nobody has begun are told so."""
    queue.open(cases(2), at_once=1, short_sighted=True)
    queue.next("gw0")
    waiting = threads.submit(queue.next, "gw0")
    assert is_waiting(waiting)

    queue.close()

    assert None is waiting.result(SOON)
    assert ("over", None) == queue.take("test[c1]", "gw0", patient=False)


def test_what_was_played_is_handed_over_when_the_run_is_over(queue: JobQueue) -> None:
    """It was paid for."""
    queue.open(cases(1), at_once=1)
    queue.next("gw0")
    queue.finish("test[c0]", outcome("test[c0]"))
    queue.close()

    assert ("played", outcome("test[c0]")) == queue.take("test[c0]", "gw0", patient=False)


@pytest.mark.parametrize("alone", [False, True])
def test_closing_waits_for_what_is_in_flight(queue: JobQueue, threads: ThreadPoolExecutor, *, alone: bool) -> None:
    """Also for an item that plays its own case."""
    queue.open(cases(1), at_once=1)
    _begin(queue, alone=alone)
    closing = threads.submit(queue.close, SOON)

    assert is_waiting(closing)
    queue.finish("test[c0]", outcome("test[c0]"))
    assert 0 == closing.result(SOON)


def test_closing_does_not_wait_for_ever(queue: JobQueue) -> None:
    """It tells how many are left."""
    queue.open(cases(2), at_once=2)
    queue.next("gw0")
    queue.next("gw0")

    assert 2 == queue.close(A_WHILE)


def test_an_item_whose_test_broke_is_not_in_flight_any_more(queue: JobQueue) -> None:
    """Nobody would ever finish it."""
    queue.open(cases(1), at_once=1)
    queue.take("test[c0]", "gw0", patient=False)
    queue.reported("test[c0]")

    assert 0 == queue.in_flight


def test_nothing_more_is_played_ahead_for_a_test_that_makes_no_use_of_it(queue: JobQueue) -> None:
    """Other tests of the run go on."""
    queue.open({"a[1]": 1.0, "a[2]": 1.0, "b[1]": 1.0}, at_once=1)
    queue.leave("a[9]")

    assert ["b[1]", None] == [queue.next("gw0"), queue.next("gw0")]
    assert ("alone", None) == queue.take("a[1]", "gw0", patient=False)


def test_the_first_reason_why_fewer_are_in_flight_stays(queue: JobQueue) -> None:
    """The others follow from it, or are the same; that there is no more to play is none."""
    for why in ("", "gw0: too many clients", "gw1: something else"):
        queue.quit("gw0", why)

    assert "gw0: too many clients" == queue.lacking


def test_what_an_item_is_patient_for_is_played_next(queue: JobQueue, threads: ThreadPoolExecutor) -> None:
    """By somebody else."""
    queue.open(cases(3), at_once=1)
    queue.join("gw0", 1)
    taking = threads.submit(queue.take, "test[c2]", "gw1", patient=True)
    assert is_waiting(taking)

    assert "test[c2]" == queue.next("gw0")
    queue.finish("test[c2]", outcome("test[c2]"))
    assert ("played", outcome("test[c2]")) == taking.result(SOON)


def test_what_an_item_is_patient_for_is_begun_though_many_are_not_reported(
    queue: JobQueue, threads: ThreadPoolExecutor
) -> None:
    """Otherwise all would wait for each other."""
    queue.open(cases(3), at_once=1, short_sighted=True)
    queue.join("gw0", 1)
    assert "test[c0]" == queue.next("gw0")
    asking = threads.submit(queue.next, "gw0")
    assert is_waiting(asking)

    taking = threads.submit(queue.take, "test[c2]", "gw1", patient=True)

    assert "test[c2]" == asking.result(SOON)
    queue.finish("test[c2]", outcome("test[c2]"))
    taking.result(SOON)


@pytest.mark.parametrize(
    "end", [lambda queue: queue.quit("gw0"), lambda queue: queue.gone("gw0")], ids=["quit", "gone"]
)
def test_nobody_is_patient_when_there_is_nobody_to_play(
    queue: JobQueue, threads: ThreadPoolExecutor, end: Callable[[JobQueue], None]
) -> None:
    """Who waits is let go, and plays himself."""
    queue.open(cases(1), at_once=1)
    queue.join("gw0", 1)
    taking = threads.submit(queue.take, "test[c0]", "gw1", patient=True)
    assert is_waiting(taking)

    end(queue)

    assert ("alone", None) == taking.result(SOON)


def test_who_is_patient_is_let_go_when_the_run_is_over(queue: JobQueue, threads: ThreadPoolExecutor) -> None:
    """Nobody will begin it any more."""
    queue.open(cases(1), at_once=1)
    queue.join("gw0", 1)
    taking = threads.submit(queue.take, "test[c0]", "gw1", patient=True)
    assert is_waiting(taking)

    queue.close()

    assert ("over", None) == taking.result(SOON)


def test_every_case_is_played_once_whatever_happens(recorded: list[JsonObject]) -> None:
    """Slots, items and a player that dies, all at the same time."""
    queue, keys = JobQueue(recorded.append), list(cases(200))
    alone: list[str] = []

    def item(key: str) -> None:
        told, _ = queue.take(key, "main", patient=bool(len(key) % 2))
        if told == "alone":
            alone.append(key)
            queue.finish(key, outcome(key))
        queue.reported(key)

    def slot() -> None:
        while key := queue.next("gw0"):
            queue.finish(key, outcome(key))

    with ThreadPoolExecutor(12) as pool:
        playing = [pool.submit(slot) for _ in range(8)]
        queue.open(cases(200), at_once=8)
        items: list[Callable[[], object]] = [pool.submit(item, key).result for key in keys]
        for wait in [*items, *(slot_.result for slot_ in playing)]:
            wait()

    assert sorted(keys) == sorted(str(told["trial"]["key"]) for told in recorded)  # type: ignore[index, call-overload]


def _begin(queue: JobQueue, *, alone: bool) -> None:
    if alone:
        queue.take("test[c0]", "gw0", patient=False)
    else:
        queue.next("gw0")
