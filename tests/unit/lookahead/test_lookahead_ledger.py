"""Who plays what: each case once, in order, and nothing is lost when somebody goes."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from pytest_crmeval.controller.queue import Ledger
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.stream import Stream

SOON, A_WHILE = 60.0, 0.1


@pytest.fixture
def recorded() -> list[JsonObject]:
    """Give what is on record."""
    return []


@pytest.fixture
def ledger(recorded: list[JsonObject], threads: ThreadPoolExecutor) -> Iterator[Ledger]:
    """Give a ledger that is closed in the end, so that nobody waits for ever."""
    del threads  # they end after it was closed
    made = Ledger(recorded.append)
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


def test_cases_are_given_out_in_order(ledger: Ledger) -> None:
    """And then there are no more."""
    ledger.open(cases(3), at_once=2)

    assert [*cases(3), None] == [ledger.next("gw0") for _ in range(4)]


def test_the_longest_of_those_that_are_near_each_other_come_first(ledger: Ledger) -> None:
    """The last block is a whole one: it is what the end of a run is made of."""
    weights = {str(number): float(number) for number in range(5)}
    ledger.open(weights, at_once=1)

    assert ["0", "4", "3", "2", "1"] == [ledger.next("gw0") for _ in range(5)]


def test_nobody_is_given_a_case_before_the_run_begins(ledger: Ledger, threads: ThreadPoolExecutor) -> None:
    """Workers may be ready before the plan is known."""
    asking = threads.submit(ledger.next, "gw0")

    assert is_waiting(asking)
    ledger.open(cases(1), at_once=1)
    assert "test[c0]" == asking.result(SOON)


def test_an_item_takes_what_was_played_ahead(ledger: Ledger, recorded: list[JsonObject]) -> None:
    """It was on record before."""
    ledger.open(cases(1), at_once=1)
    key = ledger.next("gw0")
    assert key
    ledger.finish(key, outcome(key))

    assert [outcome(key)] == recorded
    assert ("played", outcome(key)) == ledger.take(key, "gw1", patient=False)


def test_an_item_waits_for_what_is_being_played(ledger: Ledger, threads: ThreadPoolExecutor) -> None:
    """Whoever plays it."""
    ledger.open(cases(1), at_once=1)
    ledger.next("gw0")
    taking = threads.submit(ledger.take, "test[c0]", "gw1", patient=False)

    assert is_waiting(taking)
    ledger.finish("test[c0]", outcome("test[c0]"))
    assert ("played", outcome("test[c0]")) == taking.result(SOON)


def test_an_item_plays_what_nobody_has_begun(ledger: Ledger) -> None:
    """And nobody else does."""
    ledger.open(cases(2), at_once=1)

    assert ("alone", None) == ledger.take("test[c0]", "gw0", patient=False)
    assert ["test[c1]", None] == [ledger.next("gw0"), ledger.next("gw0")]


def test_who_is_not_in_the_ledger_plays_alone(ledger: Ledger, recorded: list[JsonObject]) -> None:
    """A fixture of the user's own, for one; it is on record at once all the same."""
    ledger.open({}, at_once=1)

    assert ("alone", None) == ledger.take("other", "gw0", patient=False)
    ledger.finish("other", outcome("other"))
    assert [outcome("other")] == recorded


def test_an_item_that_is_run_again_plays_again(ledger: Ledger) -> None:
    """What was played ahead is taken once."""
    ledger.open(cases(1), at_once=1)
    ledger.next("gw0")
    ledger.finish("test[c0]", outcome("test[c0]"))
    ledger.take("test[c0]", "gw0", patient=False)

    assert ("alone", None) == ledger.take("test[c0]", "gw0", patient=False)


def test_not_many_more_are_begun_than_items_are_reported(ledger: Ledger, threads: ThreadPoolExecutor) -> None:
    """What is played and not yet told of is kept in memory."""
    ledger.open(cases(9), at_once=1)
    begun = [ledger.next("gw0") for _ in range(8)]
    ninth = threads.submit(ledger.next, "gw0")

    assert is_waiting(ninth)
    ledger.reported(str(begun[0]))
    assert "test[c8]" == ninth.result(SOON)


def test_a_run_that_may_end_at_any_item_does_not_look_far_ahead(ledger: Ledger, threads: ThreadPoolExecutor) -> None:
    """No more than can be in flight at the same time."""
    ledger.open(cases(3), at_once=2, short_sighted=True)
    begun = [ledger.next("gw0"), ledger.next("gw0")]
    third = threads.submit(ledger.next, "gw0")

    assert is_waiting(third)
    ledger.reported(str(begun[0]))
    assert "test[c2]" == third.result(SOON)


