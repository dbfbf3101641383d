"""Every metric with its interval."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_crmeval.domain.answers import AnswerOutcome, Attempt
from pytest_crmeval.domain.interval import clustered, wilson
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Labels, Trial, TurnOutcome
from pytest_crmeval.domain.usage import Bill, Usage
from pytest_crmeval.report.figures import figures_of
from pytest_crmeval.report.metrics import metrics_of
from pytest_crmeval.report.resampling import ratio_interval
from pytest_crmeval.report.spreads import spread
from tests.fakes import planned, trial
from tests.hypothesis_settings import DETERMINISTIC

PASSED, FAILED = Verdict.PASSED, Verdict.FAILED
RIGHT = TurnOutcome(tool="client_search", called=True, replied=True, steps=2, errors=0)
WRONG = replace(RIGHT, replied=False, steps=1)


def tried(case: str, *verdicts: Verdict, subject: str = "oracle") -> list[Trial]:
    """Return the trials of a case, in order."""
    first = planned(case, subject=subject)
    return [
        trial(replace(first, trial=number, key=f"{first.key}{number}"), verdict)
        for number, verdict in enumerate(verdicts, start=1)
    ]


def answered(case: str, attempt: Attempt) -> Trial:
    """Return the trial of a question."""
    verdict = PASSED if attempt is Attempt.CORRECT else FAILED
    return replace(trial(case, verdict), answer=AnswerOutcome(attempt=attempt))


def test_pass_rate_has_a_wilson_interval() -> None:
    """Over the scored trials; errored and invalid ones don't count."""
    trials = [trial(str(n)) for n in range(7)] + [trial(f"w{n}", FAILED) for n in range(3)]
    trials += [trial("e", Verdict.ERRORED), trial("i", Verdict.INVALID)]

    figure = figures_of(trials)["pass_rate"]

    assert (0.7, wilson(7, 10), 10, None, "wilson") == (
        figure.value,
        figure.interval,
        figure.n,
        figure.units,
        figure.method,
    )


def test_turns_of_a_case_are_not_independent() -> None:
    """Five turns in two cases."""
    trials = [
        replace(trial("one"), turns=(RIGHT, RIGHT, RIGHT)),
        replace(trial("two", FAILED), turns=(RIGHT, WRONG)),
    ]

    figure = figures_of(trials)["turn_success"]

    assert (0.8, clustered([(3, 3), (1, 2)]), 5, 2) == (figure.value, figure.interval, figure.n, figure.units)
    assert "wilson (clustered)" == figure.method


def test_several_subjects_share_their_cases() -> None:
    """Together they have twice as many trials, but not twice as many cases."""
    trials = [
        *tried("a", PASSED),
        *tried("b", FAILED),
        *tried("a", PASSED, subject="x"),
        *tried("b", PASSED, subject="x"),
    ]

    figure = figures_of(trials)["pass_rate"]

    assert (0.75, 4, 2, clustered([(2, 2), (1, 2)])) == (figure.value, figure.n, figure.units, figure.interval)


def test_interval_with_repeats_is_wider_than_with_independent_trials() -> None:
    """Twenty cases with five equal trials each."""
    often = [each for n in range(20) for each in tried(str(n), *([PASSED if n % 2 else FAILED] * 5))]

    figure = figures_of(often)["pass_rate"]
    naive = wilson(50, 100)
    assert figure.interval
    assert naive

    assert ("wilson (clustered)", 100, 20) == (figure.method, figure.n, figure.units)
    assert figure.interval[1] - figure.interval[0] > 1.8 * (naive[1] - naive[0])


def test_cases_of_one_chain_count_as_one_unit() -> None:
    """Ten chains of three cases with equal verdicts."""
    trials = [
        replace(trial(f"{chain}-{n}", PASSED if chain % 2 else FAILED), labels=Labels(chain=f"c{chain}"))
        for chain in range(10)
        for n in range(3)
    ]

    figure = figures_of(trials)["pass_rate"]

    assert ("wilson (clustered)", 30, 10) == (figure.method, figure.n, figure.units)
    assert clustered([(3 * (n % 2), 3) for n in range(10)]) == figure.interval


