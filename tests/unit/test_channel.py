"""Messages between workers, which are processes here, and the controller's thread."""

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from pytest_crmeval.channel import (
    Acquire,
    ChannelMessage,
    ControllerGoneError,
    Dropped,
    ExecnetChannel,
    FileProgress,
    FindPlaybook,
    Finished,
    Join,
    NextJob,
    Quit,
    Settle,
    Stop,
    StopPrefetch,
    Take,
    WorkerChannel,
    decode_message,
    encode,
)
from pytest_crmeval.controller.local_channel import LocalChannel
from pytest_crmeval.controller.loop import ControllerLoop
from pytest_crmeval.controller.messages import HANDLERS
from pytest_crmeval.controller.worker import this_machine
from pytest_crmeval.models.caps import Cap
from pytest_crmeval.models.control import EVERYBODY, NO_CHARGE, Charge, Feedback
from pytest_crmeval.models.limits import breaker
from pytest_crmeval.models.shared_control import SharedControl
from pytest_crmeval.player.remote import RemoteControl, RemoteServer
from pytest_crmeval.ports.chat_model import Cause, ModelError
from tests.channels import Controller, controller, worker
from tests.interruptions import interrupted
from tests.permits import permit_of

PATIENCE = 300.0


class Pipe:
    """One end of a channel within this process; what is sent arrives at the other end at once, as bytes."""

    def __init__(self) -> None:
        self.other: Pipe
        self._callback: Callable[[Any], Any] = lambda data: None  # noqa: ARG005 (its signature)
        self.is_broken = False

    def send(self, item: object) -> None:
        """Deliver."""
        if self.is_broken:
            raise OSError("cannot send (already closed?)")
        assert isinstance(item, bytes)
        self.other._callback(item)  # noqa: SLF001 (the other end)

    def setcallback(self, callback: Callable[[Any], Any], endmarker: object = None) -> None:
        """Remember who receives."""
        del endmarker
        self._callback = callback

    def close(self) -> None:
        """Break the other end, as execnet does."""
        self.is_broken = True
        self.other._callback(None)  # noqa: SLF001 (the other end)

    def end(self) -> None:
        """Break both ends, as the death of a process does."""
        for pipe in (self, self.other):
            pipe.is_broken = True
            pipe._callback(None)  # noqa: SLF001 (both ends)


def pipe() -> tuple[Pipe, Pipe]:
    """Return both ends."""
    one, two = Pipe(), Pipe()
    one.other, two.other = two, one
    return one, two


def connected(run: Controller, name: str = "gw0") -> tuple[WorkerChannel, Pipe]:
    """Connect a worker within this process."""
    ours, theirs = pipe()
    run.connect(ours, name)
    return WorkerChannel(theirs), theirs


def control_of(run: Controller, name: str = "gw0") -> RemoteControl:
    """Return the control as a worker within this process sees it."""
    return RemoteControl(connected(run, name)[0])


def test_every_message_has_a_handler_and_survives_the_journey() -> None:
    """One line in the table for each class."""
    assert set(ChannelMessage.__subclasses__()) == set(HANDLERS)
    sent = Acquire("openai:m", 3, None, Charge(most=0.1, trial="t", agent="a"))
    assert (7, sent) == decode_message(encode((7, "Acquire", sent)))


def test_lone_surrogate_in_a_message_is_escaped() -> None:
    """An exception may quote anything."""
    _, received = decode_message(encode((1, "Stop", Stop("openai:m", "odd \ud800"))))

    assert Stop("openai:m", "odd \\ud800") == received


def play_all(ours: ExecnetChannel) -> list[str]:
    """Play until there are no more cases; return what was played."""
    channel = WorkerChannel(ours)
    channel.tell(Join(1))
    played = []
    while (key := channel.ask(NextJob())) is not None:
        channel.tell(Finished(key, (key.encode(), b"")))
        played.append(key)
    return played


def test_workers_share_the_queue() -> None:
    """Two processes play each case once, and all outcomes are recorded."""
    with controller() as run:
        run.loop.call(run.queue.open, {str(number): 1.0 for number in range(40)}, at_once=40)
        with worker(run, "gw0", play_all) as one, worker(run, "gw1", play_all) as two:
            played = [*one.result(), *two.result()]  # type: ignore[misc] # lists
        recorded = run.loop.call(lambda: sorted(run.run.recorded))

    assert sorted(str(number) for number in range(40)) == sorted(played)
    assert sorted(key.encode() for key in played) == recorded


