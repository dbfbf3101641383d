"""What tokens cost."""

import subprocess
import sys
from typing import Any

import pytest

from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.prices import is_priced, price_of
from pytest_crmeval.models.specs import ModelSpec

CALL = Usage(input=10_000, cached=4_000, cache_written=1_000, output=500, reasoning=200, calls=1)


def cost(spec: str, usage: Usage = CALL) -> float | None:
    """Return what a call to a model costs."""
    return price_of(ModelSpec.parse(spec))(usage)


def about(dollars: float) -> Any:  # noqa: ANN401 (pytest's own)
    """Return what equals a sum, rounding aside."""
    return pytest.approx(dollars, rel=1e-9)


@pytest.mark.parametrize("model", ["gpt-4.1", "gpt-4.1-2025-04-14"])
def test_openai_writes_its_cache_for_nothing(model: str) -> None:
    """2 dollars for a million tokens, 0.50 for cached ones, 8 for output; reasoning is part of that."""
    assert about((6_000 * 2.00 + 4_000 * 0.50 + 500 * 8.00) / 1e6) == cost(f"openai:{model}")


def test_a_smaller_model_is_cheaper() -> None:
    """0.40, 0.10 and 1.60."""
    assert about((6_000 * 0.40 + 4_000 * 0.10 + 500 * 1.60) / 1e6) == cost("openai:gpt-4.1-mini")


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-sonnet-4-5-20250929"])
def test_tokens_written_to_the_cache_of_anthropic_cost_more(model: str) -> None:
    """3 dollars, 0.30 for cached tokens, 3.75 for those that were written there, 15 for output."""
    expected = (5_000 * 3.00 + 4_000 * 0.30 + 1_000 * 3.75 + 500 * 15.00) / 1e6

    assert about(expected) == cost(f"anthropic:{model}")


def test_long_prompt_has_a_higher_price_for_all_tokens() -> None:
    """Above 200,000 tokens claude-sonnet-4-5 takes 6 dollars for a million, and 22.50 for output."""
    long = Usage(input=300_000, output=1_000, calls=1)

    assert about((300_000 * 6.00 + 1_000 * 22.50) / 1e6) == cost("anthropic:claude-sonnet-4-5", long)


@pytest.mark.parametrize(
    "spec",
    [
        "openai:gpt-4.1-of-tomorrow",
        "openai:ft:gpt-4.1:acme::abc",
        "anthropic:gpt-4.1",
        "openai:whisper-1",
        "openai:moderation",
    ],
)
def test_unlisted_model_has_no_price(spec: str) -> None:
    """Which is not a price of zero; neither has what is sold by the hour."""
    assert cost(spec) is None
    assert not is_priced(ModelSpec.parse(spec))


def test_price_in_the_spec_takes_precedence_over_the_list() -> None:
    """Input, cached and output; nothing is known of a price for writing the cache, so it is that of input."""
    expected = (6_000 * 1.00 + 4_000 * 0.25 + 500 * 3.00) / 1e6

    assert about(expected) == cost("openai:gpt-4.1?price=1/0.25/3")


def test_a_price_of_two_numbers_knows_no_cache() -> None:
    """A cached token is a token."""
    assert about((10_000 * 1.00 + 500 * 3.00) / 1e6) == cost("anthropic:claude-sonnet-4-5?price=1/3")


def test_a_price_of_zero_is_a_price() -> None:
    """Of one's own machine."""
    spec = "openai:llama?base_url=http://localhost:8000/v1&price=0/0"

    assert 0.0 == cost(spec) == cost(spec, Usage(calls=1))
    assert is_priced(ModelSpec.parse(spec))


@pytest.mark.parametrize(
    "address", ["http://localhost:8000/v1", "https://gateway.example.com/openai", "https://api.openai.com.example.com"]
)
def test_model_at_another_address_has_no_listed_price(address: str) -> None:
    """A vLLM that calls its model gpt-4.1 costs nothing like it."""
    assert cost(f"openai:gpt-4.1?base_url={address}") is None


def test_the_address_of_the_provider_may_be_given() -> None:
    """It is the same model at the same price."""
    assert cost("openai:gpt-4.1") == cost("openai:gpt-4.1?base_url=https://api.openai.com/v1/")
    assert cost("anthropic:claude-sonnet-4-5") == cost("anthropic:claude-sonnet-4-5?base_url=https://api.anthropic.com")


def test_a_server_that_counts_more_cached_tokens_than_tokens_costs_no_trial() -> None:
    """All of them were cached, then."""
    odd = Usage(input=100, cached=400, cache_written=50, output=10, calls=1)

    assert about((100 * 0.50 + 10 * 8.00) / 1e6) == cost("openai:gpt-4.1", odd)
    assert about((100 * 1.00 + 10 * 3.00) / 1e6) == cost("openai:gpt-4.1?price=2/1/3", odd)


def test_a_call_of_which_no_token_was_counted_has_no_price() -> None:
    """Some servers don't count; that is not for free."""
    assert cost("openai:gpt-4.1", Usage(calls=1)) is None
    assert cost("openai:gpt-4.1?price=1/2", Usage(calls=1)) is None


def test_attempts_that_were_not_answered_cost_nothing() -> None:
    assert 0.0 == cost("openai:gpt-4.1", Usage(retries=3))


def test_the_list_is_loaded_when_a_price_is_asked_for() -> None:
    """Not with every pytest run of the environment."""
    code = "import sys, pytest_crmeval.models.prices; sys.exit('genai_prices' in sys.modules)"

    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode
