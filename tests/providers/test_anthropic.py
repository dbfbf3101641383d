"""What is Anthropic's own: turns that alternate, a cache that is asked for, a version in a header."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_crmeval.domain.messages import (
    Message,
    Reply,
    Tool,
    ToolCall,
    ToolResult,
    agent_says,
    crm_says,
    user_says,
)
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.sdks.anthropic import anthropic_backend
from pytest_crmeval.models.specs import ModelSpec
from pytest_crmeval.ports.chat_model import Cause, Completion, ModelError, Prompt
from tests.providers.answers import Answer, Malformed, Refuse, Say, Status
from tests.providers.delivery import Seen
from tests.providers.mocking import Mocked

KEY = "sk-ant-canary-77e0b1c9d2"
HELLO = [user_says("Hello")]
TOOLS = [Tool(name=name, description=name, parameters={"type": "object"}) for name in ("find", "note")]


def seen(messages: Sequence[Message] = HELLO, spec: str = "anthropic:claude-x", *answers: Answer) -> list[Seen]:
    """Return the requests of one attempt."""
    with Mocked(answers or [Say("Hi")]) as server:
        prompt = Prompt(system="You are a clerk.", messages=messages, tools=TOOLS)
        anthropic_backend(ModelSpec.parse(spec), KEY, "").attempt(prompt, 20.0)
    return server.seen


def understood(*blocks: dict[str, Any], **more: Any) -> Completion:  # noqa: ANN401 (JSON)
    """Return what is understood of an answer of these very blocks."""
    record = {"type": "message", "role": "assistant", "content": list(blocks), "stop_reason": "end_turn", **more}
    with Mocked([Malformed(json.dumps(record).encode())]):
        backend = anthropic_backend(ModelSpec.parse("anthropic:claude-x"), KEY, "")
        return backend.attempt(Prompt(system="", messages=HELLO), 20.0).completion


def refusal(answer: Answer) -> Cause:
    """Return why an attempt fails."""
    with pytest.raises(ModelError) as caught:
        seen(HELLO, "anthropic:claude-x", answer)
    return caught.value.cause


def test_three_places_are_cached() -> None:
    """The tools, the system prompt, and the dialogue as far as it has come."""
    body = seen([*HELLO, agent_says(Reply(text="Hi")), user_says("Go")])[0].body

    marked = [body["tools"][-1], body["system"][-1], body["messages"][-1]["content"][-1]]
    assert [{"type": "ephemeral"}] * 3 == [block["cache_control"] for block in marked]
    assert 3 == json.dumps(body).count("cache_control")


def test_results_and_the_user_share_a_turn() -> None:
    """When the agent's steps ran out; the results come first."""
    call = agent_says(Reply(calls=[ToolCall(tool="find")]))
    turns = seen([*HELLO, call, crm_says([ToolResult(value=1)]), user_says("Stop")])[0].body["messages"]

    assert ["user", "assistant", "user"] == [turn["role"] for turn in turns]
    assert ["tool_result", "text"] == [block["type"] for block in turns[-1]["content"]]


def test_arguments_that_are_not_an_object_are_wrapped_in_one() -> None:
    """The server takes nothing else."""
    call = ToolCall(tool="find", arguments='{"name": ')  # type: ignore[arg-type] # models do that
    turns = seen([*HELLO, agent_says(Reply(calls=[call])), crm_says([ToolResult(value=1)])])[0].body["messages"]

    assert {"arguments": '{"name": '} == turns[1]["content"][0]["input"]


def test_temperature_is_sent_with_the_api_version_that_supports_it() -> None:
    """The version that the SDK would ask for refuses it for every model."""
    assert "2023-06-01" == seen()[0].headers["anthropic-version"]


def test_without_a_temperature_the_version_is_the_sdks() -> None:
    """Also when it was refused."""
    refused = Status(400, "`temperature` is deprecated for this model.")
    versions = [
        request.headers["anthropic-version"] for request in seen(HELLO, "anthropic:claude-x", refused, Say("Hi"))
    ]
    asked_for = seen(HELLO, "anthropic:claude-x?temperature=default")[0].headers["anthropic-version"]

    assert ["2023-06-01", asked_for] == versions
    assert "2023-06-01" != asked_for


