"""The perfect agent."""

from typing import Any

import pytest

from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.conversations.play import play
from pytest_crmeval.domain.conversation import Turn
from pytest_crmeval.domain.expectation import NO_CALL, Expectation, PublishedReply
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, ToolCall, ToolError, ToolResult, agent_says, crm_says, user_says
from tests.fakes import PaperCrm, call, calls, conversation, says, turn

ADD = turn("Add Ada.", call("create_new_client", name="Ada", tags=["new"]))
FIND = call("client_search", name="a")
ADA, BOB = {"client_id": "c-1", "name": "Ada"}, {"client_id": "c-2", "name": "Bob"}
REFUSAL = ToolResult(error=ToolError(kind="conflict", message="already in use"))


def answered(given: Turn, result: ToolResult) -> list[Message]:
    """Return a dialogue in which the CRM has answered the expected call of the only turn."""
    return [user_says("Please."), agent_says(calls(given.expectation.call)), crm_says([result])]


def words(given: Turn, result: ToolResult, *, recites: bool = False) -> str:
    """Return what the oracle says when the CRM has answered; it must not call anything else."""
    reply = Oracle(conversation(given), recites=recites).reply(answered(given, result), ())
    assert () == reply.calls
    return reply.text


@pytest.mark.parametrize("recites", [False, True])
def test_oracle_makes_the_call_of_the_answer_key(*, recites: bool) -> None:
    """Nothing more, nothing less."""
    oracle = Oracle(conversation(ADD), recites=recites)

    assert calls(call("create_new_client", name="Ada", tags=["new"])) == oracle.reply([user_says("Add Ada.")], ())


def test_oracle_makes_the_call_in_the_form_of_the_case() -> None:
    """Not in the canonical form: the published score compares to the letter."""
    nested = call("client_search", criteria={"name": "Ada"}, status=None)

    assert calls(nested) == Oracle(conversation(turn("Find Ada.", nested))).reply([user_says("Find Ada.")], ())


def test_oracle_confirms_a_change() -> None:
    assert "Done." == words(ADD, ToolResult(value=ADA))


def test_oracle_reports_a_refusal() -> None:
    """It passes it on; a case may expect one."""
    assert "That was not possible: already in use" == words(ADD, REFUSAL)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([ADA, BOB], "Done: Ada, Bob."),
        ([ADA, ADA], "Done: Ada."),
        ([], "There is nothing like that in the CRM."),
    ],
)
def test_oracle_names_the_rows_that_were_found(value: Json, expected: str) -> None:
    """By name, each once; or that there is nothing."""
    assert expected == words(turn("Find a.", FIND), ToolResult(value=value))


def test_oracle_names_the_facts_of_the_case() -> None:
    """References to this turn and those before it are those of the CRM that it plays on."""
    case = conversation(turn("Add.", call("write")), turn("And?", FIND, facts=["{{turn_1.id}} and {{turn_2.id}}", 7]))

    transcript = play(case, Oracle(case), PaperCrm())

    assert "Done: row-1 and row-2, 7." == transcript.exchanges[1].reply


def test_oracle_names_no_facts_if_the_case_expects_none() -> None:
    """No facts are not the same as facts that follow from the result."""
    assert "Done." == words(turn("Find a.", FIND, facts=[]), ToolResult(value=[ADA]))


class TestReciting:
    """For the published score, which knows replies to the letter only."""

    @pytest.mark.parametrize("result", [ToolResult(value=[ADA]), ToolResult(value=[]), REFUSAL])
    def test_oracle_can_recite_the_published_reply(self, result: ToolResult) -> None:
        """True or not."""
        published = turn(
            "Find a.", FIND, answer=PublishedReply(text="Found Zoe, made 2025-11-11.", others=("Found her.",))
        )

        assert "Found Zoe, made 2025-11-11." == words(published, result, recites=True)

    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            (PublishedReply(others=("Found her.", "There.")), "Found her."),
            (PublishedReply(), "Done."),
            (PublishedReply(judged=True), "Done."),
        ],
    )
    def test_empty_reply_is_reported_with_the_expected_facts(self, answer: PublishedReply, expected: str) -> None:
        """There is always something that it can say."""
        assert expected == words(turn("Find a.", FIND, answer=answer), ToolResult(value=[ADA]), recites=True)

    def test_without_a_published_reply_the_oracle_reports_the_results(self) -> None:
        """As it always does."""
        assert "Done: Ada." == words(turn("Find a.", FIND), ToolResult(value=[ADA]), recites=True)

    def test_oracle_recites_published_replies_only_on_request(self) -> None:
        """A published reply is often not true."""
        published = turn("Find a.", FIND, answer=PublishedReply(text="Found Zoe."))

        assert "Done: Ada." == words(published, ToolResult(value=[ADA]))


