"""Every provider keeps the same contract, through its own client of the real SDKs, on this machine."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_crmeval.domain.messages import Reply, ToolCall, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.backend import Backend
from pytest_crmeval.models.cassettes import ReplayingModel, write
from pytest_crmeval.models.prices import price_of
from pytest_crmeval.models.providers import PROVIDERS
from pytest_crmeval.models.retrying_model import RetryingModel
from pytest_crmeval.models.sdks import event_loop
from pytest_crmeval.models.sdks.anthropic import anthropic_backend
from pytest_crmeval.models.sdks.openai import openai_backend
from pytest_crmeval.models.specs import ModelSpec
from pytest_crmeval.models.usage_meter import CallPurpose, UsageMeter, opened
from pytest_crmeval.ports.chat_model import Cause, ModelError, Prompt
from tests.providers.answers import Call, Hang, Malformed, Say, Status, Tokens
from tests.providers.contract import KEY, TOOLS, prompt
from tests.providers.loopback import Loopback
from tests.providers.test_retries import Turnstile

SECONDS = 60.0
SEARCH, NOTE = ToolCall(tool="client_search", arguments={"name": "Zoë"}), ToolCall(tool="add_note", arguments={})
DIALOGUE = (
    user_says("Find Zoë."),
    agent_says(Reply(calls=(SEARCH, NOTE))),
    crm_says([ToolResult(value=[{"name": "Zoë"}]), ToolResult(value=None)]),
)


@dataclass(frozen=True, slots=True)
class Place:
    """A model of a provider, and where its requests arrive."""

    spec: str
    path: str
    root: str = ""
    """What the address has after the server's."""
    header: str = "authorization"


PLACES = (
    Place("openai:gpt-4.1", "/v1/chat/completions", "/v1"),
    Place("openai:gpt-4.1?api=responses", "/v1/responses", "/v1"),
    Place("anthropic:claude-sonnet-4-5", "/v1/messages"),
    Place(
        "azure:my-gpt", "/openai/deployments/my-gpt/chat/completions?api-version=2025-04-01-preview", header="api-key"
    ),
    Place("azure:my-gpt?api=responses", "/openai/responses?api-version=2025-04-01-preview", header="api-key"),
    Place("foundry:claude-sonnet-4-5", "/v1/messages", header="x-api-key"),
    Place("bedrock:anthropic.claude-sonnet-4-5-v1:0", "/model/anthropic.claude-sonnet-4-5-v1:0/invoke"),
    Place("bedrock:openai.gpt-oss-120b", "/v1/responses", "/v1"),
    Place("bedrock:openai.gpt-oss-120b?api=chat", "/v1/chat/completions", "/v1"),
    Place(
        "vertex:claude-sonnet-4-5@20250929",
        "/projects/acme/locations/europe-west1/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict",
    ),
    Place("vertex:gpt-oss-120b", "/v1/responses", "/v1"),
    Place("openrouter:openai/gpt-4.1", "/v1/chat/completions", "/v1"),
    Place("gemini:gemini-2.0-flash", "/v1/chat/completions", "/v1"),
    Place("mistral:mistral-large-latest", "/v1/chat/completions", "/v1"),
    Place("groq:llama-3.3-70b-versatile", "/v1/chat/completions", "/v1"),
    Place("deepseek:deepseek-chat", "/v1/chat/completions", "/v1"),
    Place("xai:grok-4", "/v1/chat/completions", "/v1"),
    Place("together:meta-llama/Llama-3.3-70B-Instruct-Turbo", "/v1/chat/completions", "/v1"),
    Place("fireworks:accounts/fireworks/models/deepseek-v3", "/v1/chat/completions", "/v1"),
    Place("cerebras:llama-3.3-70b", "/v1/chat/completions", "/v1"),
    Place("ollama:llama3", "/v1/chat/completions", "/v1"),
    Place("vllm:Qwen/Qwen3-8B", "/v1/chat/completions", "/v1"),
)
CLOUD = {
    "AWS_REGION": "eu-central-1",
    "OPENAI_API_VERSION": "2025-04-01-preview",
    "CLOUD_ML_REGION": "europe-west1",
    "ANTHROPIC_VERTEX_PROJECT_ID": "acme",
}


