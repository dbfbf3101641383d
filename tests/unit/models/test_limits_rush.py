"""Caps in a minute of more demand than they allow, as the server sees it; a made-up clock, the real decisions."""

import random
from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.unit.models.rush import Arrival, Rush, fullest

LEAST_USED = 0.9
Tokens = Callable[[random.Random], tuple[int, int]]


def one(_: Arrival) -> int:
    """Count calls."""
    return 1


def tokens(arrival: Arrival) -> int:
    """Count tokens."""
    return arrival.tokens


def sizes(least: int, most: int, *, bound: float = 1.0, or_even: float | None = None) -> Tokens:
    """Return calls of random sizes, whose askers know a bound that is so many times too large."""

    def draw(dice: random.Random) -> tuple[int, int]:
        real = dice.randint(least, most)
        return int(real * dice.uniform(bound, or_even or bound)), real

    return draw


@pytest.mark.parametrize("rpm", [6, 30, 60, 100, 500, 1200, 5000])
def test_calls_stay_below_the_cap_in_every_10_seconds_and_use_it(rpm: int) -> None:
    """48 askers want more than they may have, and calls are late by up to 0.3 s."""
    arrivals = Rush(caps=[f"openai:gpt-4.1 {rpm}rpm"], latencies=(0.05, 0.4)).run()

    assert rpm / 6 >= fullest(arrivals, 10.0, one)
    assert LEAST_USED * rpm <= len(arrivals)


@pytest.mark.parametrize("latencies", [(0.1, 1.0), (1.0, 6.0)], ids=["quick", "slow"])
@pytest.mark.parametrize(
    ("tpm", "calls"),
    [
        pytest.param(200_000, sizes(200, 800), id="many small"),
        pytest.param(200_000, sizes(1_000, 3_000), id="seventeen in 10 s"),
        pytest.param(60_000, sizes(1_000, 1_000), id="ten of one size"),
        pytest.param(200_000, sizes(1_000, 3_000, bound=2.0), id="twice the tokens were expected"),
        pytest.param(2_000_000, sizes(8_000, 9_500, bound=1.1, or_even=1.4), id="as the CRM's are"),
    ],
)
def test_tokens_stay_below_the_cap_in_every_10_seconds_and_use_it(
    tpm: int, calls: Tokens, latencies: tuple[float, float]
) -> None:
    """What counts is what calls really take."""
    arrivals = Rush(caps=[f"openai:* {tpm}tpm"], tokens=calls, latencies=latencies, seconds=120.0).run()

    assert tpm / 6 >= fullest(arrivals, 10.0, tokens)
    assert LEAST_USED * tpm * 2 <= sum(map(tokens, arrivals))


@pytest.mark.parametrize(
    ("caps", "used"),
    [
        pytest.param(["openai:gpt-4.1 300rpm 600000tpm"], 300, id="requests are scarce"),
        pytest.param(["openai:gpt-4.1 5000rpm 300000tpm"], 300, id="tokens are scarce"),
        pytest.param(["openai:gpt-4.1 600rpm", "openai:* 300rpm", "* 900rpm"], 300, id="several caps"),
    ],
)
def test_the_tightest_rate_decides_and_is_used(caps: list[str], used: int) -> None:
    """Calls take 1,000 tokens."""
    arrivals = Rush(caps=caps, tokens=sizes(1_000, 1_000)).run()

    assert used / 6 >= fullest(arrivals, 10.0, one)
    assert LEAST_USED * used <= len(arrivals)


@pytest.mark.parametrize("rpm", [8, 11, 20, 40])
def test_a_cap_that_10_seconds_do_not_divide_is_kept_and_used_as_far_as_whole_calls_go(rpm: int) -> None:
    """Three calls in any 10 s is all that 20 a minute allow, and nine tenths of them."""
    arrivals = Rush(caps=[f"openai:gpt-4.1 {rpm}rpm"], seconds=180.0).run()

    assert rpm / 6 >= fullest(arrivals, 10.0, one)
    assert LEAST_USED * (rpm // 6 * 6) * 3 <= len(arrivals)


@pytest.mark.parametrize("rpm", [1, 2, 3, 4, 5])
def test_a_cap_of_less_than_a_call_in_10_seconds_is_kept_over_a_longer_time(rpm: int) -> None:
    arrivals = Rush(caps=[f"openai:gpt-4.1 {rpm}rpm"], seconds=180.0).run()

    assert rpm >= fullest(arrivals, 60.0, one)
    assert 1 == fullest(arrivals, 10.0, one)
    assert LEAST_USED * rpm * 3 <= len(arrivals)


def test_large_calls_are_kept_within_10_seconds_too() -> None:
    """7,000 tokens at 200,000 a minute: four in any 10 s, because five would be too many."""
    arrivals = Rush(caps=["* 200000tpm"], tokens=sizes(7_000, 7_000), seconds=180.0).run()

    assert 200_000 / 6 >= fullest(arrivals, 10.0, tokens)
    assert LEAST_USED * 28_000 * 18 <= sum(map(tokens, arrivals))


def test_calls_that_are_larger_than_10_seconds_are_worth_are_spread_over_the_minute() -> None:
    """9,000 tokens at 60,000 a minute: six of them, not one in each 10 s, and not six at once."""
    arrivals = Rush(caps=["* 60000tpm"], tokens=sizes(9_000, 9_000), seconds=180.0).run()

    gaps = [after.time - before.time for before, after in pairwise(arrivals)]
    assert 60_000 >= fullest(arrivals, 60.0, tokens)
    assert LEAST_USED * 60_000 * 3 <= sum(map(tokens, arrivals))
    assert min(gaps) > 8.0


def test_a_call_that_is_larger_than_a_minute_is_worth_goes_alone() -> None:
    arrivals = Rush(caps=["* 3000tpm"], tokens=sizes(9_000, 9_000), seconds=400.0).run()

    gaps = [after.time - before.time for before, after in pairwise(arrivals)]
    assert 3 == len(arrivals)
    assert min(gaps) > 179.0


def test_calls_are_spread_evenly() -> None:
    """No second has more than its part, but for the catching up."""
    arrivals = Rush(caps=["* 600rpm"], latest=0.0).run()

    assert 10 + 3 >= fullest(arrivals, 1.0, one)
