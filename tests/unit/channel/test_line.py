"""The line on which workers ask the controller, and what they ask of its control."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager

import pytest

from pytest_crmeval.channel.line import Line, LineError, LineToController
from pytest_crmeval.channel.remote import ControlAnswers, RemoteControl
from pytest_crmeval.models.control import EVERYBODY, NO_CHARGE, Charge, Feedback
from pytest_crmeval.models.limits import Cap, breaker
from pytest_crmeval.models.shared_control import SharedControl
from pytest_crmeval.ports.chat_model import Cause, ModelError
from tests.permits import permit_of

PATIENCE = 60.0
A_WHILE = 0.2
"""Seconds in which a listener finds that it can't open another file."""
CROWDED = """
import json, resource, threading
from pytest_crmeval.channel.line import Line
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
line = Line({
    "limit": lambda files: resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard)),
    "echo": lambda about: about,
})
print(json.dumps(line.address), flush=True)
threading.Event().wait()
"""


@contextmanager
def controller(control: SharedControl) -> Iterator[Line]:
    """Answer for a control on a real line."""
    shared = ControlAnswers(control, control.forget)
    line = Line(shared.answers(), shared.hung_up)
    try:
        yield line
    finally:
        control.close()
        line.close()


@contextmanager
def worker(line: Line) -> Iterator[RemoteControl]:
    """Call from a worker."""
    call = LineToController(*_address(line))
    try:
        yield RemoteControl(call)
    finally:
        call.close()


def test_a_failure_without_headers_gives_its_permit_back() -> None:
    """A connection that breaks has none to tell of."""
    control = SharedControl()
    with controller(control) as line, worker(line) as one:
        for _ in range(20):
            permit = one.acquire("openai:m", 1)
            assert permit is not None
            one.release(permit, Feedback(ok=False, headers=ModelError(Cause.CONNECTION, "gone").headers))


def test_a_worker_hears_what_another_has_stopped() -> None:
    """The first reason stays."""
    with controller(SharedControl()) as line, worker(line) as one, worker(line) as two:
        one.stop("openai:m", "401")
        two.stop("openai:m", "later")

        assert ("401", "") == (two.objection("openai:m"), two.objection("openai:n"))


def test_whoever_stops_everybody_stops_everybody() -> None:
    """A judge that can't work, for one."""
    with controller(SharedControl()) as line, worker(line) as one:
        one.stop(EVERYBODY, "no judge")

        assert "no judge" == one.objection("openai:m")


def test_a_budget_is_spent_by_all_workers_together_and_by_earlier_parts() -> None:
    """Below it there is no objection; at it there is one."""
    control = SharedControl(budget=1.0)
    control.spend(0.4)
    with controller(control) as line, worker(line) as one, worker(line) as two:
        one.release(permit_of(one), Feedback(ok=True, cost=0.3))
        before = two.objection("openai:m")
        two.release(permit_of(two), Feedback(ok=True, cost=0.3))

        assert "" == before
        assert "the budget of $1.00 is spent" == one.objection("openai:m")
        assert [EVERYBODY] == list(control.stopped)


@pytest.mark.parametrize(("budget", "told"), [(5.0, "$5.00"), (0.5, "$0.50"), (0.004, "$0.004"), (0.0, "$0.00")])
def test_a_budget_is_told_as_it_was_given(budget: float, told: str) -> None:
    """Also one below a cent. Not what was spent: trials in flight go on spending."""
    control = SharedControl(budget=budget)
    control.spend(6.0)

    assert f"the budget of {told} is spent" == control.objection("openai:m")


def test_a_worker_that_is_gone_gives_its_permits_back() -> None:
    """Else the others would wait for ever: eight may ask at first, and it held them all."""
    control = SharedControl()
    with controller(control) as line:
        with worker(line) as one:
            held = [permit_of(one) for _ in range(8)]
        with worker(line) as two:
            another = _in_time(lambda: permit_of(two))

    assert another not in held


def test_failures_of_all_workers_together_give_up_a_model_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their failures are added up, one of them probes, and each gets the reason."""
    monkeypatch.setattr(breaker, "BACKOFF", (0.0,))
    with controller(SharedControl(failures=2)) as line, worker(line) as one, worker(line) as two:
        one.fail("openai:m")
        two.fail("openai:m")
        one.release(permit_of(one), Feedback(ok=False, trouble="server error: 500"))

        assert None is _in_time(lambda: two.acquire("openai:m", 1))
        assert "no answer to 2 consecutive calls and 1 probes: server error: 500" == two.refusal("openai:m")
        assert "" == two.refusal("openai:n")


def test_reservations_of_a_dead_worker_are_released() -> None:
    """This applies to its call and to the rest of its trial."""
    control = SharedControl(budget=1.0)
    control.learn("agent", 0.9)
    with controller(control) as line:
        with worker(line) as one:
            one.release(_charged(one, "a"), Feedback(ok=True, cost=0.05))
            assert _charged(one, "a")
        with worker(line) as two:
            assert _in_time(lambda: _charged(two, "b"))


def test_what_a_worker_had_reserved_that_died_waiting_for_a_model_is_free_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also when the model is given up, so that its call is never let in."""
    monkeypatch.setattr(breaker, "BACKOFF", (0.0,))
    control = SharedControl(budget=1.0, failures=1)
    control.learn("agent", 0.9)
    control.fail("openai:m")
    probe = permit_of(control)
    with controller(control) as line:
        with worker(line) as one:
            threading.Thread(target=_swallowing, args=[one, Charge(trial="a", agent="agent")], daemon=True).start()
            while not control.waiting:
                time.sleep(0.01)
        control.release(probe, Feedback(ok=False, trouble="server error: 500"))
        with worker(line) as two:
            charge = Charge(trial="b", agent="agent")
            assert _in_time(lambda: two.acquire("openai:n", 1, None, charge))


