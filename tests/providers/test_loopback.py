"""The server that the provider tests trust: the SDKs, as they are, understand it, and it leaves nothing behind."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from pytest_crmeval.domain.messages import ToolCall
from tests.providers.loopback import (
    Call,
    CloseAtOnce,
    CloseMidBody,
    Drip,
    Hang,
    Loopback,
    Malformed,
    Refuse,
    Say,
    Seen,
    Slow,
    Status,
    ThenClose,
    Tokens,
    crm_brain,
)

WRITE = ToolCall(tool="write", arguments={"row": "Zoë"})
ADD = "Add Ada Ltd, ada@ada.example, active."
HELLO = [{"role": "user", "content": "hello"}]


@contextmanager
def openai_client(server: Loopback) -> Iterator[openai.OpenAI]:
    """OpenAI's own client, for a server that is not OpenAI's."""
    with openai.OpenAI(base_url=server.openai_url, api_key="none", max_retries=0, timeout=5) as client:
        yield client


@contextmanager
def anthropic_client(server: Loopback) -> Iterator[anthropic.Anthropic]:
    """Anthropic's own client, for a server that is not Anthropic's."""
    with anthropic.Anthropic(base_url=server.anthropic_url, api_key="none", max_retries=0, timeout=5) as client:
        yield client


def chat(server: Loopback, messages: list[Any] = HELLO, **more: Any) -> Any:  # noqa: ANN401 (JSON)
    """Ask for a chat completion."""
    with openai_client(server) as client:
        return client.chat.completions.create(model="m", messages=messages, **more)


def respond(server: Loopback, items: list[Any] = HELLO, **more: Any) -> Any:  # noqa: ANN401 (JSON)
    """Ask for a response."""
    with openai_client(server) as client:
        return client.responses.create(model="m", input=items, **more)


def message(server: Loopback, messages: list[Any] = HELLO, **more: Any) -> Any:  # noqa: ANN401 (JSON)
    """Ask for a message."""
    with anthropic_client(server) as client:
        return client.messages.create(model="m", max_tokens=9, messages=messages, **more)


Ask = Callable[..., Any]
every_dialect = pytest.mark.parametrize("ask", [chat, respond, message])


def test_words_are_a_chat_completion() -> None:
    """Text, ending and tokens are where the SDK looks for them."""
    with Loopback([Say("Hi", Tokens(100, 80, 20, 5))]) as server:
        answer = chat(server)

    assert ("Hi", "stop") == (answer.choices[0].message.content, answer.choices[0].finish_reason)
    assert (100, 80) == (answer.usage.prompt_tokens, answer.usage.prompt_tokens_details.cached_tokens)
    assert (20, 5) == (answer.usage.completion_tokens, answer.usage.completion_tokens_details.reasoning_tokens)


def test_words_are_a_response() -> None:
    """Text, status and tokens are where the SDK looks for them."""
    with Loopback([Say("Hi", Tokens(100, 80, 20, 5))]) as server:
        answer = respond(server)

    assert ("Hi", "completed") == (answer.output_text, answer.status)
    assert (100, 80) == (answer.usage.input_tokens, answer.usage.input_tokens_details.cached_tokens)
    assert (20, 5) == (answer.usage.output_tokens, answer.usage.output_tokens_details.reasoning_tokens)


def test_words_are_a_message() -> None:
    """Anthropic counts cached tokens apart."""
    with Loopback([Say("Hi", Tokens(100, 80, 20, 5))]) as server:
        answer = message(server)

    assert ("Hi", "end_turn") == (answer.content[0].text, answer.stop_reason)
    assert (20, 80) == (answer.usage.input_tokens, answer.usage.cache_read_input_tokens)
    assert (20, 5) == (answer.usage.output_tokens, answer.usage.output_tokens_details.thinking_tokens)


def test_calls_are_tool_calls_of_a_chat_completion() -> None:
    """Arguments are JSON in a text."""
    with Loopback([Call(WRITE, WRITE, text="One moment.")]) as server:
        choice = chat(server).choices[0]

    assert ("One moment.", "tool_calls") == (choice.message.content, choice.finish_reason)
    assert [("write", '{"row": "Zo\\u00eb"}')] * 2 == [
        (call.function.name, call.function.arguments) for call in choice.message.tool_calls
    ]


def test_calls_are_items_of_a_response() -> None:
    """Every call is an item with an id of its own."""
    with Loopback([Call(WRITE, WRITE, text="One moment.")]) as server:
        said, *calls = respond(server).output

    assert "One moment." == said.content[0].text
    assert [("write", '{"row": "Zo\\u00eb"}')] * 2 == [(call.name, call.arguments) for call in calls]
    assert 2 == len({call.call_id for call in calls})


def test_calls_are_blocks_of_a_message() -> None:
    """Arguments are an object."""
    with Loopback([Call(WRITE, WRITE, text="One moment.")]) as server:
        answer = message(server)

    assert "tool_use" == answer.stop_reason
    assert [("write", {"row": "Zoë"})] * 2 == [(block.name, block.input) for block in answer.content[1:]]


def test_a_refusal_is_marked_as_such() -> None:
    """Each dialect has its own place for it."""
    with Loopback([Refuse("No.")]) as server:
        said = chat(server).choices[0].message
        item = respond(server).output[0]
        answer = message(server)

    assert (None, "No.") == (said.content, said.refusal)
    assert "No." == item.content[0].refusal
    assert ("refusal", "No.") == (answer.stop_reason, answer.content[0].text)


def test_loopback_server_marks_a_cut_answer() -> None:
    """Each dialect has its own word for it."""
    with Loopback([Say("Hi th", cut=True)]) as server:
        ending = chat(server).choices[0].finish_reason
        details = respond(server).incomplete_details
        stop = message(server).stop_reason

    assert ("length", "max_output_tokens", "max_tokens") == (ending, details.reason, stop)


@every_dialect
def test_answers_come_one_after_the_other_the_last_for_ever(ask: Ask) -> None:
    """A list is a brain too."""
    with Loopback([Status(503), Say("once"), Say("for ever")]) as server:
        with pytest.raises((openai.InternalServerError, anthropic.InternalServerError)):
            ask(server)
        texts = [ask(server).to_json() for _ in range(3)]

    assert ["once", "for ever", "for ever"] == [
        next(said for said in ("once", "for ever") if said in text) for text in texts
    ]


@every_dialect
@pytest.mark.parametrize("code", [400, 401, 403, 404, 413, 429, 500, 503, 529])
def test_an_error_has_its_status_its_words_and_its_headers(ask: Ask, code: int) -> None:
    """The SDKs make their typed errors of it."""
    with (
        Loopback([Status(code, "not today", {"retry-after": "7"})]) as server,
        pytest.raises((openai.APIStatusError, anthropic.APIStatusError), match="not today") as caught,
    ):
        ask(server)
    error: Any = caught.value

    assert (code, "7") == (error.status_code, error.response.headers["retry-after"])


def test_an_error_has_a_kind_and_a_parameter() -> None:
    """That is how OpenAI says which parameter a model refuses."""
    refused = Status(400, "temperature?", kind="unsupported_parameter", param="temperature")
    with Loopback([refused]) as server, pytest.raises(openai.BadRequestError) as caught:
        chat(server)

    assert ("unsupported_parameter", "temperature") == (caught.value.code, caught.value.param)


CHAT_RESULTS = [
    {"role": "user", "content": [{"type": "text", "text": ADD}]},
    {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "write", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": "row 1"},
]
RESPONSES_RESULTS = [
    {"role": "user", "content": [{"type": "input_text", "text": ADD}]},
    {"type": "function_call", "call_id": "c", "name": "write", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "row 1"},
]
MESSAGES_RESULTS = [
    {"role": "user", "content": ADD},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "write", "input": {}}]},
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "row 1"}]}],
    },
]
dialogues = pytest.mark.parametrize(
    ("ask", "dialogue"), [(chat, CHAT_RESULTS), (respond, RESPONSES_RESULTS), (message, MESSAGES_RESULTS)]
)


@dialogues
def test_a_request_is_seen_the_same_way_in_every_dialect(ask: Ask, dialogue: list[Any]) -> None:
    """Tests need not know how a dialogue is worded."""
    with Loopback([Say("Hi")]) as server:
        ask(server, dialogue)
        ask(server, [*dialogue, {"role": "user", "content": "and now?"}])
    first, second = server.seen

    assert ("m", ADD, ("row 1",), ()) == (first.model, first.last_user_text, first.results, first.tools)
    assert ("and now?", ()) == (second.last_user_text, second.results)


def test_the_tools_on_offer_are_seen_by_name() -> None:
    """Whatever the dialect wraps around them."""
    schema = {"type": "object", "properties": {}}
    with Loopback([Say("Hi")]) as server:
        chat(server, tools=[{"type": "function", "function": {"name": "write", "parameters": schema}}])
        respond(server, tools=[{"type": "function", "name": "write", "parameters": schema, "strict": False}])
        message(server, tools=[{"name": "write", "input_schema": schema}])

    assert [("write",)] * 3 == [seen.tools for seen in server.seen]


@dialogues
def test_the_crm_brain_creates_the_client_and_says_so(ask: Ask, dialogue: list[Any]) -> None:
    """First the call, then, when it has a result, the words."""
    with Loopback(crm_brain) as server:
        called = ask(server, dialogue[:1]).to_json()
        said = ask(server, dialogue).to_json()

    assert all(part in called for part in ("create_new_client", "Ada Ltd", "ada@ada.example", "Active"))
    assert "Done: Ada Ltd was created." in said


@every_dialect
def test_the_crm_brain_can_do_nothing_else(ask: Ask) -> None:
    """It says so."""
    with Loopback(crm_brain) as server:
        said = ask(server).to_json()

    assert "I can't do that." in said


@every_dialect
@pytest.mark.parametrize("trouble", [Hang(), Drip(), Drip(body_only=True), Slow(60, Say("late"))])
def test_an_answer_that_does_not_come_is_a_timeout(ask: Ask, trouble: Any) -> None:  # noqa: ANN401 (any answer)
    """A single byte now and then keeps the SDKs' own timeouts, which are per read, waiting: here it is slower."""
    with Loopback([trouble]) as server, pytest.raises((openai.APITimeoutError, anthropic.APITimeoutError)):
        ask(server, timeout=0.3)


