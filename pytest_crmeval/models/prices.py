"""The cost of a call: by the price in the spec, else by the list price of genai-prices, else unknown."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import urlsplit

from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.providers import PROVIDERS
from pytest_crmeval.models.retirement import retirement_notice
from pytest_crmeval.models.specs import ModelSpec, Price

Pricing = Callable[[Usage], float | None]
"""Returns the cost of one call in US dollars; None if it is unknown."""
MILLION = 1_000_000
_RETIRING = frozenset({"openai", "anthropic", "foundry"})
"""Providers that retire models on the dates that we know; other clouds have their own."""


def price_of(spec: ModelSpec) -> Pricing:
    """Return the pricing of a model, by call, because list prices have steps for long prompts.

    List prices hold for the provider's own address. For any other address only ``?price=`` gives the price.
    """
    if spec.price:
        return partial(_given, spec.price)
    if spec.base_url and not is_own(spec.provider, spec.base_url):
        return _unknown
    seller = PROVIDERS[spec.provider].prices
    try:  # some models are sold by the hour
        per_token = _listed(seller, spec.model, Usage(input=MILLION, output=MILLION)) if seller else None
    except LookupError:
        return _unknown
    return partial(_listed, seller, spec.model) if per_token else _unknown


def other_addresses() -> Mapping[str, str]:
    """Return the addresses of providers that the environment sets, except the providers' own."""
    variables = {name: each.variable for name, each in PROVIDERS.items() if each.variable}
    found = {provider: os.environ.get(name, "").strip().rstrip("/") for provider, name in variables.items()}
    return {provider: where for provider, where in found.items() if where and not is_own(provider, where)}


def is_priced(spec: ModelSpec) -> bool:
    """Whether the price of a model is known, which a budget requires."""
    return price_of(spec) is not _unknown


def notice_of(spec: ModelSpec) -> str:
    """Return a warning if the provider has retired a model or soon will; empty for a server of one's own."""
    is_theirs = not spec.base_url or is_own(spec.provider, spec.base_url)
    return retirement_notice(spec.model) if is_theirs and spec.provider in _RETIRING else ""


def is_own(provider: str, address: str) -> bool:
    """Whether an address is the provider's own; it is not a gateway or a server of one's own."""
    try:
        return (urlsplit(address).hostname or "").endswith(PROVIDERS[provider].hosts or ("no host",))
    except ValueError:
        return False


def _unknown(usage: Usage) -> None:
    """Return None: the price is unknown."""


def _given(price: Price, usage: Usage) -> float | None:
    if _is_uncounted(usage) and any((price.input, price.cached, price.output)):
        return None
    cached = min(usage.cached, usage.input)
    fresh = usage.input - cached
    return (fresh * price.input + cached * price.cached + usage.output * price.output) / MILLION


def _listed(provider: str, model: str, usage: Usage) -> float | None:
    import genai_prices  # takes 0.2 s, and only model calls need it

    if _is_uncounted(usage):
        return None
    cached = min(usage.cached, usage.input)  # a server may report more, and the trial must not fail because of that
    tokens = genai_prices.Usage(
        input_tokens=usage.input,
        cache_read_tokens=cached,
        cache_write_tokens=min(usage.cache_written, usage.input - cached),
        output_tokens=usage.output,
    )
    return float(genai_prices.calc_price(tokens, model, provider_id=provider).total_price)


def _is_uncounted(usage: Usage) -> bool:
    """Whether the server did not report the tokens of a call: there are always some."""
    return bool(usage.calls) and not usage.input
