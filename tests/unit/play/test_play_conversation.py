"""The turn loop."""

from collections.abc import Sequence

import pytest

from pytest_crmeval.domain.conversation import Turn
from pytest_crmeval.domain.messages import (
    Message,
    Reply,
    Tool,
    ToolCall,
    ToolError,
    ToolResult,
    agent_says,
    crm_says,
    user_says,
)
from pytest_crmeval.domain.transcript import Exchange, Transcript
from pytest_crmeval.play.conversation import MAX_STEPS, play
from tests.fakes import PaperCrm, Reciting, call, calls, conversation, says, turn

WRITE = calls(call("write", name="Ada"))
FIRST_ROW = crm_says([ToolResult(value={"id": "row-1"})])


def test_a_turn_is_said_called_answered_and_closed() -> None:
    """Utterance, call, result, words: the transcript holds them in that order."""
    messages = (user_says("Add Ada."), agent_says(WRITE), FIRST_ROW, agent_says(says("Done.")))

    transcript = play(conversation("Add Ada."), Reciting(WRITE, says("Done.")), PaperCrm())

    assert Transcript(exchanges=(Exchange(messages=messages),)) == transcript


def test_every_turn_is_an_exchange_of_its_own() -> None:
    """In the order of the case."""
    transcript = play(conversation("One.", "Two.", "Three."), Reciting(says("Yes.")), PaperCrm())

    assert ["One.", "Two.", "Three."] == [exchange.messages[0].text for exchange in transcript.exchanges]


def test_the_agent_is_shown_what_was_said_so_far_and_nothing_else() -> None:
    """No turn, no expectation, no later utterance: messages are all there is."""
    agent = Reciting(WRITE, says("Done."), says("Bye."))

    play(conversation("Add Ada.", "Thanks."), agent, PaperCrm())

    first = (user_says("Add Ada."),)
    second = (*first, agent_says(WRITE), FIRST_ROW)
    third = (*second, agent_says(says("Done.")), user_says("Thanks."))
    assert [first, second, third] == agent.shown
    assert {Message} == {type(message) for shown in agent.shown for message in shown}


def test_the_agent_is_shown_the_tools_of_the_crm() -> None:
    """Nobody else decides what can be called."""
    agent = Reciting(says("Hello."))

    play(conversation("Hello."), agent, PaperCrm())

    assert PaperCrm.tools == agent.tools


def test_an_agent_cannot_rewrite_the_past() -> None:
    """What it is shown can't be changed; the transcript is kept elsewhere."""
    agent = Reciting(says("Hello."))

    play(conversation("Hello.", "Again."), agent, PaperCrm())

    assert [tuple, tuple] == [type(shown) for shown in agent.shown]


def test_several_calls_of_a_reply_are_made_in_their_order() -> None:
    """Their results come back together."""
    crm = PaperCrm()
    both = calls(call("write", name="Ada"), call("write", name="Bob"))

    transcript = play(conversation("Add both."), Reciting(both, says("Done.")), crm)

    assert list(both.calls) == crm.calls
    assert ["row-1", "row-2"] == [
        result.value["id"] for _, result in transcript.exchanges[0].calls if isinstance(result.value, dict)
    ]


def test_words_that_come_with_calls_do_not_end_the_turn() -> None:
    """Thinking aloud is allowed."""
    aloud = Reply(text="Let me see.", calls=[call("write")])

    transcript = play(conversation("Add Ada."), Reciting(aloud, says("Done.")), PaperCrm())

    assert "Done." == transcript.exchanges[0].messages[-1].text


def test_a_refusal_goes_back_to_the_agent() -> None:
    """It may try something else; the turn goes on."""
    agent = Reciting(calls(call("refuse")), WRITE, says("Done."))

    play(conversation("Add Ada."), agent, PaperCrm())

    refusal = ToolResult(error=ToolError(kind="refused_by_rule", message="not on a Sunday"))
    assert crm_says([refusal]) == agent.shown[1][-1]
    assert 3 == len(agent.shown)


def test_an_utterance_refers_to_what_the_crm_really_answered() -> None:
    """The agent sees the id of this very trial."""
    case = conversation("Add Ada.", "Call {{turn_1.id}} {{turn_1.nick}}.")

    transcript = play(case, Reciting(WRITE, says("Done.")), PaperCrm())

    assert "Call row-1 {{turn_1.nick}}." == transcript.exchanges[1].messages[0].text


def test_an_agent_that_never_stops_calling_is_cut() -> None:
    """After ``max_steps`` replies; the transcript says so, and every call has its result."""
    crm = PaperCrm()

    transcript = play(conversation("Add Ada."), Reciting(WRITE), crm, max_steps=3)

    (exchange,) = transcript.exchanges
    assert exchange.cut
    assert 3 == len(crm.calls) == len(list(exchange.calls))


def test_an_agent_that_stops_with_its_last_step_is_not_cut() -> None:
    """Two calls and a word are three steps."""
    transcript = play(conversation("Add both."), Reciting(WRITE, WRITE, says("Done.")), PaperCrm(), max_steps=3)

    assert not transcript.exchanges[0].cut


def test_after_a_cut_the_next_turn_is_played() -> None:
    """With steps of its own: one turn that went wrong does not end the conversation."""
    agent = Reciting(WRITE, WRITE, WRITE, says("Done."))

    transcript = play(conversation("One.", "Two."), agent, PaperCrm(), max_steps=2)

    assert [True, False] == [exchange.cut for exchange in transcript.exchanges]
    assert user_says("Two.") == transcript.exchanges[1].messages[0]


def test_the_default_is_generous_and_ends() -> None:
    """An agent in a loop costs twenty replies, not a night."""
    agent = Reciting(WRITE)

    play(conversation("Add Ada."), agent, PaperCrm())

    assert 20 == MAX_STEPS == len(agent.shown)


def test_a_broken_crm_ends_the_play() -> None:
    """It is not the agent's fault, so it is not told to the agent."""

    class BrokenCrm(PaperCrm):
        def call(self, call: ToolCall) -> ToolResult:
            raise ConnectionError(f"lost while {call.tool}")

    with pytest.raises(ConnectionError, match="lost while write"):
        play(conversation("Add Ada."), Reciting(WRITE), BrokenCrm())


def test_a_broken_agent_ends_the_play() -> None:
    """A provider that is down is no wrong answer."""

    class Offline(Reciting):
        def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
            del messages, tools
            raise ConnectionError("no route to model")

    with pytest.raises(ConnectionError, match="no route to model"):
        play(conversation("Add Ada."), Offline(), PaperCrm())


def test_the_answer_key_plays_no_part() -> None:
    """Two cases that differ in their answer keys only are played alike."""
    right, wrong = turn("Add Ada.", call("write", name="Ada")), turn("Add Ada.", call("refuse"), succeeds=False)

    def played(given: Turn) -> Transcript:
        return play(conversation(given), Reciting(WRITE, says("Done.")), PaperCrm())

    assert played(right) == played(wrong)