def test_item_that_gives_up_waiting_has_one_trial() -> None:
    """Its question is not answered when the slot has played the case after all."""
    with controller() as run:
        run.loop.call(run.queue.open, {"one": 1.0}, at_once=4)
        slot, _ = connected(run)
        slot.tell(Join(1))
        assert "one" == slot.ask(NextJob())
        given_up = slot.begin(Take("one", patient=False))
        slot.tell(Finished("one", (b"timeout", b""), in_item=True))
        slot.tell(Finished("one", (b"too late", b"")))
        recorded = run.loop.call(lambda: list(run.run.recorded))
        is_settled = run.loop.call(run.queue.is_settled, "gw0")

    assert [b"timeout"] == recorded
    assert not given_up.done()
    assert not is_settled


def finish_and_die(ours: ExecnetChannel) -> None:
    """Begin two cases, finish one, and die."""
    channel = WorkerChannel(ours)
    channel.tell(Join(2))
    key = channel.ask(NextJob())
    channel.ask(NextJob())
    channel.tell(Finished(str(key), (b"last words", b"")))
    os.kill(os.getpid(), signal.SIGKILL)


def test_last_message_of_a_killed_worker_arrives_before_the_news_of_its_end() -> None:
    """The finished case is recorded, and only the other one is played again."""
    with controller() as run:
        run.loop.call(run.queue.open, {"a": 1.0, "b": 1.0}, at_once=2)
        recorded: list[bytes] = []
        with worker(run, "gw0", finish_and_die) as one:
            one.at_end(lambda: run.loop.post(lambda: recorded.extend(run.run.recorded)))
            one.wait()
        assert [b"last words"] == recorded
        channel, _ = connected(run, "gw1")

        assert "b" == channel.ask(NextJob())
        taken = channel.ask(Take("a", patient=True))
        assert ["played", [b"last words", b""]] == [*taken]


def test_case_that_kills_two_workers_is_recorded_as_errored() -> None:
    """Its item gets that outcome."""
    with controller() as run:
        run.loop.call(run.queue.open, {"a": 1.0}, at_once=1)
        for name in ("gw0", "gw1"):
            channel, end = connected(run, name)
            assert "a" == channel.ask(NextJob())
            end.end()
        channel, _ = connected(run, "gw2")
        taken = channel.ask(Take("a", patient=True))

        assert "played" == taken[0]
        assert b"a: worker 'gw1' crashed while playing it, as another worker had before" == taken[1][0]
        assert [taken[1][0]] == run.loop.call(lambda: run.run.recorded)


def test_item_gets_the_outcome_of_its_case_after_the_disk_has_it() -> None:
    """The journal is synced between the record and the answer."""
    with controller() as run:
        run.loop.call(run.queue.open, {"a": 1.0}, at_once=1)
        channel, _ = connected(run)
        channel.ask(NextJob())
        waiting = channel.begin(Take("a", patient=True))
        waiting.add_done_callback(lambda _: run.run.steps.append("answer"))
        channel.tell(Finished("a", (b"outcome", b"")))
        waiting.result(PATIENCE)

        assert ["record", "sync", "answer"] == run.loop.call(lambda: run.run.steps)


def test_answers_that_have_to_wait_do_not_hold_up_others() -> None:
    """A slot waits for a case while another message is answered."""
    with controller() as run, ThreadPoolExecutor() as threads:
        channel, _ = connected(run)
        waiting = threads.submit(channel.ask, NextJob())

        assert {"key": "k"} == channel.ask(FindPlaybook("k"))
        assert not waiting.done()
        run.loop.call(run.queue.open, {"a": 1.0}, at_once=1)
        assert "a" == waiting.result(PATIENCE)


def test_worker_whose_items_are_done_waits_for_its_slots() -> None:
    with controller() as run, ThreadPoolExecutor() as threads:
        run.loop.call(run.queue.open, {"a": 1.0}, at_once=1)
        channel, _ = connected(run)
        channel.tell(Join(1))
        channel.ask(NextJob())
        settling = threads.submit(channel.ask, Settle(over=False))
        channel.ask(FindPlaybook("k"))
        assert not settling.done()
        channel.tell(Dropped("a"))
        channel.tell(Quit("no connection"))

        settling.result(PATIENCE)
        assert "gw0: no connection" == run.loop.call(lambda: run.queue.shortage)


