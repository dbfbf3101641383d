"""How an agent is called, whatever its form: an object or a function, plain or async."""

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import inf
from threading import Event, Lock, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pytest_crmeval.agents.time_limit import OverdueError, call_within, make_calls
from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall
from pytest_crmeval.domain.wire import DEEPEST
from pytest_crmeval.ports.agent import Agent, ToolServer

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

_EXAMPLE = """\
    from pytest_crmeval import Reply, ToolCall
    return Reply(calls=[ToolCall(tool="list_clients")])  # call tools
    return "Acme is an active client."  # or answer the user"""
Offered = Sequence[Tool] | ToolServer | None
"""What an agent gets besides the messages; None instead of a tool server if there are no tools."""
NO_MCP = "an agent with a tool server needs the package mcp: pip install 'pytest-crmeval[mcp]'"
SECONDS = 300.0
"""Time of an agent for one reply by default."""
LONGEST = 4_000_000
"""Most characters that the texts of a reply may have in total."""
_STARTING = Lock()
_GRACE = 1.0
"""Seconds that an event loop has to respond before it counts as blocked."""


class AgentError(Exception):
    """An agent has given no reply; the message says why, and needs no traceback."""


class BadReplyError(AgentError):
    """What an agent returned is not a reply; the message shows how to make one."""


@dataclass(frozen=True, kw_only=True)
class OwnAgent:
    """A user's function or object as an agent, with defaults for missing attributes."""

    name: str
    reply: Callable[[Sequence[Message], Sequence[Tool]], Reply]
    new_conversation: Callable[[], object] | None
    thread_safe: bool
    reply_timeout: float | None


@dataclass(frozen=True, kw_only=True)
class LimitedAgent:
    """An agent in one conversation that must reply in time."""

    name: str
    agent: Agent
    seconds: float

    @property
    def uses_tool_server(self) -> bool:
        """Whether the agent makes its calls itself."""
        return uses_tool_server(self.agent)

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Return the reply; AgentError if it takes too long."""
        return _in_time(self.name, self.seconds, "reply", partial(self.agent.reply, messages, tools))  # type: ignore[no-any-return]


def as_agent(found: Any, name: str) -> Agent | None:  # noqa: ANN401 (of the user's code)
    """Return an object with ``reply`` or a function of (messages, tools) as an agent; None if it is neither.

    ``name`` is the name of an agent that has none itself.
    """
    if isinstance(found, Agent):
        return found
    reply, begin = getattr(found, "reply", None), getattr(found, "new_conversation", None)
    if _is_function_agent(found):
        reply, name = found, getattr(found, "__name__", name)
    if reply is None and begin is None:
        return None
    return OwnAgent(
        name=str(getattr(found, "name", name)),
        reply=reply or _no_reply,
        new_conversation=begin,
        thread_safe=getattr(found, "thread_safe", True),
        reply_timeout=getattr(found, "reply_timeout", None),
    )


def _no_reply(messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
    del messages, tools
    raise BadReplyError("this agent has no reply(); call new_conversation() to get the agent that replies")


def is_factory(found: object) -> bool:
    """Whether something that can be called makes an agent: it needs no arguments, and is not an agent itself."""
    return callable(found) and as_agent(found, "") is None


def in_conversation(agent: Agent, seconds: float = SECONDS) -> Agent:
    """Return the agent for one conversation or question: a new object from an agent with ``new_conversation``.

    It has so many seconds for a reply, unless its attribute ``reply_timeout`` says otherwise.
    """
    limit = _limit(agent, seconds)
    begin = getattr(agent, "new_conversation", None)
    if begin is not None:
        made = _in_time(agent.name, limit, "new_conversation", begin)
        new = as_agent(made, agent.name)
        if new is None:
            raise BadReplyError(
                f"agent {agent.name!r}: new_conversation() does not return an agent: {not_an_agent(made)}"
            )
        agent, limit = new, _limit(new, limit)
    return LimitedAgent(name=agent.name, agent=agent, seconds=limit) if limit else agent


def _limit(agent: Agent, seconds: float) -> float:
    own: float | None = getattr(agent, "reply_timeout", None)
    return seconds if own is None else own


def _in_time(name: str, seconds: float, method: str, call: Callable[[], Any]) -> Any:  # noqa: ANN401 (of the user's code)
    """Return the result of a method of an agent; AgentError if it takes longer than ``seconds``, which may be 0."""
    if not seconds:
        return finished(call())
    try:
        return finished(call() if inspect.iscoroutinefunction(call) else call_within(seconds, call), seconds)
    except OverdueError as error:
        state = f"; {error}" if str(error) else ""
        raise AgentError(f"timeout: agent {name!r}: {method}() did not return within {seconds:g} s{state}") from None


def not_an_agent(found: object) -> str:
    """Return what a value must be to be an agent, and what it is."""
    return f"it must be a function of (messages, tools), or have reply(messages, tools), but it is {_a(found)}"


def uses_tool_server(agent: Agent) -> bool:
    """Whether an agent makes its calls itself: ``reply`` has a parameter ``tool_server``."""
    own: bool | None = getattr(agent, "uses_tool_server", None)
    return "tool_server" in inspect.signature(agent.reply).parameters if own is None else own


def wrong_arguments(agent: Agent) -> str:
    """Return why ``reply`` can't be called with (messages, tools); empty if it can."""
    try:
        signature = inspect.signature(agent.reply)
    except ValueError:  # written in C
        return ""
    try:
        signature.bind((), ())
    except TypeError:
        return f"reply must take two arguments, (messages, tools), but takes {signature}"
    if {"tools", "tool_server"} <= signature.parameters.keys():
        return f"reply must take either tools or tool_server, but takes {signature}"
    return ""


