"""The queue assigns each case to one player, in order, and assigns again what a dead worker was playing."""

from collections.abc import Sequence

import pytest

from pytest_crmeval.collect.streams import Stream
from pytest_crmeval.controller.queue import LATER, NO_SLOT, NOTHING, JobQueue

ALONE, OVER, REFUSED = ("alone", NOTHING), ("over", NOTHING), ("refused", NOTHING)
ORDERED, HELD_OUT = ("t[s0]", "t[s1]", "t[s2]"), ("t[h0]", "t[h1]")
STREAM = Stream(ordered=ORDERED, after=HELD_OUT)
LEARNER = dict.fromkeys((*ORDERED, *HELD_OUT), 1.0)


def cases(count: int) -> dict[str, float]:
    """Return the keys of cases with equal weights."""
    return {f"test[c{number}]": 1.0 for number in range(count)}


def opened(weights: dict[str, float], *, streams: Sequence[Stream] = (), at_once: int = 1) -> JobQueue:
    """Return an open queue with one slot in each of two workers."""
    queue = JobQueue()
    queue.open(weights, at_once=at_once, streams=streams)
    queue.join("gw0", 1)
    queue.join("gw1", 1)
    return queue


def outcome(key: str) -> tuple[bytes, bytes]:
    """Return an outcome."""
    return key.encode(), b""


def finish(queue: JobQueue, key: str, player: str = "gw0") -> bool:
    """Finish a case in a slot."""
    return queue.finish(key, player, outcome(key))


def play(queue: JobQueue, player: str = "gw0") -> object:
    """Play the next case to its end, and return its key."""
    key = queue.next(player)
    if isinstance(key, str):
        assert finish(queue, key, player)
    return key


class TestOrder:
    """The order of cases."""

    def test_cases_are_assigned_in_order(self) -> None:
        """After the last one there is None."""
        queue = opened(cases(3), at_once=2)

        assert [*cases(3), None] == [queue.next("gw0") for _ in range(4)]

    def test_longest_of_each_block_comes_first_and_the_last_block_is_complete(self) -> None:
        """A run ends with its last block, so that one is sorted as a whole."""
        queue = opened({str(number): float(number) for number in range(5)})

        assert ["0", "4", "3", "2", "1"] == [queue.next("gw0") for _ in range(5)]

    def test_no_case_is_assigned_before_the_queue_is_open(self) -> None:
        """Workers may be ready before the plan is known."""
        queue = JobQueue()

        assert LATER is queue.next("gw0")
        queue.open(cases(1), at_once=1)
        assert "test[c0]" == queue.next("gw0")

    def test_started_cases_are_limited_until_items_are_reported(self) -> None:
        """Outcomes without an item are kept in memory."""
        queue = opened(cases(9))
        begun = [queue.next("gw0") for _ in range(8)]

        assert LATER is queue.next("gw0")
        queue.reported(str(begun[0]))
        assert "test[c8]" == queue.next("gw0")

    def test_short_sighted_run_starts_only_as_many_as_can_be_in_flight(self) -> None:
        """With -x it may end at any item."""
        queue = JobQueue()
        queue.open(cases(3), at_once=2, few_ahead=True)
        begun = [queue.next("gw0"), queue.next("gw0")]

        assert LATER is queue.next("gw0")
        queue.reported(str(begun[0]))
        assert "test[c2]" == queue.next("gw0")

    def test_far_sighted_run_starts_many_more(self) -> None:
        """Other items keep the workers busy for minutes."""
        queue = JobQueue()
        queue.open(cases(64), at_once=1, many_ahead=True)

        assert [*cases(64)] == sorted((str(queue.next("gw0")) for _ in range(64)), key=[*cases(64)].index)

    def test_held_cases_are_skipped_until_they_are_released(self) -> None:
        """Their order is kept, and an item that waits for one of them continues to wait."""
        queue = opened(cases(4), at_once=4)
        held = {"test[c0]", "test[c2]"}

        assert queue.take("test[c2]", "gw1", patient=True) is LATER
        assert ["test[c1]", "test[c3]", LATER] == [queue.next("gw0", is_held=held.__contains__) for _ in range(3)]
        assert queue.take("test[c2]", "gw1", patient=True) is LATER
        assert ["test[c2]", "test[c0]", None] == [queue.next("gw0") for _ in range(3)]

    def test_case_that_an_item_waits_for_is_next(self) -> None:
        """Even if no more cases may be started ahead."""
        queue = opened(cases(10))
        begun = [queue.next("gw0") for _ in range(8)]
        assert LATER is queue.take("test[c9]", "gw1", patient=True)

        assert "test[c9]" not in begun
        assert "test[c9]" == queue.next("gw0")
        assert LATER is queue.next("gw0")


