"""The score of the published benchmark: its rules to the letter."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pytest_crmeval.conversations.scorers.clbench import clbench
from pytest_crmeval.domain.conversation import Conversation, Segment, Turn
from pytest_crmeval.domain.expectation import NO_CALL, PublishedReply
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall, ToolResult
from pytest_crmeval.domain.score import Score
from tests.fakes import call
from tests.plays import FIND_FLEET, FLEET, asks, case_of, found, refused, trial, uid


def matches(expected: ToolCall, made: ToolCall) -> bool:
    """Whether a call that the CRM answers counts as the expected one."""
    case = case_of(asks("?", expected))
    return clbench(case, trial(case, [(expected, found([])), (made, found([]))], [made], "Anything.")).passed


@pytest.mark.parametrize(
    ("expected", "actual", "does"),
    [
        ({}, {}, True),
        ({}, {"anything": [1]}, True),
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"a": 1}, {}, False),
        ({"a": 50000}, {"a": 50000.0}, True),
        ({"a": 50000}, {"a": "50000"}, True),
        ({"a": 50000}, {"a": " 50000.0 "}, True),
        ({"a": 50000}, {"a": "50,000"}, False),
        ({"a": 50000}, {"a": "fifty"}, False),
        ({"a": 50000}, {"a": 50001}, False),
        ({"a": 50000}, {"a": None}, False),
        ({"a": 50000}, {"a": 10**400}, False),
        ({"a": 50000}, {"a": [50000]}, False),
        ({"a": "50000"}, {"a": 50000}, False),
        ({"a": 1}, {"a": True}, True),
        ({"a": True}, {"a": 1}, True),
        ({"a": "Acme"}, {"a": " Acme\n"}, True),
        ({"a": " Acme"}, {"a": "Acme"}, True),
        ({"a": "Acme"}, {"a": "acme"}, False),
        ({"a": "Acme"}, {"a": "Acme Ltd"}, False),
        ({"a": "ab"}, {"a": ["a", "b"]}, False),
        ({"a": None}, {"a": None}, True),
        ({"a": None}, {}, False),
        ({"a": ["x", "y"]}, {"a": ["x", "y"]}, True),
        ({"a": ["x", "y"]}, {"a": ["y", "x"]}, False),
        ({"a": ["x"]}, {"a": ["x", "y"]}, False),
        ({"a": ["x"]}, {"a": ["x "]}, False),
        ({"a": [1]}, {"a": ["1"]}, False),
        ({"a": [1]}, {"a": [1.0]}, True),
        ({"a": [{"b": 1}]}, {"a": [{"b": "1", "c": 2}]}, True),
        ({"a": [{"b": 1}]}, {"a": [{"c": 2}]}, False),
        ({"a": {"b": 1}}, {"a": {"b": "1", "c": 2}}, True),
        ({"a": {"b": 1}}, {"a": {"c": 1}}, False),
        ({"a": {"b": 1}}, {"a": "b"}, False),
        ({"a": {}}, {"a": {"b": 1}}, True),
    ],
)
def test_arguments_match_if_everything_expected_is_there(
    expected: dict[str, Json],
    actual: dict[str, Json],
    does: bool,  # noqa: FBT001 (a table)
) -> None:
    """Numbers by value, also when one writes them as text; texts without the space around them; lists item by item."""
    assert does is matches(ToolCall(tool="any", arguments=expected), ToolCall(tool="any", arguments=actual))


@pytest.mark.parametrize(
    ("expected", "actual", "does"),
    [
        (call("client_search", criteria={"name": "A"}), call("client_search", name="A"), True),
        (call("client_search", name="A"), call("client_search", criteria={"name": "A"}), True),
        (call("contact_search", first_name="A"), call("contact_search", criteria={"first_name": "A"}), True),
        (call("opportunity_search", stage="A"), call("opportunity_search", criteria={"stage": "A", "name": "B"}), True),
        (call("quote_search", quote_id="A"), call("quote_search", criteria={"quote_id": "A"}), True),
        (call("contract_search", status="A"), call("contract_search", criteria={"status": "A"}), True),
        (
            call("summarize_opportunities", client_id="A"),
            call("summarize_opportunities", criteria={"client_id": "A"}),
            True,
        ),
        (call("client_search", criteria={"name": "A"}), call("client_search", name="B", criteria={"name": "A"}), True),
        (call("client_search", criteria={"name": "A"}), call("client_search", name="A", criteria={"name": "B"}), False),
        (call("client_search", criteria={"name": "A"}), call("client_search", name="A", criteria="B"), True),
        (call("client_search", owner="A"), call("client_search", criteria={"owner": "A"}), False),
        (call("client_search", criteria={"owner": "A"}), call("client_search", owner="A"), False),
        (call("company_search", name="A"), call("company_search", criteria={"name": "A"}), False),
        (call("summarize_opportunities", stage="A"), call("summarize_opportunities", criteria={"stage": "A"}), False),
        (
            call("modify_quote", quote_id="A", amount=1),
            call("modify_quote", quote_id="A", updates={"amount": 1}),
            False,
        ),
        (call("view_opportunity_details", opportunity_id="A"), call("opportunity_details", opportunity_id="A"), False),
        (call("client_search"), call("list_clients"), False),
    ],
    ids=str,
)
def test_forms_that_are_the_same_and_forms_that_are_not(expected: ToolCall, actual: ToolCall, does: bool) -> None:  # noqa: FBT001 (a table)
    """Listed filters may be nested; nothing else may, and no tool stands for another."""
    assert does is matches(expected, actual)


def scored(turn: Turn, result: ToolResult, made: Sequence[ToolCall], text: str = "Anything.") -> Score:
    """Score a turn whose calls are all answered alike."""
    case = case_of(turn)
    answers = [(turn.expectation.call, result), *((asked, result) for asked in made)]
    return clbench(case, trial(case, answers, made, text) if made else trial(case, answers, text))


FIND = asks("Find the fleet deal.", FIND_FLEET)


def test_a_call_that_matches_must_be_answered() -> None:
    """What the CRM refuses was not done."""
    reason = "turn 1: no successful call matches opportunity_search"

    assert Score(name="clbench", value=1.0) == scored(FIND, found([FLEET]), [FIND_FLEET])
    assert Score(name="clbench", value=0.0, reason=reason) == scored(FIND, refused("No."), [FIND_FLEET])
    assert Score(name="clbench", value=0.0, reason=reason) == scored(FIND, found([FLEET]), [])


def test_what_was_found_does_not_matter() -> None:
    """As published: a search that finds nothing is as good as any."""
    assert scored(FIND, found([]), [FIND_FLEET]).passed


def test_one_of_several_calls_must_match() -> None:
    """In any place; ours is a harness with several calls in a turn."""
    assert scored(FIND, found([]), [call("list_clients"), FIND_FLEET, call("add_note")]).passed


def test_references_are_those_of_this_trial() -> None:
    """Also within a longer text."""
    quotes = call("quote_search", criteria={"opportunity_id": "{{turn_1.opportunity_id}}"})
    note = call("add_note", content="About {{turn_1.name}}, {{turn_1.nothing}}")
    made = [
        call("quote_search", opportunity_id=uid("fleet")),
        call("add_note", content="About Fleet tracking rollout, {{turn_1.nothing}}"),
    ]
    case = case_of(FIND, asks("Quotes?", quotes), asks("Note it.", note))
    answers = [(FIND_FLEET, found([FLEET])), *((asked, found([])) for asked in made)]

    assert clbench(case, trial(case, answers, [FIND_FLEET], "1", [made[0]], "2", [made[1]], "3")).passed


ANSWER = PublishedReply(text="Found  Fleet.", others=("It is the fleet deal.",))


@pytest.mark.parametrize(
    ("answer", "text", "does"),
    [
        (None, "Anything.", True),
        (None, "", True),
        (PublishedReply(), "Anything.", True),
        (PublishedReply(text="To be judged.", judged=True), "Anything.", True),
        (ANSWER, "Found Fleet.", True),
        (ANSWER, "found\n  FLEET. ", True),
        (ANSWER, "It is the fleet deal.", True),
        (ANSWER, "It is {{turn_1.nothing}}", False),
        (ANSWER, "Found Fleet", False),
        (ANSWER, "Found Fleet. Anything else?", False),
        (ANSWER, "", False),
        (PublishedReply(others=("Yes.",)), "yes.", True),
        (PublishedReply(others=("Yes.",)), "no.", False),
        (PublishedReply(text="{{turn_1.name}}"), "Fleet tracking rollout", False),
        (PublishedReply(text="Fleet tracking rollout"), "{{turn_1.name}}", True),
        (PublishedReply(text="Fleet tracking rollout"), "FLEET {{turn_1.nothing}}", False),
        (PublishedReply(text="84000.0"), "{{turn_1.amount}}", True),
    ],
)
def test_the_reply_is_one_of_those_that_count(answer: PublishedReply | None, text: str, does: bool) -> None:  # noqa: FBT001 (a table)
    turn = asks("Find the fleet deal.", FIND_FLEET, answer=answer)

    assert does is scored(turn, found([FLEET]), [FIND_FLEET], text).passed


def test_the_right_words_without_the_call_are_not_enough() -> None:
    turn = asks("Find the fleet deal.", FIND_FLEET, answer=ANSWER)

    assert "turn 1: no successful call matches opportunity_search" == scored(turn, found([]), [], "Found Fleet.").reason
    assert "turn 1: the reply does not match the expected one" == scored(turn, found([]), [FIND_FLEET], "Here.").reason


@pytest.mark.parametrize(
    ("expected", "said", "does"),
    [
        ("", "Anything.", True),
        ("closed", "The deal is CLOSED.", True),
        ("Closed", "the deal is closed", True),
        ("validation error", "Anything.", True),
        ("Validation Error", "Anything.", True),
        ("duplicate", "The deal is closed.", False),
    ],
)
def test_a_failure_that_is_expected_passes_when_it_fails_as_expected(expected: str, said: str, does: bool) -> None:  # noqa: FBT001 (a table)
    """Which the published code never lets pass; what is said about it does not matter."""
    turn = asks("Raise it.", call("modify_opportunity", amount=1), refusal=expected, answer=ANSWER)

    assert does is scored(turn, refused(said), [call("modify_opportunity", amount=2)]).passed


@pytest.mark.parametrize("expected", ["", "closed", "validation error"])
def test_a_failure_that_is_expected_must_happen(expected: str) -> None:
    """Neither silence nor success is one."""
    turn = asks("Raise it.", call("modify_opportunity", amount=1), refusal=expected)

    assert (
        "turn 1: the CRM did not refuse the call as expected"
        == scored(turn, found(FLEET), [call("modify_opportunity", amount=1)]).reason
    )
    assert "turn 1: the CRM did not refuse the call as expected" == scored(turn, refused("closed"), []).reason


def test_the_score_is_the_share_of_turns() -> None:
    """Strict success is all of them."""
    case = case_of(FIND, FIND, FIND, FIND)
    answers = [(FIND_FLEET, found([FLEET]))]

    score = clbench(case, trial(case, answers, [FIND_FLEET], "1", "2", [FIND_FLEET], "3", [FIND_FLEET], "4"))

    assert Score(name="clbench", value=0.75, reason="turn 2: no successful call matches opportunity_search") == score


REFUSE = asks("Raise it.", call("modify_opportunity", amount=1), refusal="closed")


def chain(*outcomes: tuple[int, bool], turns: Sequence[Turn]) -> Conversation:
    """Return a chain: for each segment its last turn, and whether it succeeds."""
    segments = tuple(Segment(last_turn=last, succeeds=succeeds) for last, succeeds in outcomes)
    return replace(case_of(*turns), segments=segments)


def chained(case: Conversation, *replies: Sequence[ToolCall] | str) -> Score:
    """Score a chain in which searches are answered and changes are refused."""
    answers = [(FIND_FLEET, found([FLEET])), (call("modify_opportunity", amount=1), refused("closed"))]
    return clbench(case, trial(case, answers, *replies))


RAISE = call("modify_opportunity", amount=1)


def test_a_chain_is_scored_by_segments() -> None:
    """Each ends as it should: with a failure, or without one."""
    case = chain((2, True), (3, False), turns=[FIND, FIND, REFUSE])

    assert Score(name="clbench", value=1.0) == chained(case, [FIND_FLEET], "1", [FIND_FLEET], "2", [RAISE], "3")
    assert 0.5 == chained(case, [FIND_FLEET], "1", "2", [RAISE], "3").value
    assert 0.5 == chained(case, [FIND_FLEET], "1", [FIND_FLEET], "2", "3").value
    assert 0.0 == chained(case, "1", [FIND_FLEET], "2", "3").value


def test_a_chain_that_goes_too_well_fails() -> None:
    """A segment that is to fail and has nothing to fail at does not end as it should."""
    case = chain((1, True), (2, False), turns=[FIND, FIND])
    reason = "a segment that should end with a refusal has none"

    assert Score(name="clbench", value=0.5, reason=reason) == chained(case, [FIND_FLEET], "1", [FIND_FLEET], "2")


def test_a_refusal_that_its_turn_expects_fits_any_segment() -> None:
    """One that does not come fits none."""
    case = chain((2, True), turns=[FIND, REFUSE])

    assert 1.0 == chained(case, [FIND_FLEET], "1", [RAISE], "2").value
    assert 0.0 == chained(case, [FIND_FLEET], "1", [FIND_FLEET], "2").value
    assert 0.0 == chained(case, [FIND_FLEET], "1", [call("no_such_tool")], "2").value


@pytest.mark.parametrize("arguments", [None, [], "amount=1", 7])
def test_malformed_calls_match_nothing(arguments: Json) -> None:
    """An agent may send anything."""
    broken = ToolCall(tool="opportunity_search", arguments=arguments)  # type: ignore[arg-type] # the point of it

    assert not clbench(case_of(FIND), trial(case_of(FIND), [(FIND_FLEET, found([]))], [broken], "Here.")).passed


NOTE = call("add_note", content="Call back.")


def test_each_further_call_must_be_matched() -> None:
    """By a call that the CRM did not refuse."""
    case = case_of(asks("Find it, and note it.", FIND_FLEET, further=[NOTE]))
    answers = [(FIND_FLEET, found([FLEET])), (NOTE, found({}))]

    assert clbench(case, trial(case, answers, [NOTE, FIND_FLEET], "Done.")).passed
    assert (
        "turn 1: no successful call matches add_note" == clbench(case, trial(case, answers, [FIND_FLEET], "?")).reason
    )
    assert (
        "turn 1: no successful call matches opportunity_search"
        == clbench(case, trial(case, answers, [NOTE], "?")).reason
    )


def test_where_there_is_nothing_to_call_nothing_may_be_written() -> None:
    """Whatever is said; the published benchmark has no such turns."""
    case = case_of(asks("Book a flight.", NO_CALL, refusal=""))
    answers = [(FIND_FLEET, found([FLEET])), (NOTE, found({}))]

    assert clbench(case, trial(case, answers, [FIND_FLEET], "No.")).passed
    assert not clbench(case, trial(case, answers, [NOTE], "No.")).passed
    assert clbench(case, trial(case, [], [NOTE], "No.")).passed
