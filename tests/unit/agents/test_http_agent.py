"""Agents that are servers, on loopback."""

import json
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest

from pytest_crmeval.agents.calling import AgentError, in_conversation, reply_of
from pytest_crmeval.agents.http import ATTEMPTS, HttpAgent
from pytest_crmeval.domain.messages import Reply, Tool, ToolCall, ToolError, ToolResult, agent_says, crm_says, user_says

HELLO = [user_says("Hello")]
CALL = ToolCall(tool="find", arguments={"name": "Ada"})
Answer = tuple[int, bytes, dict[str, str]]


class Server:
    """A server that answers with what ``answer`` returns, and keeps the requests."""

    def __init__(self, answer: Callable[[int], Answer]) -> None:
        self.requests: list[dict[str, Any]] = []
        self.tokens: list[str | None] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.requests.append(json.loads(body))
                server.tokens.append(self.headers["Authorization"])
                status, content, headers = answer(len(server.requests))
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/reply"


@contextmanager
def serving(answer: Callable[[int], Answer]) -> Iterator[Server]:
    """Serve on loopback."""
    server = Server(answer)
    thread = Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.http.shutdown()
        thread.join()
        server.http.server_close()


def ok(**fields: object) -> Answer:
    """Return an answer with fields."""
    return 200, json.dumps(fields).encode(), {}


def error_from(answer: Callable[[int], Answer]) -> tuple[str, int]:
    """Return the error of one reply, and the number of requests."""
    with serving(answer) as server:
        with pytest.raises(AgentError) as caught:
            reply_of(HttpAgent(server.url, sleep=lambda _: None), HELLO, ())
        return str(caught.value).replace(server.url, "URL"), len(server.requests)


def test_request_has_the_dialogue_and_the_tools_and_one_id_per_conversation() -> None:
    messages = [
        *HELLO,
        agent_says(Reply(calls=[CALL])),
        crm_says([ToolResult(value=[1], note="part"), ToolResult(error=ToolError(kind="not_found", message="none"))]),
    ]
    tool = Tool(name="find", description="Find a client.", parameters={"type": "object"})
    with serving(lambda _: ok(text="Hi")) as server:
        agent = HttpAgent(server.url)
        first, second = in_conversation(agent), in_conversation(agent)
        for each in (first, first, second):
            reply_of(each, messages, [tool])

    asked = server.requests[0]
    assert [
        {"speaker": "user", "text": "Hello"},
        {"speaker": "agent", "calls": [{"tool": "find", "arguments": {"name": "Ada"}}]},
        {
            "speaker": "crm",
            "results": [{"value": [1], "note": "part"}, {"error": {"kind": "not_found", "message": "none"}}],
        },
    ] == asked["messages"]
    assert [{"name": "find", "description": "Find a client.", "parameters": {"type": "object"}}] == asked["tools"]
    ids = [request["conversation"] for request in server.requests]
    assert ids[0] == ids[1] != ids[2]


def test_answer_has_text_or_calls_and_may_have_usage() -> None:
    answers = [
        ok(calls=[{"tool": "find", "arguments": {"name": "Ada"}}]),
        ok(text="Done", input_tokens=7, output_tokens=3, cost=0.01),
    ]
    with serving(lambda number: answers[number - 1]) as server:
        agent = HttpAgent(server.url)
        replies = [reply_of(agent, HELLO, ()) for _ in answers]

    assert [Reply(calls=(CALL,)), Reply(text="Done", input_tokens=7, output_tokens=3, cost=0.01)] == replies


@pytest.mark.parametrize("status", [429, 500, 503])
def test_overloaded_server_is_asked_again(status: int) -> None:
    pauses: list[float] = []
    with serving(lambda number: ok(text="Hi") if number == 2 else (status, b"", {"Retry-After": "7"})) as server:
        reply = reply_of(HttpAgent(server.url, sleep=pauses.append), HELLO, ())

    assert Reply(text="Hi") == reply
    assert [7.0] == pauses


def test_server_that_wants_more_time_than_is_left_is_not_asked_again() -> None:
    busy = 503, b"restarting", {"Retry-After": "30"}
    with serving(lambda _: busy) as server, pytest.raises(AgentError, match="HTTP status 503: restarting"):
        reply_of(HttpAgent(server.url, seconds=20, sleep=lambda _: None), HELLO, ())

    assert 1 == len(server.requests)


