"""Progress of a run: counts, cost, pace."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from msgspec import convert
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.domain.interval import clustered, wilson
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.usage import Bill, Usage
from pytest_crmeval.journal.progress import LEAST, RECENT, CountedTrial, Group, Pace, Progress, ProgressCounter
from pytest_crmeval.journal.reader import RecordedTrial, counted_trial
from tests.fakes import planned, trial

ORACLE = ("crm", "oracle")
MODEL = ("crm", "gpt-4.1")


def outcome(key: str, verdict: Verdict = Verdict.PASSED, group: Group = ORACLE, **facts: Any) -> CountedTrial:  # noqa: ANN401
    """Return the outcome of a case."""
    return CountedTrial(key=key, group=group, verdict=str(verdict), **facts)


def paid(cost: float | None, *, tokens: int = 100, retries: int = 0, replayed: bool = False) -> Bill:
    """Return a bill."""
    return Bill(usage=Usage(input=tokens, output=10, calls=2, retries=retries), cost=cost, replayed=replayed)


def tallied(*outcomes: CountedTrial, keys: Sequence[str] = ("one", "two", "three")) -> ProgressCounter:
    """Return the tally of a run that plans this many cases for the oracle, of which some were played."""
    tally = ProgressCounter()
    tally.begin(dict.fromkeys(keys, ORACLE))
    for number, each in enumerate(outcomes):
        tally.take(each, 100.0 + number)
    return tally


def only(tally: ProgressCounter, now: float = 110.0) -> Progress:
    """Return the only row."""
    (row,) = tally.rows(now)
    return row


def test_checkpoints_are_listed_by_their_steps() -> None:
    names = ("step_100", "checkpoint-9", "global_step20")
    tally = ProgressCounter()
    tally.begin({name: ("checkpoints", name) for name in names})

    assert ["checkpoint-9", "global_step20", "step_100"] == [row.subject for row in tally.rows(1.0)]


def test_every_verdict_is_counted_separately() -> None:
    verdicts = [Verdict.PASSED, Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED, Verdict.INVALID]
    keys = [f"case {number}" for number in range(7)]

    row = only(tallied(*map(outcome, keys, verdicts), keys=keys))

    assert (2, 1, 1, 1, 5, 7) == (row.passed, row.failed, row.errored, row.invalid, row.done, row.total)


def test_pass_rate_counts_scored_trials_only() -> None:
    """Errored and invalid ones count neither for nor against the subject."""
    row = only(tallied(outcome("one"), outcome("two", Verdict.FAILED), outcome("three", Verdict.ERRORED)))

    assert row.pass_rate
    assert (0.5, wilson(1, 2)) == (row.pass_rate.value, row.interval)


def test_repeats_of_a_case_count_as_one_unit() -> None:
    """This holds when one of them is repeated and another one is removed."""
    keys = ["a1", "a2", "b1", "b2"]
    verdicts = [Verdict.PASSED, Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED, Verdict.FAILED]
    trials = [
        outcome(key, verdict, unit=f"case {key[0]}") for key, verdict in zip([*keys, "b2"], verdicts, strict=True)
    ]
    tally = tallied(*trials, keys=keys)
    before = only(tally).interval
    tally.begin({"b2": ORACLE})

    assert clustered([(2, 2), (0, 2)]) == before
    assert clustered([(2, 2), (0, 1)]) == only(tally).interval


def test_rate_without_trials_is_not_zero() -> None:
    row = only(tallied())

    assert (None, None) == (row.pass_rate, row.interval)


def test_case_that_is_played_again_counts_once() -> None:
    row = only(tallied(outcome("one", Verdict.ERRORED), outcome("one")))

    assert (1, 0) == (row.passed, row.errored)


def test_cases_planned_by_the_next_part_are_still_to_be_done() -> None:
    """Errored ones are repeated; others stay done."""
    tally = tallied(outcome("one"), outcome("two", Verdict.ERRORED))

    tally.begin({"two": ORACLE, "three": ORACLE})

    assert (1, 3, 0) == (only(tally).done, only(tally).total, only(tally).errored)


def test_each_subject_in_each_suite_has_a_row() -> None:
    tally = ProgressCounter()
    tally.begin({"a": ("crm", "oracle"), "b": ("crm", "mute"), "c": ("browse", "oracle")})

    rows = [(row.suite, row.subject) for row in tally.rows(0.0)]

    assert [("browse", "oracle"), ("crm", "mute"), ("crm", "oracle")] == rows


def test_tokens_and_cost_add_up() -> None:
    """Exactly to the cent, even after a trial was removed."""
    tally = tallied(*(outcome(key, bill=paid(0.1, retries=1)) for key in ("one", "two", "two", "three")))
    row = only(tally)

    assert (0.3, 300, 30, 6, 3) == (row.cost, row.tokens_in, row.tokens_out, row.calls, row.retries)


def test_cost_of_a_repeated_trial_is_still_spent() -> None:
    tried = outcome("one", bill=paid(0.1), judge=paid(0.02))
    tally = tallied(tried, tried)

    assert 0.1 == only(tally).cost
    assert pytest.approx(0.24) == tally.spent


def test_unknown_price_is_not_zero() -> None:
    tally = tallied(outcome("one", bill=paid(None)), outcome("two", bill=paid(0.1)))

    assert (None, 1) == (only(tally).cost, tally.unpriced)


def test_replayed_trial_is_not_paid_again() -> None:
    """Its price is that of the recording."""
    tally = tallied(outcome("one", bill=paid(0.1, replayed=True)))

    assert (0.1, 0.0) == (only(tally).cost, tally.spent)


def test_in_flight_are_started_cases_that_are_not_done() -> None:
    tally = tallied(outcome("one"))

    in_flight = tally.missing(["one", "two", "stranger"])

    assert {ORACLE: 1} == in_flight
    assert 1 == tally.whole(110.0, in_flight).in_flight


def test_total_is_the_sum() -> None:
    """Of counts and cost; its pace is that of all trials."""
    tally = ProgressCounter()
    tally.begin({"one": ORACLE, "two": MODEL, "three": MODEL})
    tally.take(outcome("one", seconds=10.0), 10.0)
    tally.take(outcome("two", group=MODEL, seconds=10.0, bill=paid(0.5)), 10.0)

    whole = tally.whole(10.0)

    assert (2, 3, 0.5, 12.0) == (whole.done, whole.total, whole.cost, whole.rate)


@pytest.mark.parametrize("judged", [False, True])
def test_outcome_is_read_from_a_written_trial(judged: bool) -> None:  # noqa: FBT001 (a parameter)
    played = replace(trial(planned("one", subject="gpt-4.1"), seconds=2.5), bill=paid(0.1))
    record = json.loads(json.dumps(played.to_dict()))
    if judged:
        record["judgement"] = {"bill": paid(0.2).to_dict()}

    found = counted_trial(convert(record, RecordedTrial))

    judge = paid(0.2) if judged else None
    key = played.planned.key
    shown = CountedTrial(
        key=key, group=MODEL, verdict="passed", seconds=2.5, bill=paid(0.1), judge=judge, unit=played.unit
    )
    assert shown == found


def test_json_of_a_row(snapshot: SnapshotAssertion) -> None:
    """Its keys are for scripts, and don't change."""
    row = only(tallied(outcome("one", bill=paid(0.1)), outcome("two", Verdict.FAILED)))

    assert snapshot == row.to_dict()


