"""What every backend sends and understands: with an SDK that is answered by respx, and over a real socket."""

from collections.abc import Sequence

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.domain.messages import (
    Message,
    Reply,
    ToolCall,
    ToolError,
    ToolResult,
    agent_says,
    crm_says,
    user_says,
)
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.ports.chat_model import Completion
from tests.providers.answers import BrokenArguments, Call, Say, Tokens
from tests.providers.contract import KEY, SECONDS, Desk, prompt

SEARCH = ToolCall(tool="client_search", arguments={"name": "Zoë"})
NOTE = ToolCall(tool="add_note", arguments={})
GONE = ToolResult(error=ToolError(kind="not_found", message="no such client"))
DIALOGUE = (
    user_says("Find Zoë."),
    agent_says(Reply(text="One moment.", calls=(SEARCH, NOTE))),
    crm_says([ToolResult(value=[{"name": "Zoë"}], note="1 of 7 rows"), GONE]),
    agent_says(Reply(text="Here she is.")),
    user_says("Note that."),
    agent_says(Reply(calls=(NOTE,))),
    crm_says([ToolResult(value=None)]),
)


class TestSent:
    """What a server gets to read."""

    def test_dialogue_is_sent_with_calls_results_errors_and_notes(
        self, desk: Desk, snapshot: SnapshotAssertion
    ) -> None:
        """With calls, results, an error, a note, a text beside calls."""
        assert snapshot == desk.body(prompt(DIALOGUE))

    def test_a_tool_that_must_be_called(self, desk: Desk, snapshot: SnapshotAssertion) -> None:
        """It is named."""
        assert snapshot == desk.body(prompt(must_call="add_note"))["tool_choice"]

    def test_the_same_dialogue_is_the_same_request(self, desk: Desk) -> None:
        """Caches of prompts live on that."""
        assert desk.body(prompt(DIALOGUE)) == desk.body(prompt(DIALOGUE))

    def test_temperature_is_not_sent_if_it_is_none(self, desk: Desk) -> None:
        """The model's own is asked for by silence."""
        with desk.server(Say("Done.")) as server:
            desk.backend(server, temperature=None).attempt(prompt(), SECONDS)

        assert "temperature" not in server.seen[0].body

    def test_the_key_is_sent_to_the_server(self, desk: Desk) -> None:
        """As a bearer."""
        with desk.server(Say("Done.")) as server:
            desk.backend(server).attempt(prompt(), SECONDS)

        assert f"Bearer {KEY}" == server.seen[0].headers["authorization"]


ODD = {
    "a silent agent": (user_says("Hi"), agent_says(Reply()), user_says("Well?")),
    "a silent user": (user_says(""), agent_says(Reply(text="Yes?")), user_says(" ")),
    "half a surrogate pair": (user_says("\ud83d"), agent_says(Reply(text="\ude00 ü 😀")), user_says("日本")),
    "a user who speaks after results": (
        user_says("Go"),
        agent_says(Reply(calls=(SEARCH,))),
        crm_says([GONE]),
        user_says("Stop"),
    ),
    "a tool of no possible name": (
        user_says("Go"),
        agent_says(Reply(calls=(ToolCall(tool="drop table; " * 20), ToolCall(tool="")))),
        crm_says([GONE, GONE]),
    ),
    "arguments that are no object": (
        user_says("Go"),
        agent_says(
            Reply(calls=tuple(ToolCall(tool="add_note", arguments=odd) for odd in ('{"a": ', [1], None)))  # type: ignore[arg-type] # models do that
        ),
        crm_says([GONE] * 3),
    ),
    "two hundred calls": (
        user_says("Go"),
        agent_says(Reply(calls=(SEARCH,) * 200)),
        crm_says([ToolResult(value="x")] * 200),
    ),
}


class TestOddDialogues:
    """Whatever was said before, the next request is one that the real servers take."""

    @pytest.mark.parametrize("messages", ODD.values(), ids=ODD)
    def test_unusual_dialogues_are_accepted_by_the_server(self, desk: Desk, messages: Sequence[Message]) -> None:
        """The servers of these tests refuse what the real ones do."""
        with desk.server(Say("Fine.")) as server:
            answer = desk.backend(server).attempt(prompt(messages), SECONDS)

        assert "Fine." == answer.completion.reply.text


NO_OBJECTS = {
    "half of it": '{"name": ',
    "not a number": '{"name": NaN}',
    "infinity": '{"name": 1e999}',
    "too long a number": f'{{"name": {"1" * 5000}}}',
    "a list": "[1]",
    "a text": '"x"',
    "an abyss": "[" * 5000,
    "too deep": '{"a":' * 200 + "1" + "}" * 200,
}


class TestUnderstood:
    """What becomes of an answer."""

    def test_text_is_read_with_its_usage(self, desk: Desk) -> None:
        """With everything that was counted."""
        tokens = Tokens(input=100, cached=60, written=30, output=20, reasoning=5)
        usage = Usage(input=100, cached=60, cache_written=30, output=20, reasoning=5, calls=1)

        assert Completion(reply=Reply(text="Grüße 😀"), usage=usage) == desk.completion(Say("Grüße 😀", usage=tokens))

    def test_calls_are_read_in_order_with_their_text(self, desk: Desk) -> None:
        """In their order, with the words beside them."""
        completion = desk.completion(Call(SEARCH, NOTE, text="One moment."))

        assert (Reply(text="One moment.", calls=(SEARCH, NOTE)), "calls") == (completion.reply, completion.ending)

    def test_words_that_were_cut_off(self, desk: Desk) -> None:
        """A reply, and marked as such."""
        completion = desk.completion(Say("And then", cut=True))

        assert (Reply(text="And then"), "length") == (completion.reply, completion.ending)

    def test_empty_reply_of_a_model_is_accepted(self, desk: Desk) -> None:
        """It has said so: a silent reply, which is its own fault."""
        completion = desk.completion(Say(""))

        assert (Reply(), "said") == (completion.reply, completion.ending)

    @pytest.mark.parametrize("text", NO_OBJECTS.values(), ids=NO_OBJECTS)
    def test_arguments_that_are_not_an_object(self, desk: Desk, text: str) -> None:
        """They stay what they are; the CRM refuses them."""
        call = desk.completion(BrokenArguments("add_note", text)).reply.calls[0]

        assert not isinstance(call.arguments, dict)

    def test_limits_are_handed_on(self, desk: Desk) -> None:
        """And no other header."""
        headers = {
            "X-RateLimit-Remaining-Requests": "7",
            "Anthropic-RateLimit-Tokens-Remaining": "9",
            "Retry-After": "2",
            "Retry-After-Ms": "1500",
            "Date": "Wed, 21 Oct 2015 07:28:00 GMT",
        }
        with desk.server(Say("Done.", headers={**headers, "X-Other": "1"})) as server:
            answer = desk.backend(server).attempt(prompt(), SECONDS)

        assert {name.lower(): value for name, value in headers.items()} == answer.headers
