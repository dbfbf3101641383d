"""Reasoning models: their thoughts are carried between steps and turns as each API wants it, and counted."""

import json
from functools import partial
from typing import Any

import pytest

from pytest_crmeval.domain.messages import Message, Reply, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.retrying_model import RetryingModel
from pytest_crmeval.models.sdks.anthropic import anthropic_backend
from pytest_crmeval.models.sdks.openai import openai_backend
from pytest_crmeval.models.specs import ModelSpec
from pytest_crmeval.models.usage_meter import UsageMeter, opened
from pytest_crmeval.ports.chat_model import Cause, ModelError, Prompt
from tests.providers import thinking
from tests.providers.answers import Answer, Malformed, Say, Status
from tests.providers.contract import KEY, TOOLS
from tests.providers.delivery import Seen
from tests.providers.loopback import Brain, Loopback
from tests.providers.test_retries import Turnstile

APIS: dict[str, tuple[str, Brain]] = {
    "messages": ("anthropic:claude-sonnet-5-5", thinking.claude),
    "responses": ("openai:gpt-6-luna?api=responses", thinking.responses),
    "chat": ("openai:deepseek-reasoner?api=chat", thinking.compatible),
}
VLLM = partial(thinking.compatible, name="reasoning")
DETAILS = [{"type": "reasoning.text", "text": "Hm.", "signature": "abc", "index": 0}]
OPENROUTER = partial(thinking.compatible, name="reasoning_details", thoughts=DETAILS)
COMPATIBLE: dict[str, tuple[str, Brain]] = {
    "vllm": ("openai:Qwen/Qwen3-8B?api=chat", VLLM),
    "openrouter": ("openai:deepseek/deepseek-r1?api=chat", OPENROUTER),
    "mistral": ("openai:mistral-medium-3-5?api=chat&effort=high", thinking.mistral),
}
"""Servers with the API of Chat Completions that return thoughts in other fields."""


def model_at(server: Loopback, spec: str) -> RetryingModel:
    """Return a model behind the real SDK."""
    parsed = ModelSpec.parse(f"{spec}{'&' if '?' in spec else '?'}retries=0")
    if parsed.provider == "anthropic":
        return RetryingModel(parsed, lambda: anthropic_backend(parsed, KEY, server.url), Turnstile, lambda _: 0.0)
    return RetryingModel(parsed, lambda: openai_backend(parsed, KEY, server.openai_url), Turnstile, lambda _: 0.0)


def play(model: RetryingModel, turns: int = 2) -> list[Reply]:
    """Play turns of one call and one reply each, as the turn loop does."""
    messages: list[Message] = []
    replies: list[Reply] = []
    for turn in range(turns):
        messages.append(user_says(f"Turn {turn}"))
        while True:
            reply = model.complete(Prompt(system="You are a clerk.", messages=list(messages), tools=TOOLS)).reply
            replies.append(reply)
            messages.append(agent_says(Reply(text=reply.text, calls=reply.calls)))
            if not reply.calls:
                break
            messages.append(crm_says([ToolResult(value="written")]))
    return replies


@pytest.mark.parametrize("api", [*APIS, *COMPATIBLE])
def test_thoughts_are_carried_between_steps_and_turns(api: str) -> None:
    """The server refuses a request without them, or with anything changed before them."""
    spec, brain = {**APIS, **COMPATIBLE}[api]
    with Loopback(brain) as server, opened(UsageMeter()) as meter:
        replies = play(model_at(server, spec))

    assert [("", 1), ("Done.", 0)] * 2 == [(reply.text, len(reply.calls)) for reply in replies]
    assert ["Hm."] * 4 == [reply.thoughts for reply in replies]
    assert meter.bill is not None
    assert (200, 160) == (meter.bill.usage.output, meter.bill.usage.reasoning)


COUNTED = {"completion_tokens_details": {"reasoning_tokens": 40}}


@pytest.mark.parametrize("details", [{}, COUNTED], ids=["gemini", "xai"])
def test_thoughts_that_only_the_total_contains_are_output(details: dict[str, Any]) -> None:
    """They are charged like the rest of the output."""
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 150, **details}
    record = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}], "usage": usage}
    with Loopback([Malformed(json.dumps(record).encode())]) as server:
        model = model_at(server, "openai:m?api=chat")
        counted = model.complete(Prompt(system="", messages=[user_says("Hello")])).usage

    assert Usage(input=100, output=50, reasoning=40, calls=1) == counted


