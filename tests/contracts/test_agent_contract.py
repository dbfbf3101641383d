"""The contract of every agent, and what agents must never see."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace

import pytest

from pytest_crmeval.agents.scripted import Scripted, mute, parrot
from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.conversations.play import observe, play
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.expectation import Expectation, PublishedReply
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.crm import Crm
from tests.fakes import PaperCrm, call, calls, conversation, turn
from tests.leak_detector import LeakDetector, TappedCrm
from tests.projects import DEV_DATA
from tests.reference_plays import BUNDLE, HARD, ReferencePlay, play_of

CASE = conversation(
    turn("Add Ada.", call("write", name="Ada", tags=["new"])),
    turn("Note on {{turn_1.id}}.", call("write", about={"row": "{{turn_1.id}}"})),
)
ADAPTERS: Mapping[str, Callable[[], Agent]] = {
    "oracle": lambda: Oracle(CASE),
    "mute": mute,
    "parrot": parrot,
    "reciting oracle": lambda: Oracle(CASE, recites=True),
    "scripted": lambda: Scripted(name="closer", answer=Reply(text="Deal!", calls=[call("write", name="Deal")])),
}
ASKED = [user_says("Add Ada.")]
ANSWERED = [*ASKED, agent_says(calls(call("write"))), crm_says([ToolResult(value={"id": "row-1"})])]
ASKED_AGAIN = [*ANSWERED, agent_says(Reply(text="Done.")), user_says("Note on row-1.")]
DIALOGUES = {"asked": ASKED, "answered": ANSWERED, "asked again": ASKED_AGAIN}


@pytest.mark.parametrize("adapter", ADAPTERS)
class TestAgent:
    """Every agent that comes with the package."""

    def test_agent_passes_the_isinstance_check(self, adapter: str) -> None:
        """``isinstance`` is how agents of users are checked."""
        assert isinstance(ADAPTERS[adapter](), Agent)

    def test_agent_has_a_printable_name(self, adapter: str) -> None:
        """Reports show it."""
        name = ADAPTERS[adapter]().name

        assert str is type(name)
        assert name.strip() == name != ""

    @pytest.mark.parametrize("dialogue", DIALOGUES)
    def test_agent_replies_with_typed_calls_or_text(self, adapter: str, dialogue: str) -> None:
        """Agent replies with typed calls or text."""
        reply = ADAPTERS[adapter]().reply(DIALOGUES[dialogue], PaperCrm.tools)

        assert Reply is type(reply)
        assert str is type(reply.text)
        assert {ToolCall} >= {type(made) for made in reply.calls}

    @pytest.mark.parametrize("dialogue", DIALOGUES)
    def test_agent_does_not_modify_messages_or_tools(self, adapter: str, dialogue: str) -> None:
        """Even if they are lists."""
        messages, tools = deepcopy(DIALOGUES[dialogue]), list(PaperCrm.tools)

        ADAPTERS[adapter]().reply(messages, tools)

        assert DIALOGUES[dialogue] == messages
        assert list(PaperCrm.tools) == tools

    @pytest.mark.parametrize("dialogue", DIALOGUES)
    def test_agent_accepts_lists_and_tuples(self, adapter: str, dialogue: str) -> None:
        """A tuple is answered like a list."""
        agent = ADAPTERS[adapter]()

        listed, tupled = (agent.reply(kind(DIALOGUES[dialogue]), PaperCrm.tools) for kind in (list, tuple))

        assert listed == tupled

    def test_agent_finishes_every_turn_within_three_steps(self, adapter: str) -> None:
        """In every conversation, well before its steps are used up."""
        transcript = play(CASE, ADAPTERS[adapter](), PaperCrm(), max_steps=3)

        assert [False, False] == [exchange.cut for exchange in transcript.exchanges]

    def test_agent_keeps_no_state_between_conversations(self, adapter: str) -> None:
        """One agent is created per process, and plays many conversations."""
        agent = ADAPTERS[adapter]()

        first, second = (play(CASE, agent, PaperCrm()) for _ in range(2))

        assert first == second


BUNDLED = [BUNDLE, HARD]
EVERY = 2
"""One in this number of conversations is searched, because the search is slow."""
HERE = [*BUNDLED, pytest.param(DEV_DATA, marks=pytest.mark.skipif(not DEV_DATA.is_file(), reason="it is not here"))]
Leak = Callable[[Expectation, Sequence[Message], Sequence[Tool]], tuple[Sequence[Message], Sequence[Tool]]]


class Leaking:
    """A faulty harness that shows an agent more than it may know."""

    name = "leaking"

    def __init__(self, agent: Agent, case: Conversation, leak: Leak) -> None:
        self._agent = agent
        self._case = case
        self._leak = leak

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Pass the messages and tools on, with a part of the turn's answer key."""
        turn = sum(message.speaker == "user" for message in messages)
        return self._agent.reply(*self._leak(self._case.turns[turn - 1].expectation, messages, tools))


def found_in(play: ReferencePlay, crm: Crm, leak: Leak | None = None) -> Iterator[str]:
    """Yield the findings of detectors in a play of a case.

    One says nothing, so its own words reveal nothing; one plays like the oracle, so that all tools answer.
    """
    case, tapped = play.case, TappedCrm(crm, said=list(play.said))
    for agent in (mute(), Oracle(case)):
        detector = LeakDetector(agent, case, tapped)
        observe(case, Leaking(detector, case, leak) if leak else detector, tapped, play.reference)
        yield from detector.found