def test_worker_that_does_not_read_does_not_hold_up_others() -> None:
    reads = threading.Event()

    class Full(Pipe):
        """The controller's end of a full channel."""

        def send(self, item: object) -> None:
            reads.wait(PATIENCE)
            super().send(item)

    with controller() as run:
        ours, theirs = Full(), Pipe()
        ours.other, theirs.other = theirs, ours
        run.connect(ours, "gw0")
        stopped = WorkerChannel(theirs).begin(FindPlaybook("k"))

        assert {"key": "k"} == connected(run, "gw1")[0].ask(FindPlaybook("k"))
        assert not stopped.done()
        reads.set()
        assert {"key": "k"} == stopped.result(PATIENCE)


def test_case_of_an_item_that_was_interrupted_as_it_began_is_taken_back_when_its_worker_ends() -> None:
    """The process of the worker lives on, and the end of the run does not wait for it."""
    with controller() as run:
        run.loop.call(run.queue.open, {"a": 1.0}, at_once=1)
        channel, _ = connected(run)
        assert "alone" == channel.ask(Take("a", patient=False))[0]
        idle = run.loop.call(run.handler.idle)
        assert not idle.done()
        channel.close()

        idle.result(PATIENCE)
        assert [] == run.loop.call(lambda: run.queue.playing)


def test_error_of_the_controller_is_raised_in_the_worker() -> None:
    with controller() as run:
        channel, _ = connected(run)

        with pytest.raises(ControllerGoneError, match="there is no server"):
            RemoteServer(channel, "run").databases()


def test_question_to_a_controller_that_is_gone_is_an_error() -> None:
    with controller() as run, ThreadPoolExecutor() as threads:
        channel, end = connected(run)
        waiting = threads.submit(channel.ask, NextJob())
        channel.ask(FindPlaybook("k"))
        end.end()

        with pytest.raises(ControllerGoneError, match="the controller is gone"):
            waiting.result(PATIENCE)
        with pytest.raises(ControllerGoneError, match="the controller is gone"):
            channel.ask(NextJob())


def test_interrupted_question_does_not_affect_the_next() -> None:
    """Its answer comes later, and is ignored."""
    with controller() as run:
        channel, _ = connected(run)
        with interrupted(), pytest.raises(KeyboardInterrupt):
            channel.ask(NextJob())
        run.loop.call(run.queue.open, {"a": 1.0}, at_once=1)

        assert {"key": "k"} == channel.ask(FindPlaybook("k"))


def test_messages_within_the_process_of_the_controller_are_handled_in_its_thread() -> None:
    with controller() as run:
        channel = LocalChannel(run.loop, run.handler)
        run.loop.call(run.queue.open, {"a[1]": 1.0, "a[2]": 1.0}, at_once=1)
        channel.tell(Join(1))
        channel.tell(FileProgress("f", 1, 2, 1))

        assert "a[1]" == channel.ask(NextJob())
        channel.tell(StopPrefetch("a[1]"))
        assert channel.ask(NextJob()) is None
        assert [("f", 1, 2, 1)] == run.loop.call(lambda: run.run.progressed)


def test_machine_is_recognised() -> None:
    """It is the same each time."""
    assert this_machine() == this_machine() != ""


class TestLoop:
    """The controller's thread."""

    def test_error_of_a_posted_call_is_raised_by_the_next_call_of_the_owner(self) -> None:
        """It ends the run; the thread that shows progress must not take it."""
        loop = ControllerLoop(lambda: None)
        loop.post(partial(int, "x"))

        with ThreadPoolExecutor() as threads:
            assert 1 == threads.submit(loop.call, int, "1").result(PATIENCE)
        with pytest.raises(ValueError, match="invalid literal"):
            loop.call(int)
        assert 0 == loop.call(int)
        loop.stop()

    def test_error_of_a_call_is_raised_where_it_was_made(self) -> None:
        """And the loop goes on."""
        loop = ControllerLoop(lambda: None)

        with pytest.raises(ValueError, match="invalid literal"):
            loop.call(int, "x")
        assert 1 == loop.call(int, "1")
        loop.stop()

    def test_calls_are_made_in_their_order_and_settled_in_batches(self) -> None:
        """All that was posted before the end is done."""
        done: list[int] = []
        settled: list[int] = []
        loop = ControllerLoop(lambda: settled.append(len(done)))
        for number in range(100):
            loop.post(done.append, number)
        loop.stop()

        assert list(range(100)) == done
        assert 100 == settled[-1]

    def test_settle_is_called_again_after_the_time_that_it_asks_for(self) -> None:
        """Though nothing is posted."""
        again = threading.Event()
        answers = iter([0.01])

        def settle() -> float | None:
            wait = next(answers, None)
            if wait is None:
                again.set()
            return wait

        loop = ControllerLoop(settle)
        loop.post(int)

        assert again.wait(PATIENCE)
        loop.stop()


