"""Whose books a model writes into."""

from concurrent.futures import ThreadPoolExecutor

from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.usage_meter import UsageMeter, current, opened


def in_a_thread() -> UsageMeter:
    """Return the meter that a thread without any context finds."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(current).result()


def test_the_account_of_the_context_is_the_one() -> None:
    """The inner one, where one is opened in another."""
    outer, inner = UsageMeter(), UsageMeter()
    with opened(outer):
        with opened(inner):
            within = current()
        after = current()

    assert within is inner
    assert after is outer


def test_a_thread_that_an_agent_starts_writes_into_the_only_account_that_is_open() -> None:
    """It knows nothing of contexts."""
    with opened(UsageMeter()) as meter, opened(meter):
        found = in_a_thread()

    assert found is meter


def test_a_thread_finds_none_where_several_are_open() -> None:
    with opened(UsageMeter()) as one, opened(UsageMeter()) as two:
        found = in_a_thread()

    assert found is not one
    assert found is not two


def test_closed_meter_is_not_changed() -> None:
    """Neither in its thread nor in another."""
    with opened(UsageMeter()) as meter:
        pass

    assert current() is not meter
    assert in_a_thread() is not meter


def test_threads_that_are_billed_at_the_same_time_are_all_billed() -> None:
    """Nothing gets lost between reading the bill and writing it."""
    meter = UsageMeter()
    with ThreadPoolExecutor(8) as threads:
        for _ in range(2_000):
            threads.submit(meter.record_useless, Usage(calls=1), 0.5)

    assert meter.bill is not None
    assert (2_000, 1_000.0) == (meter.bill.usage.calls, meter.bill.cost)