@pytest.mark.parametrize(
    ("answer", "error", "requests"),
    [
        ((500, b"out of order", {}), "URL: HTTP status 500: out of order", ATTEMPTS),
        ((500, b"5\r\nout", {"Transfer-Encoding": "chunked"}), "URL: HTTP status 500: Internal Server Error", ATTEMPTS),
        ((404, b"", {}), "URL: HTTP status 404: Not Found", 1),
        ((302, b"", {"Location": "/elsewhere"}), "URL: HTTP status 302: Found", 1),
        ((200, b"<html>", {}), "malformed answer: JSON is malformed: invalid character (byte 0): '<html>'", 1),
        (ok(txt="Hi"), 'malformed answer: Object contains unknown field `txt`: \'{"txt": "Hi"}\'', 1),
        (ok(text=5), "malformed answer: Expected `str`, got `int` - at `$.text`: '{\"text\": 5}'", 1),
        (ok(conversation="x"), "malformed answer: it is for another conversation, 'x'", 1),
        (ok(error="no key"), "the agent reports an error: no key", 1),
        (ok(text="x" * 4_000_000), "URL: the answer is longer than 4,000,000 bytes", 1),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else "",
)
def test_error_says_what_is_wrong(answer: Answer, error: str, requests: int) -> None:
    assert (error, requests) == error_from(lambda _: answer)


def test_server_that_cuts_the_connection_is_asked_again() -> None:
    error, requests = error_from(lambda _: (200, b"{", {"Content-Length": "100"}))

    assert ("URL: connection: the answer is incomplete", ATTEMPTS) == (error, requests)


def test_address_where_nothing_listens_is_an_error() -> None:
    server = Server(lambda _: ok())
    server.http.server_close()

    with pytest.raises(AgentError, match=r"connection: .*Connection refused"):
        reply_of(HttpAgent(server.url, sleep=lambda _: None), HELLO, ())


def test_server_that_does_not_answer_in_time_is_an_error() -> None:
    over = Event()

    def wait(_: int) -> Answer:
        over.wait(60)
        return ok()

    with serving(wait) as server:
        with pytest.raises(AgentError, match=r"timeout: http://.* did not answer within 0.05 s"):
            reply_of(HttpAgent(server.url, seconds=0.05), HELLO, ())
        over.set()
    assert 0.05 == server.requests[0]["seconds"]


@pytest.mark.parametrize(
    "start", ["200 OK\r\nX-Header: ", "500 Oh\r\nContent-Length: 60000\r\n\r\n"], ids=["head", "body"]
)
def test_server_that_sends_byte_by_byte_is_an_error_in_time(start: str) -> None:
    """Each byte comes in time, the answer never does."""
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:

        def drip() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):  # the client leaves, at the latest when it has the end of the line
                connection.sendall(f"HTTP/1.1 {start}".encode())
                while not over.wait(0.01):
                    connection.sendall(b"x")

        over = Event()
        dripping = pool.submit(drip)
        try:
            with pytest.raises(AgentError, match=r"timeout: http://.* did not answer within 0.1 s"):
                reply_of(HttpAgent(f"http://127.0.0.1:{listener.getsockname()[1]}/", seconds=0.1), HELLO, ())
        finally:
            over.set()
        dripping.result()


def test_token_of_the_environment_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRMEVAL_AGENT_TOKEN", "swordfish")
    with serving(lambda _: ok(text="Hi")) as server:
        reply_of(HttpAgent(server.url), HELLO, ())

    assert ["Bearer swordfish"] == server.tokens


def test_agent_on_this_machine_is_asked_without_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with serving(lambda _: ok(text="Hi")) as server, serving(lambda _: ok(text="proxy")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        here = reply_of(HttpAgent(server.url), HELLO, ())
        elsewhere = reply_of(HttpAgent("http://agent.invalid/reply"), HELLO, ())

    assert ("Hi", "proxy") == (here.text, elsewhere.text)


@pytest.mark.parametrize(
    ("address", "error"), [("http://me:pw@host/", "must not contain a password"), ("http:///x", "has no host")]
)
def test_bad_address_is_refused(address: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        HttpAgent(address)
