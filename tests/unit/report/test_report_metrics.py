"""How a subject did in conversations."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from msgspec import convert
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.domain.interval import clustered, wilson
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Labels, Trial, TurnOutcome
from pytest_crmeval.report.metrics import (
    KINDS,
    Breakdown,
    Group,
    Metrics,
    breakdown_of,
    metrics_of,
    reading_order,
)
from tests.fakes import planned, trial

NUMBERS = count()
PASSED, FAILED = Verdict.PASSED, Verdict.FAILED
RIGHT = TurnOutcome(tool="client_search", called=True, replied=True, steps=2, errors=0)
RECOVERED = replace(RIGHT, steps=4, errors=2)
MUMBLED = replace(RIGHT, replied=False)
LOST = TurnOutcome(tool="create_quote", called=False, replied=False, steps=1, errors=3)
LUCKY = replace(LOST, replied=True, errors=0)


def played(*turns: TurnOutcome, verdict: Verdict = Verdict.PASSED, **labels: str | Sequence[str]) -> Trial:
    """Return a trial of a case of its own, with turns and labels."""
    return replace(trial(f"case-{next(NUMBERS)}", verdict), turns=turns, labels=Labels.from_dict(labels))


def counted(groups: Mapping[str, Group]) -> dict[str, Group]:
    """Return groups without their intervals."""
    return {
        label: replace(group, pass_rate_interval=None, turn_success_interval=None) for label, group in groups.items()
    }


def test_strict_success_is_the_pass_rate() -> None:
    trials = [played(RIGHT), played(RIGHT), played(RIGHT), played(RIGHT, verdict=Verdict.FAILED)]

    assert 0.75 == metrics_of(trials).strict_success


def test_a_turn_is_a_success_when_calls_and_reply_are_right() -> None:
    metrics = metrics_of([played(RIGHT, MUMBLED, LOST, LUCKY)])

    assert (0.25, 0.5, 0.5) == (metrics.turn_success, metrics.tool_success, metrics.reply_success)


def test_all_turns_have_equal_weight() -> None:
    """Nine turns of a long case weigh nine times as much as the one turn of a short one."""
    assert 0.9 == metrics_of([played(*[RIGHT] * 9), played(LOST)]).turn_success


def test_steps_are_the_mean_over_all_turns() -> None:
    """Two, two, four and one."""
    assert 2.25 == metrics_of([played(RIGHT, MUMBLED), played(RECOVERED, LOST)]).steps_per_turn


def test_errors_are_made_up_for_in_a_turn_that_is_right() -> None:
    """A turn that ends wrong has recovered from nothing."""
    metrics = metrics_of([played(RIGHT, RECOVERED), played(LOST, RECOVERED)])

    assert (7, 4) == (metrics.errors, metrics.recovered_errors)


def test_trials_are_counted_by_the_turn_that_went_wrong_first() -> None:
    """What went wrong after it is no news; a trial that passed, or has no wrong turn, is not counted."""
    turns = [(RIGHT, LOST), (LOST, LOST), (RIGHT, MUMBLED, LOST), (RIGHT,)]
    trials = [played(*some, verdict=Verdict.FAILED) for some in turns]

    assert {1: 1, 2: 2} == metrics_of([*trials, played(LOST)]).first_failed_turn


def test_first_failed_turns_are_sorted() -> None:
    """The second before the tenth, also in the document."""
    trials = [played(*[RIGHT] * 9, LOST, verdict=Verdict.FAILED), played(RIGHT, LOST, verdict=Verdict.FAILED)]

    assert ["2", "10"] == list(json.loads(json.dumps(metrics_of(trials).to_dict()))["first_failed_turn"])


def test_a_run_without_a_wrong_turn_has_an_empty_histogram() -> None:
    """And no errors: that is news, so it is there."""
    found = metrics_of([played(RIGHT)]).to_dict()

    assert ({}, 0, 0) == (found["first_failed_turn"], found["errors"], found["recovered_errors"])


@pytest.mark.parametrize("verdict", [Verdict.ERRORED, Verdict.INVALID])
def test_unscored_trials_do_not_count(verdict: Verdict) -> None:
    """Though its turns, as far as they went, are on record."""
    trials = [played(RIGHT, complexity="simple"), played(LOST, verdict=verdict, complexity="simple")]

    assert metrics_of(trials[:1]) == metrics_of(trials)
    assert breakdown_of(trials[:1]) == breakdown_of(trials)


@pytest.mark.parametrize("trials", [[], [trial(verdict=Verdict.ERRORED)]], ids=["nothing", "nothing scored"])
def test_the_metrics_of_nothing_are_absent(trials: list[Trial]) -> None:
    assert Metrics() == metrics_of(trials)
    assert {} == metrics_of(trials).to_dict()
    assert {} == breakdown_of(trials)


def test_trials_without_turns_have_their_pass_rate() -> None:
    """A question is no conversation; neither is a trial that was recorded before turns were."""
    assert {"strict_success": 0.5} == metrics_of([trial("one"), trial("two", Verdict.FAILED)]).to_dict()


def test_results_are_grouped_by_label() -> None:
    trials = [
        played(RIGHT, complexity="simple", category="Quotes"),
        played(RIGHT, RIGHT, LOST, LUCKY, complexity="medium", category="Quotes", verdict=Verdict.FAILED),
    ]
    simple = Group(
        cases=1, passed=1, failed=0, pass_rate=1.0, turns=1, turn_success=1.0, tool_success=1.0, reply_success=1.0
    )
    medium = Group(
        cases=1, passed=0, failed=1, pass_rate=0.0, turns=4, turn_success=0.5, tool_success=0.5, reply_success=0.75
    )
    both = Group(
        cases=2, passed=1, failed=1, pass_rate=0.5, turns=5, turn_success=0.6, tool_success=0.6, reply_success=0.8
    )

    found = breakdown_of(trials)

    assert {"simple": simple, "medium": medium} == counted(found["complexity"])
    assert {"Quotes": both} == counted(found["category"])


def test_a_case_with_several_tags_counts_under_each_of_them() -> None:
    trials = [played(RIGHT, tags=["refusal", "dates", "dates"]), played(LOST, tags=["dates"], verdict=Verdict.FAILED)]

    assert {"dates": (2, 0.5), "refusal": (1, 1.0)} == {
        tag: (group.cases, group.pass_rate) for tag, group in breakdown_of(trials)["tag"].items()
    }


def test_turns_are_grouped_by_tool() -> None:
    """A tool has turns and no cases: whether a case passed is not its doing."""
    trials = [played(RIGHT, LUCKY), played(MUMBLED, verdict=Verdict.FAILED)]

    assert {
        "client_search": Group(turns=2, turn_success=0.5, tool_success=1.0, reply_success=0.5),
        "create_quote": Group(turns=1, turn_success=0.0, tool_success=0.0, reply_success=1.0),
    } == counted(breakdown_of(trials)["tool"])


def test_the_cases_of_a_label_may_have_no_turns() -> None:
    """They are counted all the same."""
    group = breakdown_of([played(category="Quotes")])["category"]["Quotes"]

    assert {"cases": 1, "passed": 1, "failed": 0, "pass_rate": 1.0} == counted({"": group})[""].to_dict()


def test_groups_have_intervals() -> None:
    """Wilson's, of 3 of 4 cases; turns of one case count as far as they differ from those of others."""
    trials = [replace(played(RIGHT, category="Quotes"), planned=planned(name)) for name in "abc"]
    trials.append(replace(played(LOST, LOST, category="Quotes", verdict=Verdict.FAILED), planned=planned("d")))

    found = breakdown_of(trials)

    assert wilson(3, 4) == found["category"]["Quotes"].pass_rate_interval
    assert clustered([(1, 1), (1, 1), (1, 1), (0, 2)]) == found["category"]["Quotes"].turn_success_interval
    assert wilson(3, 3) == found["tool"]["client_search"].turn_success_interval


