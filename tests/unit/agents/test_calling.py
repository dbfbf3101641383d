"""Calling agents of every form."""

import asyncio
import sys
import threading
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any

import pytest

from pytest_crmeval.agents.calling import (
    AgentError,
    BadReplyError,
    agent_traceback,
    as_agent,
    finished,
    in_conversation,
    is_factory,
    reply_of,
)
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall, user_says
from pytest_crmeval.ports.agent import Agent
from tests.interruptions import interrupted

HELLO = [user_says("Hello")]


def echo(messages: Sequence[Message], tools: Sequence[Tool]) -> str:
    """Repeat the last message."""
    return f"{messages[-1].text}, {len(tools)} tools"


async def patient_echo(messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
    """Repeat the last message later."""
    await asyncio.sleep(0)
    return Reply(text=echo(messages, tools))


class Echo:
    """Both methods may be async."""

    name = "echo"

    async def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> str:
        """Repeat the last message later."""
        return (await patient_echo(messages, tools)).text


def agent_from(found: object) -> Agent:
    """Return something as an agent, which it must be."""
    agent = as_agent(found, "given")
    assert agent is not None
    return agent


@pytest.mark.parametrize(
    ("found", "name"),
    [
        (echo, "echo"),
        (patient_echo, "patient_echo"),
        (Echo(), "echo"),
        (lambda messages, tools=(): echo(messages, tools), "<lambda>"),
    ],
)
def test_function_or_object_is_an_agent_with_a_name(found: object, name: str) -> None:
    assert name == agent_from(found).name
    assert not is_factory(found)


@pytest.mark.parametrize("found", [echo, patient_echo, Echo()])
def test_reply_may_be_a_text_and_may_be_async(found: object) -> None:
    assert Reply(text="Hello, 0 tools") == reply_of(agent_from(found), HELLO, ())


@pytest.mark.parametrize("found", [None, 7, "a text", Echo.name, dict])
def test_other_values_are_not_agents(found: object) -> None:
    assert as_agent(found, "given") is None


def test_function_without_required_arguments_makes_an_agent() -> None:
    def make(model: str = "small") -> Agent:
        del model
        return agent_from(echo)

    assert is_factory(make)


def test_async_agents_of_several_threads_share_one_event_loop() -> None:
    meeting: asyncio.Barrier | None = None
    threads = set()

    async def meet(messages: Sequence[Message], tools: Sequence[Tool]) -> str:
        nonlocal meeting
        meeting = meeting or asyncio.Barrier(3)
        threads.add(threading.get_ident())
        await meeting.wait()  # each waits for the other two
        return echo(messages, tools)

    agent = agent_from(meet)
    with ThreadPoolExecutor(3) as pool:
        replies = list(pool.map(lambda _: reply_of(agent, HELLO, ()), range(3)))

    assert [Reply(text="Hello, 0 tools")] * 3 == replies
    assert 1 == len(threads)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), ValueError("no")], ids=repr)
def test_exception_of_an_async_agent_reaches_the_caller_and_the_loop_goes_on(error: BaseException) -> None:
    async def fail(messages: Sequence[Message], tools: Sequence[Tool]) -> str:
        del messages, tools
        raise error

    with pytest.raises(type(error)) as caught:
        reply_of(agent_from(fail), HELLO, ())

    assert caught.value is error
    assert Reply(text="Hello, 0 tools") == reply_of(agent_from(patient_echo), HELLO, ())


def test_interrupted_wait_cancels_the_async_agent() -> None:
    asked, cancelled = threading.Event(), threading.Event()

    async def wait() -> None:
        asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    def is_waiting() -> bool:
        main = threading.main_thread().ident
        assert main is not None
        frame = sys._current_frames()[main]  # noqa: SLF001 (it is public)
        return asked.is_set() and frame.f_code is threading.Condition.wait.__code__

    with pytest.raises(KeyboardInterrupt), interrupted(is_waiting):
        finished(wait())

    assert cancelled.wait(60)


@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_traceback_begins_with_the_code_of_the_agent(*, is_async: bool) -> None:
    def broken(messages: Sequence[Message], tools: Sequence[Tool]) -> str:
        del messages, tools
        return helper()

    async def broken_later(messages: Sequence[Message], tools: Sequence[Tool]) -> str:
        del messages, tools
        return helper()

    def helper() -> str:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError) as caught:
        reply_of(agent_from(broken_later if is_async else broken), HELLO, ())

    names = [frame.name for frame in traceback.extract_tb(agent_traceback(caught.value))]
    assert ["broken_later" if is_async else "broken", "helper"] == names