def test_oracle_plays_the_turns_in_order() -> None:
    """References are those of the CRM that it plays on."""
    crm = PaperCrm()
    case = conversation(
        turn("Add Ada.", call("write", name="Ada")),
        turn("Raise it.", call("refuse", row="{{turn_1.id}}"), succeeds=False),
        turn("Note it.", call("write", about={"rows": ["{{turn_1.id}}", "{{turn_2.id}}"]})),
    )

    play(case, Oracle(case), crm)

    assert [
        call("write", name="Ada"),
        call("refuse", row="row-1"),
        call("write", about={"rows": ["row-1", "{{turn_2.id}}"]}),
    ] == crm.calls


def test_oracle_keeps_no_state() -> None:
    """The messages decide: asked again, it answers the same, and the case stays as it was."""
    case = conversation(ADD, turn("And Bob.", call("write", name="Bob", after="{{turn_1.id}}")))
    oracle = Oracle(case)
    first = answered(ADD, ToolResult(value={"id": "row-1"}))
    second = [*first, agent_says(says("Done.")), user_says("And Bob.")]

    asked_late = oracle.reply(second, ())

    assert calls(call("write", name="Bob", after="row-1")) == asked_late
    assert asked_late == oracle.reply(second, ())
    assert calls(call("create_new_client", name="Ada", tags=["new"])) == oracle.reply(second[:1], ())
    assert call("create_new_client", name="Ada", tags=["new"]) == case.turns[0].expectation.call


def test_oracle_ignores_the_offered_tools() -> None:
    """It knows what to call, also where there is nothing to be called."""
    assert Oracle(conversation(ADD)).reply([user_says("Add Ada.")], ()) == Oracle(conversation(ADD)).reply(
        [user_says("Add Ada.")], PaperCrm.tools
    )


def test_name_of_the_oracle_is_oracle() -> None:
    assert "oracle" == Oracle(conversation(ADD)).name


NOTE = call("add_note", entity_id="{{turn_1.id}}", content="Call back.")


def several(*further: ToolCall, **expected: Any) -> Turn:  # noqa: ANN401 (fields of an expectation)
    """Return a turn that wants several things, a search first."""
    return Turn(utterance="Please.", expectation=Expectation(call=FIND, further=further, **expected))


def test_further_calls_are_made_one_after_the_other() -> None:
    """What they say about their own turn is what the first one returned."""
    case, crm = conversation(several(NOTE, call("write"))), PaperCrm()

    play(case, Oracle(case), crm)

    assert [FIND, call("add_note", entity_id="row-1", content="Call back."), call("write")] == crm.calls


def test_oracle_reports_the_result_of_every_call() -> None:
    """What was found, and that the rest is done."""
    messages = [
        *answered(several(FIND, NOTE), ToolResult(value=[ADA])),
        agent_says(calls(FIND)),
        crm_says([ToolResult(value=[])]),
        agent_says(calls(NOTE)),
        crm_says([ToolResult(value={"note_id": "n-1"})]),
    ]

    assert says("I found: Ada. There is nothing like that in the CRM. Done.") == Oracle(
        conversation(several(FIND, NOTE))
    ).reply(messages, ())


def test_oracle_declines_a_request_without_a_call() -> None:
    """It calls nothing."""
    given = turn("Book a flight.", NO_CALL, succeeds=False)

    assert says("That is not something the CRM can do.") == Oracle(conversation(given)).reply([user_says("Book.")], ())


def test_oracle_asks_for_missing_details() -> None:
    """At once, or after it has looked; then it names what there is to choose from, and claims nothing."""
    at_once = Turn(utterance="Add a client.", expectation=Expectation(call=NO_CALL, asks=True, facts=["status"]))

    assert "I found: Ada, Bob. Which one do you mean? Please tell me more." == words(
        several(asks=True), ToolResult(value=[ADA, BOB])
    )
    assert "Which one do you mean? Please tell me more." == words(several(asks=True, facts=()), ToolResult(value=[ADA]))
    assert says("status. Which one do you mean? Please tell me more.") == Oracle(conversation(at_once)).reply(
        [user_says("Add a client.")], ()
    )