def test_pass_at_1_with_repeats_has_the_interval_of_the_pass_rate() -> None:
    dice = Random(3)  # noqa: S311 (no secret)
    often = [each for n in range(40) for each in tried(str(n), *(dice.choice([PASSED, FAILED]) for _ in range(4)))]

    figures = figures_of(often)

    assert pytest.approx(figures["pass_rate"].interval) == figures["pass@1"].interval


def test_interval_of_turns_agrees_with_a_bootstrap_of_cases() -> None:
    """Fifty cases of twenty turns; about one turn in twenty fails independently."""
    dice = Random(11)  # noqa: S311 (no secret)
    wrong = replace(RIGHT, called=False)
    trials = [
        replace(trial(str(n)), turns=tuple(RIGHT if dice.random() < 0.95 else wrong for _ in range(20)))
        for n in range(50)
    ]

    figure = figures_of(trials)["tool_success"]

    parts = [(sum(turn.called for turn in each.turns), 20) for each in trials]
    assert pytest.approx(ratio_interval(parts, 0.95), abs=0.01) == figure.interval


def test_if_every_trial_passed_cases_are_counted() -> None:
    """A bootstrap of equal values would claim that nothing can ever fail."""
    figure = figures_of([each for n in range(6) for each in tried(str(n), PASSED, PASSED)])["pass_rate"]

    assert wilson(6, 6) == figure.interval


def test_pass_at_k_and_pass_all_k() -> None:
    """Case a passes 2 of 3, b none: one of two trials passes with 1 and 0, both with 1/3 and 0."""
    figures = figures_of([*tried("a", PASSED, PASSED, FAILED), *tried("b", FAILED, FAILED, FAILED)])

    assert pytest.approx([1 / 3, 1 / 2, 1 / 2]) == [figures[f"pass@{k}"].value for k in (1, 2, 3)]
    assert pytest.approx([1 / 3, 1 / 6, 0]) == [figures[f"pass^{k}"].value for k in (1, 2, 3)]
    assert "pass@4" not in figures


def test_only_cases_with_enough_trials_count() -> None:
    """An errored trial does not count."""
    figures = figures_of([*tried("a", PASSED, PASSED), *tried("b", FAILED, Verdict.ERRORED)])

    assert (2, 1) == (figures["pass@1"].n, figures["pass@2"].n)
    assert 1.0 == figures["pass^2"].value


def test_single_trials_have_no_pass_at_k() -> None:
    """It would be the pass rate."""
    assert not [name for name in figures_of([trial("one"), trial("two")]) if name.startswith("pass@")]


def test_times_have_percentiles() -> None:
    """0 to 100 seconds."""
    figures = figures_of([trial(str(n), seconds=float(n)) for n in range(101)])

    assert [50, 90, 95, 99] == [figures[f"latency_p{share}"].value for share in (50, 90, 95, 99)]
    assert (40.0, 60.0) == figures["latency_p50"].interval
    assert figures["latency_p99"].interval is None
    assert pytest.approx(spread([(n, 1) for n in range(101)])) == figures["latency_mean"].interval


def test_money_and_tokens_per_trial() -> None:
    """Of all trials, errored ones included; absent if a price is unknown."""
    bill = Bill(usage=Usage(input=100, output=20), cost=0.5)
    trials = [replace(trial("one"), bill=bill), trial("two"), replace(trial("three", Verdict.ERRORED), bill=bill)]

    figures = figures_of(trials)

    assert pytest.approx([1 / 3, 80]) == [figures[name].value for name in ("cost_per_trial", "tokens_per_trial")]
    assert "cost_per_trial" not in figures_of([replace(trial("one"), bill=replace(bill, cost=None))])
    assert "tokens_per_trial" not in figures_of([trial("one")])