def test_error_of_another_origin_has_no_frames_of_an_agent() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        1 / 0  # noqa: B018 (it is to fail)

    assert agent_traceback(caught.value) is None


class Counting:
    """Counts the messages of one conversation; has no name itself."""

    def __init__(self) -> None:
        self.count = 0

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> str:
        """Return how often it was asked."""
        del messages, tools
        self.count += 1
        return str(self.count)


class Maker:
    """Makes an agent for each conversation."""

    name = "maker"

    async def new_conversation(self) -> Counting:
        """Return a new one."""
        return Counting()


def test_each_conversation_has_its_own_agent() -> None:
    maker = Maker()
    first, second = in_conversation(agent_from(maker)), in_conversation(agent_from(maker))

    said = [reply_of(agent, HELLO, ()).text for agent in (first, first, second)]

    assert ["1", "2", "1"] == said
    assert ["maker", "maker"] == [first.name, second.name]


def test_new_conversation_must_return_an_agent() -> None:
    class Bad(Maker):
        async def new_conversation(self) -> Counting:
            return None  # type: ignore[return-value]

    with pytest.raises(
        BadReplyError, match=r"agent 'maker': new_conversation\(\) does not return an agent: .* but it is None"
    ):
        in_conversation(agent_from(Bad()))


def test_replies_of_one_thread_are_given_in_one_other_thread_with_the_same_context() -> None:
    variable: ContextVar[str] = ContextVar("variable")
    variable.set("ours")
    seen = []

    def look(messages: Sequence[Message], tools: Sequence[Tool]) -> str:
        del messages, tools
        seen.append((threading.get_ident(), variable.get()))
        return ""

    for _ in range(2):
        reply_of(in_conversation(agent_from(look)), HELLO, ())

    assert seen[0] == seen[1] != (threading.get_ident(), "ours")
    assert "ours" == seen[0][1]


def test_agent_may_have_its_own_time_limit_or_none() -> None:
    threads = []

    class Own(Counting):
        reply_timeout = 0.05

        def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> str:
            threads.append(threading.get_ident())
            if self.reply_timeout:
                threading.Event().wait()
            return super().reply(messages, tools)

    with pytest.raises(AgentError, match=r"agent 'given': reply\(\) did not return within 0.05 s; it is at "):
        reply_of(in_conversation(agent_from(Own())), HELLO, ())
    Own.reply_timeout = 0

    assert "1" == reply_of(in_conversation(agent_from(Own())), HELLO, ()).text
    assert [False, True] == [thread == threading.get_ident() for thread in threads]


@pytest.mark.parametrize(
    ("argument", "calls"),
    [("x" * 4_000_001, 1), ([{"text": "x" * 4_000_001}], 1), (["x" * 1_000] * 4_001, 1), ("x" * 1_000, 4_001)],
    ids=["text", "nested", "many texts", "many calls"],
)
def test_long_reply_is_an_error(argument: Json, calls: int) -> None:
    call = ToolCall(tool="note", arguments={"text": argument})
    agent = agent_from(lambda _messages, _tools: Reply(calls=[call] * calls))

    with pytest.raises(AgentError, match="the reply is longer than 4,000,000 characters"):
        reply_of(agent, HELLO, ())


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"calls": None}, "its calls are None"),
        ({"input_tokens": "7"}, "its input_tokens is '7' instead of a number of tokens"),
        ({"input_tokens": 7, "output_tokens": None}, "its output_tokens is None instead of a number of tokens"),
        ({"output_tokens": -1}, "its output_tokens is -1 instead of a number of tokens"),
        ({"cost": "free"}, "its cost is 'free' instead of an amount in US dollars or None"),
        ({"cost": -0.5}, "its cost is -0.5 instead of an amount in US dollars or None"),
        ({"cost": float("nan")}, "its cost is nan instead of an amount in US dollars or None"),
    ],
    ids=str,
)
def test_reply_with_a_field_of_a_wrong_type_is_an_error_that_names_it(fields: dict[str, Any], error: str) -> None:
    with pytest.raises(BadReplyError, match=rf"reply\(\) must return a Reply or a string, but {error}\. For example"):
        reply_of(agent_from(lambda _messages, _tools: Reply(**fields)), HELLO, ())
