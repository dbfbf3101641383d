"""The turn loop."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.conversations.play import MAX_STEPS, observe, play, play_reference
from pytest_crmeval.domain.conversation import NOW, Conversation, Turn
from pytest_crmeval.domain.expectation import NO_CALL, Expectation
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
from pytest_crmeval.ports.scorer import Evidence, Reference
from tests.fakes import PaperCrm, Reciting, call, calls, conversation, says, turn

WRITE = calls(call("write", name="Ada"))
FIRST_ROW = crm_says([ToolResult(value={"id": "row-1"})])


def test_transcript_has_utterance_calls_results_and_reply_in_order() -> None:
    """Utterance, call, result, words: the transcript holds them in that order, and what came to light."""
    messages = (user_says("Add Ada."), agent_says(WRITE), FIRST_ROW, agent_says(says("Done.")))

    transcript = play(conversation("Add Ada."), Reciting(WRITE, says("Done.")), PaperCrm())

    assert Transcript(exchanges=(Exchange(messages=messages, output={"id": "row-1"}),)) == transcript


def test_every_turn_is_an_exchange_of_its_own() -> None:
    transcript = play(conversation("One.", "Two.", "Three."), Reciting(says("Yes.")), PaperCrm())

    assert ["One.", "Two.", "Three."] == [exchange.messages[0].text for exchange in transcript.exchanges]


def test_agent_sees_only_the_messages_so_far() -> None:
    """No turn, no expectation, no later utterance: messages are all there is."""
    agent = Reciting(WRITE, says("Done."), says("Bye."))

    play(conversation("Add Ada.", "Thanks."), agent, PaperCrm())

    first = (user_says("Add Ada."),)
    second = (*first, agent_says(WRITE), FIRST_ROW)
    third = (*second, agent_says(says("Done.")), user_says("Thanks."))
    assert [first, second, third] == agent.shown
    assert {Message} == {type(message) for shown in agent.shown for message in shown}


def test_the_agent_is_shown_the_tools_of_the_crm() -> None:
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
    assert 3 == len(crm.calls) == len(exchange.calls)


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


def test_no_word_comes_from_the_answer_key() -> None:
    """Two cases that differ in their answer keys only are played alike, word for word."""
    right, wrong = turn("Add Ada.", call("write", name="Ada")), turn("Add Ada.", call("refuse"), succeeds=False)

    def said(given: Turn) -> Sequence[Message]:
        return play(conversation(given), Reciting(WRITE, says("Done.")), PaperCrm()).exchanges[0].messages

    assert said(right) == said(wrong)


class TestWhatTheUserRefersTo:
    """``{{turn_1.id}}`` in an utterance is what turn 1 brought to light in this very trial."""

    CASE = conversation(turn("Add Ada.", call("write", name="Ada")), "Call {{turn_1.id}}.")

    def said(self, *replies: Reply, known: str | None = None) -> str:
        """Return what the user says in the second turn, when the agent gives these replies in the first."""
        outputs = {1: {"id": known}} if known else None
        transcript = play(self.CASE, Reciting(*replies, says("Bye.")), PaperCrm(), known=outputs)
        return transcript.exchanges[1].messages[0].text

    def test_the_expected_call_speaks_for_its_turn(self) -> None:
        """Also when the agent has looked at something else before, and does after it."""
        other = calls(call("write", name="Bob"))

        assert "Call row-2." == self.said(other, WRITE, other, says("Done."))

    def test_a_call_that_was_left_out_is_known_from_the_reference(self) -> None:
        """Otherwise one mistake of the agent would make nonsense of all later turns."""
        assert "Call row-9." == self.said(says("Done."), known="row-9")

    def test_references_use_actual_results_before_those_of_the_reference(self) -> None:
        """The reference has ids of its own."""
        assert "Call row-1." == self.said(WRITE, says("Done."), known="row-9")

    def test_unknown_reference_is_left_unchanged(self) -> None:
        """There is no reference that could answer."""
        assert "Call {{turn_1.id}}." == self.said(says("Done."))

    def test_a_turn_is_known_by_its_own_ids(self) -> None:
        """What the second turn is expected to call refers to the first; it is looked for as this trial has it."""
        case = conversation(
            turn("Add Ada.", call("write", name="Ada")),
            turn("Note.", call("write", about="{{turn_1.id}}")),
            "Call {{turn_2.id}}.",
        )
        note, other = calls(call("write", about="row-1")), calls(call("write", about="row-7"))

        transcript = play(case, Reciting(WRITE, says("Ok."), other, note, says("Ok.")), PaperCrm())

        assert "Call row-3." == transcript.exchanges[2].messages[0].text

    def test_an_utterance_is_text(self) -> None:
        """Also when it is nothing but a reference to a number."""

        class CountingCrm(PaperCrm):
            def call(self, call: ToolCall) -> ToolResult:
                del call
                return ToolResult(value={"id": 7})

        transcript = play(conversation("Add Ada.", "{{turn_1.id}}"), Reciting(WRITE, says("Done.")), CountingCrm())

        assert user_says("7") == transcript.exchanges[1].messages[0]


class TestOnACrmOfItsOwn:
    """Who plays, plays on rows and a clock of the case."""

    @pytest.fixture
    def case(self) -> Conversation:
        """Return a case of another day, with a row."""
        day = datetime(2031, 5, 6, tzinfo=UTC)
        return replace(conversation("Add Ada.", seed={"Client": {"c-1": {"name": "Acme"}}}), now=day)

    def test_the_reference_is_what_the_oracle_does(self, case: Conversation) -> None:
        """The CRM before and after, and the transcript."""
        crm = PaperCrm()

        reference = play_reference(case, Reciting(WRITE, says("Done.")), crm)

        transcript = play(case, Reciting(WRITE, says("Done.")), PaperCrm())
        after = {"notes": [{"note_id": "0", "content": "write"}]}
        assert Reference(transcript=transcript, before={"notes": []}, after=after) == reference
        assert [(case.seed, case.now)] == crm.trials

    def test_the_evidence_is_what_the_agent_does(self, case: Conversation) -> None:
        """Beside the reference, which stays as it was."""
        crm, reference = PaperCrm(), Reference(before={"notes": []})

        evidence = observe(case, Reciting(says("No.")), crm, reference)

        transcript = play(case, Reciting(says("No.")), PaperCrm())
        assert Evidence(transcript=transcript, after={"notes": []}, reference=reference) == evidence
        assert [(case.seed, case.now)] == crm.trials

    def test_the_evidence_knows_what_the_reference_brought_to_light(self) -> None:
        """For the turns that the agent leaves out."""
        case = conversation("Add Ada.", "Call {{turn_1.id}}.")
        reference = play_reference(case, Reciting(WRITE, says("Done.")), PaperCrm())

        evidence = observe(case, Reciting(says("No.")), PaperCrm(), reference)

        assert user_says("Call row-1.") == evidence.transcript.exchanges[1].messages[0]

    def test_an_agent_is_cut_where_the_options_say(self, case: Conversation) -> None:
        """Its steps are counted, and what it did until then is evidence."""
        evidence = observe(case, Reciting(WRITE), PaperCrm(), Reference(), max_steps=2)

        assert [(2, True)] == [(exchange.steps, exchange.cut) for exchange in evidence.transcript.exchanges]

    def test_case_without_a_clock_has_a_fixed_day(self) -> None:
        """Not that of the run: rules on dates must not rot."""
        crm = PaperCrm()

        play_reference(conversation("Add Ada."), Reciting(says("No.")), crm)

        assert [({}, NOW)] == crm.trials
        assert datetime(2025, 11, 12, 9, tzinfo=UTC) == NOW


def test_a_turn_is_known_by_what_its_first_call_returned() -> None:
    """Later utterances and calls refer to that, whatever came after it."""
    both = Expectation(call=call("write"), further=[call("note", about="{{turn_1.id}}")])
    case = conversation(Turn(utterance="Write and note.", expectation=both), turn("Show {{turn_1.id}}."))

    transcript = play(case, Oracle(case), PaperCrm())

    assert {"id": "row-1"} == transcript.outputs[1]
    assert call("note", about="row-1") == transcript.exchanges[0].calls[1][0]
    assert "Show row-1." == transcript.exchanges[1].messages[0].text


def test_a_turn_without_a_call_brings_nothing_to_light() -> None:
    case = conversation(turn("Book a flight.", NO_CALL, succeeds=False))

    transcript = play(case, Reciting(calls(call("look")), says("No.")), PaperCrm())

    assert {} == transcript.outputs
