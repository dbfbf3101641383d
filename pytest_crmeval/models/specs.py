"""Parses specs of models: ``openai:gpt-4.1?temperature=0``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from pytest_crmeval.domain.json import Json
from pytest_crmeval.models import reasoning
from pytest_crmeval.models.providers import PROVIDERS, sdk_of
from pytest_crmeval.ports.chat_model import ModelIdentity

_HOTTEST = max(provider.hottest for provider in PROVIDERS.values())
APIS = ("chat", "responses")
PLAIN_SECONDS, THINKING_SECONDS = 120.0, 300.0
"""Seconds for one attempt, of models that don't think and of those that do."""


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
    max_output_tokens: int = 0
    """0: the default, see ``output_limit``."""
    effort: str = ""
    """How much the model thinks; empty: its default."""
    thinking: int = 0
    """Most tokens for thoughts; 0: the model decides."""
    stream: bool = False
    """Whether answers are streamed, so that the time to their first token is known."""
    base_url: str = ""
    """Empty: the environment's, or the provider's own."""
    api: str = ""
    """``chat`` or ``responses``, of openai; empty: what the model supports."""
    price: Price | None = None
    timeout: float = 0.0
    """Seconds for one attempt in total; 0: the default, see ``seconds``."""
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
        settings: dict[str, Json] = {"temperature": self.temperature, "max_output_tokens": self.output_limit}
        given: dict[str, Json] = {"api": self.api, "effort": self.effort, "thinking": self.thinking}
        settings |= {name: value for name, value in given.items() if value}
        return ModelIdentity(provider=self.provider, model=self.model, settings=settings)

    @property
    def sdk(self) -> str:
        """The SDK that asks the model: openai or anthropic."""
        return sdk_of(self.provider, self.model)

    @property
    def thinks(self) -> bool:
        """Whether the model thinks before it answers."""
        return reasoning.thinks(self.model, self.effort, self.thinking)

    @property
    def output_limit(self) -> int:
        """The most output tokens of an answer; the default leaves room for thoughts."""
        if self.max_output_tokens:
            return self.max_output_tokens
        if tokens := reasoning.budget(self.model, self.effort, self.thinking):
            return tokens + reasoning.REPLY_TOKENS
        return reasoning.ROOM if self.thinks else reasoning.REPLY_TOKENS

    @property
    def seconds(self) -> float:
        """Seconds for one attempt in total."""
        return self.timeout or (THINKING_SECONDS if self.thinks else PLAIN_SECONDS)

    @property
    def key_name(self) -> str:
        """The environment variable with the key."""
        return self.key or PROVIDERS[self.provider].key

    @classmethod
    def parse(cls, spec: str) -> Self:
        """Parse a spec; SpecError if it has an unknown parameter or an invalid value."""
        path, _, query = spec.partition("?")
        provider, _, model = path.partition(":")
        if provider not in PROVIDERS or not model:
            raise SpecError(f"{spec!r} is not PROVIDER:MODEL; providers: {', '.join(PROVIDERS)}")
        given = dict(_parameters(path, query))
        if "api" in given and sdk_of(provider, model) != "openai":
            raise SpecError(f"{path}: only OpenAI's models have several APIs to choose from")
        try:
            values = {name: _PARSERS[name](text) for name, text in given.items()}
            parsed = cls(provider=provider, model=model, **values)
            parsed._check()
        except ValueError as error:
            raise SpecError(f"{path}: {error}") from None
        return parsed

    def _check(self) -> None:
        """Raise ValueError if parameters don't go together."""
        hottest = 1.0 if self.sdk == "anthropic" else PROVIDERS[self.provider].hottest
        if self.temperature is not None and self.temperature > hottest:
            raise ValueError(f"temperature={self.temperature:g}: must be a number from 0 to {hottest:g}")
        if self.stream and self.provider == "bedrock" and self.sdk == "anthropic":
            raise ValueError("stream=true: Bedrock does not stream Claude's answers as events")
        if self.effort == "minimal" and self.sdk == "anthropic":
            raise ValueError("effort=minimal: Claude's lowest efforts are none and low")
        if self.effort and self.thinking:
            raise ValueError("effort and thinking can't be combined")
        if self.thinking and not reasoning.takes_budget(self.model):
            raise ValueError("this model itself decides how much to think; use ?effort=low, medium or high")
        tokens = reasoning.budget(self.model, self.effort, self.thinking)
        if tokens >= self.output_limit:
            raise ValueError(f"max_output_tokens={self.output_limit}: must exceed the {tokens} tokens for thoughts")


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
    return _number("temperature", text, least=0.0, most=_HOTTEST)


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


def _one_of(name: str, text: str, known: Sequence[str]) -> str:
    if text not in known:
        raise ValueError(f"{name}={text}: must be {', '.join(known[:-1])} or {known[-1]}")
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
    "stream": lambda text: _one_of("stream", text, ("false", "true")) == "true",
    "base_url": _base_url,
    "api": lambda text: _one_of("api", text, APIS),
    "effort": lambda text: _one_of("effort", text, reasoning.EFFORTS),
    "thinking": lambda text: _whole("thinking", text, least=reasoning.FEWEST, most=1_000_000),
    "price": _price,
    "timeout": lambda text: _number("timeout", text, least=0.1, most=3600.0),
    "retries": lambda text: _whole("retries", text, least=0, most=100),
    "key": _key,
}
PARAMETERS: Mapping[str, tuple[str, str]] = {
    "temperature": ("0.0", "0 to 2 (Anthropic: 0 to 1), or `default` for the model's own"),
    "max_output_tokens": (
        f"{reasoning.REPLY_TOKENS}; {reasoning.ROOM} for reasoning models",
        "limit for one answer, including its thoughts",
    ),
    "effort": ("the model's", f"how much the model thinks: {', '.join(reasoning.EFFORTS)}"),
    "thinking": ("the model decides", f"most tokens for thoughts, at least {reasoning.FEWEST}"),
    "stream": ("`false`", "`true`: answers are streamed, so that the time to the first token is measured"),
    "base_url": ("the provider's", "address of the API"),
    "api": ("what the model supports", "`chat` or `responses`; OpenAI's models only"),
    "key": ("the provider's", "name of the environment variable with the key, never the key itself"),
    "price": ("genai-prices", "US dollars per million tokens: `input/output` or `input/cached/output`"),
    "timeout": (
        f"{PLAIN_SECONDS:g}; {THINKING_SECONDS:g} for reasoning models",
        "seconds for one attempt, from connecting to the last byte",
    ),
    "retries": ("6", "maximum number of retries of a call"),
}
"""Default and meaning of each parameter, for readers."""