def test_what_a_dead_player_had_begun_is_played_by_its_item(ledger: Ledger, threads: ThreadPoolExecutor) -> None:
    """Not by another player, who might die of it, too: xdist will know which item it was."""
    ledger.open(cases(2), at_once=2)
    ledger.next("gw0")
    taking = threads.submit(ledger.take, "test[c0]", "gw1", patient=False)
    assert is_waiting(taking)

    ledger.gone("gw0")

    assert ("alone", None) == taking.result(SOON)
    assert ["test[c1]", None] == [ledger.next("gw1"), ledger.next("gw1")]


def test_cases_of_a_dead_player_do_not_wait_behind_the_items_of_a_learner(
    ledger: Ledger, threads: ThreadPoolExecutor
) -> None:
    """Workers wait for the learner's conversations; idle slots play the other cases."""
    learnt = [f"test[s{number}]" for number in range(3)]
    ledger.open(cases(2) | dict.fromkeys(learnt, 1.0), at_once=4, streams=[Stream(ordered=learnt)], players=2)
    ledger.join("gw0", 2)
    ledger.join("gw1", 2)
    assert ["test[s0]", "test[c0]", "test[c1]"] == [ledger.next(player) for player in ("gw0", "gw1", "gw1")]
    items = [threads.submit(ledger.take, key, "gw0", patient=True) for key in learnt[1:]]
    assert all(map(is_waiting, items))

    ledger.gone("gw1")

    assert "test[c0]" == threads.submit(ledger.next, "gw0").result(SOON)
    second = threads.submit(ledger.next, "gw0")
    assert is_waiting(second)  # one at a time: it may be the one that has killed the player
    ledger.finish("test[c0]", outcome("test[c0]"))
    assert "test[c1]" == second.result(SOON)
    assert ("played", outcome("test[c0]")) == ledger.take("test[c0]", "gw0", patient=True)


def test_case_that_killed_two_players_is_left_to_its_item(ledger: Ledger) -> None:
    """Then xdist knows which one it was."""
    ledger.open(cases(1), at_once=1)
    for player in ("gw0", "gw1"):
        assert "test[c0]" == ledger.next(player)
        ledger.gone(player)

    assert None is ledger.next("gw2")
    assert ("alone", None) == ledger.take("test[c0]", "gw2", patient=True)


def test_what_a_player_finished_just_before_it_died_is_not_played_again(
    ledger: Ledger, recorded: list[JsonObject], threads: ThreadPoolExecutor
) -> None:
    """Its word may arrive after the news of its death; a learner would learn from the case twice."""
    learnt, begun = ("test[s0]", "test[s1]"), ("test[s0]", "test[c0]")
    ledger.open(cases(1) | dict.fromkeys(learnt, 1.0), at_once=4, streams=[Stream(ordered=learnt)], players=2)
    ledger.join("gw1", 1)
    assert begun == (ledger.next("gw0"), ledger.next("gw0"))

    ledger.gone("gw0")
    for key in begun:
        ledger.finish(key, outcome(key))

    assert "test[s1]" == ledger.next("gw1")
    for key in begun:
        taking = threads.submit(ledger.take, key, "gw1", patient=True)
        assert ("played", outcome(key)) == taking.result(SOON)
    assert 2 == len(recorded)


def test_what_a_dead_player_was_playing_is_not_tried_for_a_test_that_makes_no_use_of_it(ledger: Ledger) -> None:
    """As nothing else is played ahead for it."""
    ledger.open(cases(2), at_once=1)
    ledger.next("gw0")
    ledger.gone("gw0")

    ledger.leave("test[c1]")

    assert None is ledger.next("gw1")


def test_what_others_play_is_not_touched_when_a_player_dies(ledger: Ledger, threads: ThreadPoolExecutor) -> None:
    """Only his own is lost."""
    ledger.open(cases(1), at_once=1)
    ledger.next("gw0")
    ledger.gone("gw2")

    assert is_waiting(threads.submit(ledger.take, "test[c0]", "gw1", patient=False))
    ledger.finish("test[c0]", outcome("test[c0]"))


def test_a_dead_player_is_given_nothing(ledger: Ledger, threads: ThreadPoolExecutor) -> None:
    """Though he waited for it when he died; nor are his slots counted twice."""
    ledger.open(cases(3), at_once=1, short_sighted=True)
    ledger.join("gw0", 1)
    ledger.join("gw1", 1)
    ledger.next("gw1")
    waiting = threads.submit(ledger.next, "gw0")
    assert is_waiting(waiting)

    ledger.gone("gw0")
    ledger.quit("gw0")

    assert None is waiting.result(SOON)
    assert ("over", None) == ledger.take("test[c1]", "gw0", patient=True)
    assert is_waiting(threads.submit(ledger.take, "test[c2]", "gw1", patient=True))  # one slot is left


