"""What tokens cost: the price that the spec gives, or the list price of genai-prices; or nobody knows."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import urlsplit

from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.specs import ADDRESSES, ModelSpec, Price

Pricing = Callable[[Usage], float | None]
"""Returns what one call costs, in US dollars; None if that is not known."""
MILLION = 1_000_000
_OWN: Mapping[str, str] = {"openai": "api.openai.com", "anthropic": "api.anthropic.com"}


def price_of(spec: ModelSpec) -> Pricing:
    """Return what a call to the model costs; of one call, because list prices have steps for long prompts.

    List prices are the provider's: whoever is asked at another address takes what he likes, and only ``?price=`` tells.
    """
    if spec.price:
        return partial(_given, spec.price)
    if spec.base_url and not _is_own(spec.provider, spec.base_url):
        return _unknown
    return partial(_listed, spec.provider, spec.model) if _is_listed(spec) else _unknown


def other_addresses() -> Mapping[str, str]:
    """Return the addresses of providers that the environment sets, except the providers' own."""
    found = {provider: os.environ.get(name, "").strip().rstrip("/") for provider, name in ADDRESSES.items()}
    return {provider: where for provider, where in found.items() if where and not _is_own(provider, where)}


def is_priced(spec: ModelSpec) -> bool:
    """Whether it is known what the model costs: a budget can't be kept otherwise."""
    return price_of(spec) is not _unknown


def _is_own(provider: str, address: str) -> bool:
    try:
        return urlsplit(address).hostname == _OWN[provider]
    except ValueError:
        return False


def _unknown(usage: Usage) -> None:
    """Return None, whatever was used."""


def _given(price: Price, usage: Usage) -> float | None:
    if _is_uncounted(usage) and any((price.input, price.cached, price.output)):
        return None
    cached = min(usage.cached, usage.input)
    fresh = usage.input - cached
    return (fresh * price.input + cached * price.cached + usage.output * price.output) / MILLION


def _listed(provider: str, model: str, usage: Usage) -> float | None:
    import genai_prices  # 0.2 s, and only who asks a model needs it

    if _is_uncounted(usage):
        return None
    cached = min(usage.cached, usage.input)  # a server that miscounts is no reason to lose the trial
    tokens = genai_prices.Usage(
        input_tokens=usage.input,
        cache_read_tokens=cached,
        cache_write_tokens=min(usage.cache_written, usage.input - cached),
        output_tokens=usage.output,
    )
    return float(genai_prices.calc_price(tokens, model, provider_id=provider).total_price)


def _is_listed(spec: ModelSpec) -> bool:
    """Whether the list has the model, with a price for tokens: some are sold by the hour."""
    try:
        return bool(_listed(spec.provider, spec.model, Usage(input=MILLION, output=MILLION)))
    except LookupError:
        return False


def _is_uncounted(usage: Usage) -> bool:
    """Whether the server did not say how many tokens it took; no call takes none."""
    return bool(usage.calls) and not usage.input
