"""Whether a case says of itself what is not so."""

from typing import Any

import pytest

from pytest_crmeval.conversations.consistency import inconsistencies
from pytest_crmeval.domain.conversation import Conversation, Segment, Turn
from pytest_crmeval.domain.expectation import NO_CALL, Expectation
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolError, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.domain.transcript import Exchange, Transcript
from pytest_crmeval.ports.scorer import Reference
from tests.fakes import call, calls, says

FIND = call("client_search", name="acme")
ACME: dict[str, Json] = {"client_id": "c-acme", "name": "Acme", "phone": None}


def turn(utterance: str = "Find Acme.", **expected: Any) -> Turn:  # noqa: ANN401 (fields of an expectation)
    """Return a turn that finds a client."""
    return Turn(utterance=utterance, expectation=Expectation(call=FIND, **expected))


def exchange(value: Json = None, error: ToolError | None = None) -> Exchange:
    """Return how the reference call of a turn is answered."""
    result = ToolResult(value=value, error=error)
    messages = (user_says("Find Acme."), agent_says(calls(FIND)), crm_says([result]), agent_says(says("Done.")))
    return Exchange(messages=messages, output=value[0] if isinstance(value, list) and value else None)


def found(*turns: Turn, answers: list[Exchange] | None = None, **fields: Any) -> list[str]:  # noqa: ANN401
    """Return what is wrong with a case."""
    case = Conversation(id="one", fingerprint="f00d", turns=turns, seed={}, **fields)
    exchanges = answers or [exchange([ACME]) for _ in turns]
    return list(inconsistencies(case, Reference(transcript=Transcript(exchanges=tuple(exchanges)))))


def test_a_sound_case() -> None:
    """Nothing is wrong with it, also where it refers to what is there."""
    assert [] == found(turn(), turn("Call {{turn_1.name}}.", facts=["Acme", "{{turn_1.name}}", "{{turn_2.client_id}}"]))


@pytest.mark.parametrize("reference", ["{{turn_1.phone}}", "{{turn_1.fax}}", "{{turn_7.name}}"])
def test_the_user_says_what_nothing_answers(reference: str) -> None:
    assert [f"turn 2: the reference {reference} in the utterance has no value"] == found(
        turn(), turn(f"Call {reference}.")
    )


def test_the_user_says_nothing() -> None:
    """There is nothing to be understood."""
    assert ["turn 1: the utterance is empty"] == found(turn(" "))


@pytest.mark.parametrize("fact", ["Bolt", "{{turn_2.name}}", "{name}", 4711, "2031-01-01"])
def test_fact_that_was_not_mentioned_yet_is_inconsistent(fact: Json) -> None:
    """The oracle would say it all the same: it would prove nothing."""
    assert [f"turn 1: reply_facts: neither the user nor the CRM has mentioned {fact!r}"] == found(
        turn(facts=[fact]), turn()
    )


def test_a_call_that_does_otherwise_than_expected() -> None:
    """Refused, done, or refused in other words."""
    refused = exchange(error=ToolError(kind="not_found", message="Client not found"))

    assert 1 == len(found(turn(), answers=[refused]))
    assert 1 == len(found(turn(succeeds=False)))
    assert 1 == len(found(turn(succeeds=False, refusal="closed"), answers=[refused]))
    assert [] == found(turn(succeeds=False, refusal="NOT found"), answers=[refused])


def test_call_of_an_unknown_tool_is_not_an_expected_refusal() -> None:
    """It is a misprint, also where a refusal is expected."""
    unknown = exchange(error=ToolError(kind="unknown_tool", message="There is no tool"))

    assert 1 == len(found(turn(succeeds=False), answers=[unknown]))


def test_segments_end_as_their_turns_do() -> None:
    """A chain that says otherwise can't be passed."""
    refused = exchange(error=ToolError(kind="not_found", message="no"))
    turns, answers = (turn(), turn(succeeds=False)), [exchange([ACME]), refused]

    def segments(*ends: str) -> list[str]:
        parts = [Segment(last_turn=number, succeeds=end == "success") for number, end in enumerate(ends, start=1)]
        return found(*turns, answers=answers, segments=parts)

    assert [] == segments("success", "failure")
    assert ["segment 2: expected_outcome is success, but its turns expect a refusal"] == segments("success", "success")
    assert ["segment 1: expected_outcome is failure, but its turns expect no refusal"] == segments("failure", "failure")


def test_an_expected_state_that_the_reference_calls_do_not_reach() -> None:
    """The case contradicts itself."""
    assert ["expected_state: clients: missing: name='Bolt'"] == found(
        turn(), expected_state={"Client": [{"name": "Bolt"}]}
    )


def test_further_calls_must_succeed() -> None:
    """Whatever is expected of the first; a case without calls has none that could contradict it."""
    two = call("client_search", name="two")
    refusal = ToolError(kind="not_found", message="Client not found")

    def both(first: ToolResult, then: ToolResult) -> Exchange:
        messages = (
            user_says("?"),
            agent_says(calls(FIND)),
            crm_says([first]),
            agent_says(calls(two)),
            crm_says([then]),
        )
        return Exchange(messages=messages)

    done, refused = ToolResult(value=[ACME]), ToolResult(error=refusal)
    wrong = ["turn 1: the reference call client_search does not do what the case expects: Client not found"]

    assert [] == found(turn(further=[two]), answers=[both(done, done)])
    assert wrong == found(turn(further=[two]), answers=[both(done, refused)])
    assert [] == found(turn(further=[two], succeeds=False), answers=[both(refused, done)])
    assert wrong == found(turn(further=[two], succeeds=False), answers=[both(refused, refused)])


def test_a_turn_without_a_call_contradicts_nothing() -> None:
    """There is nothing to be refused or done."""
    outside = Turn(utterance="Book a flight.", expectation=Expectation(call=NO_CALL, succeeds=False))

    assert [] == found(outside, answers=[Exchange(messages=(user_says("Book a flight."), agent_says(says("No."))))])