def test_an_item_that_died_waiting_takes_nothing(ledger: Ledger, threads: ThreadPoolExecutor) -> None:
    """What it waited for is not lost on the way, and nothing is in flight for it."""
    ledger.open(cases(1), at_once=1)
    ledger.join("gw0", 1)
    waiting = threads.submit(ledger.take, "test[c0]", "gw0", patient=True)
    assert is_waiting(waiting)

    ledger.gone("gw0")

    assert ("over", None) == waiting.result(SOON)
    assert 0 == ledger.in_flight


def test_who_has_no_more_items_plays_on_but_does_not_wait(ledger: Ledger, threads: ThreadPoolExecutor) -> None:
    """Nobody may ever report what would make room."""
    ledger.open(cases(9), at_once=1)
    ledger.join("gw0", 1)
    settling = threads.submit(ledger.settle, "gw0", over=False)

    begun = [ledger.next("gw0") for _ in range(9)]
    ledger.quit("gw0")

    assert [*list(cases(8)), None] == begun
    settling.result(SOON)


def test_when_the_run_is_over_for_one_it_is_for_all(ledger: Ledger) -> None:
    """A worker that leaves early takes its items with it."""
    ledger.open(cases(2), at_once=1)
    ledger.settle("gw0", over=True)

    assert None is ledger.next("gw1")


def test_what_nobody_waits_for_any_more_holds_nobody_up(ledger: Ledger, threads: ThreadPoolExecutor) -> None:
    """The time of its item was over; the slot may never come back."""
    ledger.open(cases(1), at_once=1)
    ledger.join("gw0", 1)
    ledger.next("gw0")
    settling = threads.submit(ledger.settle, "gw0", over=False)
    assert is_waiting(settling)

    ledger.reported("test[c0]")

    settling.result(SOON)
    assert 0 == ledger.close(SOON)


def test_a_slot_that_comes_back_is_waited_for_again(ledger: Ledger, threads: ThreadPoolExecutor) -> None:
    """It may play something else."""
    ledger.open(cases(2), at_once=1)
    ledger.join("gw0", 1)
    ledger.next("gw0")
    ledger.reported("test[c0]")
    ledger.finish("test[c0]", outcome("test[c0]"))
    ledger.next("gw0")

    settling = threads.submit(ledger.settle, "gw0", over=False)

    assert is_waiting(settling)
    ledger.quit("gw0")
    settling.result(SOON)


def test_what_could_not_be_played_is_given_back(ledger: Ledger) -> None:
    """To its item."""
    ledger.open(cases(1), at_once=1)
    ledger.next("gw0")
    ledger.drop("test[c0]")

    assert ("alone", None) == ledger.take("test[c0]", "gw0", patient=False)


def test_nothing_is_begun_when_the_run_is_over(ledger: Ledger, threads: ThreadPoolExecutor) -> None:
    """Whoever waits for a case is let go, and items of cases that nobody has begun are told so."""
    ledger.open(cases(2), at_once=1, short_sighted=True)
    ledger.next("gw0")
    waiting = threads.submit(ledger.next, "gw0")
    assert is_waiting(waiting)

    ledger.close()

    assert None is waiting.result(SOON)
    assert ("over", None) == ledger.take("test[c1]", "gw0", patient=False)


def test_what_was_played_is_handed_over_when_the_run_is_over(ledger: Ledger) -> None:
    """It was paid for."""
    ledger.open(cases(1), at_once=1)
    ledger.next("gw0")
    ledger.finish("test[c0]", outcome("test[c0]"))
    ledger.close()

    assert ("played", outcome("test[c0]")) == ledger.take("test[c0]", "gw0", patient=False)


@pytest.mark.parametrize("alone", [False, True])
def test_closing_waits_for_what_is_in_flight(ledger: Ledger, threads: ThreadPoolExecutor, *, alone: bool) -> None:
    """Also for an item that plays its own case."""
    ledger.open(cases(1), at_once=1)
    _begin(ledger, alone=alone)
    closing = threads.submit(ledger.close, SOON)

    assert is_waiting(closing)
    ledger.finish("test[c0]", outcome("test[c0]"))
    assert 0 == closing.result(SOON)


def test_closing_does_not_wait_for_ever(ledger: Ledger) -> None:
    """It tells how many are left."""
    ledger.open(cases(2), at_once=2)
    ledger.next("gw0")
    ledger.next("gw0")

    assert 2 == ledger.close(A_WHILE)