class TestItems:
    """The outcome that an item gets."""

    def test_item_gets_the_outcome_of_a_slot(self) -> None:
        """Whichever worker the slot belongs to."""
        queue = opened(cases(1))
        play(queue)

        assert ("played", outcome("test[c0]")) == queue.take("test[c0]", "gw1", patient=False)

    def test_item_waits_for_a_case_that_a_slot_is_playing(self) -> None:
        """Until it is finished."""
        queue = opened(cases(1))
        queue.next("gw0")

        assert LATER is queue.take("test[c0]", "gw1", patient=False)
        finish(queue, "test[c0]")
        assert ("played", outcome("test[c0]")) == queue.take("test[c0]", "gw1", patient=False)

    def test_impatient_item_plays_a_case_that_no_slot_has_started(self) -> None:
        """Then no slot gets it."""
        queue = opened(cases(2))

        assert ALONE == queue.take("test[c0]", "gw0", patient=False)
        assert ["test[c1]", None] == [queue.next("gw0"), queue.next("gw0")]

    def test_item_whose_case_is_not_played_ahead_plays_it(self) -> None:
        """For example because of a fixture of the user's own."""
        queue = opened({})

        assert ALONE == queue.take("other", "gw0", patient=True)
        assert ["other"] == queue.playing
        queue.finish_in_item("other")
        assert [] == queue.playing

    @pytest.mark.parametrize("state", ["waiting", "playing"])
    def test_interrupted_item_has_its_own_outcome(self, state: str) -> None:
        """A fixture failed, or its time was over; the slot's outcome does not count."""
        queue = opened(cases(1))
        if state == "playing":
            queue.next("gw0")
        queue.finish_in_item("test[c0]")

        assert [] == queue.playing
        if state == "playing":
            assert not finish(queue, "test[c0]")
        assert None is queue.next("gw1")

    def test_outcome_is_used_once_and_a_repeated_item_plays_itself(self) -> None:
        """A plugin may run the test again."""
        queue = opened(cases(1))
        play(queue)
        queue.take("test[c0]", "gw0", patient=False)

        assert ALONE == queue.take("test[c0]", "gw0", patient=False)

    @pytest.mark.parametrize("end", ["quit", "gone"])
    def test_patient_item_plays_itself_when_no_slot_is_left(self, end: str) -> None:
        """The slots had no connection, or their workers died."""
        queue = opened(cases(1))
        queue.quit("gw1")
        assert LATER is queue.take("test[c0]", "gw1", patient=True)

        getattr(queue, end)("gw0")

        assert ALONE == queue.take("test[c0]", "gw1", patient=True)

    def test_case_that_a_slot_could_not_play_is_played_by_its_item(self) -> None:
        """It is not lost."""
        queue = opened(cases(1))
        queue.next("gw0")

        assert not queue.drop("test[c0]")
        assert ALONE == queue.take("test[c0]", "gw0", patient=True)

    def test_no_item_waits_for_a_slot_whose_item_is_over(self) -> None:
        """The time of the test was over, and the slot may never return."""
        queue = opened(cases(1))
        queue.next("gw0")
        queue.retire("gw0", over=False)
        assert not queue.is_settled("gw0")

        queue.reported("test[c0]")

        assert queue.is_settled("gw0")
        assert [] == queue.playing

    def test_slot_that_returns_after_its_item_counts_again(self) -> None:
        """It may play another case."""
        queue = opened(cases(2))
        queue.next("gw0")
        queue.reported("test[c0]")
        assert finish(queue, "test[c0]")
        queue.next("gw0")

        assert not queue.is_settled("gw0")
        queue.quit("gw0")
        assert queue.is_settled("gw0")

    def test_interrupted_item_is_not_in_flight(self) -> None:
        """Its case will never be finished."""
        queue = opened(cases(1))
        queue.take("test[c0]", "gw0", patient=False)
        queue.reported("test[c0]")

        assert [] == queue.playing

    def test_case_of_a_skipped_item_is_not_assigned(self) -> None:
        """No item would use the outcome."""
        queue = opened(cases(1))
        queue.reported("test[c0]")

        assert None is queue.next("gw0")

    def test_nothing_more_is_played_ahead_of_a_test_that_does_not_use_outcomes(self) -> None:
        """Other tests are not affected."""
        queue = opened({"a[1]": 1.0, "a[2]": 1.0, "b[1]": 1.0})
        queue.stop_prefetch("a[9]")

        assert ["b[1]", None] == [queue.next("gw0"), queue.next("gw0")]
        assert ALONE == queue.take("a[1]", "gw0", patient=True)


