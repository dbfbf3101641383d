"""What is counted when agents whose every step is known are judged."""

import json
from collections.abc import Callable

import pytest

from pytest_crmeval.agents.scripted import mute
from pytest_crmeval.conversations.calibration import CORRUPTED, EQUIVALENT, SHARES, Calibration, calibrate, spread
from pytest_crmeval.conversations.calibration.tally import KEPT, AgentAccuracy, Miss, share_of
from pytest_crmeval.conversations.calibration.variants import Variant
from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.conversations.play import observe, play_reference
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.score import Score
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.scorer import Evidence, Reference, Scorer
from tests.fakes import PaperCrm, call, conversation, turn

CASE = conversation(turn("Look.", call("look", name="Ada")), turn("Look again.", call("look", name="Bob")))


def on_paper(case: Conversation, agent: Agent) -> Evidence:
    """Let an agent play on paper."""
    crm = PaperCrm()
    reference: Reference = play_reference(case, Oracle(case), crm)
    return observe(case, agent, crm, reference)


def always(value: float) -> Scorer:
    """Return a scorer that has made up its mind."""

    def scorer(case: Conversation, evidence: Evidence) -> Score:
        del case, evidence
        return Score(name="stubborn", value=value, reason="" if value else "never good enough")

    return scorer


def asked_twice(case: Conversation, evidence: Evidence) -> Score:
    """Score whether exactly the expected calls were made, with words at the end of each turn."""
    wanted = [turn.expectation.call for turn in case.turns]
    made = [call for exchange in evidence.transcript.exchanges for call, _ in exchange.calls]
    spoken = all(exchange.reply.strip() for exchange in evidence.transcript.exchanges)
    return Score(name="strict", value=float(made == wanted and spoken))


def calibrated(*scorers: Scorer, tries: int = 50, progress: Callable[[int], None] | None = None) -> Calibration:
    """Calibrate scorers on one case that plays on paper."""
    return calibrate([CASE], on_paper, scorers, tools=PaperCrm.tools, bluffers=[mute()], tries=tries, progress=progress)


def test_a_scorer_that_lets_everything_pass_catches_nothing() -> None:
    """And accepts everything; that is not enough."""
    found = calibrated(always(1.0))

    assert {"oracle": 1.0, "mute": 1.0} == found.to_dict()["passed"]
    assert (0.0, 1.0) == (found.caught, found.accepted)
    assert not found.holds


def test_a_scorer_that_lets_nothing_pass_accepts_nothing() -> None:
    """And catches everything; that is not enough either."""
    found = calibrated(always(0.0))

    assert {"oracle": 0.0, "mute": 0.0} == found.to_dict()["passed"]
    assert (1.0, 0.0) == (found.caught, found.accepted)
    assert not found.holds


def test_each_kind_has_figures_of_its_own() -> None:
    """A scorer that counts calls sees who leaves one out, and takes who makes one more for a cheat."""
    found = calibrated(asked_twice)

    assert 1.0 == found.corrupted["read dropped"].share
    assert 1.0 == found.corrupted["silence"].share
    assert 0.0 == found.corrupted["invented figure"].share
    assert 0.0 == found.equivalent["extra reads"].share


def test_one_scorer_is_enough_to_catch() -> None:
    """As with the verdict: all of them must be content."""
    assert 1.0 == calibrated(always(1.0), always(0.0)).caught


def test_first_misses_are_listed_with_their_reasons() -> None:
    """Where, what, and, if it should have been accepted, why it was not."""
    found = calibrated(always(0.0))

    shown = "\n".join(found.lines())
    assert "equivalent call corrected: 4 of 4 scored wrongly" in shown
    assert "one, turn 1: looks wrong at first -> stubborn: never good enough" in shown


def test_a_kind_that_was_never_tried_has_no_share() -> None:
    """It must not look as if all of it had been caught."""
    (line,) = (line for line in calibrated(always(1.0)).lines() if line.startswith("date changed"))

    assert ["date", "changed", "0", "0", "-"] == line.split()


def test_each_kind_is_tried_as_often_as_asked_for() -> None:
    """If there are so many variants of it."""
    found = calibrated(always(1.0), tries=3)

    assert {3} == {tally.tried for tally in found.equivalent.values() if tally.tried > 2}
    assert 2 == found.corrupted["read dropped"].tried


def test_tries_without_variants_in_one_case_move_to_the_next() -> None:
    """Tries are spread over all cases, but not lost."""
    plain = conversation(turn("Look.", call("look")))
    cases = [plain, plain, CASE]

    found = calibrate(cases, on_paper, [always(1.0)], tools=(), tries=4)

    assert 4 == found.corrupted["read dropped"].tried


def test_progress_is_reported() -> None:
    shown: list[int] = []

    calibrated(always(1.0), tries=1, progress=shown.append)

    assert [1] == shown


def test_the_figures_are_json() -> None:
    found = calibrated(asked_twice)

    document = json.loads(json.dumps(found.to_dict()))
    kinds = {"agents", "corrupted", "equivalent", "shares"}
    assert {"passed", "caught", "accepted", "cases", "holds", *kinds} == document.keys()
    assert {"tried": 2, "right": 2, "share": 1.0, "misses": []} == document["corrupted"]["read dropped"]


def test_first_misses_are_kept() -> None:
    tally = AgentAccuracy(kind="silence")

    for number in range(KEPT + 3):
        tally.add("one", Miss(case="one", turn=number, what="said ''"))
    tally.add("one", None)

    assert (KEPT + 4, 1) == (tally.tried, tally.right)
    assert list(range(KEPT)) == [miss.turn for miss in tally.misses]


def test_a_miss_of_a_kind_that_can_not_always_be_caught_says_why() -> None:
    tally = AgentAccuracy(kind="filters dropped")
    tally.add("one", Miss(case="one", turn=1, what="all of them"))

    assert "for contrast" in str(tally.to_dict()["why"])


@pytest.mark.parametrize(("most", "expected"), [(1, [3]), (2, [3, 0]), (3, [3, 4, 1]), (9, [0, 1, 2, 3, 4])])
def test_variants_are_taken_from_everywhere(most: int, expected: list[int]) -> None:
    """Not only from the first turn; where to begin is up to the caller."""
    variants = [Variant(turn=number, what="") for number in range(5)]

    assert expected == [variant.turn for variant in spread(variants, most, 3)]


def test_every_kind_is_in_one_share() -> None:
    """So that the shares add up to everything that was tried."""
    assert sorted([*CORRUPTED, *EQUIVALENT]) == sorted(kind for kinds in SHARES.values() for kind in kinds)


def test_variants_of_one_case_count_less_than_as_many_cases() -> None:
    """The interval of a share is clustered by case."""
    alike, apart = AgentAccuracy(kind="silence"), AgentAccuracy(kind="silence")
    for number in range(100):
        miss = Miss(case="", turn=1, what="") if number < 50 else None
        alike.add(str(number // 10), miss)
        apart.add(str(number), miss)

    wide, narrow = (share_of("silence", [tally]) for tally in (alike, apart))
    assert (50, 100) == (wide.right, wide.tried) == (narrow.right, narrow.tried)
    assert wide.interval
    assert narrow.interval
    assert wide.interval[0] < narrow.interval[0] < 0.5 < narrow.interval[1] < wide.interval[1]
    assert str(narrow).endswith("0.500   0.404 to 0.596")
    assert "-" == str(share_of("nothing", [])).split()[-1]