def test_answers_have_the_figures_of_the_metrics() -> None:
    """The same values, computed elsewhere, now with intervals."""
    attempts = [Attempt.CORRECT] * 5 + [Attempt.INCORRECT] * 3 + [Attempt.NOT_ATTEMPTED] * 2
    trials = [answered(str(n), attempt) for n, attempt in enumerate(attempts)]

    figures, metrics = figures_of(trials), metrics_of(trials)

    for name in ("correct", "incorrect", "not_attempted", "accuracy_given_attempted", "f1"):
        assert pytest.approx(getattr(metrics, name)) == figures[name].value
        assert figures[name].interval
    assert wilson(5, 8) == figures["accuracy_given_attempted"].interval


def test_scores_have_figures() -> None:
    trials = [trial(str(n), scores={"state": n / 4, "reply": 1.0}) for n in range(5)]

    figures = figures_of(trials)

    assert (0.5, 1.0) == (figures["score:state"].value, figures["score:reply"].value)
    assert figures["score:state"].interval


def test_kind_of_case_can_have_its_own_figures() -> None:
    """Two files of solutions: 82 of 164 and 10 of 36 were solved."""
    trials = [replace(trial("f1"), tallies={"pass@1": (82, 164)}), replace(trial("f2"), tallies={"pass@1": (10, 36)})]

    figure = figures_of(trials)["pass@1"]

    assert (0.46, wilson(92, 200), 200) == (figure.value, figure.interval, figure.n)
    assert "pass@1" not in figures_of([replace(trial("f1"), tallies={"pass@1": (0, 0)})])


def test_without_scored_trials_there_are_no_figures() -> None:
    assert {} == figures_of([trial("one", Verdict.ERRORED), trial("two", Verdict.INVALID)])


def test_usual_run_does_not_load_scipy() -> None:
    """It takes a second and a half."""
    code = """
import sys
from pytest_crmeval.report.figures import figures_of
from tests.fakes import trial
figures_of([trial("one"), trial("two")])
print([name for name in ("scipy", "numpy") if name in sys.modules])
"""
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert "[]\n" == shown.stdout


@DETERMINISTIC
@given(st.lists(st.lists(st.sampled_from(list(Verdict)), min_size=1, max_size=1), min_size=1, max_size=30))
def test_value_lies_within_its_interval(verdicts: Sequence[Sequence[Verdict]]) -> None:
    """Always; and shares stay between 0 and 1."""
    figures = figures_of([each for n, found in enumerate(verdicts) for each in tried(str(n), *found)])

    for figure in figures.values():
        if figure.interval:
            assert figure.interval[0] - 1e-9 <= figure.value <= figure.interval[1] + 1e-9
    if "pass_rate" in figures and figures["pass_rate"].interval:
        assert 0.0 <= figures["pass_rate"].interval[0] <= figures["pass_rate"].interval[1] <= 1.0


@pytest.mark.parametrize("repeats", [1, 3])
def test_single_miss_does_not_narrow_the_interval(repeats: int) -> None:
    """Otherwise a gate with confidence could hold for the worse of two runs only."""
    perfect = [each for n in range(100) for each in tried(str(n), *[PASSED] * repeats)]
    missed = [*perfect[:-1], replace(perfect[-1], verdict=FAILED)]

    lows = [figures_of(trials, 0.9)["pass_rate"].low or 0.0 for trials in (perfect, missed)]

    assert lows[0] > lows[1] > 0.9


def test_equal_cases_leave_a_doubt() -> None:
    """One subject always passes, the other never: nothing varies, but thirty cases don't prove a half."""
    trials = [each for n in range(30) for each in tried(str(n), PASSED, PASSED)]
    trials += [each for n in range(30) for each in tried(str(n), FAILED, FAILED, subject="mute")]

    assert wilson(15, 30) == figures_of(trials)["pass_rate"].interval


def test_duration_is_never_negative() -> None:
    """One slow trial among fast ones."""
    figure = figures_of([replace(trial(str(n)), seconds=100.0 if n == 0 else 0.1) for n in range(20)])["latency_mean"]

    assert 0.0 == figure.low
