"""OpenAI, clouds that have its API, and every compatible server. Imported only when such a model is used."""

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from pytest_crmeval.models.backend import Backend
from pytest_crmeval.models.providers import PROVIDERS
from pytest_crmeval.models.sdks.attempts import SdkBackend, SdkClient, target_of
from pytest_crmeval.models.sdks.event_loop import client as shared_client
from pytest_crmeval.models.sdks.openai_chat import Chat
from pytest_crmeval.models.sdks.openai_responses import Responses
from pytest_crmeval.models.sdks.sign_in import sign_in_errors
from pytest_crmeval.models.sdks.transport import http_client
from pytest_crmeval.models.specs import ModelSpec

NO_KEY = "no-key"
"""For servers that require none: the SDK insists on a key."""
_ONLY_RESPONSES = re.compile(r"-pro(-\d{4}-\d{2}-\d{2})?$|codex|deep-research|computer-use")
_SIGN_IN = ("AWS_PROFILE", "AWS_REGION", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "OPENAI_API_VERSION")
"""Variables that the clients of clouds read."""


def openai_backend(spec: ModelSpec, key: str, base_url: str) -> Backend:
    """Return a backend for a model at ``base_url``; empty: the provider's own address.

    The API is decided by the spec, else by the name of the model, else by what the server requires.
    """
    import openai

    key, address = key.strip(), base_url or PROVIDERS[spec.provider].address
    own = spec.provider in _MAKERS or address.rstrip("/") == PROVIDERS["openai"].address
    chat, responses = Chat(spec, own=own), Responses(spec, own=own)
    target = target_of(spec, key, address or spec.provider)
    make = _MAKERS.get(spec.provider, _plain)

    def client() -> SdkClient:
        # A deployment of Azure is part of the address.
        where = (spec.provider, spec.model if spec.provider == "azure" else "", address, key)
        return shared_client((*where, *map(os.environ.get, _SIGN_IN)), lambda: make(spec.model, key, address))

    errors: tuple[type[Exception], ...] = (openai.OpenAIError, *sign_in_errors(spec.provider))
    # Only the Responses API takes thoughts back, so that a model goes on with them after a tool call.
    prefers_responses = own and (spec.thinks or _ONLY_RESPONSES.search(spec.model) or spec.provider == "vertex")
    if spec.api == "responses" or (not spec.api and prefers_responses):
        return SdkBackend(target, client, errors, responses).prepared()
    other = None if spec.api else responses
    return SdkBackend(target, client, errors, chat, other=other).prepared()


def _plain(_: str, key: str, address: str) -> SdkClient:
    from openai import AsyncOpenAI

    return AsyncOpenAI(api_key=key or NO_KEY, base_url=address, **_options())


def _azure(deployment: str, key: str, address: str) -> SdkClient:
    from openai import AsyncAzureOpenAI

    return AsyncAzureOpenAI(api_key=key, azure_endpoint=address, azure_deployment=deployment, **_options())


def _bedrock(_: str, key: str, address: str) -> SdkClient:
    from openai import AsyncBedrockOpenAI

    return AsyncBedrockOpenAI(api_key=key or None, base_url=address or None, **_options())


def _vertex(_: str, key: str, address: str) -> SdkClient:
    from openai import AsyncOpenAI
    from openai.providers import vertex

    token = (lambda: key) if key else None
    return AsyncOpenAI(provider=vertex(base_url=address or None, token_provider=token), **_options())


def _options() -> dict[str, Any]:
    return {"max_retries": 0, "timeout": None, "http_client": http_client()}


_MAKERS: Mapping[str, Callable[[str, str, str], SdkClient]] = {"azure": _azure, "bedrock": _bedrock, "vertex": _vertex}