def test_a_case_that_is_tried_three_times_is_one_case_of_its_label() -> None:
    """Six trials of two cases."""
    cases = [replace(planned(case), trial=number) for case in ("one", "two") for number in (1, 2, 3)]
    group = breakdown_of([labelled(trial(case, PASSED if case.trial > 1 else FAILED)) for case in cases])["tag"]["t"]

    assert (2, 4, 2) == (group.cases, group.passed, group.failed)


def labelled(found: Trial) -> Trial:
    """Return a trial with a tag."""
    return replace(found, labels=Labels(tags=("t",)))


def test_cases_of_one_chain_are_one_unit() -> None:
    """Two that passed and two that failed are two chains, not four cases."""
    trials = [
        replace(played(category="Quotes", chain=name[0], verdict=verdict), planned=planned(name))
        for name, verdict in [("a1", PASSED), ("a2", PASSED), ("b1", Verdict.FAILED), ("b2", Verdict.FAILED)]
    ]

    assert clustered([(2, 2), (0, 2)]) == breakdown_of(trials)["category"]["Quotes"].pass_rate_interval


def test_kinds_of_labels_without_cases_are_absent() -> None:
    """Such as everything that was recorded before there were labels."""
    assert ["tool"] == list(breakdown_of([played(RIGHT)]))
    assert {} == breakdown_of([trial()])