@pytest.fixture(autouse=True)
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set what the clients of clouds read, and close them afterwards."""
    for name, value in CLOUD.items():
        monkeypatch.setenv(name, value)
    yield
    event_loop.close()


def backend_at(place: Place, server: Loopback) -> Backend:
    """Return the backend of a provider, at a server on this machine."""
    spec = ModelSpec.parse(place.spec)
    make = openai_backend if spec.sdk == "openai" else anthropic_backend
    return make(spec, KEY, f"{server.url}{place.root}")


def test_contract_is_checked_for_every_provider() -> None:
    """Also for those that are added later."""
    assert PROVIDERS.keys() == {place.spec.partition(":")[0] for place in PLACES}


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.spec)
class TestContract:
    """Tools, parallel calls, usage, limits, errors, retries, cost, cassettes, redaction and cancellation."""

    def test_dialogue_with_parallel_calls(self, place: Place) -> None:
        """Both calls come back, in order; the request arrives where the provider expects it, with the key."""
        tokens = Tokens(input=100, cached=60, written=30, output=20, reasoning=5)
        answer = Call(SEARCH, NOTE, text="One moment.", usage=tokens)
        with Loopback([answer]) as server:
            completion = backend_at(place, server).attempt(prompt(DIALOGUE), SECONDS).completion

        (seen,) = server.seen
        assert Reply(text="One moment.", calls=(SEARCH, NOTE)) == completion.reply
        assert Usage(input=100, cached=60, cache_written=30, output=20, reasoning=5, calls=1) == completion.usage
        assert place.path == seen.path.replace("%40", "@")
        assert KEY in seen.headers[place.header]
        assert [tool.name for tool in TOOLS] == list(seen.dialect.tools(seen.body))
        assert 2 == len(seen.results)

    def test_errors_limits_and_redaction(self, place: Place) -> None:
        """Each error has its cause and the headers about limits, and none shows the key."""
        limits = {"retry-after": "2", "x-ratelimit-remaining-requests": "0"}
        answers = [Status(429, f"slow down, {KEY}", headers=limits), Status(401, "no"), Status(404, "no such model")]
        with Loopback([*answers, Status(500, "on fire"), Say("Hi", headers=limits)]) as server:
            backend, errors = backend_at(place, server), list[ModelError]()
            for _ in range(4):
                with pytest.raises(ModelError) as caught:
                    backend.attempt(prompt(), SECONDS)
                errors.append(caught.value)
            answered = backend.attempt(prompt(), SECONDS)

        assert [Cause.RATE_LIMITED, Cause.AUTHENTICATION, Cause.UNKNOWN_MODEL, Cause.OVERLOADED] == [
            error.cause for error in errors
        ]
        assert 2.0 == errors[0].retry_after
        assert limits == dict(errors[0].headers) == dict(answered.headers)
        assert KEY not in "".join(map(str, errors))
        assert 5 == len(server.seen), "the SDK must not retry"

    def test_retries_cost_and_cassette(self, place: Place, tmp_path: Path) -> None:
        """An overloaded server is asked again; the call is billed once, and replayed without the server."""
        spec, purpose = ModelSpec.parse(place.spec), CallPurpose(suite="crm", subject="m", case="one")
        with Loopback([Status(503, "busy"), Call(NOTE)]) as server, opened(UsageMeter(purpose=purpose)) as meter:
            backend = backend_at(place, server)
            model = RetryingModel(spec, lambda: backend, Turnstile, lambda _: 0.25, sleep=lambda _: None)
            reply = model.complete(prompt()).reply
        write(tmp_path, meter)
        with opened(UsageMeter(purpose=purpose)) as again:
            replayed = ReplayingModel(spec.identity, tmp_path, lambda _: 0.25).complete(prompt()).reply

        assert meter.bill is not None
        assert (1, 1, 0.25) == (meter.bill.usage.calls, meter.bill.usage.retries, meter.bill.cost)
        assert Reply(calls=(NOTE,)) == reply == replayed
        assert again.bill is not None
        assert (True, 0.0) == (again.bill.replayed, again.bill.spent)
        assert KEY not in "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())

    def test_call_that_takes_too_long_is_cancelled(self, place: Place) -> None:
        """Whatever the server does."""
        with Loopback([Hang()]) as server, pytest.raises(ModelError) as caught:
            backend_at(place, server).attempt(prompt(), 0.3)

        assert Cause.TIMEOUT is caught.value.cause


@pytest.mark.parametrize(
    "spec",
    [
        "azure:gpt-4.1",
        "foundry:claude-sonnet-5-5",
        "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "vertex:claude-sonnet-5-5",
        "openrouter:anthropic/claude-sonnet-5.5",
        "gemini:gemini-2.5-pro",
        "mistral:mistral-large-latest",
        "groq:llama-3.3-70b-versatile",
    ],
)
def test_providers_have_their_own_list_prices(spec: str) -> None:
    """At their own addresses; a server of one's own has none."""
    cost = price_of(ModelSpec.parse(spec))(Usage(input=1_000_000, output=1_000, calls=1))

    assert cost is not None
    assert cost > 0
    elsewhere = price_of(ModelSpec.parse(f"{spec}?base_url=http://localhost:1"))
    assert elsewhere(Usage(input=1_000_000, output=1_000, calls=1)) is None


def test_signature_of_a_call_is_sent_back_to_gemini() -> None:
    """Its newer models refuse a call without it."""
    extra = {"google": {"thought_signature": "abc"}}
    call = {"id": "1", "type": "function", "function": {"name": "add_note", "arguments": "{}"}, "extra_content": extra}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    body = json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).encode()
    (place,) = (place for place in PLACES if place.spec.startswith("gemini:"))
    with Loopback([Malformed(body), Say("Done.")]) as server:
        backend = backend_at(place, server)
        first = backend.attempt(prompt(), SECONDS).completion
        messages = (user_says("Hello"), agent_says(first.reply), crm_says([ToolResult(value=1)]))
        backend.attempt(Prompt(system="", messages=messages, tools=TOOLS, carried={1: first.carried}), SECONDS)

    assert [extra] == [call["extra_content"] for call in server.seen[1].body["messages"][1]["tool_calls"]]
