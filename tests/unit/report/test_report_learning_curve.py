"""Results of learning: windows, interventions, and the student with and without playbook."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_crmeval.domain.interval import wilson
from pytest_crmeval.domain.learning import EntryUse, Lesson
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.usage import Bill, Usage
from pytest_crmeval.report.files import build
from pytest_crmeval.report.learning_curve import Learning, PassShare, PlaybookEffect, learning_of
from pytest_crmeval.report.report import SubjectSummary
from tests.fakes import planned, trial

P, F, E = Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED


def taught(number: int, verdict: Verdict, **changes: Any) -> Trial:  # noqa: ANN401 (of a lesson)
    """Return the trial of a learner."""
    given = {"key": "crm/atlas", "position": number, "student": "openai:m", **changes}
    case = planned(f"c{number}", subject="atlas")
    return replace(trial(case, verdict), learning=Lesson(**given))


def alone(number: int, verdict: Verdict, **changes: Any) -> Trial:  # noqa: ANN401 (of a case)
    """Return a trial of the student's model."""
    case = replace(planned(f"c{number}", subject="m"), **{"spec": "openai:m", **changes})
    return trial(case, verdict)


def figures(trials: Sequence[Trial], **others: Sequence[Trial]) -> Learning:
    """Return the results of learning."""
    found = learning_of(trials, others)

    assert found
    return found


def test_success_is_shown_along_the_stream() -> None:
    """In the order of play; errored conversations are not learned from, and will be played again."""
    stream = [taught(number, P if number > 5 else F) for number in range(12, 0, -1)]
    found = figures([*stream, taught(13, E)])

    assert [(1, 5, 0, 5), (6, 10, 5, 5), (11, 12, 2, 2)] == [
        (window.first, window.last, window.passed, window.scored) for window in found.windows
    ]
    assert [(1, 6, 1), (7, 12, 6)] == [(half.first, half.last, half.passed) for half in found.halves]


def test_long_stream_has_ten_windows() -> None:
    found = figures([taught(number, P) for number in range(1, 401)])
    first = found.windows[0].to_dict()

    assert (10, 40) == (len(found.windows), first["last"])
    assert list(wilson(40, 40) or ()) == first["interval"]


def test_conversations_played_out_of_order_are_counted() -> None:
    """It errored, others were played, and then it was played; the curve is in the order of play."""
    stream = [taught(1, F), taught(2, P), taught(3, P)]
    order = {stream[0].planned.key: 0, stream[1].planned.key: 2, stream[2].planned.key: 1}
    found = learning_of(stream, {}, order)

    assert found
    assert (1, 3) == (found.late, found.learnt_from)
    assert 0 == figures(stream).late


@pytest.mark.parametrize("learning", ["frozen", "off"])
def test_agent_with_a_frozen_playbook_is_never_late(learning: str) -> None:
    """It plays several conversations at a time, in any order, all with the same playbook."""
    stream = [replace(taught(number, P), learning=taught(0, P, learning=learning).learning) for number in (1, 2)]
    order = {stream[0].planned.key: 1, stream[1].planned.key: 0}
    found = learning_of(stream, {}, order)

    assert found
    assert 0 == found.late


def test_conversations_known_from_another_run_are_counted() -> None:
    stream = [taught(1, P), taught(2, P), taught(3, P, held_out=True)]
    met = {stream[0].planned.fingerprint}
    off = [taught(1, P, learning="off")]

    assert [2, 0] == [learning.known for given in (stream, off) if (learning := learning_of(given, {}, None, met))]


def test_measurement_has_the_number_of_conversations_before_it() -> None:
    """A resumed run may have learned more since."""
    stream = [taught(1, P), taught(2, P)]
    late, early = (taught(after, P, held_out=True, learning="frozen") for after in (2, 1))
    found, mixed = figures([*stream, late]), figures([*stream, late, early])

    assert ((2,), False) == (found.measured_after, found.is_measured_early)
    assert ((1, 2), True) == (mixed.measured_after, mixed.is_measured_early)


def test_learning_has_its_own_time() -> None:
    """A user waits for the conversation only."""
    trials = [replace(taught(number, P), seconds=2.0, learning_seconds=30.0) for number in (1, 2)]
    found = figures(trials)

    assert (4.0, 60.0) == (found.seconds_to_play, found.seconds_to_learn)
    assert 32.0 == trials[0].whole_seconds


