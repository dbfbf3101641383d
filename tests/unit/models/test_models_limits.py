"""Permits among real threads."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from pytest_crmeval.models.caps import Cap
from pytest_crmeval.models.control import Feedback
from pytest_crmeval.models.limits import LimitsClosed, RateLimits
from tests.permits import permit_of

GPT, CLAUDE = "openai:gpt-4.1", "anthropic:claude"
SOON = 300.0
"""Seconds in which anything that happens at all has happened."""
A_WHILE = 0.1
"""Seconds in which what must not happen would have."""
FINE, FAILED = Feedback(ok=True), Feedback(ok=False)


@contextmanager
def open_limits(*caps: str) -> Iterator[tuple[RateLimits, ThreadPoolExecutor]]:
    """Give limits and threads that ask; whatever still waits at the end is let go."""
    limits = RateLimits([Cap.parse(text) for text in caps])
    with ThreadPoolExecutor(max_workers=64) as threads:
        try:
            yield limits, threads
        finally:
            limits.close()


def waiting(*futures: "Future[int]") -> bool:
    """Whether none gets a permit, now or in a while."""
    time.sleep(A_WHILE)
    return not any(future.done() for future in futures)


def until(happened: Callable[[], bool]) -> None:
    """Wait for something that threads do."""
    deadline = time.monotonic() + SOON
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_permits_are_numbers_of_their_own() -> None:
    """No two are the same."""
    with open_limits() as (limits, _):
        assert 8 == len({permit_of(limits, GPT) for _ in range(8)})


def test_waiting_call_gets_a_released_permit() -> None:
    """The ninth waits for the first."""
    with open_limits() as (limits, threads):
        permits = [permit_of(limits, GPT) for _ in range(8)]
        ninth = threads.submit(permit_of, limits, GPT, 100)

        assert waiting(ninth)
        limits.release(permits[0], FAILED)
        assert ninth.result(SOON) not in permits


def test_call_waiting_for_a_cap_is_admitted_when_it_allows() -> None:
    with open_limits("* 600rpm") as (limits, threads):
        futures = [threads.submit(permit_of, limits, GPT, 100) for _ in range(8)]

        assert 8 == len({future.result(SOON) for future in futures})


def test_threads_are_served_in_the_order_in_which_they_came() -> None:
    """Fifty wait in line."""
    served: list[int] = []

    def ask(limits: RateLimits, number: int) -> None:
        permit = permit_of(limits, GPT)
        served.append(number)
        limits.release(permit, FAILED)

    with open_limits("* 3000rpm") as (limits, threads):
        held = [permit_of(limits, GPT) for _ in range(8)]
        futures = []
        for number in range(50):
            futures.append(threads.submit(ask, limits, number))
            until(lambda: limits.waiting > number)  # noqa: B023 (called at once)
        limits.forget(held[:1])
        for future in futures:
            future.result(SOON)

    assert list(range(50)) == served


def test_retries_are_admitted_before_new_calls() -> None:
    """And they among themselves in the order in which they came."""
    served: list[str] = []

    def ask(limits: RateLimits, name: str, patience: float | None) -> None:
        permit = limits.acquire(GPT, 100, patience)
        served.append(name)
        limits.forget([permit or 0])

    with open_limits() as (limits, threads):
        held = [permit_of(limits, GPT) for _ in range(8)]
        futures = []
        for name, patience in [("a", None), ("b", None), ("A", SOON), ("B", SOON)]:
            futures.append(threads.submit(ask, limits, name, patience))
            until(lambda: limits.waiting == len(futures))
        limits.forget(held[:1])
        for future in futures:
            future.result(SOON)

    assert ["A", "B", "a", "b"] == served


def test_retry_waits_no_longer_than_its_patience() -> None:
    with open_limits() as (limits, threads):
        held = [permit_of(limits, GPT) for _ in range(8)]
        impatient = threads.submit(limits.acquire, GPT, 100, A_WHILE)
        patient = threads.submit(limits.acquire, GPT, 100, SOON)

        assert impatient.result(SOON) is None
        limits.release(held[0], FAILED)
        assert patient.result(SOON)
        assert 0 == limits.waiting


def test_waiting_retry_is_released_when_the_run_is_over() -> None:
    """However patient he is."""
    with open_limits("* 1rpm") as (limits, threads):
        permit_of(limits, GPT)
        future = threads.submit(limits.acquire, GPT, 100, SOON)
        until(lambda: limits.waiting == 1)
        limits.close()

        assert isinstance(future.exception(SOON), LimitsClosed)


def test_model_at_its_limit_does_not_delay_others() -> None:
    """Every model has a line of its own."""
    with open_limits(f"{GPT} 1rpm") as (limits, threads):
        permit_of(limits, GPT)
        capped = threads.submit(permit_of, limits, GPT, 100)
        other = threads.submit(permit_of, limits, CLAUDE, 100)

        assert other.result(SOON)
        assert waiting(capped)


def test_the_permits_of_a_worker_that_died_are_given_to_others() -> None:
    with open_limits() as (limits, threads):
        lost = [permit_of(limits, GPT) for _ in range(8)]
        futures = [threads.submit(permit_of, limits, GPT, 100) for _ in range(8)]
        limits.forget([*lost, 99, *lost])

        assert 8 == len({future.result(SOON) for future in futures})


def test_a_permit_that_was_forgotten_may_still_be_given_back() -> None:
    with open_limits() as (limits, threads):
        lost = [permit_of(limits, GPT) for _ in range(8)]
        limits.forget(lost[:1])
        limits.release(lost[0], FINE)
        first = threads.submit(permit_of, limits, GPT, 100)
        first.result(SOON)

        assert waiting(threads.submit(permit_of, limits, GPT, 100))


def test_waiting_calls_are_released_when_the_run_is_over() -> None:
    """In every line."""
    with open_limits("* 1rpm") as (limits, threads):
        permit_of(limits, GPT)
        futures = [threads.submit(permit_of, limits, model, 100) for model in (GPT, GPT, CLAUDE)]
        assert waiting(*futures)
        limits.close()

        assert all(isinstance(future.exception(SOON), LimitsClosed) for future in futures)


def test_no_permits_are_given_when_the_run_is_over() -> None:
    """Not even where there is room; what is given back late does no harm, nor does closing again."""
    limits = RateLimits()
    permit = permit_of(limits, GPT)
    limits.close()
    limits.release(permit, FINE)
    limits.forget([permit])
    limits.close()

    with pytest.raises(LimitsClosed):
        permit_of(limits, GPT)


def test_no_thread_is_left() -> None:
    """Nor is there one before anybody had to wait."""
    before = threading.active_count()
    limits = RateLimits([Cap.parse("* 600rpm")])
    permit_of(limits, GPT)
    assert before == threading.active_count()
    for _ in range(4):
        permit_of(limits, GPT)
    limits.close()

    assert before == threading.active_count()


def test_interrupted_call_leaves_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002 (as its parent)
            raise KeyboardInterrupt

    with open_limits() as (limits, threads):
        permits = [permit_of(limits, GPT) for _ in range(8)]
        with monkeypatch.context() as patch:
            patch.setattr("pytest_crmeval.models.limits.Event", Interrupted)
            with pytest.raises(KeyboardInterrupt):
                permit_of(limits, GPT)
        limits.release(permits[0], FAILED)

        assert threads.submit(permit_of, limits, GPT, 100).result(SOON)


def test_many_threads_never_hold_more_permits_than_there_are() -> None:
    """Sixty-four at once, of whom all are refused by the server: in the end, one at a time."""
    held, most, guard = 0, [0], threading.Lock()

    def ask(limits: RateLimits) -> None:
        nonlocal held
        for _ in range(10):
            permit = permit_of(limits, GPT)
            with guard:
                held += 1
                most.append(held)
            with guard:
                held -= 1
            limits.release(permit, Feedback(ok=False, throttled=True))

    with open_limits() as (limits, threads):
        for future in [threads.submit(ask, limits) for _ in range(64)]:
            future.result(SOON)

    assert 641 == len(most)
    assert 8 >= max(most)
    assert 1 == max(most[-300:])
