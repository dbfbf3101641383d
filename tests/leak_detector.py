"""An agent that searches everything it is shown for what it must not know."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime

from pytest_crmeval.conversations.references import REFERENCE
from pytest_crmeval.conversations.troubled_crm import NO_ANSWER, locked
from pytest_crmeval.domain.conversation import Conversation, Seed, Turn
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall, ToolResult
from pytest_crmeval.domain.state import State
from pytest_crmeval.domain.trouble import Lock, Outage
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.crm import Crm

FLAGS = ("expect_success", "expected_", "expectation", "succeeds", "failure_turn", "conversation_id")
"""Words of the answer key itself."""


@dataclass
class TappedCrm:
    """A CRM that notes what it really says, whatever the harness makes of it."""

    crm: Crm
    said: list[ToolResult] = field(default_factory=list)

    @property
    def tools(self) -> Sequence[Tool]:
        """What can be called."""
        return self.crm.tools

    def seeded(self, seed: Seed, now: datetime, salt: str = "", page_size: int = 0) -> AbstractContextManager[None]:
        """Hold the rows of the case."""
        return self.crm.seeded(seed, now, salt, page_size)

    def call(self, call: ToolCall) -> ToolResult:
        """Do what an agent asks, and note the answer."""
        result = self.crm.call(call)
        self.said.append(result)
        return result

    def snapshot(self) -> State:
        """Return all rows."""
        return self.crm.snapshot()


class LeakDetector:
    """Plays like another agent, and searches messages and tools for the answer key.

    What the user says (as the case has it, with what the CRM has said in place of references), what the CRM says, and
    what the agent has said itself is no secret. ``found`` is the rest: it must stay empty.
    """

    name = "detector"

    def __init__(self, agent: Agent, case: Conversation, crm: TappedCrm) -> None:
        self.found: list[str] = []
        self._agent = agent
        self._case = case
        self._crm = crm
        self._secrets = set(_secrets(case))
        self._known = len(crm.said)
        """What the CRM said before, to the reference: the user may refer to it, but it proves nothing."""
        self._seen: tuple[Message, ...] = ()
        self._said: list[str] = [repr(tool) for tool in crm.tools]

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Search, then play."""
        if self._seen != tuple(messages[: len(self._seen)]):
            self.found.append("the past was rewritten")
        if list(self._crm.tools) != list(tools):
            self.found += self._unsaid("tools", map(repr, tools)) or ["tools: others than those of the CRM"]
        for number, message in enumerate(messages[len(self._seen) :], start=len(self._seen)):
            self._read(message, sum(one.speaker == "user" for one in messages[: number + 1]))
        reply = self._agent.reply(messages, tools)
        self._said += [reply.text, *map(repr, reply.calls)]
        self._seen = tuple(messages)
        return reply

    def _read(self, message: Message, turn: int) -> None:
        """Search a message that was not there before."""
        pieces = [message.text, *map(repr, message.calls), *map(repr, message.results)]
        own = message.speaker == "agent"
        if message.speaker == "user":
            self._said.append(self._utterance(message.text, turn))
        if message.speaker == "system":
            self._said.append(self._case.policy)
        results = [repr(result) for result in (*self._crm.said[self._known :], *self._failures())]
        unsaid = self._unsaid(message.speaker, pieces, more=results)
        strange = [piece for piece in pieces if piece and piece not in (*self._said, *results)]
        self.found += unsaid or [f"{'itself' if own else message.speaker}: nobody said {piece!r}" for piece in strange]

    def _failures(self) -> Iterator[ToolResult]:
        """Yield the answers to calls that fail as the case says, before the CRM is asked."""
        for trouble in self._case.trouble:
            if isinstance(trouble, Outage):
                yield ToolResult(error=NO_ANSWER)
            if isinstance(trouble, Lock):
                yield ToolResult(error=locked(trouble))

    def _unsaid(self, where: str, pieces: Iterator[str] | Sequence[str], more: Sequence[str] = ()) -> list[str]:
        """Return the secrets in a text that no message has mentioned."""
        named = [turn.expectation.call.tool for turn in self._case.turns] if where == "user" else []
        said = [*self._said, *more]
        return [
            f"{where}: {secret}"
            for piece in pieces
            for secret in sorted({*self._secrets, *FLAGS, *named})
            if secret in piece and not any(_says(text, secret, where) for text in said)
        ]

    def _utterance(self, text: str, turn: int) -> str:
        """Return what the user is known to say: ``text``, if the case has it so."""
        if turn > len(self._case.turns):
            return ""
        if text in (self._case.turns[turn - 1].if_written, self._case.turns[turn - 1].if_not_asked):
            return text
        template = self._case.turns[turn - 1].utterance
        literals = REFERENCE.split(template)[::3]
        match = re.fullmatch("(.*)".join(map(re.escape, literals)), text, re.DOTALL)
        heard = {str(leaf) for result in self._crm.said for leaf in leaves(result.value)}
        heard |= {found[0] for found in REFERENCE.finditer(template)}
        return text if match and heard.issuperset(match.groups()) else template


def _says(text: str, secret: str, where: str) -> bool:
    """Whether a text says a secret; that a tool can be called is no news, that the user names it is."""
    return secret in text and not (where == "user" and text.startswith("Tool("))


def leaves(value: Json) -> Iterator[Json]:
    """Yield what a value is made of, however deep."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def _secrets(case: Conversation) -> Iterator[str]:
    """Yield what the answer key knows: arguments, facts, replies, refusals."""
    for turn in case.turns:
        yield from (str(value) for value in _expected(turn) if value not in (None, "", True, False))


def _expected(turn: Turn) -> Iterator[Json]:
    expectation = turn.expectation
    yield from leaves(expectation.call.arguments)
    yield from expectation.facts or ()
    yield expectation.refusal
    if expectation.answer:
        yield from (expectation.answer.text, *expectation.answer.others)
