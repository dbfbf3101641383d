"""The dialogue as it was played."""

import pytest

from pytest_crmeval.domain.messages import Reply, ToolError, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.domain.transcript import Exchange, Transcript
from tests.fakes import call, says

FOUND = ToolResult(value=[{"client_id": "c-1"}])
REFUSED = ToolResult(error=ToolError(kind="conflict", message="already in use"))
MADE = ToolResult(value={"client_id": "c-2"})
SEARCH, FIRST_TRY, SECOND_TRY = call("search", name="Ada"), call("create", email="a@b.c"), call("create", email="d@e.f")

ASKED = user_says("Add Ada.")
LOOKED = agent_says(Reply(text="Let me see.", calls=[SEARCH, FIRST_TRY]))
BUSY = Exchange(
    messages=[
        ASKED,
        LOOKED,
        crm_says([FOUND, REFUSED]),
        agent_says(Reply(calls=[SECOND_TRY])),
        crm_says([MADE]),
        agent_says(says("Done.")),
    ]
)
TALK = Exchange(messages=[ASKED, agent_says(says("Who is Ada?"))])
SILENCE = Exchange(messages=[ASKED, agent_says(says(""))])
CUT = Exchange(messages=[ASKED, LOOKED, crm_says([FOUND, REFUSED])], cut=True)
CUT_IN_MID_SENTENCE = Exchange(messages=[ASKED, LOOKED])
UNPLAYED = Exchange(messages=[])


def test_each_call_has_its_result() -> None:
    """Several calls of one reply in order, then those of the next reply."""
    assert [(SEARCH, FOUND), (FIRST_TRY, REFUSED), (SECOND_TRY, MADE)] == BUSY.calls


def test_calls_can_be_read_repeatedly() -> None:
    assert BUSY.calls == BUSY.calls != []


@pytest.mark.parametrize("exchange", [TALK, SILENCE, UNPLAYED])
def test_turn_of_words_has_no_calls(exchange: Exchange) -> None:
    """With or without a reply."""
    assert [] == exchange.calls


@pytest.mark.parametrize(
    ("exchange", "reply"),
    [
        pytest.param(BUSY, "Done.", id="after calls"),
        pytest.param(TALK, "Who is Ada?", id="without calls"),
        pytest.param(SILENCE, "", id="silence"),
        pytest.param(CUT, "", id="cut"),
        pytest.param(CUT_IN_MID_SENTENCE, "", id="words beside a call"),
        pytest.param(Exchange(messages=[ASKED]), "", id="unanswered"),
        pytest.param(UNPLAYED, "", id="unplayed"),
    ],
)
def test_reply_is_the_last_message_of_the_agent(exchange: Exchange, reply: str) -> None:
    """Text beside calls is not a reply, and neither are the user's words."""
    assert reply == exchange.reply


@pytest.mark.parametrize(("exchange", "steps"), [(BUSY, 3), (TALK, 1), (SILENCE, 1), (CUT, 1), (UNPLAYED, 0)], ids=str)
def test_every_answer_of_the_agent_is_a_step(exchange: Exchange, steps: int) -> None:
    """Calls and words; results are not."""
    assert steps == exchange.steps


def test_transcript_has_the_results_of_its_turns() -> None:
    """By turn number; a turn without a read has no entry, and one that found nothing has an empty one."""
    exchanges = [
        Exchange(messages=[], output={"client_id": "c-1"}),
        Exchange(messages=[]),
        Exchange(messages=[], output={}),
        Exchange(messages=[], output={"value": True}),
    ]

    assert {1: {"client_id": "c-1"}, 3: {}, 4: {"value": True}} == Transcript(exchanges=exchanges).outputs


def test_conversation_that_was_not_played_has_no_results() -> None:
    assert {} == Transcript().outputs
