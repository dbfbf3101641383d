"""Caps hold for all workers together: real processes, real calls, and a server that counts when they arrive."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from pytest_crmeval.models.caps import Cap
from pytest_crmeval.models.shared_control import SharedControl
from tests.channels import controller, worker
from tests.projects import case
from tests.providers.askers import BOUND, MODEL, TAKEN, ask_on, hold_on
from tests.providers.loopback import Loopback, Say, Seen, Slow, Tokens, crm_brain

SECONDS, WINDOW = 6.0, 5.0
MOST_USED, LEAST_USED = 1.1, 0.5
"""Shares of a cap: on a busy machine calls arrive later than they were permitted.

If workers did not share a cap, it would be exceeded up to three times.
"""
WITH_SDK, WITHOUT = 600, 1_200
"""Calls a minute: the real SDK takes a while for each, and a busy machine has to keep up."""
EACH = 100
"""Tokens of a call."""
ANSWER = Slow(seconds=0.1, then=Say("Hello.", usage=Tokens(input=EACH - 10, output=10)))


def capped(*caps: str) -> SharedControl:
    """Return the control of a run."""
    return SharedControl([Cap.parse(text) for text in caps])


def arrivals(seen: Sequence[Seen]) -> list[float]:
    """Return when calls arrived in the first seconds, counted from the first of them."""
    times = sorted(each.time for each in seen)
    return [time - times[0] for time in times if time - times[0] <= SECONDS]


def fullest(times: Sequence[float]) -> int:
    """Return how many arrived in the fullest window."""
    return max(sum(start <= time < start + WINDOW for time in times) for start in times)


def most(rpm: int) -> float:
    """Return how many calls may arrive in any window."""
    return MOST_USED * rpm * WINDOW / 60


def least(rpm: int) -> float:
    """Return how many calls must arrive in all the seconds."""
    return LEAST_USED * rpm * SECONDS / 60


def until(happened: Callable[[], bool]) -> None:
    """Wait for something that processes do."""
    deadline = time.monotonic() + 30.0
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.usefixtures("given_server")
def test_xdist_workers_share_a_cap(project: Callable[..., pytest.Pytester]) -> None:
    """Kept in any 5 s, and mostly used; with the real SDK."""
    cases = [case(f"case-{number}") for number in range(35)]  # two calls each: more than fit

    with Loopback(crm_brain) as server:
        run = project(cases, ini=f"crmeval_rates = openai:m {WITH_SDK}rpm\n")
        result = run.runpytest_subprocess("-n", "2", "--crmeval-agent", f"openai:m?base_url={server.openai_url}")

    times = arrivals(server.seen)
    result.assert_outcomes(passed=35)
    assert fullest(times) <= most(WITH_SDK)
    assert len(times) >= least(WITH_SDK)


def test_threads_of_several_processes_share_a_cap() -> None:
    """The same for tokens, and for 24 who ask at the same time."""
    with (
        controller(capped(f"openai:* {WITHOUT * EACH}tpm")) as run,
        Loopback([ANSWER]) as server,
        ExitStack() as stack,
    ):
        workers = [stack.enter_context(worker(run, f"gw{number}", ask_on, 8, server.address)) for number in range(3)]
        until(lambda: bool(server.seen))
        time.sleep(SECONDS)
        run.control.close()
        assert [None, None, None] == [each.result() for each in workers]

    times = arrivals(server.seen)
    assert fullest(times) <= most(WITHOUT)
    assert len(times) >= least(WITHOUT)


def test_a_worker_that_dies_does_not_take_its_permits_with_it() -> None:
    """Eight may ask at first, and it held them all."""
    with (
        ThreadPoolExecutor() as threads,  # it waits for whoever asks: the control is to be closed before
        controller(capped()) as run,
        worker(run, "gw0", hold_on, 8) as dying,
    ):
        until(lambda: run.run.recorded == [TAKEN])
        asking = threads.submit(run.control.acquire, MODEL, BOUND)
        time.sleep(0.1)
        assert not asking.done()
        dying.kill()

        assert asking.result(30.0)