ONLY_THOUGHTS: dict[str, dict[str, Any]] = {
    "messages": {
        "content": [{"type": "thinking", "thinking": "Hm.", "signature": "abc"}, {"type": "text", "text": "\n\n"}],
        "stop_reason": "end_turn",
    },
    "responses": {
        "status": "incomplete",
        "output": [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"}],
    },
    "chat": {"choices": [{"message": {"content": "", "reasoning_content": "Hm."}, "finish_reason": "length"}]},
}


@pytest.mark.parametrize("api", APIS)
def test_reply_of_only_thoughts_does_not_break_the_next_request(api: str) -> None:
    """Servers refuse thoughts that nothing follows, and blank texts."""
    with Loopback([Malformed(json.dumps(ONLY_THOUGHTS[api]).encode()), Say("Hi")]) as server, opened(UsageMeter()):
        model = model_at(server, APIS[api][0])
        first = model.complete(Prompt(system="", messages=[user_says("Hello")])).reply
        dialogue = [user_says("Hello"), agent_says(Reply(text=first.text)), user_says("Well?")]
        assert "Hi" == model.complete(Prompt(system="", messages=dialogue)).reply.text


def test_phase_of_a_message_is_sent_back() -> None:
    """Also without thoughts: OpenAI's newer models want to know what was only a comment."""
    part = {"type": "output_text", "text": "One moment.", "annotations": []}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "content": [part], "phase": "commentary"}
    record = json.dumps({"status": "completed", "output": [said]}).encode()
    with Loopback([Malformed(record), Say("Hi")]) as server, opened(UsageMeter()):
        model = model_at(server, "openai:gpt-6-luna?api=responses&effort=none")
        first = model.complete(Prompt(system="", messages=[user_says("Hello")])).reply
        model.complete(Prompt(system="", messages=[user_says("Hello"), agent_says(first), user_says("Well?")]))

    assert said == server.seen[1].body["input"][1]


@pytest.mark.parametrize(("api", "refused"), [("messages", 0), ("responses", 1)])
def test_temperature_is_left_out_for_models_that_refuse_it_with_one_note(api: str, refused: int) -> None:
    """Of Claude it is known; other servers are asked once."""
    spec, brain = APIS[api]
    with Loopback(brain) as server, opened(UsageMeter()) as meter:
        play(model_at(server, spec), turns=1)

    assert [True] * refused + [False] * 2 == ["temperature" in seen.body for seen in server.seen]
    assert [f"{server.seen[0].model} rejects temperature: omitted"] == meter.notes


def test_efforts_are_sent_as_each_api_wants_them() -> None:
    """And the limit of output tokens leaves room for thoughts."""

    def body(spec: str) -> dict[str, object]:
        with Loopback([Say("Hi")]) as server:
            model_at(server, spec).complete(Prompt(system="", messages=[user_says("Hello")]))
        return server.seen[0].body

    chat, answers, messages = (
        body(f"{spec}effort=low")
        for spec in ("openai:m?api=chat&", "openai:m?api=responses&", "anthropic:claude-opus-5?")
    )
    assert ("low", 16_000) == (chat["reasoning_effort"], chat["max_tokens"])
    assert ({"effort": "low"}, 16_000) == (answers["reasoning"], answers["max_output_tokens"])
    assert ({"effort": "low"}, 16_000) == (messages["output_config"], messages["max_tokens"])
    assert {"type": "enabled", "budget_tokens": 1024} == body("anthropic:claude-sonnet-4-5?thinking=1024")["thinking"]


@pytest.mark.parametrize("spec", ["openai:m?api=chat&effort=high", "anthropic:claude-opus-5?effort=high"])
def test_effort_that_a_model_refuses_is_an_error(spec: str) -> None:
    """Without it, another setting would be measured than the one that was asked for."""
    refusal = Status(400, "Unsupported parameter: 'reasoning_effort', `output_config` and `thinking` are not permitted")
    with Loopback([refusal, Say("Hi")]) as server, pytest.raises(ModelError) as caught:
        model_at(server, spec).complete(Prompt(system="", messages=[user_says("Hello")]))

    assert (Cause.BAD_REQUEST, 1) == (caught.value.cause, len(server.seen))


def test_server_that_refuses_thoughts_gets_none() -> None:
    """Some send them, and don't take them back."""

    def forgetful(seen: Seen) -> Answer:
        if any("reasoning_content" in message for message in seen.body["messages"]):
            return Status(400, "messages: extra field 'reasoning_content' is not permitted")
        return thinking.compatible(Seen(method="POST", path=seen.path, headers={}, body={**seen.body, "messages": []}))

    with Loopback(forgetful) as server, opened(UsageMeter()) as meter:
        model, messages = model_at(server, "openai:m?api=chat"), [user_says("Hello")]
        for _ in range(2):
            reply = model.complete(Prompt(system="", messages=list(messages), tools=TOOLS)).reply
            messages += [agent_says(Reply(text=reply.text, calls=reply.calls)), crm_says([ToolResult(value=1)])]

    assert ["m rejects reasoning_content: omitted"] == meter.notes
    assert 3 == len(server.seen)


def test_model_that_thinks_is_not_forced_to_call() -> None:
    """Anthropic refuses both together."""
    with Loopback([Say("Hi")]) as server:
        model = model_at(server, "anthropic:claude-sonnet-5-5")
        model.complete(Prompt(system="", messages=[user_says("Hello")], tools=TOOLS, must_call="add_note"))

    assert "tool_choice" not in server.seen[0].body
