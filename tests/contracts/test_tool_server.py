"""Agents that make their calls themselves, with the client of the MCP SDK."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Barrier

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from pytest_crmeval import Agent, Message, Reply, Tool, ToolCall
from pytest_crmeval.agents.calling import NO_MCP, AgentError, BadReplyError, as_agent, finished, in_conversation
from pytest_crmeval.agents.specs import make_agent
from pytest_crmeval.conversations import tool_server as tool_servers
from pytest_crmeval.conversations.play import play
from pytest_crmeval.conversations.tool_server import ToolSession, serving
from pytest_crmeval.domain.messages import ToolResult
from pytest_crmeval.domain.usage import Bill, Usage
from pytest_crmeval.models.usage_meter import UsageMeter, opened
from pytest_crmeval.ports.agent import ToolServer
from pytest_crmeval.ports.crm import CrmConnectionLost
from tests.fakes import PaperCrm, call, conversation

PROGRAM = """
import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def answer(request):
    server = request["tool_server"]
    headers = {"Authorization": f"Bearer {server['token']}"}
    async with httpx2.AsyncClient(headers=headers) as http:
        async with Client(streamable_http_client(server["url"], http_client=http)) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            said = request["messages"][-1]["text"]
            made = [await client.call_tool(tool, {"text": said}) for tool in (*tools, "refuse")]
    values = [json.loads(each.content[0].text) for each in made]
    return {"text": f"{values} {[each.is_error for each in made]}", "input_tokens": 7, "output_tokens": 3, "cost": 0.25}


for line in sys.stdin:
    print(json.dumps(asyncio.run(answer(json.loads(line)))), flush=True)
"""
SAID = (
    "[{'value': {'id': 'row-1'}}, {'error': {'kind': 'refused_by_rule', 'message': 'not on a Sunday'}}] [False, True]"
)


class Plain:
    """Makes the same calls as the program, one per reply."""

    name = "plain"

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Write, try a refused call, and report it."""
        place = max(number for number, message in enumerate(messages) if message.speaker == "user")
        step = (len(messages) - place) // 2
        names = (*(tool.name for tool in tools), "refuse")
        arguments = {"text": messages[place].text}
        last = SAID.replace("row-1", messages[place + 2].results[0].value["id"]) if step else ""  # type: ignore[index, call-overload, arg-type]
        return Reply(calls=[ToolCall(tool=names[step], arguments=arguments)]) if step < len(names) else Reply(text=last)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Agent]:
    """Yield the program as an agent."""
    (tmp_path / "agent.py").write_text(PROGRAM, encoding="utf-8")
    agent = make_agent(f"mcp+exec:{sys.executable} '{tmp_path / 'agent.py'}'")
    assert agent is not None
    yield in_conversation(agent)
    agent.close()  # type: ignore[attr-defined]


@contextmanager
def client_of(server: ToolServer, mode: str = "auto") -> Iterator[Callable[[str], CallToolResult]]:
    """Yield a function that calls a tool."""

    async def called(tool: str) -> CallToolResult:
        async with (
            httpx2.AsyncClient(headers=dict(server.headers)) as http,
            Client(streamable_http_client(server.url, http_client=http), mode=mode) as client,
        ):
            return await client.call_tool(tool, {})

    yield lambda tool: finished(called(tool))


def agent_from(function: Callable[[Sequence[Message], ToolServer], object]) -> Agent:
    """Return a function as an agent."""
    agent = as_agent(function, "given")
    assert agent is not None
    return in_conversation(agent)


def test_calls_of_another_process_are_recorded_as_if_they_had_been_made_for_it(program: Agent) -> None:
    case, crm = conversation("Add Ada.", "Add Bob."), PaperCrm()

    with opened(UsageMeter()) as meter:
        played = play(case, program, crm)

    expected = play(case, Plain(), PaperCrm())
    assert expected == played
    assert 4 == len(crm.calls)
    assert Bill(usage=Usage(input=14, output=6, calls=2), cost=0.5) == meter.bill