def test_the_limit_of_tokens_is_never_left_out() -> None:
    """The server needs one."""
    assert Cause.BAD_REQUEST is refusal(Status(400, "max_tokens: 800 > 512, only 512 are allowed"))


def test_all_that_was_read_is_input() -> None:
    """The server counts what was cached apart."""
    counted = {"input_tokens": 3, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 20, "output_tokens": 9}
    usage = Usage(input=93, cached=70, cache_written=20, output=9, calls=1)

    assert usage == understood({"type": "text", "text": "Hi"}, usage=counted).usage


def test_response_without_usage_counts_as_one_call() -> None:
    """Nothing was counted, but a call was made."""
    assert Usage(calls=1) == understood({"type": "text", "text": "Hi"}).usage


def test_thoughts_are_separated_and_unknown_blocks_are_ignored() -> None:
    """They are not what it says."""
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "x"}
    novelty = {"type": "novelty", "text": 5}

    assert Reply(text="Hi", thoughts="Hm.") == understood(thought, {"type": "text", "text": "Hi"}, novelty).reply


def test_empty_reply_of_a_model_is_accepted() -> None:
    """It has said so."""
    assert Reply() == understood().reply


@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        ("end_turn", "said"),
        ("stop_sequence", "said"),
        ("novelty", "said"),
        ("max_tokens", "length"),
    ],
)
def test_stop_reason_is_translated(reason: str, ending: str) -> None:
    """In our words."""
    assert ending == understood({"type": "text", "text": "Hi"}, stop_reason=reason).ending


def test_dialogue_that_exceeds_the_context_window_is_an_error() -> None:
    """Other providers answer 400; Anthropic returns a partial answer, which was paid for."""
    exceeded = {"stop_reason": "model_context_window_exceeded", "usage": {"input_tokens": 9, "output_tokens": 2}}
    with pytest.raises(ModelError, match="does not fit into the model's context") as caught:
        understood({"type": "text", "text": "Half of"}, **exceeded)

    assert (Cause.BAD_REQUEST, True) == (caught.value.cause, caught.value.is_about_content)
    assert Usage(input=9, output=2, calls=1) == caught.value.usage


def test_answer_without_content_and_stop_reason_is_malformed() -> None:
    """The answer was broken off; a model with nothing to say sends a stop reason."""
    with pytest.raises(ModelError, match="neither content nor a stop reason") as caught:
        understood(stop_reason=None)

    assert Cause.MALFORMED is caught.value.cause


@pytest.mark.parametrize("text", ["I can't help with that.", ""])
def test_a_refusal_is_the_classifiers(text: str) -> None:
    """The provider took the answer away, and may say why; the model's own refusals are words like others."""
    with pytest.raises(ModelError, match=f"the provider's classifier refuses ?{text}") as caught:
        seen(HELLO, "anthropic:claude-x", Refuse(text))

    assert Cause.FILTERED is caught.value.cause


@pytest.mark.parametrize("block", [{}, {"type": "text", "text": None}, {"type": "tool_use", "name": 5}])
def test_invalid_content_block_is_malformed(block: dict[str, Any]) -> None:
    """It is not guessed at."""
    assert Cause.MALFORMED is refusal(Malformed(json.dumps({"content": [block]}).encode()))


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (Status(400, "Your credit balance is too low to access the Anthropic API."), Cause.QUOTA),
        (Status(403, "no", kind="billing_error"), Cause.QUOTA),
        (Status(400, "Output blocked by content filtering policy"), Cause.FILTERED),
        (Status(404, "model: claude-x", kind="not_found_error"), Cause.UNKNOWN_MODEL),
    ],
)
def test_error_messages_take_precedence_over_the_status(status: Status, cause: Cause) -> None:
    """A limit of money is not a bad request."""
    assert cause is refusal(status)


def test_the_environment_does_not_move_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who makes the backend has read it already."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "another")

    assert ("api.anthropic.com", f"Bearer {KEY}") == tuple(
        seen()[0].headers[name] for name in ("host", "authorization")
    )
