"""Caps hold for all workers together: real processes, real calls, and a server that counts when they arrive."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from pytest_crmeval.models.caps import Cap
from pytest_crmeval.models.shared_control import SharedControl
from tests.channels import controller, worker
from tests.projects import case
from tests.providers.askers import BOUND, MODEL, TAKEN, ask_on, hold_on
from tests.providers.loopback import Loopback, Say, Slow, Tokens, crm_brain

WITH_SDK, WITHOUT = 600, 1_200
"""Calls a minute: the real SDK takes a while for each."""
EACH = 100
"""Tokens of a call."""
PATIENCE = 300.0
"""Seconds in which anything that happens at all has happened."""
ANSWER = Slow(seconds=0.1, then=Say("Hello.", usage=Tokens(input=EACH - 10, output=10)))


def capped(*caps: str) -> SharedControl:
    """Return the control of a run."""
    return SharedControl([Cap.parse(text) for text in caps])


def least_seconds(calls: int, rpm: int) -> float:
    """Return the seconds that so many calls take at least under a cap that all workers share.

    A busy machine takes longer. Without a busy machine, workers with a cap each would take a fraction of it.
    """
    return 0.9 * (calls - 1) * 60 / rpm


def until(happened: Callable[[], bool]) -> None:
    """Wait for something that processes do."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.usefixtures("given_server")
def test_xdist_workers_share_a_cap(project: Callable[..., pytest.Pytester]) -> None:
    """With the real SDK: all calls of two workers take as long as the cap says."""
    run = project([case(f"case-{number}") for number in range(35)], ini=f"crmeval_rates = openai:m {WITH_SDK}rpm\n")

    begun = time.monotonic()
    with Loopback(crm_brain) as server:
        result = run.runpytest_subprocess("-n", "2", "--crmeval-agent", f"openai:m?base_url={server.openai_url}")

    result.assert_outcomes(passed=35)
    assert 70 == len(server.seen)
    assert max(each.time for each in server.seen) - begun >= least_seconds(70, WITH_SDK)


def test_threads_of_several_processes_share_a_cap() -> None:
    """The same for tokens, and for 24 who ask at the same time."""
    begun = time.monotonic()
    with (
        controller(capped(f"openai:* {WITHOUT * EACH}tpm")) as run,
        Loopback([ANSWER]) as server,
        ExitStack() as stack,
    ):
        workers = [stack.enter_context(worker(run, f"gw{number}", ask_on, 8, server.address)) for number in range(3)]
        until(lambda: len(server.seen) >= 100)
        run.control.close()
        assert [None, None, None] == [each.result() for each in workers]

    assert sorted(each.time for each in server.seen)[99] - begun >= least_seconds(100, WITHOUT)


def test_a_worker_that_dies_does_not_take_its_permits_with_it() -> None:
    """Eight may ask at first, and it held them all."""
    with (
        ThreadPoolExecutor() as threads,  # it waits for pending requests, so the control must be closed before
        controller(capped()) as run,
        worker(run, "gw0", hold_on, 8) as dying,
    ):
        until(lambda: run.run.recorded == [TAKEN])
        asking = threads.submit(run.control.acquire, MODEL, BOUND)
        time.sleep(0.1)
        assert not asking.done()
        dying.kill()

        assert asking.result(PATIENCE)