def test_uses_and_reviews_are_added_up() -> None:
    found = figures(
        [
            taught(
                1, F, reviews={"corrected": 2, "approved": 1}, uses={"p": EntryUse(hits=2, adoptions=1, failures=1)}
            ),
            taught(2, P, reviews={"approved": 1}, uses={"p": EntryUse(hits=1, adoptions=1)}),
            taught(3, P),
        ]
    )

    assert (3, 2, 1) == tuple(found.counts[name] for name in ("cue_hits", "adoptions", "failed_adoptions"))
    assert {"corrected": 2, "approved": 2} == found.reviews
    assert (PassShare(passed=0, scored=1), PassShare(passed=1, scored=1)) == (found.intervened, found.not_intervened)


HELD_OUT = [
    taught(number, P if number < 4 else F, held_out=True, learning="frozen", mode="solo") for number in range(5)
]


@pytest.mark.parametrize(
    "others",
    [
        [alone(number, P if number == 0 else F) for number in range(5)],
        [alone(number, P if number == 0 else F, spec="openai:m?price=1/2") for number in range(5)],
        [taught(number, P if number == 0 else F, learning="off", mode="solo") for number in range(5)],
    ],
    ids=["the model itself", "at another price", "an atlas that is off and solo"],
)
def test_student_is_compared_with_itself(others: Sequence[Trial]) -> None:
    """On held-out cases, case by case."""
    found = figures([taught(9, P), *HELD_OUT], m=others).comparison

    assert PlaybookEffect(alone="m", both=1, only_frozen=3, neither=1) == found
    assert (0.8, 0.2, 0.25) == (found.with_playbook.rate, found.without.rate, found.p_value)


@pytest.mark.parametrize(
    "others",
    [
        [],
        [alone(number, P, spec="openai:other") for number in range(5)],
        [alone(number, P, case=f"x{number}") for number in range(5)],
        [taught(number, P, learning="off", mode="paired") for number in range(5)],
    ],
    ids=["nobody", "another model", "other cases", "with a teacher"],
)
def test_only_the_same_model_without_a_playbook_is_the_student_alone(others: Sequence[Trial]) -> None:
    """Others can't be compared."""
    assert None is figures(HELD_OUT, m=others).comparison


@pytest.mark.parametrize(("frozen", "without", "p_value"), [(0, 0, 1.0), (1, 1, 1.0), (5, 0, 0.0625), (9, 1, 0.021484)])
def test_comparison_has_a_p_value(frozen: int, without: int, p_value: float) -> None:
    assert p_value == pytest.approx(PlaybookEffect(alone="m", only_frozen=frozen, only_alone=without).p_value, abs=1e-6)


def test_roles_are_paid_apart() -> None:
    """To play, and to learn from it; and each success costs both."""
    bills = {"student": 0.02, "teacher": 0.03, "reward": 0.04, "learner": 0.05}
    roles = {role: Bill(usage=Usage(calls=1), cost=cost) for role, cost in bills.items()}
    found = figures([replace(taught(number, P), roles=roles) for number in (1, 2)])

    assert (0.1, 0.18, 0.14) == (found.cost_to_play, found.cost_to_learn, found.cost_per_success)
    unknown = replace(taught(1, P), roles={"learner": Bill(cost=None)})
    assert (0.0, None, None) == tuple(
        getattr(figures([unknown]), name) for name in ("cost_to_play", "cost_to_learn", "cost_per_success")
    )


def test_a_report_has_it_and_is_read_as_it_was_written() -> None:
    trials = {each.planned.key: each for each in [taught(9, P), *HELD_OUT, *(alone(number, F) for number in range(5))]}
    report = build({"id": "r"}, trials, [])
    learner, model = report.standings

    assert learner.learning
    assert learner.learning.comparison
    assert (4, None) == (learner.learning.comparison.only_frozen, model.learning)
    assert learner == SubjectSummary.from_dict(learner.to_dict())
    assert None is learning_of([alone(1, P)], {})


def test_pairs_are_made_of_first_trials() -> None:
    """Repeats of a case are not independent of it, so they are no pairs of their own, nor do they take its place."""
    frozen = taught(1, P, learning="frozen", held_out=True)
    repeats = [alone(1, F), alone(1, P, trial=2)]
    found = figures([frozen], m=repeats).comparison

    assert PlaybookEffect(alone="m", only_frozen=1) == found
