"""An agent that is a server: one POST request for each reply."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from http.client import HTTPException
from ipaddress import ip_address
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener
from uuid import uuid4

from pytest_crmeval.agents.calling import SECONDS, AgentError, Offered
from pytest_crmeval.agents.protocol import MOST_BYTES, reply_in, request
from pytest_crmeval.agents.time_limit import OverdueError, call_within
from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.messages import Message, Reply

TOKEN = "CRMEVAL_AGENT_TOKEN"  # noqa: S105 (the name of a variable)
ATTEMPTS = 3
_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_CHUNK = 1 << 16
_RETRIED = frozenset({429, 500, 502, 503, 504})


class _NoRedirects(HTTPRedirectHandler):
    """Makes a redirect an error: it would send the token to another server, and the request without its body."""

    def redirect_request(self, *_: object) -> None:
        """Return no request."""


class _StatusError(Exception):
    """A status other than 200, and how many seconds the server wants us to wait."""

    def __init__(self, text: str, status: int, pause: float) -> None:
        super().__init__(text)
        self.status = status
        self.pause = pause


class HttpAgent:
    """The agent at an address; ``CRMEVAL_AGENT_TOKEN`` is sent as its bearer token if it is set."""

    reply_timeout = 0
    """It enforces the time limit of ``seconds`` itself."""

    def __init__(
        self,
        address: str,
        *,
        seconds: float = SECONDS,
        uses_tool_server: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = urlsplit(address)
        if parts.username or parts.password:
            raise ValueError(f"an address is shown and stored, so it must not contain a password; set {TOKEN} instead")
        if not parts.hostname:
            raise ValueError("the address has no host")
        self.name = f"{parts.netloc}{parts.path}"
        self.address = address
        self.seconds = seconds
        self.uses_tool_server = uses_tool_server
        self.sleep = sleep
        # A proxy of the environment would get the dialogue and the token, and can't reach this machine.
        self.opener = build_opener(_NoRedirects, *([ProxyHandler({})] if _is_loopback(parts.hostname) else []))

    def new_conversation(self) -> "HttpConversation":
        """Return the agent in one conversation, which has a random id."""
        return HttpConversation(self, uuid4().hex)

    def reply(self, messages: Sequence[Message], tools: Offered) -> Reply:
        """Reply in a conversation of its own."""
        return self.new_conversation().reply(messages, tools)


class HttpConversation:
    """One conversation with the agent at an address."""

    def __init__(self, agent: HttpAgent, conversation: str) -> None:
        self._agent = agent
        self._conversation = conversation
        self.uses_tool_server = agent.uses_tool_server
        self.name = agent.name

    def reply(self, messages: Sequence[Message], tools: Offered) -> Reply:
        """Ask for a reply, again if the server can't be reached or is overloaded; AgentError if there is none."""
        seconds = self._agent.seconds
        body, deadline = request(self._conversation, messages, tools, seconds), time.monotonic() + seconds
        for attempt in range(1, ATTEMPTS + 1):
            try:
                # In a thread that can be left: a timeout of sockets begins again with each byte.
                content = call_within(_left(deadline), partial(self._exchange, body, deadline))
                return reply_in(content, self._conversation)
            except _StatusError as error:
                problem, pause = str(error), error.pause
                if error.status not in _RETRIED:
                    break
            except (TimeoutError, OverdueError):
                raise AgentError(f"timeout: {self._agent.address} did not answer within {seconds:g} s") from None
            except (OSError, HTTPException) as error:
                problem, pause = (
                    f"connection: {getattr(error, 'reason', None) or error or type(error).__name__}",
                    _PAUSE,
                )
            pause *= attempt
            if attempt == ATTEMPTS or time.monotonic() + pause >= deadline:
                break
            self._agent.sleep(pause)
        raise AgentError(f"{self._agent.address}: {problem}")

    def _exchange(self, body: bytes, deadline: float) -> bytes:
        """Send a request and return the answer; TimeoutError when the deadline has passed."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if token := os.environ.get(TOKEN):
            headers["Authorization"] = f"Bearer {token}"
        asked = Request(self._agent.address, data=body, headers=headers, method="POST")  # noqa: S310 (http or https)
        try:
            with self._agent.opener.open(asked, timeout=_left(deadline)) as response:
                content = b""
                while chunk := response.read1(_CHUNK):
                    content += chunk
                    _left(deadline)
                    if len(content) > MOST_BYTES:
                        raise AgentError(f"{self._agent.address}: the answer is longer than {MOST_BYTES:,} bytes")
                if response.length:
                    raise ConnectionError("the answer is incomplete")
        except HTTPError as error:
            said = _said(error) or error.reason
            raise _StatusError(f"HTTP status {error.code}: {said}", error.code, _pause(error)) from error
        except OSError as error:
            if isinstance(getattr(error, "reason", None), TimeoutError):
                raise TimeoutError from error
            raise
        return content


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _said(error: HTTPError) -> str:
    """Return the beginning of the body; empty if it can't be read."""
    with error, suppress(OSError, HTTPException):
        return cut(error.read(_CHUNK).decode(errors="replace").strip(), 200)
    return ""


def _pause(error: HTTPError) -> float:
    """Return how many seconds a server wants us to wait; a second if it does not say."""
    asked = error.headers.get("Retry-After", "")
    return min(float(asked), _LONGEST_PAUSE) if asked.isdecimal() else _PAUSE