@every_dialect
@pytest.mark.parametrize("trouble", [CloseAtOnce(), CloseMidBody()])
def test_a_connection_that_breaks_off_is_noticed(ask: Ask, trouble: Any) -> None:  # noqa: ANN401 (any answer)
    """Before the answer, and in the middle of it."""
    with (
        Loopback([trouble]) as server,
        pytest.raises((openai.APIConnectionError, anthropic.APIConnectionError, httpx2.RemoteProtocolError)),
    ):
        ask(server)


def test_a_quick_drip_is_a_whole_answer() -> None:
    """What drips is valid, for those who wait."""
    with Loopback([Drip(5000)]) as server:
        said = message(server).content[0].text

    assert "drop by drop" == said


def test_a_body_may_be_anything() -> None:
    """It is sent as it is."""
    with Loopback([Malformed(b"<html>", "text/html")]) as server:
        key = {"authorization": "Bearer none"}
        response = httpx2.post(f"{server.openai_url}/responses", json={"model": "m"}, headers=key)

    assert ("text/html", "<html>") == (response.headers["content-type"], response.text)


def test_server_keeps_connections_until_an_answer_closes_one() -> None:
    """The third answer closes the first connection; the client may notice only when it sends the fourth request."""
    with Loopback([Say("1"), Say("2"), ThenClose(), Say("4")]) as server, openai_client(server) as client:
        retrying = client.with_options(max_retries=1)
        for _ in range(4):
            retrying.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])

    assert (4, 2) == (len(server.seen), server.connections)