def test_conversations_in_flight_have_their_own_tools() -> None:
    meeting = Barrier(2, timeout=300)

    def played(number: int) -> list[ToolCall]:
        def agent(messages: Sequence[Message], tool_server: ToolServer) -> str:
            meeting.wait()
            with client_of(tool_server) as calling:
                calling(messages[-1].text)
            meeting.wait()
            return "Done."

        crm = PaperCrm()
        play(conversation(f"write-{number}"), agent_from(agent), crm)
        return crm.calls

    with ThreadPoolExecutor(2) as pool:
        assert [[call("write-0")], [call("write-1")]] == list(pool.map(played, range(2)))


def test_call_is_refused_before_and_after_a_turn_and_token_ends_with_the_conversation() -> None:
    crm = PaperCrm()
    session = ToolSession(crm.tools)
    with serving(session) as server, client_of(server) as calling:
        before = calling("write")
        with session.open(crm.call):
            during = calling("write")
            with client_of(server, "legacy") as older:
                assert not older("write").is_error
        after = calling("write")
        with client_of(ToolServer(url=server.url, token="wrong")) as stranger, pytest.raises(ExceptionGroup):  # noqa: S106
            stranger("write")
    with pytest.raises(ExceptionGroup):
        calling("write")

    assert [True, False, True] == [before.is_error, during.is_error, after.is_error]
    assert "was not made" in after.content[0].text  # type: ignore[union-attr]
    assert [call("write")] * 2 == crm.calls


def test_call_that_waits_until_the_next_turn_is_refused() -> None:
    session, first, second = ToolSession(()), PaperCrm(), PaperCrm()

    @contextmanager
    def waiting() -> Iterator[None]:
        session._lock = lock  # noqa: SLF001 (of the session)
        turn.enter_context(session.open(second.call))
        yield

    with ExitStack() as turn, session.open(first.call):
        lock = session._lock  # noqa: SLF001
        session._lock = waiting()  # type: ignore[assignment] # noqa: SLF001
        result = session.call(call("write"))

    assert result.refused
    assert [] == first.calls == second.calls


def test_refused_request_says_why() -> None:
    with serving(ToolSession(())) as server:
        answer = httpx2.post(server.url, json={}, headers={"Authorization": "Bearer wrong"})

    assert (401, "unknown token: it is wrong, or its conversation is over") == (
        answer.status_code,
        answer.json()["error"],
    )
    assert server.url.startswith("http://127.0.0.1:")
    assert server.token not in repr(server)


def test_turn_with_too_many_calls_is_cut() -> None:
    def agent(messages: Sequence[Message], tool_server: ToolServer) -> str:
        del messages
        with client_of(tool_server) as calling:
            return json.dumps([calling("write").is_error for _ in range(3)])

    crm = PaperCrm()
    (cut,) = play(conversation("Go."), agent_from(agent), crm, max_steps=2).exchanges
    (whole,) = play(conversation("Go."), agent_from(agent), PaperCrm(), max_steps=4).exchanges

    assert (True, "", 2) == (cut.cut, cut.reply, len(crm.calls))
    assert (False, "[false, false, false]") == (whole.cut, whole.reply)


def test_lost_connection_of_the_crm_ends_the_conversation() -> None:
    class Lost(PaperCrm):
        def call(self, call: ToolCall) -> ToolResult:
            raise CrmConnectionLost(call.tool)

    def agent(messages: Sequence[Message], tool_server: ToolServer) -> str:
        del messages
        with client_of(tool_server) as calling:
            return str(calling("write").is_error)

    with pytest.raises(CrmConnectionLost):
        play(conversation("Go."), agent_from(agent), Lost())


def test_agent_with_a_tool_server_must_return_text() -> None:
    def agent(messages: Sequence[Message], tool_server: ToolServer) -> Reply:
        del messages, tool_server
        return Reply(calls=[call("write")])

    with pytest.raises(BadReplyError, match=r"agent 'agent': it has a tool server, .* but returned calls"):
        play(conversation("Go."), agent_from(agent), PaperCrm())


def test_missing_package_is_an_error_with_the_command_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)
    tool_servers._server.cache_clear()  # noqa: SLF001 (started by an earlier test)

    with pytest.raises(AgentError, match=r"pip install 'pytest-crmeval\[mcp\]'"), serving(ToolSession(())):
        pass
    assert "pip install 'pytest-crmeval[mcp]'" in NO_MCP