def begun(play: ReferencePlay) -> ReferencePlay:
    """Return the play of the first turn of a conversation."""
    case, first = play.case, play.reference.transcript.exchanges[0]
    return replace(play, case=replace(case, turns=case.turns[:1]), said=play.said[: len(first.calls)])


def hinting(tell: Callable[[Expectation], object], *, place: int = -1) -> Leak:
    """Return a leak that adds words to a message."""

    def leak(
        expectation: Expectation, messages: Sequence[Message], tools: Sequence[Tool]
    ) -> tuple[Sequence[Message], Sequence[Tool]]:
        hinted = list(messages)
        hinted[place] = replace(hinted[place], text=f"{hinted[place].text} {tell(expectation)}")
        return hinted, tools

    return leak


def noting(
    expectation: Expectation, messages: Sequence[Message], tools: Sequence[Tool]
) -> tuple[Sequence[Message], Sequence[Tool]]:
    """Add a note to the last result."""
    *before, last = messages
    results = [replace(result, note=str(expectation.facts)) for result in last.results]
    return [*before, replace(last, results=results)], tools


def describing(
    expectation: Expectation, messages: Sequence[Message], tools: Sequence[Tool]
) -> tuple[Sequence[Message], Sequence[Tool]]:
    """Add the arguments to the description of a tool."""
    return messages, [replace(tool, description=f"Try {expectation.call.arguments}.") for tool in tools]


def offering(
    expectation: Expectation, messages: Sequence[Message], tools: Sequence[Tool]
) -> tuple[Sequence[Message], Sequence[Tool]]:
    """Offer the tool of the turn only."""
    return messages, [tool for tool in tools if tool.name == expectation.call.tool]


def prompting(
    expectation: Expectation, messages: Sequence[Message], tools: Sequence[Tool]
) -> tuple[Sequence[Message], Sequence[Tool]]:
    """Add words to the agent's own messages."""
    return [*messages, agent_says(Reply(text=f"I will call {expectation.call.tool}."))], tools


SECRET = conversation(
    turn(
        "Whom do we know?",
        call("write", name="Zebedee"),
        facts=["Quagga"],
        answer=PublishedReply(text="It is done, Sir."),
    ),
    turn("Note on {{turn_1.id}}", call("refuse", rate=7.25), succeeds=False, answer=PublishedReply(others=("Alas.",))),
)
LEAKS: Mapping[str, tuple[Leak, str]] = {
    "the reply": (hinting(lambda expected: expected.answer and expected.answer.text), "user: It is done, Sir."),
    "another reply": (hinting(lambda expected: expected.answer and expected.answer.others), "user: Alas."),
    "a fact": (hinting(lambda expected: expected.facts), "user: Quagga"),
    "an argument": (hinting(lambda expected: expected.call.arguments.get("name")), "user: Zebedee"),
    "a number": (hinting(lambda expected: expected.call.arguments.get("rate")), "user: 7.25"),
    "the tool": (hinting(lambda expected: expected.call.tool), "user: refuse"),
    "a flag": (hinting(lambda expected: f"expect_success={expected.succeeds}"), "user: expect_success"),
    "anything": (hinting(lambda _: "(easy)"), "user: nobody said 'Whom do we know? (easy)'"),
    "in the first message": (hinting(lambda expected: expected.call.tool, place=0), "the past was rewritten"),
    "in a result": (noting, "crm: Quagga"),
    "in a tool": (describing, "tools: Zebedee"),
    "by what is offered": (offering, "tools: others than those of the CRM"),
    "in its own words": (prompting, "itself: nobody said 'I will call write.'"),
}


class TestTheAnswerKey:
    """An agent is never shown what it is expected to do."""

    def test_bundled_cases_exist(self) -> None:
        """Otherwise the next test would check nothing."""
        assert BUNDLED

    @pytest.mark.parametrize("plays", HERE, ids=lambda path: path.stem, indirect=True)
    def test_answer_key_is_not_in_messages_or_tools(self, crm: Crm, plays: list[ReferencePlay]) -> None:
        """Everything in them was said by the user, the CRM or the agent itself."""
        found = {play.case.id: list(found_in(play, crm)) for play in plays[::EVERY]}

        assert {} == {name: finds for name, finds in found.items() if finds}

    @pytest.mark.parametrize("plays", HERE, ids=lambda path: path.stem, indirect=True)
    def test_leaked_call_is_detected_in_every_conversation(self, crm: Crm, plays: list[ReferencePlay]) -> None:
        """The test above can fail: a user who adds the expected call to the first message is detected."""
        leak = hinting(lambda expected: f"Call {expected.call.tool} with {expected.call.arguments}.")

        assert [] == [play.case.id for play in plays[::EVERY] if not any(found_in(begun(play), crm, leak))]

    @pytest.mark.parametrize("leak", LEAKS)
    def test_leak_is_detected_in_every_place(self, leak: str) -> None:
        """Leak is detected in every place."""
        how, expected = LEAKS[leak]

        assert expected in found_in(play_of(SECRET, PaperCrm()), PaperCrm(), how)

    def test_values_said_by_user_or_crm_are_not_leaks(self) -> None:
        """Neither an id that the user mentions, nor a name that the user gives."""
        case = conversation(
            turn("Add Zebedee to write.", call("write", name="Zebedee"), facts=["row-1"]),
            turn("Note on {{turn_1.id}}.", call("write", about="row-1", to="{{turn_1.id}}")),
        )

        assert [] == list(found_in(play_of(case, PaperCrm()), PaperCrm()))