def paced(*times: float, seconds: float = 0.0) -> Pace:
    """Return the pace of trials that ended at these times."""
    pace = Pace()
    for at in times:
        pace.tick(at, seconds)
    return pace


def test_pace_is_unknown_before_the_first_trial_ends() -> None:
    assert (None, None) == (paced().per_second(10.0), paced().eta(5, 10.0))


def test_eta_of_a_finished_run_is_zero() -> None:
    assert 0.0 == paced().eta(0, 10.0)


def test_pace_counts_from_the_start_of_the_first_trial() -> None:
    """Not from its end: one trial of ten seconds is six per minute."""
    assert 0.1 == paced(10.0, seconds=10.0).per_second(10.0)


def test_trials_that_end_at_once_have_no_pace() -> None:
    pace = paced(10.0, 10.001, 10.002)

    assert (None, None) == (pace.per_second(10.9), pace.eta(5, 10.9))
    assert 3.0 == pace.per_second(11.0)


def test_pace_is_that_of_the_recent_past() -> None:
    """A slow start is forgotten."""
    slow = [100.0 * number for number in range(1, 11)]
    quick = [1000.0 + number for number in range(1, 101)]

    assert pytest.approx(1.0, rel=0.05) == paced(*slow, *quick, seconds=100.0).per_second(1100.0)


def test_few_and_slow_trials_have_a_pace() -> None:
    """If none ended in the last minute, earlier ones count."""
    slow = [5 * RECENT * number for number in range(1, LEAST + 5)]

    assert pytest.approx(1 / (5 * RECENT)) == paced(*slow, seconds=5 * RECENT).per_second(slow[-1])


def test_pace_falls_while_no_trial_ends() -> None:
    pace = paced(*range(10, 20), seconds=1.0)

    assert 1.0 == pace.per_second(19.0)
    assert 0.5 == pace.per_second(29.0)


def test_missing_trials_are_expected_at_the_same_pace() -> None:
    assert pytest.approx(60.0) == paced(*range(1, 61), seconds=1.0).eta(60, 60.0)


def test_slow_trial_is_not_expected_to_end_at_once() -> None:
    """If nothing ended for five minutes, it may take as long again."""
    pace = paced(*(number / 10 for number in range(1, 1000)))

    assert 300.0 == pace.eta(1, 99.9 + 300.0)


def test_clock_that_was_put_back_does_no_harm() -> None:
    """The recorded time of the last trial is used."""
    pace = paced(100.0, 110.0, seconds=10.0)

    assert 0.1 == pace.per_second(50.0)
    assert 10.0 == pace.eta(1, 50.0)


def test_trials_without_a_time_have_no_pace() -> None:
    """As in older journals."""
    tally = ProgressCounter()
    tally.take(outcome("one"))

    assert (1, None) == (only(tally).done, only(tally).rate)
