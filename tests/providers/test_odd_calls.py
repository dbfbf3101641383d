"""Models that call strangely: it is their doing, never an error of the world."""

from collections.abc import Iterator, Sequence

import pytest

from pytest_crmeval.conversations.play import play
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall
from pytest_crmeval.domain.transcript import Transcript
from pytest_crmeval.models.backend import Backend
from pytest_crmeval.models.sdks import event_loop
from tests.fakes import PaperCrm, conversation
from tests.providers.clients import DIALECTS, backend_of, bounded, prompt_of
from tests.providers.loopback import Answer, BrokenArguments, Call, Loopback, Say, Seen

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


@pytest.fixture(autouse=True)
def closed_wire() -> Iterator[None]:
    """Leave no connection open."""
    yield
    event_loop.close()


class Plain:
    """An agent that asks a backend once for each reply."""

    name = "plain"

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Ask."""
        return self._backend.attempt(prompt_of(messages, tools), 20.0).completion.reply


def played(dialect: str, server: Loopback, crm: PaperCrm, max_steps: int = 20) -> Transcript:
    """Play a conversation of two turns."""
    agent = Plain(backend_of(dialect, server.url))
    return bounded(lambda: play(conversation("write", "again"), agent, crm, max_steps=max_steps))


def write(number: int) -> ToolCall:
    """Return a call."""
    return ToolCall(tool="write", arguments={"row": number})


@every_dialect
def test_two_hundred_calls_in_one_answer_are_all_made(dialect: str) -> None:
    """In order, and each result finds its call."""
    crm = PaperCrm()
    with Loopback([Call(*map(write, range(200))), Say("Done.")]) as server:
        transcript = played(dialect, server, crm)

    assert list(map(write, range(200))) == crm.calls
    assert [f'"row-{number}"' in text for number, text in enumerate(server.seen[1].results, start=1)] == [True] * 200
    assert ["Done.", "Done."] == [exchange.messages[-1].text for exchange in transcript.exchanges]


@every_dialect
def test_a_model_that_calls_for_ever_is_cut_in_every_turn(dialect: str) -> None:
    """Its steps run out, and the user goes on."""
    crm = PaperCrm()
    with Loopback([Call(write(1))]) as server:
        transcript = played(dialect, server, crm, max_steps=5)

    assert ([True, True], 10, 10) == (
        [exchange.cut for exchange in transcript.exchanges],
        len(crm.calls),
        len(server.seen),
    )


@every_dialect
def test_an_unknown_tool_is_passed_on(dialect: str) -> None:
    """The CRM is the one to refuse it, and the model sees that."""
    crm = PaperCrm()
    with Loopback([Call(ToolCall(tool="refuse")), Say("Sorry.")]) as server:
        transcript = played(dialect, server, crm)

    assert [ToolCall(tool="refuse")] == crm.calls
    assert "not on a Sunday" in server.seen[1].results[0]
    assert "Sorry." == transcript.exchanges[0].messages[-1].text


BROKEN = {
    "half": '{"row": ',
    "nothing": "",
    "words": "the first row",
    "a list": "[1]",
    "a text": '"row"',
    "null": "null",
    "NaN": "NaN",
    "NaN inside": '{"row": NaN}',
    "infinite": '{"row": -Infinity}',
    "too deep": "[" * 50_000,
    "too long a number": '{"row": ' + "9" * 5000 + "}",
    "half a character": '{"row": "\\ud800"}',
    "NUL": '{"row": "\\u0000"}',
    "twice": '{"row": 1}{"row": 2}',
}


@every_dialect
@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_broken_arguments_are_a_call_and_the_dialogue_goes_on(dialect: str, text: str) -> None:
    """They are sent back to the model, in a request that servers take, with what the CRM made of them."""
    crm = PaperCrm()
    with Loopback([BrokenArguments("write", text), Say("Done.")]) as server:
        transcript = played(dialect, server, crm)

    assert ["write"] == [call.tool for call in crm.calls]
    assert ["Done.", "Done."] == [exchange.messages[-1].text for exchange in transcript.exchanges]


ODD_NAMES = {"none": "", "spaces": "write a row", "dots": "functions.write", "long": "w" * 300, "other": "écrire"}


@every_dialect
@pytest.mark.parametrize("name", ODD_NAMES.values(), ids=ODD_NAMES)
def test_a_name_that_no_tool_can_have_does_not_end_the_dialogue(dialect: str, name: str) -> None:
    """Servers refuse such a name in a request, also one that their own model made up."""
    crm = PaperCrm()
    with Loopback([Call(ToolCall(tool=name)), Say("Done.")]) as server:
        transcript = played(dialect, server, crm)

    assert [name] == [call.tool for call in crm.calls]
    assert ["Done.", "Done."] == [exchange.messages[-1].text for exchange in transcript.exchanges]


@every_dialect
def test_reply_with_a_lone_surrogate_can_be_sent_back(dialect: str) -> None:
    """A lone surrogate is valid JSON, and can't be sent as UTF-8."""
    with Loopback([Say("so \ud83d"), Say("Done.")]) as server:
        transcript = played(dialect, server, PaperCrm())

    assert "Done." == transcript.exchanges[1].messages[-1].text


@every_dialect
def test_a_model_that_says_nothing_can_be_asked_again(dialect: str) -> None:
    """White space is no content for some servers."""

    def silent(seen: Seen) -> Answer:
        return Say(" ") if seen.last_user_text == "write" else Say("Done.")

    with Loopback(silent) as server:
        transcript = played(dialect, server, PaperCrm())

    assert "Done." == transcript.exchanges[1].messages[-1].text
