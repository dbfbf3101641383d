"""What every agent keeps to, whoever it is, and what is kept from it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path

import pytest

from pytest_crmeval.agents.scripted import Scripted, mute
from pytest_crmeval.datasets.conversations import CaseRef, index
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.domain.references import outputs_of, resolve
from pytest_crmeval.play.conversation import play
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.crm import Crm
from pytest_crmeval.scoring.oracle import Oracle
from tests.fakes import PaperCrm, call, calls, conversation, turn

CASE = conversation(
    turn("Add Ada.", call("write", name="Ada", tags=["new"])),
    turn("Note on {{turn_1.id}}.", call("write", about={"row": "{{turn_1.id}}"})),
)
ADAPTERS: Mapping[str, Callable[[], Agent]] = {
    "oracle": lambda: Oracle(CASE),
    "mute": mute,
    "scripted": lambda: Scripted(name="closer", answer=Reply(text="Deal!", calls=[call("write", name="Deal")])),
}
ASKED = [user_says("Add Ada.")]
ANSWERED = [*ASKED, agent_says(calls(call("write"))), crm_says([ToolResult(value={"id": "row-1"})])]
ASKED_AGAIN = [*ANSWERED, agent_says(Reply(text="Done.")), user_says("Note on row-1.")]
DIALOGUES = {"asked": ASKED, "answered": ANSWERED, "asked again": ASKED_AGAIN}


@pytest.mark.parametrize("adapter", ADAPTERS)
class TestAgent:
    """Every agent that comes with the package."""

    def test_it_is_an_agent(self, adapter: str) -> None:
        """For ``isinstance``, which is how agents of other people are checked."""
        assert isinstance(ADAPTERS[adapter](), Agent)

    def test_it_has_a_name(self, adapter: str) -> None:
        """That can be shown in a report."""
        name = ADAPTERS[adapter]().name

        assert str is type(name)
        assert name.strip() == name != ""

    @pytest.mark.parametrize("dialogue", DIALOGUES)
    def test_it_answers_with_calls_or_words(self, adapter: str, dialogue: str) -> None:
        """Typed ones, and nothing else."""
        reply = ADAPTERS[adapter]().reply(DIALOGUES[dialogue], PaperCrm.tools)

        assert Reply is type(reply)
        assert str is type(reply.text)
        assert {ToolCall} >= {type(made) for made in reply.calls}

    @pytest.mark.parametrize("dialogue", DIALOGUES)
    def test_it_never_changes_what_it_is_shown(self, adapter: str, dialogue: str) -> None:
        """Not even when it is given lists."""
        messages, tools = deepcopy(DIALOGUES[dialogue]), list(PaperCrm.tools)

        ADAPTERS[adapter]().reply(messages, tools)

        assert DIALOGUES[dialogue] == messages
        assert list(PaperCrm.tools) == tools

    @pytest.mark.parametrize("dialogue", DIALOGUES)
    def test_it_takes_any_sequence(self, adapter: str, dialogue: str) -> None:
        """A tuple is answered like a list."""
        agent = ADAPTERS[adapter]()

        listed, tupled = (agent.reply(kind(DIALOGUES[dialogue]), PaperCrm.tools) for kind in (list, tuple))

        assert listed == tupled

    def test_it_comes_to_an_end(self, adapter: str) -> None:
        """Every turn of a conversation, well before its steps run out."""
        transcript = play(CASE, ADAPTERS[adapter](), PaperCrm(), max_steps=3)

        assert [False, False] == [exchange.cut for exchange in transcript.exchanges]

    def test_it_starts_each_conversation_anew(self, adapter: str) -> None:
        """One agent is made per process, and plays many."""
        agent = ADAPTERS[adapter]()

        first, second = (play(CASE, agent, PaperCrm()) for _ in range(2))

        assert first == second


DATA = Path(__file__).parents[2] / "evals" / "data"
BUNDLED = [ref for path in sorted(DATA.glob("*.jsonl")) for ref in index([path])]


class Snoop:
    """Plays like another agent and searches everything that it is shown."""

    name = "snoop"

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.shown: list[Sequence[Message]] = []

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Look, then play."""
        self.shown.append(messages)
        return self._agent.reply(messages, tools)


class TestTheAnswerKey:
    """An agent is never shown what it is expected to do."""

    def test_there_are_bundled_cases(self) -> None:
        """Otherwise the next test would test nothing."""
        assert BUNDLED

    @pytest.mark.parametrize("ref", BUNDLED, ids=lambda ref: ref.id)
    def test_it_is_not_in_what_an_agent_is_shown(self, crm: Crm, ref: CaseRef) -> None:
        """Every expected value that an agent can read was said by the user, by the CRM, or by itself."""
        case = ref.read()
        snoop = Snoop(Oracle(case))

        with crm.seeded(case.seed):
            play(case, snoop, crm)

        for messages in snoop.shown:
            played = sum(message.speaker == "user" for message in messages)
            said = repr([message for message in messages if message.speaker != "user"])
            said += " ".join(str(resolve(turn.utterance, outputs_of(messages))) for turn in case.turns[:played])
            secrets = [value for turn in case.turns for value in _values(turn.expectation.call.arguments)]
            assert [] == [secret for secret in secrets if secret in repr(messages) and secret not in said]


def _values(value: Json) -> Iterator[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _values(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _values(item)
    elif value is not None:
        yield str(value)
