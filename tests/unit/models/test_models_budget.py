"""Money is reserved before a call, and corrected when its cost is known."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from pytest_crmeval.models.budget import CALLS, Budget
from pytest_crmeval.models.control import Charge

M = "openai:m"
SOON, A_WHILE = 300.0, 0.1


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Give threads that wait for money."""
    with ThreadPoolExecutor(8) as pool:
        yield pool


def reserve(budget: Budget, trial: str = "", most: float = 1.0) -> int:
    """Reserve money for a call, which the budget must cover."""
    number = budget.reserve(M, Charge(most=most, trial=trial))
    assert number is not None
    return number


def known(limit: float, cost: float = 0.1, most: float = 1.0) -> Budget:
    """Return a budget that knows what a call costs: one of that price was made."""
    budget = Budget(limit)
    budget.settle(reserve(budget, most=most), cost)
    return budget


def is_waiting(future: "Future[int | None]") -> bool:
    """Whether a call keeps waiting for money."""
    with pytest.raises(TimeoutError):
        future.result(A_WHILE)
    return True


def test_calls_wait_if_the_budget_does_not_cover_them(threads: ThreadPoolExecutor) -> None:
    """The next one waits, though nothing more has been spent yet."""
    budget = known(0.35)
    out = [reserve(budget), reserve(budget)]

    third = threads.submit(budget.reserve, M, Charge(most=1.0))

    assert is_waiting(third)
    budget.settle(out[0], 0.02)
    assert third.result(SOON) is not None


def test_call_that_exceeds_the_budget_is_refused_if_no_call_is_in_progress() -> None:
    """The reason names the money spent and the cost of the call."""
    budget = known(0.15)

    assert None is budget.reserve(M, Charge(most=1.0))
    assert (
        "the budget of $0.15 does not cover another call: $0.10 is spent, and a call costs about $0.10"
        == budget.check()
    )


def test_first_call_of_a_model_goes_alone_if_it_could_use_up_the_budget(threads: ThreadPoolExecutor) -> None:
    """Its maximum cost exceeds the budget; its actual cost is known when it returns."""
    budget = Budget(0.5)
    first = reserve(budget, most=8.0)
    second = threads.submit(budget.reserve, M, Charge(most=8.0))

    assert is_waiting(second)
    budget.settle(first, 0.1)
    assert second.result(SOON) is not None


def test_calls_of_an_unknown_model_go_out_if_the_budget_covers_their_maximum_cost() -> None:
    """A large budget does not slow down a run."""
    budget = Budget(5.0)

    assert 5 == len({reserve(budget, most=1.0) for _ in range(5)})


def test_trial_starts_only_if_the_budget_covers_all_of_it(threads: ThreadPoolExecutor) -> None:
    """A started trial continues; another waits until the remaining money is known."""
    budget = known(0.9)
    for _ in range(3):
        budget.settle(reserve(budget, "one"), 0.1)
    budget.end("one")  # 0.3 for a trial; 0.4 is spent
    call = reserve(budget, "two")

    third = threads.submit(budget.reserve, M, Charge(most=1.0, trial="three"))

    assert is_waiting(third)
    budget.settle(call, 0.1)
    budget.settle(reserve(budget, "two"), 0.1)
    assert is_waiting(third)
    budget.end("two")
    assert third.result(SOON) is not None


def test_trial_is_assumed_to_make_many_calls_until_one_trial_has_ended(threads: ThreadPoolExecutor) -> None:
    """Money for one call is not enough to start a trial."""
    budget = known(0.1 * CALLS + 0.25)
    reserve(budget, "one")

    assert is_waiting(threads.submit(budget.reserve, M, Charge(most=1.0, trial="two")))
    budget.close()


def test_answer_without_a_known_cost_counts_with_the_reserved_amount() -> None:
    """It was paid for, even if the server reports no usage."""
    budget = known(5.0)

    budget.settle(reserve(budget), None)

    assert pytest.approx(0.2) == budget.spent


@pytest.mark.parametrize("limit", [None, 5.0], ids=["no budget", "budget"])
def test_call_whose_worker_died_counts_with_its_expected_cost(limit: float | None) -> None:
    """It may be billed; without a budget the mean of the recent calls is expected. It is known to be an estimate."""
    budget = Budget(limit)
    for cost in (0.1, 0.3):
        number = budget.reserve(M, Charge(most=0.3))
        assert number
        budget.settle(number, cost)
    lost = budget.reserve(M, Charge(most=0.3))
    assert lost
    budget.lose(lost)
    budget.lose(lost)

    expected = 0.3 if limit else 0.2
    assert pytest.approx(expected) == budget.estimated
    assert pytest.approx(0.4 + expected) == budget.spent


def test_reservation_of_a_lost_call_is_released() -> None:
    """Otherwise other calls would wait for ever."""
    budget = known(0.25)
    lost = reserve(budget)

    budget.forget(lost)

    assert reserve(budget)
    assert pytest.approx(0.1) == budget.spent


def test_waiting_calls_are_released_when_the_run_is_over(threads: ThreadPoolExecutor) -> None:
    """No call waits for ever."""
    budget = known(0.25)
    reserve(budget)
    waiting = threads.submit(budget.reserve, M, Charge(most=1.0))
    assert is_waiting(waiting)

    budget.close()

    assert 0 == waiting.result(SOON)


def test_budget_without_a_limit_only_counts_costs() -> None:
    """Any number of calls go out."""
    budget = Budget()
    budget.settle(reserve(budget), 7.0)

    assert (7.0, "") == (budget.spent, budget.check())
