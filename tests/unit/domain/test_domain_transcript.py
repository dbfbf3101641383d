"""The dialogue as it was played."""

from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.domain.messages import Reply, ToolError, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.domain.transcript import Exchange, Transcript
from tests.fakes import call

FOUND = ToolResult(value=[{"client_id": "c-1"}])
REFUSED = ToolResult(error=ToolError(kind="conflict", message="already in use"))
MADE = ToolResult(value={"client_id": "c-2"})
SEARCH, FIRST_TRY, SECOND_TRY = call("search", name="Ada"), call("create", email="a@b.c"), call("create", email="d@e.f")

BUSY = Exchange(
    messages=[
        user_says("Add Ada."),
        agent_says(Reply(text="Let me see.", calls=[SEARCH, FIRST_TRY])),
        crm_says([FOUND, REFUSED]),
        agent_says(Reply(calls=[SECOND_TRY])),
        crm_says([MADE]),
        agent_says(Reply(text="Done.")),
    ]
)


def test_each_call_is_told_with_what_came_back() -> None:
    """Several calls of one reply in their order, then those of the next reply."""
    assert [(SEARCH, FOUND), (FIRST_TRY, REFUSED), (SECOND_TRY, MADE)] == list(BUSY.calls)


def test_a_turn_of_words_has_no_calls() -> None:
    """The agent only talked."""
    talk = Exchange(messages=[user_says("Hello."), agent_says(Reply(text="Hello."))])

    assert [] == list(talk.calls)


def test_the_dialogue_reads_like_a_dialogue(snapshot: SnapshotAssertion) -> None:
    """Turn numbers, who speaks, calls with their arguments, results, refusals, and where it was cut off."""
    cut = Exchange(messages=[user_says("And Bob?"), agent_says(Reply(calls=[SEARCH])), crm_says([FOUND])], cut=True)

    assert snapshot == "\n".join(Transcript(exchanges=[BUSY, cut]).lines())


def test_a_user_who_says_nothing_is_shown() -> None:
    """An empty utterance is part of the case; an empty reply is silence."""
    silence = Exchange(messages=[user_says(""), agent_says(Reply())])

    assert ["  1 user: "] == list(Transcript(exchanges=[silence]).lines())


def test_a_long_result_is_shortened() -> None:
    """A search that found half the CRM does not fill the terminal."""
    long = Exchange(
        messages=[user_says("All?"), agent_says(Reply(calls=[SEARCH])), crm_says([ToolResult(value="x" * 401)])]
    )

    *_, line = Transcript(exchanges=[long]).lines()

    assert f"  1 crm: {'x' * 400}… (401 characters)" == line


def test_a_result_that_fits_is_shown_whole() -> None:
    """Up to 400 characters."""
    fits = Exchange(
        messages=[user_says("All?"), agent_says(Reply(calls=[SEARCH])), crm_says([ToolResult(value="x" * 400)])]
    )

    *_, line = Transcript(exchanges=[fits]).lines()

    assert f"  1 crm: {'x' * 400}" == line


def test_a_conversation_that_was_not_played_has_no_lines() -> None:
    """Nothing was said."""
    assert [] == list(Transcript().lines())