def reply_of(agent: Agent, messages: Sequence[Message], tools: Offered) -> Reply:
    """Return the agent's reply; BadReplyError if it returns anything other than a Reply or a string."""
    reply: Any = finished(agent.reply(messages, tools))  # type: ignore[arg-type] # as uses_tool_server says
    if isinstance(reply, str):
        reply = Reply(text=reply)
    if wrong := _wrong_with(reply):
        raise BadReplyError(
            f"agent {agent.name!r}: reply() must return a Reply or a string, {wrong}. For example:\n{_EXAMPLE}"
        )
    if len(reply.text) + sum(map(len, _texts([[call.tool, call.arguments] for call in reply.calls]))) > LONGEST:
        raise AgentError(f"agent {agent.name!r}: the reply is longer than {LONGEST:,} characters")
    return reply  # type: ignore[no-any-return]


def _texts(value: object, depth: int = DEEPEST) -> Iterator[str]:
    """Yield the texts in a value, except those that are nested too deeply to be kept."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping | list | tuple):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each, depth - 1)


def finished(value: Any, seconds: float | None = None) -> Any:  # noqa: ANN401 (of the user's code)
    """Return a value, or the result of an awaitable: all async agents of a process share one event loop.

    OverdueError if the awaitable takes longer than ``seconds``.
    """
    if not inspect.isawaitable(value):
        return value
    from asyncio import run_coroutine_threadsafe  # most agents are not async
    from concurrent.futures import wait

    with _STARTING:
        loop = _event_loop()
    future = run_coroutine_threadsafe(_of_agent(value), loop)
    try:
        wait([future], seconds)
    finally:
        is_overdue = not future.done()
        if is_overdue:  # or this thread was interrupted while it waited
            future.cancel()
    if is_overdue:
        raise OverdueError("" if _responds(loop) else "an async agent blocks the event loop")
    result = future.result()
    if isinstance(result, _Exit):
        raise result.error
    return result


def _responds(loop: "AbstractEventLoop") -> bool:
    """Return whether the event loop is alive; if an agent blocks it, the next async agents use another one."""
    responded = Event()
    loop.call_soon_threadsafe(responded.set)
    if responded.wait(_GRACE):
        return True
    with _STARTING:
        if _event_loop() is loop:
            _event_loop.cache_clear()
    return False


def agent_traceback(error: BaseException) -> TracebackType | None:
    """Return the frames of the agent that raised ``error``; None if it was not raised by an agent."""
    ours = {function.__code__ for function in (reply_of, _in_time, make_calls, _of_agent)}
    frames, found = error.__traceback__, None
    while frames is not None:
        if frames.tb_frame.f_code in ours:
            found = frames.tb_next
        frames = frames.tb_next
    return found


@dataclass(frozen=True, slots=True)
class _Exit:
    """``sys.exit`` in an async agent: raised on the event loop, it would end the loop for all other agents."""

    error: BaseException


async def _of_agent(value: Awaitable[object]) -> object:
    try:
        return await value
    except (KeyboardInterrupt, SystemExit) as error:
        return _Exit(error)


@cache
def _event_loop() -> "AbstractEventLoop":
    from asyncio import new_event_loop

    loop = new_event_loop()
    Thread(target=loop.run_forever, name="crmeval-async-agents", daemon=True).start()
    return loop


def _is_function_agent(found: object) -> bool:
    """Whether a function must be given an argument: (messages, tools), and not the parameters of a factory."""
    if not callable(found) or hasattr(found, "reply") or hasattr(found, "new_conversation"):
        return False
    try:
        parameters = inspect.signature(found).parameters.values()
    except ValueError:  # dict and others that are written in C
        return False
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return any(each.default is each.empty and each.kind not in variable for each in parameters)


def _wrong_with(reply: object) -> str:
    if not isinstance(reply, Reply):
        return f"but returned {_a(reply)}"
    if not isinstance(reply.text, str):
        return f"but its text is {_a(reply.text)}"
    if not isinstance(reply.calls, Sequence):
        return f"but its calls are {_a(reply.calls)}"
    strays = [call for call in reply.calls if not isinstance(call, ToolCall)]
    return f"but its calls contain {_a(strays[0])} instead of a ToolCall" if strays else _wrong_usage(reply)


def _wrong_usage(reply: Reply) -> str:
    for name in ("input_tokens", "output_tokens"):
        tokens = getattr(reply, name)
        if not isinstance(tokens, int) or tokens < 0:
            return f"but its {name} is {cut(repr(tokens), 40)} instead of a number of tokens"
    cost: Any = reply.cost
    if cost is None or (isinstance(cost, int | float) and 0 <= cost < inf):
        return ""
    return f"but its cost is {cut(repr(cost), 40)} instead of an amount in US dollars or None"


def _a(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__!r}"