def test_labels_are_sorted() -> None:
    found = breakdown_of(
        [
            played(RIGHT, complexity=complexity, category=category, tags=[category], split=category)
            for complexity, category in [("complex", "b"), ("huge", "c"), ("simple", "a"), ("medium", "b")]
        ]
    )

    assert list(KINDS) == list(found)
    assert ["simple", "medium", "complex", "huge"] == list(found["complexity"])
    assert ["a", "b", "c"] == list(found["category"]) == list(found["tag"]) == list(found["split"])


def test_held_out_cases_are_a_group() -> None:
    """From what agents may learn from; a case that is of neither counts for neither."""
    found = breakdown_of([played(RIGHT, split="train"), played(LOST, split="test"), played(RIGHT)])["split"]

    assert {"test": 0.0, "train": 1.0} == {split: group.turn_success for split, group in found.items()}


def test_turns_without_a_tool_have_a_group_of_their_own() -> None:
    """There was nothing to call, and that can be got right or wrong."""
    found = breakdown_of([played(RIGHT, replace(RIGHT, tool=""), replace(LOST, tool=""))])["tool"]

    assert {"(none)": 2, "client_search": 1} == {tool: group.turns for tool, group in found.items()}
    assert 0.5 == found["(none)"].turn_success


TRIALS = [
    played(RIGHT, RECOVERED, complexity="medium", category="Clients", tags=["dates"]),
    played(RIGHT, LOST, complexity="medium", category="Quotes", tags=["dates", "refusal"], verdict=Verdict.FAILED),
    Trial.invalid(planned("two"), "cases.jsonl:2: two: turn 1: {stage}", Labels(complexity="simple")),
]


def written(found: Breakdown) -> dict[str, dict[str, Any]]:
    """Return a breakdown as it is on disk."""
    return {kind: {label: group.to_dict() for label, group in groups.items()} for kind, groups in found.items()}


def test_metrics_are_written_as_documented(snapshot: SnapshotAssertion) -> None:
    """What a report says of each subject."""
    assert snapshot == {"metrics": metrics_of(TRIALS).to_dict(), "by": written(breakdown_of(TRIALS))}


@pytest.mark.parametrize("trials", [TRIALS, TRIALS[2:], [trial()]], ids=["played", "invalid", "without turns"])
def test_written_metrics_can_be_read(trials: list[Trial]) -> None:
    metrics, by = metrics_of(trials), breakdown_of(trials)

    assert metrics == Metrics.from_dict(json.loads(json.dumps(metrics.to_dict())))
    assert by == convert(json.loads(json.dumps(written(by))), Breakdown)


def test_fields_that_are_not_known_yet_are_passed_over() -> None:
    """A newer release wrote them."""
    assert Metrics(errors=1) == Metrics.from_dict({"errors": 1, "cost": 0.5})
    assert Group(turns=1) == Group.from_dict({"turns": 1, "cost": 0.5})


@pytest.mark.parametrize(
    "junk",
    [7, "high", {"errors": "many"}, {"first_failed_turn": 7}, {"first_failed_turn": {"one": 1}}, {"errors": []}],
)
def test_invalid_metrics_are_refused(junk: Any) -> None:  # noqa: ANN401 (JSON)
    with pytest.raises((TypeError, ValueError)):
        Metrics.from_dict(junk)


@pytest.mark.parametrize(
    "junk", [7, {"tag": 7}, {"tag": {"dates": 7}}, {"tag": {"dates": {"cases": "many"}}}, {"tag": {"dates": "high"}}]
)
def test_invalid_breakdown_is_refused(junk: Any) -> None:  # noqa: ANN401 (JSON)
    with pytest.raises((TypeError, ValueError)):
        convert(junk, Breakdown)


def test_ratings_are_read_from_the_easy_to_the_hard() -> None:
    """By number: 800 is less than 1200."""
    assert ["800-1199", "1200-1599", "1600-1999"] == sorted(["1600-1999", "1200-1599", "800-1199"], key=reading_order)
