"""The agent that does one thing otherwise than the oracle."""

from collections.abc import Sequence

from pytest_crmeval.conversations.calibration.rehearsal import Rehearsal
from pytest_crmeval.conversations.calibration.variants import Deviant, Variant, at_once, changed, instead, with_reply
from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.conversations.play import observe, play_reference
from pytest_crmeval.domain.conversation import Conversation, Turn
from pytest_crmeval.domain.expectation import NO_CALL, Expectation
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.scorer import Evidence
from tests.fakes import PaperCrm, call, conversation, turn

ADA, BOB = call("look", name="Ada"), call("look", name="Bob")
CASE = conversation(turn("Look for Ada.", ADA), turn("Now for Bob.", BOB))
LINKED = conversation(turn("Look for Ada.", ADA), turn("Tell me more.", call("look", row="{{turn_1.id}}")))


def played(case: Conversation, agent: Agent) -> Evidence:
    """Let an agent play on paper."""
    crm = PaperCrm()
    return observe(case, agent, crm, play_reference(case, Oracle(case), crm))


def rehearsed(case: Conversation) -> Rehearsal:
    """Return a case that the oracle has played."""
    return Rehearsal(case, played(case, Oracle(case)), PaperCrm.tools)


def made(case: Conversation, variant: Variant) -> list[list[ToolCall]]:
    """Return the calls of each turn that a deviant makes."""
    exchanges = played(case, Deviant(rehearsed(case), variant)).transcript.exchanges
    return [[call for call, _ in exchange.calls] for exchange in exchanges]


def said(case: Conversation, variant: Variant) -> list[str]:
    """Return the last words of each turn of a deviant."""
    return [exchange.reply for exchange in played(case, Deviant(rehearsed(case), variant)).transcript.exchanges]


def test_variant_makes_other_calls_in_one_turn_only() -> None:
    """In the others, those of the oracle."""
    first, _ = rehearsed(CASE).turns

    assert [[BOB, ADA], [BOB]] == made(CASE, instead(first, BOB, ADA, what="Bob first"))


def test_several_calls_in_one_reply_are_one_step() -> None:
    """They are answered together."""
    first, _ = rehearsed(CASE).turns

    evidence = played(CASE, Deviant(rehearsed(CASE), at_once(first, BOB, ADA)))

    assert 2 == evidence.transcript.exchanges[0].steps


def test_variant_may_make_no_call() -> None:
    """It speaks at once."""
    first, _ = rehearsed(CASE).turns

    assert [[], [BOB]] == made(CASE, instead(first, what="nothing"))


def test_variant_changes_one_argument_only() -> None:
    first, _ = rehearsed(CASE).turns
    variant = changed(first, "name", "Eve")

    assert [[call("look", name="Eve")], [BOB]] == made(CASE, variant)
    assert "look with name='Eve', not 'Ada'" == variant.what


def test_variant_reports_truthfully_what_its_calls_returned() -> None:
    """Each of them; on paper answers are numbered."""
    first, _ = rehearsed(CASE).turns

    assert "Done: row-1. Done: row-2." == said(CASE, instead(first, BOB, BOB, what="Bob twice"))[0]


def test_variant_reports_the_expected_call_if_it_made_it() -> None:
    """As the oracle does."""
    first, _ = rehearsed(CASE).turns

    assert "Done: row-2." == said(CASE, instead(first, BOB, ADA, what="Bob first"))[0]


def test_knowing_variant_gives_the_replies_of_the_oracle() -> None:
    """Without having asked."""
    first, _ = rehearsed(CASE).turns

    assert ["Done: row-1.", "Done: row-1."] == said(CASE, instead(first, what="nothing", knows=True))


def test_reciting_variant_repeats_the_recorded_replies_of_the_oracle() -> None:
    """Whatever it did."""
    first, _ = rehearsed(CASE).turns
    agent = Deviant(rehearsed(CASE), instead(first, what="nothing"), recites=True)

    replies = [exchange.reply for exchange in played(CASE, agent).transcript.exchanges]

    assert ["Done: row-1.", "Done: row-2."] == replies


def test_later_turns_refer_to_what_it_found_its_own_way() -> None:
    """A detour does not make it forget."""
    first, _ = rehearsed(LINKED).turns

    assert [[BOB], [call("look", row="row-1")]] == made(LINKED, instead(first, BOB, what="Bob"))


def test_a_call_may_refer_to_what_its_own_turn_has_brought() -> None:
    """To create a row and then to change it."""
    first, _ = rehearsed(CASE).turns
    then = call("change", row="{{turn_1.id}}")

    assert [[ADA, call("change", row="row-1")], [BOB]] == made(CASE, instead(first, ADA, then, what="both"))


class Outspoken(Oracle):
    """The oracle with words of its own in the second turn."""

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Say something else at the end of the second turn."""
        reply = super().reply(messages, tools)
        second = sum(message.speaker == "user" for message in messages) == 2
        return Reply(text="I'd rather not say.") if second and not reply.calls else reply


def test_trial_with_a_replaced_reply_equals_the_trial_of_an_agent_that_gave_it() -> None:
    """A trial with its words replaced is the trial of an agent that says so."""
    evidence = played(CASE, Oracle(CASE))

    assert played(CASE, Outspoken(CASE)) == with_reply(evidence, 2, "I'd rather not say.")


BOTH = conversation(
    Turn(
        utterance="Look for Ada, note her, and look for Bob.",
        expectation=Expectation(call=ADA, further=[call("note", row="{{turn_1.id}}"), BOB]),
    ),
    turn("Book a flight.", NO_CALL, succeeds=False),
)


def test_other_calls_of_the_turn_are_kept() -> None:
    """Before the call that is another one, and after it; what they refer to is what was found instead."""
    ada, note, bob = rehearsed(BOTH).turns[0].parts
    eve, noted = call("look", name="Eve"), call("note", row="row-1")

    assert [[eve, noted, BOB], []] == made(BOTH, instead(ada, eve, what="Eve"))
    assert [[ADA, BOB], []] == made(BOTH, instead(note, what="nothing"))
    assert [[ADA, noted, eve, eve], []] == made(BOTH, at_once(bob, eve, eve))


def test_variant_of_a_turn_without_calls_gives_the_reply_of_the_oracle() -> None:
    """Also when it has called something."""
    _, outside = rehearsed(BOTH).turns

    assert "That is not something the CRM can do." == said(BOTH, instead(outside, ADA, what="Ada"))[1]


def test_reply_facts_of_the_case_are_stated_for_expected_calls() -> None:
    """Though it has made another call beside them."""
    expectation = Expectation(call=ADA, further=[BOB], facts=["Ada is well"])
    case = conversation(Turn(utterance="Look for Ada and Bob.", expectation=expectation))
    _, bob = rehearsed(case).turns[0].parts

    assert ["I found: Ada is well. Done: row-2."] == said(case, instead(bob, call("look", name="Eve"), what="Eve"))
