"""An agent that is a program: it reads requests and writes replies, one JSON line each."""

import atexit
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from uuid import uuid4

from pytest_crmeval.agents.calling import SECONDS, AgentError, Offered
from pytest_crmeval.agents.protocol import MOST_BYTES, reply_in, request
from pytest_crmeval.domain.cutting import cut, cut_end
from pytest_crmeval.domain.messages import Message, Reply

_CHUNK = 1 << 16
_LONGEST_TAIL = 500
_MOST_LOG = 16_000
"""Bytes of stderr that are kept: more than is shown, so that no secret is cut before it is redacted."""
_PATIENCE = 2.0
"""Seconds that a program has to end when its stdin does, for example to write its logs."""


class _EndedWellError(AgentError):
    """The program has ended with status 0 and without an answer."""


class CommandAgent:
    """A program that is started once per process, and again after it has exited or was killed for a bad answer."""

    reply_timeout = 0
    """It enforces the time limit of ``seconds`` itself."""

    def __init__(self, command: str, *, seconds: float = SECONDS, uses_tool_server: bool = False) -> None:
        self._words = shlex.split(command)
        if not self._words:
            raise ValueError("there is no command after exec:")
        if shutil.which(self._words[0]) is None:
            raise ValueError(_not_a_program(self._words[0]))
        self.name = command
        self.seconds = seconds
        self.uses_tool_server = uses_tool_server
        self._lock = Lock()
        self._running: _Running | None = None
        atexit.register(self.close, _PATIENCE)

    def new_conversation(self) -> "CommandConversation":
        """Return the agent in one conversation, which has a random id."""
        return CommandConversation(self, uuid4().hex)

    def reply(self, messages: Sequence[Message], tools: Offered) -> Reply:
        """Reply in a conversation of its own."""
        return self.new_conversation().reply(messages, tools)

    def ask(self, body: bytes, conversation: str) -> Reply:
        """Return the program's reply to a request; AgentError if there is none. One request at a time is sent."""
        with self._lock:
            had_answered = self._running is not None
            try:
                try:
                    line = self._exchanged(body)
                except _EndedWellError:
                    if not had_answered:
                        raise
                    self.close()
                    line = self._exchanged(body)  # it answers one request and ends, as simple scripts do
                return reply_in(line, conversation)
            except BaseException:
                self.close()  # a late answer would be taken for that of the next request
                raise

    def _exchanged(self, body: bytes) -> bytes:
        if self._running is None:
            self._running = _Running(self._words)
        line = self._running.exchange(body, self.seconds)
        if self._running.has_unread:  # it would take the next request for the rest of this one
            self.close()
        return line

    def close(self, patience: float = 0.0) -> None:
        """End the program, which has so many seconds to end by itself when its stdin does."""
        running, self._running = self._running, None
        if running is not None:
            running.close(patience)


class CommandConversation:
    """One conversation with a program."""

    def __init__(self, agent: CommandAgent, conversation: str) -> None:
        self._agent = agent
        self._conversation = conversation
        self.uses_tool_server = agent.uses_tool_server
        self.name = agent.name

    def reply(self, messages: Sequence[Message], tools: Offered) -> Reply:
        """Ask the program for a reply."""
        return self._agent.ask(request(self._conversation, messages, tools, self._agent.seconds), self._conversation)


class _Running:
    """A process of the program, in a group of its own: Ctrl-C ends the run, and the run ends the program."""

    def __init__(self, words: Sequence[str]) -> None:
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(  # noqa: S603 (the user's command)
                words, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, process_group=0
            )
        except OSError as error:
            raise AgentError(f"{shlex.join(words)} can't be started: {error.strerror}") from error
        self.has_unread = False
        """Whether it has answered a request before it has read all of it."""
        self._log = b""
        """The end of its stderr."""
        self._reader = Thread(target=self._read_log, name="crmeval-agent-log", daemon=True)
        self._reader.start()

    def _read_log(self) -> None:
        assert self._process.stderr is not None  # noqa: S101 (a pipe)
        with self._process.stderr as stream:
            while chunk := stream.read(_CHUNK):
                self._log = (self._log + chunk)[-_MOST_LOG:]

    def exchange(self, body: bytes, seconds: float) -> bytes:
        """Write a line and return the line that answers it."""
        deadline = time.monotonic() + seconds
        assert self._process.stdin is not None  # noqa: S101 (pipes)
        assert self._process.stdout is not None  # noqa: S101
        to_write = memoryview(body + b"\n")
        received = b""
        with selectors.DefaultSelector() as selector:
            os.set_blocking(self._process.stdin.fileno(), False)
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if selector.select(0):
                early = os.read(self._process.stdout.fileno(), _CHUNK)
                raise AgentError(_surplus(early)) if early else self._ended()
            selector.register(self._process.stdin, selectors.EVENT_WRITE)
            while b"\n" not in received:
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    late = f"timeout: the program did not print a line within {seconds:g} s; does it flush its output?"
                    raise AgentError(late + self._said())
                for key, _ in ready:
                    if key.fileobj is self._process.stdout:
                        chunk = os.read(key.fd, _CHUNK)
                        received += chunk
                        if not chunk:
                            raise self._ended()
                        if len(received) > MOST_BYTES:
                            raise AgentError(f"the answer is longer than {MOST_BYTES:,} bytes")
                    else:
                        with suppress(BrokenPipeError):  # it has ended, and says why on stderr
                            to_write = to_write[os.write(key.fd, to_write[:_CHUNK]) :]
                            if to_write:
                                continue
                        selector.unregister(key.fileobj)
        line, _, rest = received.partition(b"\n")
        if rest:
            raise AgentError(_surplus(rest))
        self.has_unread = bool(to_write)
        return line

    def close(self, patience: float) -> None:
        """End the process and what it has started, and wait for its end."""
        if patience and self._process.stdin is not None:
            self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(patience)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout):
            if file is not None:
                file.close()

    def _ended(self) -> AgentError:
        """Return the error for a program that has ended, or has only closed its stdout."""
        try:
            status = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return AgentError(f"the program closed its stdout, but did not exit{self._said()}")
        self._reader.join(_PATIENCE)  # a process that it has started may still have its stderr
        how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        return (AgentError if status else _EndedWellError)(f"the program {how}{self._said()}")

    def _said(self) -> str:
        """Return the end of its stderr, for an error."""
        said = cut_end(self._log.decode(errors="replace").strip(), _LONGEST_TAIL)
        return f": {said}" if said else ""


def _not_a_program(word: str) -> str:
    if Path(word).is_file():
        return f"{word} is not executable; allow it with chmod +x {word}, or name its interpreter: exec:bash {word}"
    return f"there is no program {word!r} {'in this folder' if '/' in word else 'on the PATH'}"


def _surplus(content: bytes) -> str:
    """Return the error for output beyond the answer, which would be taken for the answer to the next request."""
    return (
        f"the program must print one line per request, but also printed {cut(content.decode(errors='replace'), 200)!r}"
    )