class TestControl:
    """Rate limits, money and stops, which all workers share."""

    def test_failure_without_headers_gives_its_permit_back(self) -> None:
        """A connection that breaks has none."""
        with controller() as run:
            one = control_of(run)
            for _ in range(20):
                one.release(permit_of(one), Feedback(ok=False, headers=ModelError(Cause.CONNECTION, "gone").headers))

    def test_agent_that_one_worker_stops_is_stopped_for_all(self) -> None:
        """The first reason is kept."""
        with controller() as run:
            one, two = control_of(run, "gw0"), control_of(run, "gw1")
            one.stop("openai:m", "401")
            two.stop("openai:m", "later")

            assert ("401", "") == (two.objection("openai:m"), two.objection("openai:n"))

    def test_stop_for_all_agents_stops_each(self) -> None:
        """For example when the judge can't work."""
        with controller() as run:
            one = control_of(run)
            one.stop(EVERYBODY, "no judge")

            assert "no judge" == one.objection("openai:m")

    def test_budget_is_spent_by_all_workers_together_and_by_earlier_parts(self) -> None:
        """Below it there is no objection; at it there is one."""
        control = SharedControl(budget=1.0)
        control.spend(0.4)
        with controller(control) as run:
            one, two = control_of(run, "gw0"), control_of(run, "gw1")
            one.release(permit_of(one), Feedback(ok=True, cost=0.3))
            before = two.objection("openai:m")
            two.release(permit_of(two), Feedback(ok=True, cost=0.3))

            assert "" == before
            assert "the budget of $1.00 is spent" == two.objection("openai:m")
            assert [EVERYBODY] == list(control.stopped)

    @pytest.mark.parametrize(("budget", "shown"), [(5.0, "$5.00"), (0.5, "$0.50"), (0.004, "$0.004"), (0.0, "$0.00")])
    def test_budget_is_shown_as_it_was_given(self, budget: float, shown: str) -> None:
        """Also one below a cent. Not what was spent: trials in flight go on spending."""
        control = SharedControl(budget=budget)
        control.spend(6.0)

        assert f"the budget of {shown} is spent" == control.objection("openai:m")

    def test_permits_of_a_dead_worker_are_given_to_others(self) -> None:
        """Eight calls are allowed at first, and it held all of them."""
        with controller() as run:
            channel, end = connected(run, "gw0")
            held = [permit_of(RemoteControl(channel)) for _ in range(8)]
            end.end()
            another = _in_time(partial(permit_of, control_of(run, "gw1")))

        assert another not in held

    def test_call_of_a_dead_worker_counts_with_its_expected_cost(self) -> None:
        """The provider may bill it, though no answer arrived."""
        control = SharedControl(budget=1.0)
        with controller(control) as run:
            channel, end = connected(run, "gw0")
            RemoteControl(channel).acquire("openai:m", 10, charge=Charge(most=0.25))
            end.end()
            two = control_of(run, "gw1")
            _in_time(lambda: two.acquire("openai:m", 10, charge=Charge(most=0.25)))

            assert pytest.approx(0.25) == control.spent

    def test_permit_that_is_granted_to_a_worker_after_its_death_is_taken_back(self) -> None:
        """It waited for it when it died."""
        control = SharedControl()
        with controller(control) as run, ThreadPoolExecutor() as threads:
            two = control_of(run, "gw1")
            held = [permit_of(two) for _ in range(8)]
            channel, end = connected(run, "gw0")
            waiting = threads.submit(_swallowing, RemoteControl(channel))
            while not control.waiting:
                time.sleep(0.01)
            end.end()
            waiting.result(PATIENCE)
            for permit in held[:2]:
                two.release(permit, Feedback(ok=False))

            assert _in_time(partial(permit_of, two)) is not None

    def test_permit_whose_wait_was_interrupted_is_given_back(self) -> None:
        """Ctrl-C in a test that plays its own case."""
        control = SharedControl()
        with controller(control) as run:
            two = control_of(run, "gw1")
            held = [permit_of(two) for _ in range(8)]
            one = control_of(run, "gw0")
            with interrupted(lambda: bool(control.waiting)), pytest.raises(KeyboardInterrupt):
                permit_of(one)
            for permit in held[:2]:
                two.release(permit, Feedback(ok=False))

            assert _in_time(partial(permit_of, two)) is not None

    def test_failures_of_all_workers_together_give_up_a_model_for_all(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Their failures are added up, one of them probes, and each gets the reason."""
        monkeypatch.setattr(breaker, "BACKOFF", (0.0,))
        with controller(SharedControl(failures=2)) as run:
            one, two = control_of(run, "gw0"), control_of(run, "gw1")
            one.fail("openai:m")
            two.fail("openai:m")
            one.release(permit_of(one), Feedback(ok=False, trouble="server error: 500"))

            assert None is _in_time(lambda: two.acquire("openai:m", 1))
            assert "no answer to 2 consecutive calls and 1 probes: server error: 500" == two.refusal("openai:m")
            assert "" == two.refusal("openai:n")

    def test_one_case_of_a_paused_agent_is_in_flight_and_the_other_slots_play_for_others(self) -> None:
        """It probes the model; when the model has answered, its cases are played as before."""
        with controller(SharedControl(failures=1)) as run:
            run.loop.call(run.queue.open, dict.fromkeys(["a 1", "a 2", "b 1", "b 2", "a 3"], 1.0), at_once=5)
            one, control = connected(run, "gw0")[0], control_of(run, "gw1")
            permit = control.acquire("openai:m", 100, None, Charge(agent="a"))
            assert permit
            control.fail("openai:m")

            while_paused = [one.ask(NextJob()) for _ in range(3)]
            waiting = one.begin(NextJob())
            assert not run.loop.call(waiting.done)
            control.release(permit, Feedback(ok=True))
            after = [waiting.result(PATIENCE), one.ask(NextJob())]

        assert ["a 1", "b 1", "b 2"] == while_paused
        assert ["a 2", "a 3"] == after

    def test_reservations_of_a_dead_worker_are_released(self) -> None:
        """Those of its call, and those of the rest of its trial."""
        control = SharedControl(budget=1.0)
        control.learn("agent", 0.9)
        with controller(control) as run:
            channel, end = connected(run, "gw0")
            one = RemoteControl(channel)
            one.release(_charged(one, "a"), Feedback(ok=True, cost=0.05))
            assert _charged(one, "a")
            end.end()

            assert _in_time(partial(_charged, control_of(run, "gw1"), "b"))

    def test_reservation_of_a_worker_that_died_waiting_for_a_model_is_released(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Also when the model is given up, so that its call is never made."""
        monkeypatch.setattr(breaker, "BACKOFF", (0.0,))
        control = SharedControl(budget=1.0, failures=1)
        control.learn("agent", 0.9)
        control.fail("openai:m")
        probe = permit_of(control)
        with controller(control) as run:
            channel, end = connected(run, "gw0")
            waiting = threading.Thread(
                target=_swallowing, args=[RemoteControl(channel), Charge(trial="a", agent="agent")], daemon=True
            )
            waiting.start()
            while not control.waiting:
                time.sleep(0.01)
            end.end()
            control.release(probe, Feedback(ok=False, trouble="server error: 500"))
            two = control_of(run, "gw1")

            assert _in_time(lambda: two.acquire("openai:n", 1, None, Charge(trial="b", agent="agent")))

    def test_retry_gets_no_permit_when_its_time_is_over(self) -> None:
        """It holds none then."""
        with controller() as run:
            one = control_of(run)
            held = [permit_of(one) for _ in range(8)]
            late = one.acquire("openai:m", 1, 0.05)
            one.release(held[0], Feedback(ok=False))
            again = one.acquire("openai:m", 1, PATIENCE)

        assert late is None
        assert again not in {None, *held}

    def test_threads_of_a_worker_ask_side_by_side(self) -> None:
        """One that waits for a permit does not hold up another's question."""
        control = SharedControl([Cap.parse("openai:m 1rpm")])
        with controller(control) as run:
            one = control_of(run)
            permit = permit_of(one)
            waiting = threading.Thread(target=_swallowing, args=[one], daemon=True)
            waiting.start()

            assert "" == _in_time(lambda: one.objection("openai:n"))
            one.release(permit, Feedback(ok=True, tokens=1, headers={"x-ratelimit-remaining-requests": "5"}))
        waiting.join(PATIENCE)

        assert not waiting.is_alive()


def _charged(control: RemoteControl, trial: str) -> int:
    permit = control.acquire("openai:m", 1, None, Charge(most=0.1, trial=trial, agent="agent"))
    assert permit is not None
    return permit


def _swallowing(control: RemoteControl, charge: Charge = NO_CHARGE) -> None:
    try:
        control.acquire("openai:m", 1, None, charge)
    except ControllerGoneError:
        return  # the run is over


def _in_time(ask: Callable[[], object]) -> object:
    """Return the answer, or fail if there is none in time."""
    found: Future[object] = Future()
    threading.Thread(target=lambda: found.set_result(ask()), daemon=True).start()
    return found.result(PATIENCE)
