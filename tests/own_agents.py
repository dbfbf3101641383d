"""One agent in every form that a user may bring: what it does depends on the user's words."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

PROGRAM = '''
"""The agent as a program; the other forms import it."""

import json
import os
import sys
import time
from urllib.request import Request, urlopen

ADA = {"name": "Ada Ltd", "email": "ada@ada.example", "status": "Active"}


def answer(request):
    """Return the answer to a request of the agent protocol, or do something bad."""
    said = [message["text"] for message in request["messages"] if message["speaker"] == "user"][-1]
    if "hang" in said:
        time.sleep(3600)
    if "fail" in said:
        raise RuntimeError(f"the key {os.environ.get('OWN_API_KEY')} is refused")
    if "flood" in said:
        return {"text": "x" * 10_000_000}
    if "garble" in said:
        return 7
    if "mistake" in said:
        return {"conversation": "another", "text": "Hello"}
    server = request.get("tool_server")
    if server:
        call = chosen(said, rpc(server, "tools/list")["tools"])
        rpc(server, "tools/call", name=call["tool"], arguments=call["arguments"])
        return {"text": "I have added Ada Ltd.", "input_tokens": 7, "output_tokens": 3, "cost": 0.5}
    if request["messages"][-1]["speaker"] == "user":
        return {"calls": [chosen(said, request["tools"])], "input_tokens": 7, "cost": 0.25}
    return {"text": "I have added Ada Ltd.", "output_tokens": 3, "cost": 0.25}


def chosen(said, tools):
    """Return the call that creates a client, or of the only tool."""
    names = [tool["name"] for tool in tools]
    crm = {"tool": "create_new_client", "arguments": ADA}
    return crm if crm["tool"] in names else {"tool": names[0], "arguments": {"notes": said}}


def rpc(server, method, **parameters):
    """Return the result of a request to an MCP server."""
    accept = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    headers = {"Authorization": f"Bearer {server['token']}", **accept}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}).encode()
    with urlopen(Request(server["url"], body, headers)) as response:
        return json.load(response)["result"]


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
'''
FORMS = '''
"""The agent in the forms that run in this process."""

import asyncio

from program import answer

from pytest_crmeval import Reply, ToolCall


def _request(messages, tools):
    said = [{"speaker": each.speaker, "text": each.text} for each in messages]
    return {"messages": said, "tools": [{"name": tool.name} for tool in tools]}


def function(messages, tools):
    found = answer(_request(messages, tools))
    if not isinstance(found, dict):
        return found
    made = [ToolCall(**call) for call in found.pop("calls", [])]
    found.pop("conversation", None)
    return Reply(calls=made, **found)


def own_calls(messages, tool_server):
    said = [{"speaker": each.speaker, "text": each.text} for each in messages]
    server = {"url": tool_server.url, "token": tool_server.token}
    found = answer({"messages": said, "tool_server": server})
    if isinstance(found, dict):
        found.pop("conversation", None)
        return Reply(**found)
    return found


async def coroutine(messages, tools):
    if "hang" in messages[0].text:
        await asyncio.Event().wait()
    return function(messages, tools)


class Blocking:
    """Async, but it blocks the event loop."""

    name = "blocking"

    async def reply(self, messages, tools):
        return function(messages, tools)


class Object:
    name = "object"

    def reply(self, messages, tools):
        return function(messages, tools)


class Maker:
    name = "maker"

    def new_conversation(self):
        return Object()
'''
IN_PROCESS = ("function", "coroutine", "Blocking", "Object", "Maker", "own_calls")
ELSEWHERE = ("http", "exec", "mcp+http", "mcp+exec")
MAKING_CALLS = ("own_calls", "mcp+http", "mcp+exec")
"""Forms that make their calls themselves, on a tool server."""


def write_forms(folder: Path) -> None:
    """Write the modules of the agent."""
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    (folder / "forms.py").write_text(FORMS, encoding="utf-8")


@contextmanager
def specs_in(folder: Path) -> Iterator[Mapping[str, str]]:
    """Yield the spec of each form, the modules of which are in a folder; the server is running."""
    program: dict[str, Any] = {"__name__": "program"}
    exec(PROGRAM, program)  # noqa: S102 (above)
    with serving(program["answer"]) as address:
        names = {name: f"forms:{name}" for name in IN_PROCESS}
        elsewhere = {"http": address, "exec": f"exec:{sys.executable} '{folder / 'program.py'}'"}
        yield {**names, **elsewhere, **{f"mcp+{form}": f"mcp+{spec}" for form, spec in elsewhere.items()}}


@contextmanager
def serving(answer: Callable[[Any], Any]) -> Iterator[str]:
    """Yield the address of a server that answers each request; an exception is an error with its text."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                answered = answer(request)
            except RuntimeError as error:
                answered = {"error": str(error)}
            content = json.dumps(answered).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with suppress(ConnectionError):  # the client does not read so much
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.block_on_close = False  # a request may hang
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/reply"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