class TestEnd:
    """The end of a worker, and of the run."""

    def test_worker_without_items_continues_but_does_not_wait(self) -> None:
        """Nothing might ever make room for another case."""
        queue = opened(cases(9))
        queue.retire("gw0", over=False)

        assert [*cases(8), None] == [queue.next("gw0") for _ in range(9)]

    @pytest.mark.parametrize("is_stopped", [True, False])
    def test_nothing_starts_when_the_run_is_over(self, *, is_stopped: bool) -> None:
        """Neither in slots nor in items: it was stopped, or a worker left early with all its items."""
        queue = opened(cases(3))
        queue.next("gw0")

        if is_stopped:
            queue.close()
        else:
            queue.retire("gw1", over=True)

        assert None is queue.next("gw0")
        assert OVER == queue.take("test[c1]", "gw0", patient=True)

    def test_item_gets_its_outcome_when_the_run_is_over(self) -> None:
        """It was paid for."""
        queue = opened(cases(1))
        play(queue)
        queue.close()

        assert ("played", outcome("test[c0]")) == queue.take("test[c0]", "gw0", patient=False)

    @pytest.mark.parametrize("alone", [False, True])
    def test_case_is_in_flight_until_it_is_finished(self, *, alone: bool) -> None:
        """Played by a slot, or by its item."""
        queue = opened(cases(1))
        if alone:
            queue.take("test[c0]", "gw0", patient=False)
        else:
            queue.next("gw0")
        queue.close()

        assert ["test[c0]"] == queue.playing
        if alone:
            queue.finish_in_item("test[c0]")
        else:
            finish(queue, "test[c0]")
        assert [] == queue.playing

    def test_first_reason_for_fewer_slots_is_kept(self) -> None:
        """The others follow from it, and the end of the work is not a reason."""
        queue = opened(cases(1))
        for reason in ("", "gw0: too many clients", "gw1: something else"):
            queue.quit("gw0", reason)

        assert "gw0: too many clients" == queue.shortage


