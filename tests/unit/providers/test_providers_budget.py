"""Money is reserved before a call is made, and corrected when its price is known."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from pytest_crmeval.providers.budget import CALLS, Budget
from pytest_crmeval.providers.control import Charge

M = "openai:m"
SOON, A_WHILE = 60.0, 0.1


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Give threads that wait for money."""
    with ThreadPoolExecutor(8) as pool:
        yield pool


def reserve(budget: Budget, trial: str = "", most: float = 1.0) -> int:
    """Reserve money for a call; there has to be some."""
    number = budget.reserve(M, Charge(most=most, trial=trial))
    assert number is not None
    return number


def known(limit: float, cost: float = 0.1, most: float = 1.0) -> Budget:
    """Return a budget that knows what a call costs: one of that price was made."""
    budget = Budget(limit)
    budget.settle(reserve(budget, most=most), cost)
    return budget


def is_waiting(future: "Future[int | None]") -> bool:
    """Whether a call waits for money, and goes on waiting."""
    with pytest.raises(TimeoutError):
        future.result(A_WHILE)
    return True


def test_no_more_calls_go_out_than_there_is_money_for(threads: ThreadPoolExecutor) -> None:
    """The next one waits, though nothing more has been spent yet."""
    budget = known(0.35)
    out = [reserve(budget), reserve(budget)]

    third = threads.submit(budget.reserve, M, Charge(most=1.0))

    assert is_waiting(third)
    budget.settle(out[0], 0.02)
    assert third.result(SOON) is not None


def test_a_call_that_does_not_fit_is_refused_when_nothing_is_under_way() -> None:
    """With what is spent, and what it would cost."""
    budget = known(0.15)

    assert None is budget.reserve(M, Charge(most=1.0))
    assert (
        "the budget of $0.15 has no room for another call: $0.10 is spent, and one costs about $0.10" == budget.check()
    )


def test_the_first_call_of_a_model_goes_alone_where_it_might_take_all(threads: ThreadPoolExecutor) -> None:
    """What it may cost at most is more than the budget; what it does cost is known when it is back."""
    budget = Budget(0.5)
    first = reserve(budget, most=8.0)
    second = threads.submit(budget.reserve, M, Charge(most=8.0))

    assert is_waiting(second)
    budget.settle(first, 0.1)
    assert second.result(SOON) is not None


def test_many_calls_of_an_unknown_model_go_out_where_there_is_enough_for_the_most_that_they_cost() -> None:
    """A budget does not slow a run down that is far from its end."""
    budget = Budget(5.0)

    assert 5 == len({reserve(budget, most=1.0) for _ in range(5)})


def test_a_trial_is_begun_only_if_there_is_money_for_all_of_it(threads: ThreadPoolExecutor) -> None:
    """A trial that is begun goes on; another waits until it is known what is left."""
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


def test_a_trial_is_taken_to_make_many_calls_until_one_has_ended(threads: ThreadPoolExecutor) -> None:
    """Money for one call is not enough to begin."""
    budget = known(0.1 * CALLS + 0.25)
    reserve(budget, "one")

    assert is_waiting(threads.submit(budget.reserve, M, Charge(most=1.0, trial="two")))
    budget.close()


def test_an_answer_without_a_price_costs_what_was_reserved() -> None:
    """It was paid for, whatever the server says of its tokens."""
    budget = known(5.0)

    budget.settle(reserve(budget), None)

    assert pytest.approx(0.2) == budget.spent


def test_what_a_lost_worker_reserved_is_free_again() -> None:
    """Else the others would wait for ever."""
    budget = known(0.25)
    lost = reserve(budget)

    budget.forget(lost)

    assert reserve(budget)
    assert pytest.approx(0.1) == budget.spent


def test_all_who_wait_are_let_go_when_the_run_is_over(threads: ThreadPoolExecutor) -> None:
    """Nobody waits for ever."""
    budget = known(0.25)
    reserve(budget)
    waiting = threads.submit(budget.reserve, M, Charge(most=1.0))
    assert is_waiting(waiting)

    budget.close()

    assert 0 == waiting.result(SOON)


def test_without_a_limit_money_is_only_counted() -> None:
    """Any number of calls go out."""
    budget = Budget()
    budget.settle(reserve(budget), 7.0)

    assert (7.0, "") == (budget.spent, budget.check())
