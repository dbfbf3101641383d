"""OpenAI, and every server with a compatible API. Imported only when such a model is used."""

import re

from pytest_crmeval.models.backend import Backend
from pytest_crmeval.models.sdks.attempts import SdkBackend, SdkClient, target_of
from pytest_crmeval.models.sdks.event_loop import client as shared_client
from pytest_crmeval.models.sdks.openai_chat import Chat
from pytest_crmeval.models.sdks.openai_responses import Responses
from pytest_crmeval.models.sdks.transport import http_client
from pytest_crmeval.models.specs import ModelSpec

ADDRESS = "https://api.openai.com/v1"
NO_KEY = "no-key"
"""For servers that require none: the SDK insists on a key."""
_ONLY_RESPONSES = re.compile(r"-pro(-\d{4}-\d{2}-\d{2})?$|codex|deep-research|computer-use")


def openai_backend(spec: ModelSpec, key: str, base_url: str) -> Backend:
    """Return a backend for a model at ``base_url``; empty: OpenAI's own address.

    The API is decided by the spec, else by the name of the model, else by what the server requires.
    """
    import openai

    key, address = key.strip(), base_url or ADDRESS
    own = address.rstrip("/") == ADDRESS
    chat, responses = Chat(spec, own=own), Responses(spec, own=own)
    target = target_of(spec, key, address)

    def client() -> SdkClient:
        return shared_client(
            ("openai", address, key),
            lambda: openai.AsyncOpenAI(
                api_key=key or NO_KEY, base_url=address, max_retries=0, timeout=None, http_client=http_client()
            ),
        )

    # Only the Responses API takes thoughts back, so that a model goes on with them after a tool call.
    prefers_responses = own and (spec.thinks or _ONLY_RESPONSES.search(spec.model))
    if spec.api == "responses" or (not spec.api and prefers_responses):
        return SdkBackend(target, client, (openai.OpenAIError,), responses).prepared()
    other = None if spec.api else responses
    return SdkBackend(target, client, (openai.OpenAIError,), chat, other=other).prepared()