def _charged(control: RemoteControl, trial: str) -> int:
    permit = control.acquire("openai:m", 1, None, Charge(most=0.1, trial=trial, agent="agent"))
    assert permit is not None
    return permit


def test_a_worker_that_asks_again_hears_when_its_turn_did_not_come() -> None:
    """And holds nothing then."""
    control = SharedControl()
    with controller(control) as line, worker(line) as one:
        held = [permit_of(one) for _ in range(8)]
        late = one.acquire("openai:m", 1, 0.05)
        one.release(held[0], Feedback(ok=False))
        again = one.acquire("openai:m", 1, PATIENCE)

    assert late is None
    assert again not in {None, *held}


def test_threads_of_a_worker_ask_side_by_side() -> None:
    """One that waits for a permit does not hold up another's question."""
    with controller(SharedControl([Cap.parse("openai:m 1rpm")])) as line, worker(line) as one:
        permit = permit_of(one)
        waiting = threading.Thread(target=_swallowing, args=[one], daemon=True)
        waiting.start()

        assert "" == _in_time(lambda: one.objection("openai:n"))
        one.release(permit, Feedback(ok=True, tokens=1, headers={"x-ratelimit-remaining-requests": "5"}))
    waiting.join(PATIENCE)

    assert not waiting.is_alive()


def test_a_permit_may_come_back_on_another_call_than_it_was_given_on() -> None:
    """It is nobody's then: when the first call ends, it is not taken back a second time."""
    forgotten: list[int] = []
    control = SharedControl()
    shared = ControlAnswers(control, forgotten.extend)
    ended = threading.Event()

    def hung_up() -> None:
        shared.hung_up()
        ended.set()

    line = Line(shared.answers(), hung_up)
    with closing(control), closing(line):
        with worker(line) as one:
            given_back, kept = permit_of(one), permit_of(one)
            with worker(line) as two:
                two.release(given_back, Feedback(ok=True))
            assert ended.wait(PATIENCE)
            ended.clear()
        assert ended.wait(PATIENCE)

    assert [kept] == forgotten


def test_threads_that_come_and_go_share_a_call() -> None:
    """A hundred of them leave no more behind than one."""
    callers: set[int] = set()
    line = Line({"who": lambda _: callers.add(threading.get_ident())})
    with closing(line), closing(LineToController(*_address(line))) as call:
        for _ in range(100):
            _in_time(lambda: call.ask("who") or "answered")

    assert 1 == len(callers)


def test_an_interrupted_question_does_not_spoil_the_next() -> None:
    """The answer to the one must not be taken for the answer to the other."""
    asked, answered = threading.Event(), threading.Event()

    def slow(_: object) -> bool:
        asked.set()
        return answered.wait(PATIENCE)

    line = Line({"slow": slow, "quick": lambda about: about})
    call = LineToController(*_address(line))
    threading.Thread(target=_interrupt, args=[asked, threading.get_ident()]).start()

    with pytest.raises(KeyboardInterrupt):
        call.ask("slow")
    answered.set()

    assert "quick" == call.ask("quick", "quick")
    call.close()
    line.close()


def test_a_controller_that_may_open_no_more_files_answers_when_it_may_again() -> None:
    """Whoever calls meanwhile waits, and not for ever."""
    with (
        ThreadPoolExecutor() as threads,
        subprocess.Popen([sys.executable, "-c", CROWDED], stdout=subprocess.PIPE, text=True) as controller,
        ExitStack() as stack,
    ):
        stack.callback(controller.kill)
        address = json.loads(controller.stdout.readline())  # type: ignore[union-attr] # a pipe
        first, *others = [stack.enter_context(closing(LineToController(*address))) for _ in range(3)]
        first.ask("limit", 3)
        waiting = [threads.submit(other.ask, "echo", "late") for other in others]
        time.sleep(A_WHILE)
        first.ask("limit", 64)

        assert ["late", "late"] == [each.result(PATIENCE) for each in waiting]


def test_whoever_does_not_know_the_secret_gets_nothing() -> None:
    """Another user of the machine can't stop a run."""
    control = SharedControl()
    with controller(control) as line:
        host, port, _ = line.address
        stranger = LineToController(str(host), int(port), "guessed")
        with pytest.raises(LineError, match="belongs to another run"):
            stranger.ask("stop", ["*", "ha"])
        stranger.close()

    assert {} == control.stopped


def _address(line: Line) -> tuple[str, int, str]:
    host, port, secret = line.address
    return str(host), int(port), str(secret)


def _interrupt(when: threading.Event, thread: int) -> None:
    assert when.wait(PATIENCE)
    signal.pthread_kill(thread, signal.SIGINT)


def _swallowing(control: RemoteControl, charge: Charge = NO_CHARGE) -> None:
    try:
        control.acquire("openai:m", 1, None, charge)
    except (LineError, OSError, ValueError):
        return  # the run is over


def _in_time(ask: Callable[[], object]) -> object:
    """Return the answer, or fail if there is none in time."""
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(ask()), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert found, "no answer"
    return found[0]