NO_WORDS = [{"role": "user", "content": [{"type": "text", "text": " "}]}]
LATE_RESULT = [
    *MESSAGES_RESULTS[:2],
    {
        "role": "user",
        "content": [{"type": "text", "text": "well?"}, {"type": "tool_result", "tool_use_id": "c", "content": "row 1"}],
    },
]


@pytest.mark.parametrize(
    ("ask", "dialogue", "why"),
    [
        (chat, CHAT_RESULTS[:2], "did not have response messages"),
        (chat, CHAT_RESULTS[2:], "must be a response to a preceding message"),
        (chat, [{"role": "assistant", "content": None}], "got null"),
        (respond, RESPONSES_RESULTS[:2], "No tool output found"),
        (respond, RESPONSES_RESULTS[2:], "No tool call found"),
        (message, MESSAGES_RESULTS[:2], "without `tool_result` blocks"),
        (message, MESSAGES_RESULTS[1:], 'must use the "user" role'),
        (message, LATE_RESULT, "must come first"),
        (message, NO_WORDS, "must contain non-whitespace text"),
        (message, [], "at least one message"),
    ],
)
def test_loopback_server_refuses_what_real_servers_refuse(ask: Ask, dialogue: list[Any], why: str) -> None:
    """Whatever the brain would have said."""
    with (
        Loopback([Say("Hi")]) as server,
        pytest.raises((openai.BadRequestError, anthropic.BadRequestError), match=why),
    ):
        ask(server, dialogue)


def test_nothing_is_at_other_paths() -> None:
    """A request that went astray is seen all the same."""
    with Loopback([Say("Hi")]) as server:
        response = httpx2.get(f"{server.url}/v1/files")

    assert (404, "/v1/files") == (response.status_code, server.seen[0].path)


def test_closing_ends_waiting_handlers() -> None:
    """A handler that hangs is gone with the server, and so is every other thread."""
    before = set(threading.enumerate())
    asked = threading.Event()
    errors: list[Exception] = []

    def hang(_: Seen) -> Hang:
        asked.set()
        return Hang()

    def ask() -> None:
        try:
            chat(server)
        except openai.APIConnectionError as error:
            errors.append(error)

    with Loopback(hang) as server:
        waiting = threading.Thread(target=ask)
        waiting.start()
        assert asked.wait(120)
    waiting.join(120)

    assert 1 == len(errors)
    assert before == set(threading.enumerate())


def broken(_: Seen) -> Say:
    """Fail to decide."""
    raise ZeroDivisionError("in the brain")


def ask_broken() -> None:
    """Ask a server whose brain is broken."""
    with Loopback(broken) as server, pytest.raises(openai.InternalServerError):
        chat(server)


def test_errors_of_the_brain_are_raised_on_exit() -> None:
    """The client, who got a 500, need not tell."""
    with pytest.RaisesGroup(ZeroDivisionError):
        ask_broken()


def test_errors_of_the_fake_model_are_shown_with_those_of_the_test() -> None:
    """They are often its reason."""
    with pytest.raises(openai.InternalServerError) as caught, Loopback(broken) as server:
        chat(server)

    assert ["in the loopback server: ZeroDivisionError('in the brain')"] == caught.value.__notes__
