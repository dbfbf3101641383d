"""A trial turn by turn."""

from concurrent.futures import ThreadPoolExecutor

from pytest_crmeval.conversations.scorers.turns import Played, Remembered, reason_of, turns_of
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.expectation import NO_CALL
from pytest_crmeval.domain.messages import ErrorKind, ToolCall
from pytest_crmeval.ports.scorer import Evidence
from tests.fakes import call
from tests.plays import FIND_FLEET, FLEET, LARGE_QUOTE, SMALL_QUOTE, asks, case_of, found, refused, trial, uid

QUOTES = call("quote_search", opportunity_id=uid("fleet"))
CASE = case_of(
    asks("Find the fleet deal.", FIND_FLEET),
    asks("And its quotes?", call("quote_search", criteria={"opportunity_id": "{{turn_1.opportunity_id}}"})),
)
ANSWERS = [
    (FIND_FLEET, found([FLEET])),
    (call("list_opportunities"), found({uid("fleet"): FLEET})),
    (QUOTES, found([SMALL_QUOTE])),
]


def second(*made: ToolCall) -> Played:
    """Return the second turn of a trial in which these calls were made in it."""
    return list(turns_of(CASE, trial(CASE, ANSWERS, [FIND_FLEET], "Here.", [*made], "Here.")))[1]


def test_the_expected_call_is_that_of_this_trial() -> None:
    """References are resolved, and its form is the canonical one."""
    assert QUOTES == second().expected


def test_calls_are_in_canonical_form() -> None:
    """Whatever form the agent chose."""
    nested = call("quote_search", criteria={"opportunity_id": uid("fleet"), "status": None})

    assert [(QUOTES, found([SMALL_QUOTE]))] == second(nested).calls
    assert found([SMALL_QUOTE]) == second(nested).made


def test_what_was_made_is_the_expected_call_and_no_other() -> None:
    """A refused one was not made."""
    broken = trial(CASE, [], [FIND_FLEET], "Here.", [QUOTES], "Here.")

    assert second(call("quote_search"), call("list_opportunities")).made is None
    assert [None, None] == [turn.made for turn in turns_of(CASE, broken)]


def test_what_is_wanted_is_what_this_trial_brought() -> None:
    """Or else the reference."""
    assert [SMALL_QUOTE] == second(QUOTES).wanted
    assert [SMALL_QUOTE] == second().wanted
    assert [SMALL_QUOTE] == second().reference_value


def test_a_reference_that_was_refused_wants_nothing() -> None:
    """A case that contradicts itself can be played all the same."""
    case = case_of(asks("Find it.", FIND_FLEET))

    assert [None] == [turn.wanted for turn in turns_of(case, trial(case, [(FIND_FLEET, refused("No."))], "Here."))]


def test_a_turn_writes_if_its_call_does() -> None:
    case = case_of(asks("Cancel it.", call("cancel_quote", quote_id=uid("large"))))
    evidence = trial(case, [(call("cancel_quote", quote_id=uid("large")), found(LARGE_QUOTE))], "Done.")

    assert [True] == [turn.writes for turn in turns_of(case, evidence)]
    assert not second().writes


def test_faults_are_reported_with_their_turns() -> None:
    """Turns without a fault are passed over."""
    assert "turn 2: late\nturn 4: wrong" == reason_of(["", "late", "", "wrong"])
    assert "" == reason_of(["", ""])


def test_the_faults_of_the_last_trial_are_remembered() -> None:
    """Of that very trial, and of no other."""
    asked: list[Evidence] = []

    @Remembered
    def faults(case: Conversation, evidence: Evidence) -> list[str]:
        del case
        asked.append(evidence)
        return [str(len(asked))]

    one, other = trial(CASE, ANSWERS, "One."), trial(CASE, ANSWERS, "One.")

    assert ["1", "1", "2", "3"] == [*faults(CASE, one), *faults(CASE, one), *faults(CASE, other), *faults(CASE, one)]


def test_two_slots_that_score_at_the_same_time_each_remember_their_own() -> None:
    """Or what one has found out would be found out again whenever the other one came in between."""
    asked: list[Evidence] = []

    @Remembered
    def faults(case: Conversation, evidence: Evidence) -> list[str]:
        del case
        asked.append(evidence)
        return [""]

    trials = [trial(CASE, ANSWERS, "One."), trial(CASE, ANSWERS, "One.")]
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        for _ in range(3):
            for slot, evidence in zip((one, other), trials, strict=True):
                slot.submit(faults, CASE, evidence).result()

    assert trials == asked


NOTE = call("add_note", entity_type="Opportunity", entity_id="{{turn_1.opportunity_id}}", content="Call back.")
NOTED = call("add_note", entity_type="Opportunity", entity_id=uid("fleet"), content="Call back.")
BOTH = case_of(asks("Find the fleet deal, and note it.", FIND_FLEET, further=[NOTE]))
BOTH_ANSWERS = [(FIND_FLEET, found([FLEET])), (NOTED, found({"note_id": uid("note")}))]


def both(*made: ToolCall) -> Played:
    """Return the only turn of a trial that wants two things."""
    return next(turns_of(BOTH, trial(BOTH, BOTH_ANSWERS, [*made], "Done.")))


def test_a_turn_that_wants_several_things_has_parts() -> None:
    """Each with its call, with what came of it, and with what the reference has."""
    find, note = both(NOTED, FIND_FLEET).parts

    assert [FIND_FLEET, NOTED] == [find.expected, note.expected]
    assert [found([FLEET]), found({"note_id": uid("note")})] == [find.made, note.made]
    assert [[FLEET], {"note_id": uid("note")}] == [find.reference_value, note.reference_value]
    assert [False, True] == [find.writes, note.writes]


def test_what_a_turn_wants_first_is_what_it_is_known_by() -> None:
    """Whatever came after it."""
    turn = both(FIND_FLEET, NOTED)

    assert [FLEET] == turn.wanted == turn.reference_value
    assert FLEET == turn.outputs[1]


def test_a_turn_that_also_writes_is_one_that_writes() -> None:
    """Though it begins with a question."""
    assert both().writes
    assert not second().writes


def test_a_turn_that_wants_one_thing_is_its_own_part() -> None:
    """Also if there is nothing to call."""
    case = case_of(asks("Book a flight.", NO_CALL, refusal=""))
    (turn,) = turns_of(case, trial(case, [], "No."))

    assert [turn] == list(turn.parts)
    assert (True, None, None, False) == (turn.calls_nothing, turn.made, turn.reference_value, turn.writes)
    assert not second().calls_nothing


def test_what_the_tool_itself_rules_out_is_evident() -> None:
    """What only the data can tell is not."""
    case = case_of(asks("Find it.", FIND_FLEET, refusal=""))

    def evident(kind: ErrorKind) -> bool:
        (turn,) = turns_of(case, trial(case, [(FIND_FLEET, refused("No.", kind))], "No."))
        return turn.is_evident

    assert evident("invalid_argument")
    assert not evident("not_found")
    assert not second().is_evident
