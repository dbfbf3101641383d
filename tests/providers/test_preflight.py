"""Before anything is played, a provider is asked whether it takes the key and has the model."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import pytest

from pytest_crmeval.models.providers import PROVIDERS
from pytest_crmeval.models.sdks import preflight
from pytest_crmeval.models.sdks.preflight import refusal_of
from pytest_crmeval.models.specs import ModelSpec
from pytest_crmeval.ports.chat_model import Cause
from tests.providers.answers import Say
from tests.providers.contract import KEY
from tests.providers.delivery import Seen
from tests.providers.loopback import Loopback

ANTHROPIC = {"type": "error", "error": {"type": "not_found_error", "message": "model: claude-nine"}}
GEMINI = [{"error": {"code": 404, "message": "models/claude-nine is not found", "status": "NOT_FOUND"}}]


def openai(message: str, code: str = "") -> dict[str, Any]:
    """Return an error as OpenAI sends it."""
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


@contextmanager
def describing(code: int, body: object) -> Iterator[tuple[Loopback, list[Seen]]]:
    """Yield a server that answers each GET in the same way, and what it was asked."""
    asked: list[Seen] = []

    def described(seen: Seen) -> tuple[int, bytes]:
        asked.append(seen)
        return code, body if isinstance(body, bytes) else json.dumps(body).encode()

    with Loopback([Say("Hi")]) as server:
        server.described = described
        yield server, asked


@pytest.mark.parametrize(
    ("provider", "code", "body", "cause"),
    [
        ("openai", 404, openai("The model 'claude-nine' does not exist", "model_not_found"), Cause.UNKNOWN_MODEL),
        ("anthropic", 404, ANTHROPIC, Cause.UNKNOWN_MODEL),
        ("gemini", 404, GEMINI, Cause.UNKNOWN_MODEL),
        ("ollama", 404, {"error": {"message": 'model "claude-nine" not found'}}, Cause.UNKNOWN_MODEL),
        ("openai", 401, openai(f"Incorrect API key provided: {KEY}", "invalid_api_key"), Cause.AUTHENTICATION),
        ("anthropic", 401, {"error": {"message": "invalid x-api-key"}}, Cause.AUTHENTICATION),
        ("gemini", 400, [{"error": {"message": "API key not valid."}}], Cause.AUTHENTICATION),
        ("azure", 401, {"error": {"code": "401", "message": "Access denied"}}, Cause.AUTHENTICATION),
        ("openai", 200, {"id": "claude-nine"}, None),
        ("azure", 404, {"error": {"code": "404", "message": "Resource not found"}}, None),
        ("openai", 403, openai("Missing scopes: api.model.read"), None),
        ("openai", 401, openai("You have insufficient permissions. Missing scopes: api.model.read"), None),
        ("ollama", 404, {"detail": "Not Found"}, None),
        ("ollama", 404, {"error": "no route /v1/models/claude-nine"}, None),
        ("ollama", 404, b"<html>claude-nine</html>", None),
        ("vllm", 200, {"data": [{"id": "Qwen/Qwen3-8B"}, {"id": "lora"}]}, Cause.UNKNOWN_MODEL),
        ("vllm", 200, {"data": [{"id": "claude-nine"}]}, None),
        ("vllm", 200, {"data": []}, None),
        ("vllm", 200, {"data": "none"}, None),
        ("vllm", 401, {"error": "Unauthorized"}, Cause.AUTHENTICATION),
        ("openai", 500, openai("claude-nine is on fire"), None),
        ("openai", 200, b"[" * 1_000_000, None),
    ],
)
def test_refusal_is_one_only_if_it_is_about_the_key_or_the_model(
    monkeypatch: pytest.MonkeyPatch, provider: str, code: int, body: object, cause: Cause | None
) -> None:
    """Many servers don't describe their models, and some keys may not ask."""
    monkeypatch.setenv("OPENAI_API_VERSION", "v1")
    monkeypatch.setattr(preflight, "is_own", lambda *_: True)
    with describing(code, body) as (server, asked):
        root = "" if provider in {"anthropic", "azure"} else "/v1"
        spec = ModelSpec.parse(f"{provider}:claude-nine?base_url={server.url}{root}")
        error = refusal_of(spec, KEY)

    assert cause is (error and error.cause)
    assert KEY not in str(error)
    paths = {"azure": "/openai/models?api-version=v1", "vllm": "/v1/models"}
    assert [("GET", paths.get(provider, "/v1/models/claude-nine"))] == [(seen.method, seen.path) for seen in asked]
    own_headers = {"anthropic": ("x-api-key", KEY), "azure": ("api-key", KEY)}
    assert own_headers.get(provider, ("authorization", f"Bearer {KEY}")) in asked[0].headers.items()


def test_key_with_odd_characters_is_refused_unsent() -> None:
    """An address is not asked with it."""
    error = refusal_of(ModelSpec.parse("vllm:m?base_url=http://127.0.0.1:1/v1&key=MY_KEY"), "sk-schlüssel")

    assert error is not None
    assert "MY_KEY contains characters that are not allowed in a key" in str(error)


def test_server_that_can_not_be_relied_on_is_not_judged() -> None:
    """It may be up when the first case is played; clouds are asked in other ways, gateways not at all."""
    with describing(404, openai("The model 'm' does not exist")) as (server, asked):
        assert refusal_of(ModelSpec.parse(f"openai:m?base_url={server.openai_url}"), KEY) is None
        assert [] == asked
        assert refusal_of(ModelSpec.parse(f"ollama:m?base_url={server.openai_url}"), KEY) is not None
        assert refusal_of(ModelSpec.parse(f"ollama:a\udcffb?base_url={server.openai_url}"), KEY) is None
    assert refusal_of(ModelSpec.parse("vllm:m?base_url=http://127.0.0.1:1/v1"), KEY) is None
    assert ["bedrock", "vertex"] == [
        name
        for name, provider in PROVIDERS.items()
        if provider.extra and refusal_of(ModelSpec.parse(f"{name}:m"), KEY) is None
    ]


REFUSALS = {
    "model": (
        HTTPStatus.NOT_FOUND,
        openai("The model 'gpt-9' does not exist", "model_not_found"),
        "*openai:gpt-9: the server answered 404: The model 'gpt-9' does not exist; *; crmeval models openai lists *",
    ),
    "key": (
        HTTPStatus.UNAUTHORIZED,
        openai("Incorrect API key provided", "invalid_api_key"),
        "*openai:gpt-9: the server answered 401: Incorrect API key provided; check OPENAI_API_KEY*",
    ),
}


@pytest.mark.parametrize("refused", REFUSALS)
@pytest.mark.parametrize("xdist", [["-n", "1"], ["-p", "no:xdist"]], ids=" ".join)
def test_run_stops_before_the_first_case_if_the_provider_refuses(
    project: Callable[..., pytest.Pytester], monkeypatch: pytest.MonkeyPatch, xdist: list[str], refused: str
) -> None:
    """The message says what to do; an estimate asks nobody."""
    code, body, why = REFUSALS[refused]
    with describing(code, body) as (server, asked):
        monkeypatch.setattr(preflight, "is_own", lambda *_: True)
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        pytester = project()
        result = pytester.runpytest(*xdist, "--crmeval-agent", "openai:gpt-9")
        assert 1 == len(asked)
        pytester.runpytest("-p", "no:xdist", "--crmeval-agent", "openai:gpt-9", "--crmeval-estimate")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([why])
    assert ([], 1) == (server.seen, len(asked))
    assert not [*pytester.path.glob("reports/*.json")]
