"""A provider that can't be called is refused before anything is played, with the remedy."""

import pytest

from pytest_crmeval.models.providers import PROVIDERS
from pytest_crmeval.models.sdks import sign_in
from pytest_crmeval.player import models
from pytest_crmeval.player.context import SetupError

VARIABLES = (
    "ANTHROPIC_FOUNDRY_RESOURCE",
    "ANTHROPIC_VERTEX_PROJECT_ID",
    "AWS_DEFAULT_REGION",
    "AWS_REGION",
    "CLOUD_ML_REGION",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_CLOUD_PROJECT",
    "OPENAI_API_VERSION",
)


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove every key, address and region from the environment."""
    for provider in PROVIDERS.values():
        for name in filter(None, (provider.key, provider.variable, *VARIABLES)):
            monkeypatch.delenv(name, raising=False)


def key_of(spec: str) -> str:
    """Return the key for a spec, as it is looked up before the run."""
    return models._key(models.parsed_spec(spec), "")  # noqa: SLF001 (what a run does first)


@pytest.mark.parametrize(
    ("spec", "given", "why"),
    [
        ("azure:d", {}, "azure:d needs the environment variable AZURE_OPENAI_ENDPOINT"),
        ("azure:d", {"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com"}, "OPENAI_API_VERSION"),
        ("azure:d?base_url=https://x.example", {"OPENAI_API_VERSION": "v"}, "AZURE_OPENAI_API_KEY"),
        ("foundry:claude-opus-5", {}, "ANTHROPIC_FOUNDRY_BASE_URL"),
        ("foundry:claude-opus-5", {"ANTHROPIC_FOUNDRY_RESOURCE": "r"}, "ANTHROPIC_FOUNDRY_API_KEY"),
        ("bedrock:anthropic.claude-opus-5", {}, "set AWS_REGION"),
        ("bedrock:openai.gpt-6-sol", {"AWS_REGION": "r"}, r"pip install 'pytest-crmeval\[bedrock\]'"),
        ("vertex:claude-opus-5", {"CLOUD_ML_REGION": "r"}, "set ANTHROPIC_VERTEX_PROJECT_ID"),
        ("vertex:gpt-oss-20b", {}, "set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION"),
        (
            "vertex:claude-opus-5",
            {"CLOUD_ML_REGION": "r", "ANTHROPIC_VERTEX_PROJECT_ID": "p"},
            r"google-auth is not installed: pip install 'pytest-crmeval\[vertex\]'; or set GOOGLE_OAUTH_ACCESS_TOKEN",
        ),
        ("openrouter:m", {}, "openrouter:m needs the environment variable OPENROUTER_API_KEY"),
        ("gemini:m", {}, "GEMINI_API_KEY"),
        ("ollama:m?key=MY_KEY", {}, "MY_KEY"),
    ],
)
def test_missing_credentials_are_named(
    monkeypatch: pytest.MonkeyPatch, spec: str, given: dict[str, str], why: str
) -> None:
    """The variable to set, the package to install or the command to sign in with."""
    monkeypatch.setattr(sign_in, "_is_installed", lambda _: False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(SetupError, match=why):
        key_of(spec)


@pytest.mark.parametrize(
    ("spec", "given", "key"),
    [
        ("ollama:llama3", {}, "none"),
        ("vllm:m", {}, "none"),
        ("groq:m?base_url=http://localhost:1/v1", {}, "none"),
        ("groq:m", {"GROQ_API_KEY": "k"}, "k"),
        ("bedrock:claude-opus-5", {"AWS_BEARER_TOKEN_BEDROCK": "t", "AWS_REGION": "r"}, "t"),
        (
            "vertex:claude-opus-5",
            {"GOOGLE_OAUTH_ACCESS_TOKEN": "t", "CLOUD_ML_REGION": "r", "ANTHROPIC_VERTEX_PROJECT_ID": "p"},
            "t",
        ),
        ("foundry:claude-opus-5", {"ANTHROPIC_FOUNDRY_RESOURCE": "r", "ANTHROPIC_FOUNDRY_API_KEY": "k"}, "k"),
    ],
)
def test_complete_credentials_are_accepted(
    monkeypatch: pytest.MonkeyPatch, spec: str, given: dict[str, str], key: str
) -> None:
    """Servers on this machine need no key."""
    for name, value in given.items():
        monkeypatch.setenv(name, value)

    assert key == key_of(spec)
