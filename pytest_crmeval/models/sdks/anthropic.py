"""Anthropic. Imported only when such a model is asked."""

from pytest_crmeval.models.backend import Backend
from pytest_crmeval.models.sdks.anthropic_messages import Messages
from pytest_crmeval.models.sdks.attempts import SdkBackend, SdkClient, asked_of
from pytest_crmeval.models.sdks.transport import http_client
from pytest_crmeval.models.sdks.wire import client as shared_client
from pytest_crmeval.models.specs import ModelSpec

ADDRESS = "https://api.anthropic.com"


def anthropic_backend(spec: ModelSpec, key: str, base_url: str) -> Backend:
    """Return a backend for a model at ``base_url``; empty: Anthropic's own address."""
    import anthropic

    key, address = key.strip(), base_url or ADDRESS
    asked = asked_of(spec, key, address)

    def client() -> SdkClient:
        return shared_client(("anthropic", address, key), lambda: _client(address, key))

    messages = Messages(spec, notes=_farewells(spec.model))
    return SdkBackend(asked, client, (anthropic.AnthropicError,), messages).prepared()


def _farewells(model: str) -> tuple[str, ...]:
    """Return when a model will be gone; the SDK would warn of it in a method that we don't call."""
    from anthropic.resources.messages import DEPRECATED_MODELS

    date = DEPRECATED_MODELS.get(model)
    return (f"{model} reaches its end of life on {date}",) if date else ()


def _client(address: str, key: str) -> SdkClient:
    import anthropic

    return anthropic.AsyncAnthropic(
        api_key=key or "no-key", base_url=address, max_retries=0, timeout=None, http_client=http_client()
    )