class TestDeadWorkers:
    """A case whose worker dies is played once more, and is lost if that worker dies as well."""

    def test_item_plays_the_case_of_a_dead_slot(self) -> None:
        """It has waited for the slot."""
        queue = opened(cases(1))
        queue.next("gw0")
        assert LATER is queue.take("test[c0]", "gw1", patient=False)

        assert [] == queue.gone("gw0")

        assert ALONE == queue.take("test[c0]", "gw1", patient=False)

    def test_idle_slots_play_the_cases_of_a_dead_worker_one_at_a_time(self) -> None:
        """Any of them may have killed it, so the next one is played when the first is finished."""
        queue = opened(cases(2), at_once=2)
        queue.next("gw0")
        queue.next("gw0")
        queue.gone("gw0")

        assert "test[c0]" == queue.next("gw1")
        assert LATER is queue.next("gw1")
        finish(queue, "test[c0]", "gw1")
        assert "test[c1]" == queue.next("gw1")

    def test_item_waits_while_another_case_of_a_dead_worker_is_played(self) -> None:
        """If that one kills its worker, this one is not lost with it."""
        queue = opened(cases(2), at_once=2)
        queue.next("gw0")
        queue.next("gw0")
        queue.gone("gw0")
        assert "test[c0]" == queue.next("gw1")

        assert LATER is queue.take("test[c1]", "gw1", patient=True)
        finish(queue, "test[c0]", "gw1")
        assert ALONE == queue.take("test[c1]", "gw1", patient=True)

    def test_case_is_lost_with_the_second_worker(self) -> None:
        """No third worker gets it, and its item gets the outcome of the controller."""
        queue = opened(cases(1))
        lost = []
        for player in ("gw0", "gw1"):
            assert "test[c0]" == queue.next(player)
            lost.append(queue.gone(player))

        assert [[], ["test[c0]"]] == lost
        assert finish(queue, "test[c0]", "gw1")
        assert None is queue.next("gw2")
        assert ("played", outcome("test[c0]")) == queue.take("test[c0]", "gw2", patient=True)

    def test_case_played_by_its_item_is_lost_with_the_second_worker(self) -> None:
        """After the first crash its item is run again."""
        queue = opened({})
        again: list[bool] = []
        lost: list[str] = []
        for player in ("gw0", "gw1"):
            queue.take("other", player, patient=True)
            lost += queue.gone(player)
            again.append(queue.crashed("other"))

        assert ["other"] == lost
        assert [True, False] == again

    def test_item_that_crashed_before_its_case_started_is_run_again_once(self) -> None:
        """For example in a fixture."""
        queue = opened({})
        queue.gone("gw0")

        assert queue.crashed("other")
        queue.take("other", "gw1", patient=True)
        assert ["other"] == queue.gone("gw1")

    @pytest.mark.parametrize("state", ["waiting", "playing", "finished", "suspect"])
    def test_item_is_not_run_again_if_a_slot_plays_its_case(self, state: str) -> None:
        """Its worker died while the item waited."""
        queue = opened(cases(1))
        if state != "waiting":
            queue.next("gw0")
        if state == "finished":
            finish(queue, "test[c0]")
        queue.gone("gw0" if state == "suspect" else "gw1")

        assert not queue.crashed("test[c0]")

    def test_outcome_of_a_dead_worker_that_arrives_late_is_used(self) -> None:
        """The case is not played again."""
        queue = opened({**cases(1), **LEARNER}, streams=[STREAM])
        begun = [queue.next("gw0"), queue.next("gw0")]
        queue.gone("gw0")

        assert all(finish(queue, str(key)) for key in begun)

        assert ["t[s0]", "test[c0]"] == begun
        assert "t[s1]" == queue.next("gw1")
        assert [("played", outcome(str(key))) for key in begun] == [
            queue.take(str(key), "gw1", patient=True) for key in begun
        ]

    def test_late_outcome_of_a_dead_worker_does_not_count_if_the_case_is_played_again(self) -> None:
        """Each case is recorded once."""
        queue = opened(cases(1))
        queue.next("gw0")
        queue.gone("gw0")
        queue.next("gw1")

        assert not finish(queue, "test[c0]", "gw0")
        assert finish(queue, "test[c0]", "gw1")
        assert not finish(queue, "test[c0]", "gw1")

    def test_cases_of_a_dead_worker_are_not_repeated_for_a_test_that_does_not_use_outcomes(self) -> None:
        """Its items play themselves."""
        queue = opened(cases(1))
        queue.next("gw0")
        queue.gone("gw0")
        queue.stop_prefetch("test[c0]")

        assert None is queue.next("gw1")

    def test_cases_of_other_workers_are_not_affected(self) -> None:
        """Only what the dead worker was playing is lost."""
        queue = opened(cases(1))
        queue.next("gw0")
        queue.gone("gw1")

        assert LATER is queue.take("test[c0]", "gw2", patient=False)

    def test_dead_worker_gets_nothing(self) -> None:
        """Neither a case nor an outcome, and its slots are not counted twice."""
        queue = opened(cases(2))
        queue.gone("gw0")
        queue.quit("gw0")

        assert None is queue.next("gw0")
        assert OVER == queue.take("test[c1]", "gw0", patient=True)
        assert LATER is queue.take("test[c1]", "gw1", patient=True)


