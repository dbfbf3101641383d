"""An MCP server with the tools of the conversations in flight, for agents that make their calls themselves."""

import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from pytest_crmeval.agents.calling import NO_MCP, AgentError
from pytest_crmeval.domain.messages import Tool, ToolCall, ToolError, ToolResult
from pytest_crmeval.models.sdks.encoding import result_text
from pytest_crmeval.ports.agent import ToolServer

if TYPE_CHECKING:  # mcp takes a second
    from starlette.types import Receive, Scope, Send

MakeCall = Callable[[ToolCall], ToolResult]
_OVER = ToolError(kind="refused_by_rule", message="No turn of the conversation is open, so this call was not made.")
_SESSION = "crmeval.session"
_STARTING = Lock()


class ToolSession:
    """The tools of one conversation; they can be called while a turn is open, one call at a time."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.tools = tools
        self._lock = Lock()
        self._make_call: MakeCall | None = None

    @contextmanager
    def open(self, make_call: MakeCall) -> Iterator[None]:
        """Have calls made by ``make_call``, in a thread of the server; a call in progress is finished first."""
        self._make_call = make_call
        try:
            yield
        finally:
            with self._lock:
                self._make_call = None

    def call(self, call: ToolCall) -> ToolResult:
        """Make a call; it is refused if no turn is open, or if its turn ends while it waits for other calls."""
        make_call = self._make_call
        with self._lock:
            return make_call(call) if make_call and make_call is self._make_call else ToolResult(error=_OVER)


@contextmanager
def serving(session: ToolSession, port: int = 0) -> Iterator[ToolServer]:
    """Yield where the tools of a session are offered; the token is valid until the context ends.

    All sessions of a process have the same server, on loopback, which is started on first use. AgentError if the
    package mcp is not installed.
    """
    with _STARTING:
        server = _server(port)
    token = secrets.token_urlsafe(32)
    server.sessions[token] = session
    try:
        yield ToolServer(url=server.url, token=token)
    finally:
        del server.sessions[token]


@cache
def _server(port: int) -> "_Server":
    return _Server(port)


class _Server:
    """The server, in a daemon thread."""

    def __init__(self, port: int) -> None:
        try:
            import uvicorn
            from mcp.server.lowlevel import Server
        except ImportError as error:
            raise AgentError(NO_MCP) from error
        self.sessions: dict[str, ToolSession] = {}
        listener = socket.create_server(("127.0.0.1", port))
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        server: Server[Any] = Server("crmeval", on_list_tools=_list_tools, on_call_tool=_call_tool)
        # A client may keep its connection, but no state between requests: the token says which conversation it is.
        self._app = server.streamable_http_app(json_response=True, stateless_http=True)
        config = uvicorn.Config(
            self._handle, interface="asgi3", lifespan="on", ws="none", proxy_headers=False, log_level="warning"
        )
        run = uvicorn.Server(config).run
        Thread(target=run, kwargs={"sockets": [listener]}, name="crmeval-tool-server", daemon=True).start()

    async def _handle(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Find the conversation of a request by its token."""
        if scope["type"] == "http":
            from starlette.responses import JSONResponse

            given = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
            session = self.sessions.get(given.removeprefix("Bearer "))
            if session is None:
                error = "unknown token: it is wrong, or its conversation is over"
                refused = JSONResponse({"error": error}, 401, {"WWW-Authenticate": "Bearer"})
                await refused(scope, receive, send)
                return
            scope[_SESSION] = session
        await self._app(scope, receive, send)


async def _list_tools(context: Any, _: Any) -> Any:  # noqa: ANN401 (mcp is loaded later)
    from mcp import types

    offered = context.request.scope[_SESSION].tools
    tools = [types.Tool(name=t.name, description=t.description, input_schema=dict(t.parameters)) for t in offered]
    return types.ListToolsResult(tools=tools)


async def _call_tool(context: Any, asked: Any) -> Any:  # noqa: ANN401 (mcp is loaded later)
    from anyio import to_thread
    from mcp import types

    call = ToolCall(tool=asked.name, arguments=asked.arguments or {})
    result: ToolResult = await to_thread.run_sync(context.request.scope[_SESSION].call, call)
    content = types.TextContent(type="text", text=result_text(result))
    return types.CallToolResult(content=[content], is_error=result.refused)
