"""The models that can be named, with what the installed SDKs and the price list say about them."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, get_args

from pytest_crmeval.models.providers import PROVIDERS
from pytest_crmeval.models.retirement import retirements

_NOT_CHAT = ("audio", "realtime", "image", "search", "transcribe", "tts", "whisper", "embedding", "moderation")


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntry:
    """One model; what is not known is None."""

    model: str
    price: str | None = None
    """US dollars per million tokens: input/cached/output."""
    context: int | None = None
    """Tokens."""
    retires: date | None = None
    successor: str = ""


def known_models(provider: str) -> Iterator[CatalogEntry]:
    """Yield the models of a provider: those that its SDK names, else those of the price list."""
    for model in _named_by_sdk(provider) or _priced(provider):
        if not any(word in model for word in _NOT_CHAT):
            yield entry_of(provider, model)


def entry_of(provider: str, model: str) -> CatalogEntry:
    """Return what is known about a model."""
    from genai_prices.data_snapshot import get_snapshot

    gone = retirements().get(model) if provider in {"openai", "anthropic"} else None
    dates: dict[str, Any] = {"retires": gone.date, "successor": gone.successor} if gone else {}
    try:
        _, found = get_snapshot().find_provider_model(model, None, PROVIDERS[provider].prices, None)
    except LookupError:
        return CatalogEntry(model=model, **dates)
    prices = found.get_prices(datetime.now(UTC))
    tokens = [_dollars(getattr(prices, f"{name}_mtok", None)) for name in ("input", "cache_read", "output")]
    price = "/".join(filter(None, tokens)) if tokens[0] and tokens[2] else None
    return CatalogEntry(model=model, price=price, context=found.context_window, **dates)


def _dollars(price: object) -> str:
    amount = getattr(price, "base", price)  # prices may have steps for long prompts: the first one is shown
    return f"{amount.normalize():f}" if isinstance(amount, Decimal) else ""


def _named_by_sdk(provider: str) -> list[str]:
    if provider == "anthropic":
        from anthropic.types.model import Model

        return list(_literals(Model))
    if provider == "openai":
        from openai.types.shared.all_models import AllModels

        return list(_literals(AllModels))
    return []


def _literals(names: object) -> Iterator[str]:
    """Yield the texts in a union of literals."""
    for part in get_args(names):
        if isinstance(part, str):
            yield part
        else:
            yield from _literals(part)


def _priced(provider: str) -> list[str]:
    from genai_prices.data_snapshot import get_snapshot

    seller = PROVIDERS[provider].prices
    return [model.id for each in get_snapshot().providers if each.id == seller for model in each.models]