def test_an_item_whose_test_broke_is_not_in_flight_any_more(ledger: Ledger) -> None:
    """Nobody would ever finish it."""
    ledger.open(cases(1), at_once=1)
    ledger.take("test[c0]", "gw0", patient=False)
    ledger.reported("test[c0]")

    assert 0 == ledger.in_flight


def test_nothing_more_is_played_ahead_for_a_test_that_makes_no_use_of_it(ledger: Ledger) -> None:
    """Other tests of the run go on."""
    ledger.open({"a[1]": 1.0, "a[2]": 1.0, "b[1]": 1.0}, at_once=1)
    ledger.leave("a[9]")

    assert ["b[1]", None] == [ledger.next("gw0"), ledger.next("gw0")]
    assert ("alone", None) == ledger.take("a[1]", "gw0", patient=False)


def test_the_first_reason_why_fewer_are_in_flight_stays(ledger: Ledger) -> None:
    """The others follow from it, or are the same; that there is no more to play is none."""
    for why in ("", "gw0: too many clients", "gw1: something else"):
        ledger.quit("gw0", why)

    assert "gw0: too many clients" == ledger.lacking


def test_what_an_item_is_patient_for_is_played_next(ledger: Ledger, threads: ThreadPoolExecutor) -> None:
    """By somebody else."""
    ledger.open(cases(3), at_once=1)
    ledger.join("gw0", 1)
    taking = threads.submit(ledger.take, "test[c2]", "gw1", patient=True)
    assert is_waiting(taking)

    assert "test[c2]" == ledger.next("gw0")
    ledger.finish("test[c2]", outcome("test[c2]"))
    assert ("played", outcome("test[c2]")) == taking.result(SOON)


def test_what_an_item_is_patient_for_is_begun_though_many_are_not_reported(
    ledger: Ledger, threads: ThreadPoolExecutor
) -> None:
    """Otherwise all would wait for each other."""
    ledger.open(cases(3), at_once=1, short_sighted=True)
    ledger.join("gw0", 1)
    assert "test[c0]" == ledger.next("gw0")
    asking = threads.submit(ledger.next, "gw0")
    assert is_waiting(asking)

    taking = threads.submit(ledger.take, "test[c2]", "gw1", patient=True)

    assert "test[c2]" == asking.result(SOON)
    ledger.finish("test[c2]", outcome("test[c2]"))
    taking.result(SOON)


@pytest.mark.parametrize(
    "end", [lambda ledger: ledger.quit("gw0"), lambda ledger: ledger.gone("gw0")], ids=["quit", "gone"]
)
def test_nobody_is_patient_when_there_is_nobody_to_play(
    ledger: Ledger, threads: ThreadPoolExecutor, end: Callable[[Ledger], None]
) -> None:
    """Who waits is let go, and plays himself."""
    ledger.open(cases(1), at_once=1)
    ledger.join("gw0", 1)
    taking = threads.submit(ledger.take, "test[c0]", "gw1", patient=True)
    assert is_waiting(taking)

    end(ledger)

    assert ("alone", None) == taking.result(SOON)


def test_who_is_patient_is_let_go_when_the_run_is_over(ledger: Ledger, threads: ThreadPoolExecutor) -> None:
    """Nobody will begin it any more."""
    ledger.open(cases(1), at_once=1)
    ledger.join("gw0", 1)
    taking = threads.submit(ledger.take, "test[c0]", "gw1", patient=True)
    assert is_waiting(taking)

    ledger.close()

    assert ("over", None) == taking.result(SOON)


def test_every_case_is_played_once_whatever_happens(recorded: list[JsonObject]) -> None:
    """Slots, items and a player that dies, all at the same time."""
    ledger, keys = Ledger(recorded.append), list(cases(200))
    alone: list[str] = []

    def item(key: str) -> None:
        told, _ = ledger.take(key, "main", patient=bool(len(key) % 2))
        if told == "alone":
            alone.append(key)
            ledger.finish(key, outcome(key))
        ledger.reported(key)

    def slot() -> None:
        while key := ledger.next("gw0"):
            ledger.finish(key, outcome(key))

    with ThreadPoolExecutor(12) as pool:
        playing = [pool.submit(slot) for _ in range(8)]
        ledger.open(cases(200), at_once=8)
        items: list[Callable[[], object]] = [pool.submit(item, key).result for key in keys]
        for wait in [*items, *(slot_.result for slot_ in playing)]:
            wait()

    assert sorted(keys) == sorted(str(told["trial"]["key"]) for told in recorded)  # type: ignore[index, call-overload]


def _begin(ledger: Ledger, *, alone: bool) -> None:
    if alone:
        ledger.take("test[c0]", "gw0", patient=False)
    else:
        ledger.next("gw0")
