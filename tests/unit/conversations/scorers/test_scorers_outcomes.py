"""How each turn of a trial went."""

from pytest_crmeval.conversations.scorers.outcomes import outcomes_of
from pytest_crmeval.domain.expectation import NO_CALL
from pytest_crmeval.domain.state import State
from pytest_crmeval.domain.trial import TurnOutcome
from tests.fakes import call
from tests.plays import FIND_FLEET, FLEET, asks, case_of, found, refused, trial, uid

MOVE = call("modify_opportunity", opportunity_id=uid("fleet"), stage="Negotiation")
NOTE = call("add_note", entity_type="Opportunity", entity_id=uid("fleet"), content="Call back.")
ANSWERS = [
    (FIND_FLEET, found([FLEET])),
    (MOVE, found({**FLEET, "stage": "Negotiation"})),
    (NOTE, found({"note_id": uid("note"), "content": "Call back."})),
    (call("modify_opportunity", opportunity_id=uid("fleet")), refused("Must provide either updates or keyword args")),
]
CASE = case_of(asks("Find the fleet deal.", FIND_FLEET), asks("Move it.", MOVE), asks("Note it.", NOTE))
RIGHT: State = {"opportunities": [{**FLEET, "stage": "Negotiation"}]}
WRONG: State = {"opportunities": [FLEET]}


def outcome(tool: str, *, called: bool = True, replied: bool = True, steps: int = 2, errors: int = 0) -> TurnOutcome:
    """Return how a turn went; by default as it should."""
    return TurnOutcome(tool=tool, called=called, replied=replied, steps=steps, errors=errors)


def test_a_trial_that_goes_as_it_should() -> None:
    """Each turn with its tool, and how often the agent was asked."""
    evidence = trial(CASE, ANSWERS, [FIND_FLEET], "Fleet tracking rollout", [MOVE], "Done.", [NOTE], "Done.")

    assert [outcome("opportunity_search"), outcome("modify_opportunity"), outcome("add_note")] == list(
        outcomes_of(CASE, evidence)
    )


def test_a_turn_is_right_in_itself_though_the_whole_is_not() -> None:
    """One change was left out: the turn that made its own part is not to blame."""
    evidence = trial(
        CASE, ANSWERS, [FIND_FLEET], "Here.", [FIND_FLEET], "Done.", [NOTE], "Done.", after=WRONG, reference_after=RIGHT
    )

    assert [
        outcome("opportunity_search", replied=False),
        outcome("modify_opportunity", called=False),
        outcome("add_note"),
    ] == list(outcomes_of(CASE, evidence))


def test_a_change_by_other_calls_is_right_when_the_state_is() -> None:
    """In two steps, or in another order."""
    part = call("modify_opportunity", opportunity_id=uid("fleet"), stage="Negotiation", probability=50)
    answers = [*ANSWERS, (part, found({**FLEET, "stage": "Negotiation"}))]
    evidence = trial(
        CASE, answers, [FIND_FLEET], "Fleet tracking rollout", [part, NOTE], "Done.", [NOTE], "Done.",
        after=RIGHT, reference_after=RIGHT,
    )  # fmt: skip

    assert [True, True, True] == [turn.called for turn in outcomes_of(CASE, evidence)]


def test_refused_calls_are_errors_that_may_be_recovered_from() -> None:
    """They count, whether the turn ends well or not."""
    slip = call("modify_opportunity", opportunity_id=uid("fleet"))
    evidence = trial(
        CASE, ANSWERS, [FIND_FLEET], "Fleet tracking rollout", [slip], [slip, MOVE], "Done.", [slip], "Done.",
        after=WRONG, reference_after=RIGHT,
    )  # fmt: skip

    turns = list(outcomes_of(CASE, evidence))

    assert [
        outcome("opportunity_search"),
        outcome("modify_opportunity", steps=3, errors=2),
        outcome("add_note", called=False, errors=1),
    ] == turns
    assert [0, 2, 0] == [turn.recovered for turn in turns]


def test_a_refusal_that_is_expected_is_no_error() -> None:
    """The agent had to ask."""
    case = case_of(asks("Raise it.", call("modify_opportunity", amount=1), refusal=""))
    evidence = trial(case, [], [call("modify_opportunity", amount=1)], "That is not possible.")

    assert [outcome("modify_opportunity")] == list(outcomes_of(case, evidence))


def test_an_agent_that_is_silent() -> None:
    """Neither called nor replied."""
    evidence = trial(CASE, ANSWERS, "", after=WRONG, reference_after=RIGHT)

    assert [
        outcome(tool, called=False, replied=False, steps=1)
        for tool in ("opportunity_search", "modify_opportunity", "add_note")
    ] == list(outcomes_of(CASE, evidence))


def test_a_turn_that_wants_two_things_did_its_part_when_both_are_done() -> None:
    """It goes by the tool of the first one; a turn without a call goes by none."""
    case = case_of(asks("Move it, and note it.", MOVE, further=[NOTE]), asks("Book a flight.", NO_CALL, refusal=""))
    no = "I can't book flights."

    both = trial(case, ANSWERS, [MOVE], [NOTE], "Done.", no, after=WRONG, reference_after=RIGHT)
    one = trial(case, ANSWERS, [MOVE], "Done.", no, after=WRONG, reference_after=RIGHT)

    assert [outcome("modify_opportunity", steps=3), outcome("", steps=1)] == list(outcomes_of(case, both))
    assert [outcome("modify_opportunity", called=False), outcome("", steps=1)] == list(outcomes_of(case, one))
