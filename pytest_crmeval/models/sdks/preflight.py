"""Asks a provider, before anything is played, whether it takes the key and has the model. The request is free."""

import os
import re
import time
from collections.abc import Mapping
from urllib.parse import quote

import httpx2

from pytest_crmeval.models.prices import is_own
from pytest_crmeval.models.providers import PROVIDERS
from pytest_crmeval.models.sdks.attempts import target_of
from pytest_crmeval.models.sdks.encoding import parsed
from pytest_crmeval.models.sdks.errors import failed, parsed_error, refused
from pytest_crmeval.models.specs import ModelSpec
from pytest_crmeval.ports.chat_model import Cause, ModelError

SECONDS = 5.0
_MOST_BYTES = 1 << 16
_NOT_FOUND = 404
_ABOUT_KEYS = frozenset({400, 401})
_LISTS = "vllm"
"""The server that lists all its models, but does not describe one."""
_MOST_SHOWN = 5
_RIGHTS = re.compile("scope|permission", re.IGNORECASE)
"""Words about a key that may call models, but not list them."""


def refusal_of(spec: ModelSpec, key: str) -> ModelError | None:
    """Return the error of a provider that refuses the key or does not have the model; None if it may work.

    Servers that can't be reached or don't describe their models are not judged: the first call will show what they do.
    """
    base = spec.base_url or PROVIDERS[spec.provider].address
    if not _is_reliable(spec.provider, base):
        return None
    try:
        target = target_of(spec, key, base)
        status, content, headers = _asked(_address(spec, base), _headers(spec, key))
        body = parsed(content)
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError, RecursionError):
        return None
    except ModelError as invalid_key:
        return invalid_key
    served = _listed(body)
    if spec.provider == _LISTS and served and spec.model not in served:
        return failed(Cause.UNKNOWN_MODEL, f"{base} only has {', '.join(served[:_MOST_SHOWN])}", target)
    refusal = parsed_error(status, body, headers)
    error = refused(refusal, target)
    if status in _ABOUT_KEYS and error.cause is Cause.AUTHENTICATION and not _RIGHTS.search(refusal.words):
        return error
    # A server without this address answers 404 as well, but does not speak of the model.
    is_about_model = spec.model in refusal.words and f"/models/{spec.model}" not in refusal.words
    return error if status == _NOT_FOUND and is_about_model else None


def _is_reliable(provider: str, base: str) -> bool:
    """Whether an address describes all its models: clouds have no such address for a key, and gateways may not."""
    found = PROVIDERS[provider]
    return not found.extra and (not found.hosts or is_own(provider, base))


def _address(spec: ModelSpec, base: str) -> str:
    if spec.provider == "azure":  # has no address for a deployment, but looks at the key
        return f"{base}/openai/models?api-version={os.environ.get('OPENAI_API_VERSION', '')}"
    if spec.provider == _LISTS:
        return f"{base}/models"
    path = "/v1/models" if spec.sdk == "anthropic" else "/models"
    return f"{base}{path}/{quote(spec.model, safe='/:', errors='replace')}"


def _listed(body: object) -> list[str]:
    """Return the names in a list of models; empty if it is not one."""
    models = body.get("data") if isinstance(body, dict) else None
    return [str(each.get("id")) for each in models if isinstance(each, dict)] if isinstance(models, list) else []


def _headers(spec: ModelSpec, key: str) -> Mapping[str, str]:
    if spec.sdk == "anthropic":
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}
    return {"api-key": key} if spec.provider == "azure" else {"Authorization": f"Bearer {key}"}


def _asked(address: str, headers: Mapping[str, str]) -> tuple[int, bytes, Mapping[str, str]]:
    """Return status, content and headers of an answer; an endless one is cut."""
    deadline, content = time.monotonic() + SECONDS, b""
    with httpx2.stream("GET", address, headers=dict(headers), timeout=SECONDS) as response:
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > _MOST_BYTES or time.monotonic() > deadline:
                break
    return response.status_code, content, response.headers