class TestLearners:
    """The conversations of a learner are played only by slots, one after the other."""

    def test_next_conversation_waits_until_the_one_before_is_finished(self) -> None:
        """Cases of other agents are played in the meantime."""
        queue = opened({**LEARNER, "t[x]": 1.0}, streams=[STREAM], at_once=4)

        assert ["t[s0]", "t[x]", LATER] == [queue.next("gw0") for _ in range(3)]
        finish(queue, "t[s0]")
        assert "t[s1]" == queue.next("gw1")

    def test_held_out_conversations_are_played_together_at_the_end(self) -> None:
        """Nothing is learned from them."""
        queue = opened(LEARNER, streams=[STREAM], at_once=4)

        assert [*ORDERED] == [play(queue) for _ in ORDERED]
        assert [*HELD_OUT] == [queue.next("gw0"), queue.next("gw1")]

    def test_learners_do_not_wait_for_each_other(self) -> None:
        """Each has its own stream."""
        other = Stream(ordered=("u[a]", "u[b]"))
        queue = opened({**LEARNER, "u[a]": 1.0, "u[b]": 1.0}, streams=[STREAM, other])

        assert {"t[s0]", "u[a]"} == {queue.next("gw0"), queue.next("gw1")}

    @pytest.mark.parametrize("patient", [True, False])
    def test_item_waits_for_its_turn_and_gets_the_outcome(self, *, patient: bool) -> None:
        """In whatever order xdist distributes the items, even with a time limit."""
        queue = opened(LEARNER, streams=[STREAM])

        assert LATER is queue.take("t[s2]", "gw0", patient=patient)
        assert [*ORDERED] == [play(queue) for _ in ORDERED]
        assert ("played", outcome("t[s2]")) == queue.take("t[s2]", "gw0", patient=patient)

    def test_stream_does_not_take_the_room_of_other_cases(self) -> None:
        """However many of its items are not reported."""
        many = {f"t[s{number}]": 1.0 for number in range(60)}
        queue = opened({**many, "t[x]": 1.0}, streams=[Stream(ordered=tuple(many))])

        assert [*many, "t[x]"] == [play(queue) for _ in (*many, "t[x]")]

    def test_slots_wait_for_the_stream_but_not_in_a_worker_without_items(self) -> None:
        """That worker may end."""
        queue = opened(LEARNER, streams=[STREAM])
        queue.next("gw0")

        assert LATER is queue.next("gw1")
        queue.retire("gw1", over=False)
        assert None is queue.next("gw1")

    def test_conversation_of_a_dead_worker_is_played_again_in_its_turn(self) -> None:
        """After the second crash it is lost, and the stream continues when that is recorded."""
        queue = opened(LEARNER, streams=[STREAM])
        begun = [queue.next("gw0")]
        assert [] == queue.gone("gw0")
        assert not queue.crashed("t[s0]")
        begun.append(queue.next("gw1"))
        assert LATER is queue.next("gw1")
        assert ["t[s0]"] == queue.gone("gw1")
        queue.join("gw2", 1)
        finish(queue, "t[s0]", "gw1")
        begun.append(queue.next("gw2"))

        assert ["t[s0]", "t[s0]", "t[s1]"] == begun
        assert ("played", outcome("t[s0]")) == queue.take("t[s0]", "gw2", patient=True)

    def test_conversation_that_slots_could_not_play_is_lost_after_the_second_time(self) -> None:
        """No item may play it."""
        queue = opened(LEARNER, streams=[STREAM])
        lost = []
        for _ in range(2):
            queue.next("gw0")
            lost.append(queue.drop("t[s0]"))

        assert [False, True] == lost

    def test_item_is_refused_if_no_slot_can_play_its_conversation(self) -> None:
        """An item never plays a learner's conversation itself; the error says why there are no slots."""
        queue = JobQueue()
        queue.open(LEARNER, at_once=1, streams=[STREAM])
        queue.join("gw0", 1)
        queue.quit("gw0", "gw0: too many connections")

        reason = f"{NO_SLOT}: gw0: too many connections".encode()
        assert ("refused", (reason, b"")) == queue.take("t[s0]", "gw0", patient=True)

    def test_skipped_item_does_not_hold_up_the_stream(self) -> None:
        """Its conversation is not played."""
        queue = opened(LEARNER, streams=[STREAM])
        queue.reported("t[s0]")

        assert "t[s1]" == queue.next("gw0")

    def test_test_that_does_not_use_outcomes_ends_its_stream(self) -> None:
        """The rest of it is not played."""
        queue = opened(LEARNER, streams=[STREAM])
        play(queue)
        queue.stop_prefetch("t[s0]")

        assert None is queue.next("gw0")
        assert REFUSED == queue.take("t[s1]", "gw0", patient=True)

    def test_closed_queue_lets_no_item_wait(self) -> None:
        """The run is over."""
        queue = opened(LEARNER, streams=[STREAM])
        queue.close()

        assert OVER == queue.take("t[s1]", "gw1", patient=True)


class TestOnlySlots:
    """Cases that are played on other machines."""

    def opened(self, count: int) -> JobQueue:
        """Return an open queue whose players have not joined yet."""
        queue = JobQueue()
        queue.open(cases(count), at_once=2, only_slots=True)
        return queue

    def test_item_waits_for_its_case_although_no_player_has_joined(self) -> None:
        """Its own machine could not play it."""
        queue = self.opened(1)

        assert LATER is queue.take("test[c0]", "main", patient=True)

    def test_case_of_a_lost_node_that_an_item_waits_for_is_played_next(self) -> None:
        """Otherwise it would be played last, and pytest would wait."""
        queue = self.opened(3)
        assert "test[c0]" == queue.next("node1")
        assert not queue.gone("node1")
        assert LATER is queue.take("test[c0]", "main", patient=True)

        assert "test[c0]" == queue.next("node2")

    def test_case_that_two_nodes_are_lost_with_is_lost(self) -> None:
        """It may be what kills them."""
        queue = self.opened(1)
        queue.next("node1")
        queue.gone("node1")
        queue.next("node2")

        assert ["test[c0]"] == queue.gone("node2")

    def test_case_that_was_not_played_when_the_run_stops_is_not_played_by_its_item(self) -> None:
        """It is played when the run is resumed."""
        queue = self.opened(1)
        queue.close()

        assert OVER == queue.take("test[c0]", "main", patient=True)
