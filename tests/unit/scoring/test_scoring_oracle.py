"""The perfect agent."""

from pytest_crmeval.domain.messages import Reply, ToolError, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.play.conversation import play
from pytest_crmeval.scoring.oracle import Oracle
from tests.fakes import PaperCrm, call, calls, conversation, turn

ADD = turn("Add Ada.", call("write", name="Ada", tags=["new"]))


def test_it_makes_the_call_of_the_answer_key() -> None:
    """Nothing more, nothing less."""
    assert calls(call("write", name="Ada", tags=["new"])) == Oracle(conversation(ADD)).reply(
        [user_says("Add Ada.")], ()
    )


def test_when_the_crm_has_answered_it_says_so() -> None:
    """A reply without calls ends the turn."""
    messages = [user_says("Add Ada."), agent_says(Reply(calls=[call("write")])), crm_says([ToolResult(value={})])]

    assert Reply(text="Done.") == Oracle(conversation(ADD)).reply(messages, ())


def test_it_does_not_argue_with_a_refusal() -> None:
    """A case may expect one."""
    refusal = ToolResult(error=ToolError(kind="conflict", message="already in use"))
    messages = [user_says("Add Ada."), agent_says(Reply(calls=[call("write")])), crm_says([refusal])]

    assert Reply(text="Done.") == Oracle(conversation(ADD)).reply(messages, ())


def test_it_plays_every_turn_in_its_order() -> None:
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


def test_it_keeps_nothing_in_mind() -> None:
    """The messages decide: asked again, it answers the same, and the case stays as it was."""
    case = conversation(ADD, turn("And Bob.", call("write", name="Bob")))
    oracle = Oracle(case)
    second = [user_says("Add Ada."), agent_says(Reply(text="Done.")), user_says("And Bob.")]

    asked_late = oracle.reply(second, ())

    assert calls(call("write", name="Bob")) == asked_late
    assert asked_late == oracle.reply(second, ())
    assert call("write", name="Ada", tags=["new"]) == case.turns[0].expectation.call
