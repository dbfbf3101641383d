"""The providers that can be named in specs: their APIs, addresses, keys and price lists."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One provider, as in ``name:MODEL``."""

    name: str
    sdk: str = "openai"
    """The SDK for its models; clouds use that of the model's maker."""
    key: str = ""
    """The environment variable with the key."""
    needs_key: bool = True
    """Whether there is no other way to sign in, at the provider's own address."""
    address: str = ""
    """Empty: ``variable`` must be set, or the SDK makes it from the region."""
    variable: str = ""
    """The environment variable with another address."""
    also: tuple[str, ...] = ()
    """Further variables that must be set."""
    prices: str = ""
    """Its name in genai-prices; empty if its models have no list price."""
    hosts: tuple[str, ...] = ()
    """Ends of the host names for which list prices hold."""
    hottest: float = 2.0
    """The highest temperature."""
    extra: str = ""
    """The extra of this package that is needed without a key."""
    gets: str = ""
    """The command that gets a model, for a server of one's own."""
    about: str = ""
    """What it is, for readers."""


def _compatible(name: str, address: str, about: str, *, prices: str = "") -> Provider:
    """Return a provider with an API like OpenAI's Chat Completions and a key of its own."""
    host = address.partition("//")[2].partition("/")[0]
    key = f"{name.upper()}_API_KEY"
    return Provider(name=name, key=key, address=address, prices=prices or name, hosts=(host,), about=about)


_ALL = (
    Provider(
        name="openai",
        key="OPENAI_API_KEY",
        address="https://api.openai.com/v1",
        variable="OPENAI_BASE_URL",
        prices="openai",
        hosts=("api.openai.com",),
        about="OpenAI, or any compatible server with `?base_url=`",
    ),
    Provider(
        name="anthropic",
        sdk="anthropic",
        key="ANTHROPIC_API_KEY",
        address="https://api.anthropic.com",
        variable="ANTHROPIC_BASE_URL",
        prices="anthropic",
        hosts=("api.anthropic.com",),
        hottest=1.0,
        about="Anthropic",
    ),
    Provider(
        name="azure",
        key="AZURE_OPENAI_API_KEY",
        variable="AZURE_OPENAI_ENDPOINT",
        also=("OPENAI_API_VERSION",),
        prices="azure",
        hosts=(".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"),
        about="OpenAI models on Azure; MODEL is the name of the deployment",
    ),
    Provider(
        name="foundry",
        sdk="anthropic",
        key="ANTHROPIC_FOUNDRY_API_KEY",
        variable="ANTHROPIC_FOUNDRY_BASE_URL",
        prices="azure",
        hosts=(".services.ai.azure.com",),
        hottest=1.0,
        about="Claude on Microsoft Foundry",
    ),
    Provider(
        name="bedrock",
        key="AWS_BEARER_TOKEN_BEDROCK",
        needs_key=False,
        prices="aws",
        hosts=(".amazonaws.com",),
        extra="bedrock",
        about="Amazon Bedrock: Claude, and models with an API like OpenAI's",
    ),
    Provider(
        name="vertex",
        key="GOOGLE_OAUTH_ACCESS_TOKEN",
        needs_key=False,
        prices="google",
        hosts=(".googleapis.com",),
        extra="vertex",
        about="Google Vertex AI: Claude, and OpenAI's models",
    ),
    _compatible("openrouter", "https://openrouter.ai/api/v1", "OpenRouter"),
    _compatible("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "Google Gemini", prices="google"),
    _compatible("mistral", "https://api.mistral.ai/v1", "Mistral"),
    _compatible("groq", "https://api.groq.com/openai/v1", "Groq"),
    _compatible("deepseek", "https://api.deepseek.com", "DeepSeek"),
    _compatible("xai", "https://api.x.ai/v1", "xAI", prices="x-ai"),
    _compatible("together", "https://api.together.xyz/v1", "Together AI"),
    _compatible("fireworks", "https://api.fireworks.ai/inference/v1", "Fireworks"),
    _compatible("cerebras", "https://api.cerebras.ai/v1", "Cerebras"),
    Provider(
        name="ollama",
        key="OLLAMA_API_KEY",
        needs_key=False,
        address="http://localhost:11434/v1",
        variable="OLLAMA_BASE_URL",
        gets="ollama pull",
        about="Ollama on this machine",
    ),
    Provider(
        name="vllm",
        key="VLLM_API_KEY",
        needs_key=False,
        address="http://localhost:8000/v1",
        variable="VLLM_BASE_URL",
        gets="vllm serve",
        about="vLLM on this machine",
    ),
)
PROVIDERS: Mapping[str, Provider] = {provider.name: provider for provider in _ALL}


def sdk_of(provider: str, model: str) -> str:
    """Return the SDK for a model: on clouds, that of the model's maker."""
    if PROVIDERS[provider].extra:
        return "anthropic" if "claude" in model else "openai"
    return PROVIDERS[provider].sdk
