"""Streamed answers are understood as the same answers sent at once, and the time to their first token is known."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_crmeval.domain.messages import Reply, ToolCall, user_says
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.backend import BackendAnswer as Answered
from pytest_crmeval.models.retrying_model import RetryingModel
from pytest_crmeval.models.sdks.anthropic import anthropic_backend
from pytest_crmeval.models.sdks.openai import openai_backend
from pytest_crmeval.models.sdks.streams import joined
from pytest_crmeval.models.specs import ModelSpec, SpecError
from pytest_crmeval.models.usage_meter import UsageMeter, opened
from pytest_crmeval.ports.chat_model import ModelError, Prompt
from tests.providers.answers import Malformed, Say
from tests.providers.contract import KEY, TOOLS
from tests.providers.loopback import Loopback
from tests.providers.test_retries import Turnstile

SPECS = {
    "chat": "openai:m?api=chat&stream=true",
    "responses": "openai:m?api=responses&stream=true",
    "messages": "anthropic:claude-x?stream=true",
}
HELLO = Prompt(system="", messages=[user_says("Hello")], tools=TOOLS)
NOTE = ToolCall(tool="add_note", arguments={"text": "x"})
USAGE = Usage(input=100, cached=60, output=20, reasoning=5, calls=1)


def chat() -> Iterator[dict[str, Any]]:
    """Yield the events of Chat Completions: thoughts, two parts of a text, a call in three parts, the usage."""
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "add_note", "arguments": ""}}
    parts = [{"index": 0, "function": {"arguments": part}} for part in ('{"te', 'xt": "x"}')]
    deltas = [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "Hm."},
        {"content": "One "},
        {"content": "moment."},
    ]
    for delta in [*deltas, *({"tool_calls": [each]} for each in (call, *parts))]:
        yield {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    details = {"prompt_tokens_details": {"cached_tokens": 60}, "completion_tokens_details": {"reasoning_tokens": 5}}
    yield {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20, **details}}


def responses() -> Iterator[dict[str, Any]]:
    """Yield the events of Responses: the last one has everything."""
    yield {"type": "response.created", "response": {"status": "in_progress", "output": []}}
    yield {"type": "response.output_text.delta", "delta": "One moment."}
    text = {"type": "message", "content": [{"type": "output_text", "text": "One moment."}]}
    call = {"type": "function_call", "call_id": "c1", "name": "add_note", "arguments": '{"text": "x"}'}
    thoughts = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "abc"}
    details = {"input_tokens_details": {"cached_tokens": 60}, "output_tokens_details": {"reasoning_tokens": 5}}
    usage = {"input_tokens": 100, "output_tokens": 20, **details}
    response = {"status": "completed", "output": [thoughts, text, call], "usage": usage}
    yield {"type": "response.completed", "response": response}


def messages() -> Iterator[dict[str, Any]]:
    """Yield the events of Messages: blocks that begin, grow and end."""
    usage = {"input_tokens": 40, "cache_read_input_tokens": 60, "output_tokens": 1}
    yield {"type": "message_start", "message": {"content": [], "stop_reason": None, "usage": usage}}
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
        (
            {"type": "thinking", "thinking": "", "signature": ""},
            [{"type": "thinking_delta", "thinking": "Hm."}, {"type": "signature_delta", "signature": "abc"}],
        ),
        ({"type": "text", "text": ""}, [{"type": "text_delta", "text": part} for part in ("One ", "moment.")]),
        (
            {"type": "tool_use", "id": "t1", "name": "add_note", "input": {}},
            [{"type": "input_json_delta", "partial_json": part} for part in ("", '{"te', 'xt": "x"}')],
        ),
    ]
    for number, (block, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": number, "content_block": block}
        yield {"type": "ping"}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": number, "delta": delta}
        yield {"type": "content_block_stop", "index": number}
    counted = {"output_tokens": 20, "output_tokens_details": {"thinking_tokens": 5}}
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": counted}
    yield {"type": "message_stop"}


EVENTS = {"chat": chat, "responses": responses, "messages": messages}


def stream(api: str, *, cut: int = 0) -> bytes:
    """Return the bytes of a stream; ``cut`` events are missing at its end."""
    events = list(EVENTS[api]())
    lines = [
        f"event: {event.get('type', 'chunk')}\ndata: {json.dumps(event)}\n\n" for event in events[: len(events) - cut]
    ]
    return "".join([*lines, "data: [DONE]\n\n"] if api == "chat" else lines).encode()


def answered(api: str, *answers: Malformed | Say) -> Answered:
    """Ask once, with the real SDK."""
    spec = ModelSpec.parse(SPECS[api])
    with Loopback(answers) as server:
        if spec.sdk == "anthropic":
            return anthropic_backend(spec, KEY, server.url).attempt(HELLO, 60.0)
        return openai_backend(spec, KEY, server.openai_url).attempt(HELLO, 60.0)


def sent(api: str, *, cut: int = 0) -> Malformed:
    """Return the answer of a server that streams."""
    return Malformed(stream(api, cut=cut), content_type="text/event-stream; charset=utf-8")


@pytest.mark.parametrize("api", SPECS)
def test_streamed_answer_is_complete(api: str) -> None:
    """Text, calls, thoughts, what is to be sent back, usage and how it ended; the first token comes before the end."""
    answer = answered(api, sent(api))

    completion = answer.completion
    assert Reply(text="One moment.", calls=(NOTE,), thoughts="Hm.") == completion.reply
    assert (USAGE, "calls") == (completion.usage, completion.ending)
    assert completion.carried
    assert answer.first_seconds is not None
    assert 0 < answer.first_seconds <= answer.seconds


@pytest.mark.parametrize("api", SPECS)
def test_stream_that_ends_too_early_is_not_an_answer(api: str) -> None:
    """It is requested again."""
    with pytest.raises(ModelError, match="the stream ended before the answer was complete") as caught:
        answered(api, sent(api, cut=2))

    assert caught.value.is_retried


@pytest.mark.parametrize("api", SPECS)
def test_first_token_is_the_first_that_users_see(api: str) -> None:
    """Not the beginning of the stream, which says nothing yet."""
    content = stream(api)
    path = {"chat": "/chat/completions", "responses": "/responses", "messages": "/v1/messages"}[api]

    _, place = joined(path, content)

    assert b"Hm." in content[:place] or b"One moment." in content[:place]
    assert place < len(content) / 2


def joined_chat(*deltas: dict[str, Any]) -> dict[str, Any]:
    """Return the message that these parts make together."""
    choices: list[dict[str, Any]] = [{"delta": delta, "finish_reason": None} for delta in deltas]
    events = [{"choices": [choice]} for choice in [*choices, {"delta": {}, "finish_reason": "stop"}]]
    record, _ = joined("/chat/completions", "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode())
    return record["choices"][0]["message"]  # type: ignore[no-any-return]


def test_calls_with_one_number_are_different_calls_if_their_ids_differ() -> None:
    """Gemini numbers all calls 0; older versions of vLLM give each part of a call another id."""
    calls: list[dict[str, Any]] = [
        {"index": 0, "id": name, "function": {"name": name, "arguments": '{"a": 1}'}} for name in ("first", "second")
    ]
    parts: list[dict[str, Any]] = [
        {"index": 0, "id": "c1", "function": {"name": "third", "arguments": ""}},
        *({"index": 0, "id": f"other {part}", "function": {"arguments": part}} for part in ('{"a":', " 1}")),
    ]

    message = joined_chat(*({"tool_calls": [each]} for each in [*calls, *parts]))

    assert [("first", '{"a": 1}'), ("second", '{"a": 1}'), ("third", '{"a": 1}')] == [
        (call["function"]["name"], call["function"]["arguments"]) for call in message["tool_calls"]
    ]


def test_parts_of_thoughts_are_joined() -> None:
    """As Mistral and OpenRouter send them; the signature comes last."""
    thoughts = [
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": each}]}]} for each in ("H", "m.")
    ]
    detail = {"type": "reasoning.text", "index": 0}
    details = [{**detail, "text": "H"}, {**detail, "text": "m."}, {**detail, "text": None, "signature": "abc"}]
    sealed = {"type": "reasoning.encrypted", "index": 1, "data": "x"}

    message = joined_chat(
        {"content": ""},
        *thoughts,
        {"content": "Do"},
        {"content": "ne."},
        *({"reasoning_details": [each]} for each in [*details, sealed]),
    )

    assert [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        {"type": "text", "text": "Done."},
    ] == message["content"]
    assert [{**detail, "text": "Hm.", "signature": "abc"}, sealed] == message["reasoning_details"]


def test_server_that_does_not_stream_is_understood() -> None:
    """Its answer has no time to the first token."""
    assert answered("chat", Say("Hi")).first_seconds is None


def test_claude_on_bedrock_can_not_be_streamed() -> None:
    """Its stream has a format of its own."""
    with pytest.raises(SpecError, match="Bedrock does not stream"):
        ModelSpec.parse("bedrock:anthropic.claude-opus-5?stream=true")


def test_speed_thoughts_and_savings_are_recorded() -> None:
    """At two dollars for a million tokens read, half a dollar if they are cached, and ten for tokens written."""
    with Loopback([sent("chat")]) as server, opened(UsageMeter()) as meter:
        spec = ModelSpec.parse(SPECS["chat"])

        def price(usage: Usage) -> float:
            return ((usage.input - usage.cached) * 2 + usage.cached * 0.5 + usage.output * 10) / 1e6

        backend = openai_backend(spec, KEY, server.openai_url)
        RetryingModel(spec, lambda: backend, Turnstile, price).complete(HELLO)

    service = meter.service
    assert service is not None
    assert (1, 1, 20) == (service.calls, service.streamed, service.output)
    assert service.seconds >= service.first_seconds > 0
    assert service.saved == pytest.approx(60 * 1.5 / 1e6)
    assert service.thoughts_cost == pytest.approx(5 * 10 / 1e6)
