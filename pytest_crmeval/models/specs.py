"""Parses specs of models: ``openai:gpt-4.1?temperature=0``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from pytest_crmeval.domain.json import Json
from pytest_crmeval.ports.chat_model import ModelIdentity

PROVIDERS = ("openai", "anthropic")
KEYS: Mapping[str, str] = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
HOTTEST: Mapping[str, float] = {"openai": 2.0, "anthropic": 1.0}
ADDRESSES: Mapping[str, str] = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}
APIS = ("chat", "responses")


class SpecError(ValueError):
    """An invalid spec; the message has the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens."""

    input: float
    cached: float
    output: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """One model with its settings."""

    provider: str
    model: str
    temperature: float | None = 0.0
    """None: the model's default."""
    max_output_tokens: int = 800
    base_url: str = ""
    """Empty: the environment's, or the provider's own."""
    api: str = ""
    """``chat`` or ``responses``, of openai; empty: what the model supports."""
    price: Price | None = None
    timeout: float = 120.0
    """Seconds for one attempt in total."""
    retries: int = 6
    """Further attempts after the first."""
    key: str = ""
    """The environment variable with the key, in capitals; empty: the SDK's own."""

    def __str__(self) -> str:
        """Return provider:model."""
        return f"{self.provider}:{self.model}"

    @property
    def identity(self) -> ModelIdentity:
        """The model with the settings that were asked for, also those that it refuses."""
        settings: dict[str, Json] = {"temperature": self.temperature, "max_output_tokens": self.max_output_tokens}
        if self.api:
            settings["api"] = self.api
        return ModelIdentity(provider=self.provider, model=self.model, settings=settings)

    @property
    def key_name(self) -> str:
        """The environment variable with the key."""
        return self.key or KEYS[self.provider]

    @classmethod
    def parse(cls, spec: str) -> Self:
        """Parse a spec; SpecError if it has an unknown parameter or an invalid value."""
        path, _, query = spec.partition("?")
        provider, _, model = path.partition(":")
        if provider not in PROVIDERS or not model:
            raise SpecError(f"{spec!r} is not openai:MODEL or anthropic:MODEL")
        given = dict(_parameters(path, query))
        if "api" in given and provider != "openai":
            raise SpecError(f"{path}: only openai has several APIs to choose from")
        try:
            values = {name: _PARSERS[name](text) for name, text in given.items()}
            temperature, hottest = values.get("temperature"), HOTTEST[provider]
            if temperature is not None and temperature > hottest:
                raise ValueError(f"temperature={temperature:g}: must be a number from 0 to {hottest:g}")  # noqa: TRY301
            return cls(provider=provider, model=model, **values)
        except ValueError as error:
            raise SpecError(f"{path}: {error}") from None


def is_model(spec: str) -> bool:
    """Whether a spec is that of a language model of a known provider."""
    provider, colon, _ = spec.partition("?")[0].partition(":")
    return bool(colon) and provider.lower() in PROVIDERS


def _parameters(path: str, query: str) -> list[tuple[str, str]]:
    known = {field.name for field in fields(ModelSpec)} - {"provider", "model"}
    found = parse_qsl(query, keep_blank_values=True)
    for name, _ in found:
        if name in {"api_key", "token"}:
            raise SpecError(f"{path}: specs are printed, so they must not contain a key; name its variable: ?key=NAME")
        if name not in known:
            raise SpecError(f"{path}: unknown parameter {name!r}; known: {', '.join(sorted(known))}")
    if len(dict(found)) < len(found):
        raise SpecError(f"{path}: a parameter is given twice")
    return found


def _temperature(text: str) -> float | None:
    if text == "default":
        return None
    return _number("temperature", text, least=0.0, most=max(HOTTEST.values()))


def _number(name: str, text: str, *, least: float, most: float) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{name}={text} is not a number") from None
    if not least <= number <= most:
        raise ValueError(f"{name}={text}: must be a number from {least:g} to {most:g}")
    return number


def _whole(name: str, text: str, *, least: int, most: int) -> int:
    if not text.isdecimal() or not least <= int(text) <= most:
        raise ValueError(f"{name}={text}: must be a whole number from {least} to {most}")
    return int(text)


def address(text: str) -> str:
    """Return an address in the form that SDKs expect; ValueError if it is invalid."""
    if "?" in text or "#" in text:
        raise ValueError("addresses are printed, so they must not contain a query or a fragment")
    try:
        parts = urlsplit(text)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port
        valid = False
    if not valid:
        raise ValueError(f"{text.rpartition('@')[2]} is not an http address")
    return text.rstrip("/")


def _base_url(text: str) -> str:
    if "@" in urlsplit(text).netloc:
        raise ValueError("base_url: specs are printed, so they must not contain a password")
    return address(text)


def _api(text: str) -> str:
    if text not in APIS:
        raise ValueError(f"api={text}: must be {' or '.join(APIS)}")
    return text


def _price(text: str) -> Price:
    parts = [_number("price", part, least=0.0, most=1e6) for part in text.split("/")]
    if len(parts) == 2:  # noqa: PLR2004 (input/output)
        return Price(input=parts[0], cached=parts[0], output=parts[1])
    if len(parts) == 3:  # noqa: PLR2004 (input/cached/output)
        return Price(input=parts[0], cached=parts[1], output=parts[2])
    raise ValueError(f"price={text}: must be dollars per million tokens, input/output or input/cached/output")


def _key(text: str) -> str:
    if not (text.isidentifier() and text.isupper()):
        raise ValueError("key: name the environment variable that has the key, not the key")
    return text


_PARSERS: Mapping[str, Callable[[str], Any]] = {
    "temperature": _temperature,
    "max_output_tokens": lambda text: _whole("max_output_tokens", text, least=1, most=1_000_000),
    "base_url": _base_url,
    "api": _api,
    "price": _price,
    "timeout": lambda text: _number("timeout", text, least=0.1, most=3600.0),
    "retries": lambda text: _whole("retries", text, least=0, most=100),
    "key": _key,
}
