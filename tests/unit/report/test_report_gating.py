"""Evaluate gates on a report, and on its comparison with a baseline."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from scipy.stats import binom, binomtest

from pytest_crmeval.domain.file_outcome import FileOutcome
from pytest_crmeval.domain.interval import wilson
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial, TurnOutcome
from pytest_crmeval.domain.usage import Bill, Service, Usage
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.gate import COUNTS, MONEY, Gate, applicable_gates, has_unjudged_oracle
from pytest_crmeval.report.gating import judge
from pytest_crmeval.report.numbers import value_beside_bound
from pytest_crmeval.report.paired import bonett_price
from pytest_crmeval.report.report import Report, SubjectSummary
from pytest_crmeval.report.ruling import Ruling
from tests.fakes import planned, trial

PASSED, FAILED = Verdict.PASSED, Verdict.FAILED


def report(*summaries: SubjectSummary) -> Report:
    """Return the report of a run with these counts."""
    counted = [(each, verdict) for each in summaries for verdict in Verdict for _ in range(getattr(each, verdict))]
    trials = [
        trial(planned(str(n), subject=each.subject, suite=each.suite), verdict)
        for n, (each, verdict) in enumerate(counted)
    ]
    return Report(run={"id": "mine", "started": "now"}, standings=summaries, trials=trials)


def crm(subject: str = "oracle", **counts: Any) -> SubjectSummary:  # noqa: ANN401 (whole numbers)
    """Return a summary in the suite ``crm``."""
    return SubjectSummary(suite="crm", subject=subject, **counts)


def ruled(text: str, found: Report, baseline: Report | None = None) -> Ruling:
    """Return the ruling of a gate on a report."""
    (ruling,) = judge([Gate.parse(text)], found, baseline)
    return ruling


def played(passing: int, failing: int, subject: str = "oracle", suite: str = "crm") -> list[Trial]:
    """Return trials of numbered cases: those that pass come first."""
    verdicts = [PASSED] * passing + [FAILED] * failing
    return [trial(planned(str(n), subject=subject, suite=suite), verdict) for n, verdict in enumerate(verdicts)]


def of(*trials: Trial) -> Report:
    """Return the report of trials."""
    run = {"id": "mine", "started": "now"}
    return reports.build(run, {f"{n} {each.planned.key}": each for n, each in enumerate(trials)}, [])


@pytest.mark.parametrize("metric", [*COUNTS, *MONEY, "pass_rate", "strict_success", "latency_p95", "score:state"])
def test_every_metric_can_be_gated(metric: str) -> None:
    """Each name is a figure of a summary or of its trials."""
    assert ruled(f"crm.{metric} >= 0", of(*played(1, 1))).holds


@pytest.mark.parametrize(
    ("comparison", "holds_below", "holds_at", "holds_above"),
    [
        (">=", False, True, True),
        (">", False, False, True),
        ("<=", True, True, False),
        ("<", True, False, False),
        ("==", False, True, False),
    ],
)
def test_comparison_operators_work_as_written(
    comparison: str, *, holds_below: bool, holds_at: bool, holds_above: bool
) -> None:
    """2, 3 and 4 failed cases against a bound of 3."""
    rulings = [ruled(f"crm.failed {comparison} 3", report(crm(failed=failed))) for failed in (2, 3, 4)]

    assert [holds_below, holds_at, holds_above] == [ruling.holds for ruling in rulings]


def test_ruling_shows_the_value() -> None:
    """Also if the gate holds."""
    ruling = ruled("crm.pass_rate >= 0.60", report(crm(passed=2, failed=1)))

    assert ("crm.pass_rate >= 0.60", True, "pass_rate is 0.667") == (ruling.gate, ruling.holds, ruling.explanation)


def test_pass_rate_equal_to_the_bound_holds() -> None:
    """Seven of ten are 0.7, also in binary."""
    assert ruled("crm.pass_rate >= 0.7", report(crm(passed=7, failed=3))).holds


def test_gate_without_a_subject_is_evaluated_for_each_subject_that_is_not_a_control() -> None:
    """A good control must not hide a bad agent, and one agent must not hide another."""
    found = report(crm("a", passed=4), crm("b", failed=4), crm("mute", failed=4), crm("oracle", passed=4))

    rulings = judge([Gate.parse("crm.pass_rate >= 0.6")], found)

    assert [("a", True), ("b", False)] == [(ruling.subject, ruling.holds) for ruling in rulings]


def test_gate_without_a_subject_is_evaluated_for_controls_if_there_is_no_other_subject() -> None:
    """A first run has only the oracle."""
    assert ruled("crm.pass_rate >= 0.6", report(crm("oracle", passed=4))).holds


def test_counts_and_costs_without_a_subject_are_added_up() -> None:
    found = report(crm("a", failed=1), crm("b", failed=2), crm("mute", failed=4))

    assert "failed is 3" == ruled("crm.failed <= 3", found).explanation


def test_other_suites_do_not_count() -> None:
    other = SubjectSummary(suite="browsecomp", subject="oracle", failed=9)

    assert ruled("crm.pass_rate >= 1", report(crm(passed=1), other)).holds


def test_missing_suite_is_a_breach() -> None:
    """A typo in the name of a suite must not pass every merge."""
    ruling = ruled("crn.failed == 0", report(crm(passed=1)))

    assert (False, "the run has no suite 'crn'") == (ruling.holds, ruling.explanation)


def test_incomplete_run_is_a_breach() -> None:
    """Even if all played cases passed."""
    ruling = ruled("crm.pass_rate >= 0.1", report(crm(passed=5, not_run=2)))

    assert (False, "2 of 7 cases were not run") == (ruling.holds, ruling.explanation)


def test_missing_pass_rate_is_a_breach() -> None:
    """If every trial errored or is invalid, there is no pass rate, neither zero nor one."""
    ruling = ruled("crm.pass_rate >= 0", report(crm(errored=3, invalid=2)))

    assert (False, "no trial was scored") == (ruling.holds, ruling.explanation)


def test_invalid_cases_are_a_breach_only_if_a_gate_checks_them() -> None:
    """They are neither failed nor missing."""
    found = report(crm(passed=1, invalid=2))

    assert ruled("crm.pass_rate >= 1", found).holds
    assert ruled("crm.failed == 0", found).holds
    ruling = ruled("crm.invalid == 0", found)
    assert (False, "invalid is 2") == (ruling.holds, ruling.explanation)


def costs(text: str, *bills: Bill | None, passed: int = 4) -> tuple[bool, str]:
    """Return the ruling on subjects with these bills, each of which passed and failed four cases."""
    found = [crm(str(number), passed=passed, failed=4, bill=bill) for number, bill in enumerate(bills)]
    ruling = ruled(text, report(*found))
    return ruling.holds, ruling.explanation


def test_gate_on_cost_adds_up_the_subjects() -> None:
    """In dollars, over all subjects; exact to the cent, whatever binary fractions add up to."""
    assert (True, "cost is $0.30") == costs("crm.cost <= 0.30", Bill(cost=0.1), Bill(cost=0.2))
    assert (False, "cost is $5.01") == costs("crm.cost <= 5.00", Bill(cost=5.01))


def test_gate_on_cost_per_pass_includes_failed_trials() -> None:
    """Six dollars for four passed cases."""
    assert (True, "cost_per_pass is $1.50") == costs("crm.cost_per_pass < 2", Bill(cost=6.0))


def test_agent_without_a_model_costs_nothing() -> None:
    """It does not make the cost of other agents unknown."""
    assert (True, "cost is $0.00") == costs("crm.cost == 0", None)
    assert (True, "cost is $0.50") == costs("crm.cost < 1", None, Bill(cost=0.5))


@pytest.mark.parametrize("metric", ["cost", "cost_per_pass"])
def test_unknown_price_is_a_breach(metric: str) -> None:
    expected = (False, "the price of a model is unknown; add it with ?price=")

    assert expected == costs(f"crm.{metric} <= 1000", Bill(cost=None))
    assert expected == costs("crm.cost <= 1000", Bill(cost=1.0), Bill(cost=None))


def test_cost_per_pass_without_a_passed_case_is_a_breach() -> None:
    """It is neither zero nor a number."""
    assert (False, "no trial passed") == costs("crm.cost_per_pass <= 1000", Bill(cost=1.0), passed=0)


def test_service_metrics_can_be_gated() -> None:
    """Speed, the first token, the share of cached tokens and the savings; a cassette has no speed."""
    service = Service(calls=4, seconds=8.0, output=400, streamed=2, first_seconds=1.5, saved=0.25)
    bill = Bill(usage=Usage(input=1000, cached=800, output=400, calls=4), cost=1.0)
    timed = report(crm("m", passed=4, bill=bill, service=service))
    gates = ("tokens_per_second >= 50", "latency_first_token <= 750ms", "cache_hit_rate >= 0.8", "cost_saved >= 0.25")

    found = [ruled(f"crm.{gate}", timed) for gate in gates]

    assert [True] * 4 == [ruling.holds for ruling in found]
    assert "latency_first_token is 750 ms" == found[1].explanation
    assert not ruled("crm.latency_first_token <= 700ms", timed).holds
    replayed = ruled("crm.tokens_per_second >= 1", report(crm("m", passed=4, bill=bill)))
    assert (False, "crm has no tokens_per_second") == (replayed.holds, replayed.explanation)


def test_ruling_has_interval_and_margin() -> None:
    """66 of 100: Wilson's interval is 0.563 to 0.745 (by scipy's proportion_ci), and the margin is 0.06."""
    ruling = ruled("crm.pass_rate >= 0.60", of(*played(66, 34)))

    assert pytest.approx((0.66, 0.5628, 0.7454, 0.6, 0.06), abs=1e-4) == (
        ruling.value,
        ruling.low,
        ruling.high,
        ruling.bound,
        ruling.margin,
    )


def test_inconclusive_gate_says_how_many_more_cases_would_settle_it() -> None:
    """With so many cases at the same rate, the interval excludes the bound; with fewer it does not."""
    ruling = ruled("crm.pass_rate >= 0.60", of(*played(66, 34)))
    assert ruling.needed

    whole = 100 + ruling.needed  # z² b (1 - b) / (p - b)² = 256.1
    assert 257 == whole
    assert ruling.holds


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("crm.pass_rate >= 0.40", 0),
        ("crm.pass_rate >= 0.80", 0),
        ("crm.pass_rate >= 0.66", None),
        ("crm.failed <= 40", 0),
        ("crm.pass_rate <= 0.70", 505 - 100),
    ],
)
def test_settled_gate_needs_no_more_cases(text: str, needed: int | None) -> None:
    """Nor does a count; a value equal to the bound is never settled."""
    assert needed == ruled(text, of(*played(66, 34))).needed


def test_repeats_do_not_settle_a_gate() -> None:
    """More cases are needed, not trials: as many as would be needed without repeats."""
    repeated = [replace(each, planned=replace(each.planned, trial=n)) for each in played(66, 34) for n in (1, 2, 3)]
    once, often = (ruled("crm.pass_rate >= 0.60", of(*trials)) for trials in (played(66, 34), repeated))
    assert once.needed
    assert often.needed

    assert pytest.approx(once.needed, rel=0.15) == often.needed


def test_gate_can_name_one_subject() -> None:
    """The others do not count."""
    found = of(*played(4, 0, "good"), *played(0, 4, "bad"))

    assert [True, False] == [ruled(f"crm[{name}].pass_rate >= 0.6", found).holds for name in ("good", "bad")]


def test_gate_for_each_subject_has_a_ruling_for_each() -> None:
    rulings = judge([Gate.parse("crm[*].failed == 0")], of(*played(4, 0, "good"), *played(0, 4, "bad")))

    assert [("bad", False), ("good", True)] == [(ruling.subject, ruling.holds) for ruling in rulings]


def test_missing_subject_is_a_breach() -> None:
    """A misspelt one must not pass every merge."""
    ruling = ruled("crm[gtp].passed > 0", of(*played(1, 0, "gpt")))

    assert (False, "crm has no subject 'gtp' in this run, only gpt") == (ruling.holds, ruling.explanation)


def test_figures_of_a_kind_of_case_can_be_gated() -> None:
    """82 of 164 solutions."""
    case = planned("f", subject="checkpoint-196", suite="checkpoints")
    found = of(replace(trial(case), tallies={"pass@1": (82, 164)}))

    assert ruled("checkpoints[checkpoint-196].pass@1 >= 0.35", found).holds
    assert not ruled("checkpoints.pass@1 >= 0.51", found).holds


def test_missing_metric_is_a_breach() -> None:
    """Cases with one trial have no pass@5."""
    assert "crm has no pass@5" == ruled("crm.pass@5 >= 0.1", of(*played(3, 0))).explanation


def test_durations_can_be_gated() -> None:
    found = of(*(trial(str(n), seconds=float(n)) for n in range(101)))

    assert ruled("crm.latency_p95 <= 95s", found).holds
    assert not ruled("crm.latency_p95 <= 94500ms", found).holds
    assert ruled("crm.latency_p95 <= 2min", found).holds


@pytest.mark.parametrize(("passing", "holds"), [(68, False), (69, True)])
def test_gate_can_require_confidence(passing: int, *, holds: bool) -> None:
    """One-sided and exact: 68 of 100 are at least 0.5951 with 95 % confidence, 69 at least 0.6055.

    Checked independently by scipy's one-sided binomial test of 0.6.
    """
    ruling = ruled("crm.pass_rate >= 0.60 with 95% confidence", of(*played(passing, 100 - passing)))
    low = binomtest(passing, 100).proportion_ci(0.9, method="exact").low

    assert holds == (binomtest(passing, 100, 0.6, alternative="greater").pvalue <= 0.05)

    assert holds == ruling.holds
    assert pytest.approx(low - 0.6) == ruling.margin
    assert f"and at least {low:.3f} with 95 % confidence" in ruling.explanation


def test_gate_without_enough_confidence_says_how_many_cases_are_needed() -> None:
    """Unless the value itself is too low: then no number of cases helps."""
    good = ruled("crm.pass_rate >= 0.60 with 95% confidence", of(*played(66, 34)))
    bad = ruled("crm.pass_rate >= 0.60 with 95% confidence", of(*played(59, 41)))

    assert good.needed
    lows = [binomtest(n * 66 // 100, n).proportion_ci(0.9).low for n in (150, 200)]
    assert lows[0] < 0.6 < lows[1]
    assert (False, True) == (good.holds, 150 < 100 + good.needed < 200)
    assert (False, None) == (bad.holds, bad.needed)


@pytest.mark.parametrize("bound", [0.7, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("count", [20, 50, 200])
def test_gate_with_confidence_passes_by_chance_at_most_as_often_as_stated(count: int, bound: float) -> None:
    """An agent exactly at the bound passes in at most 5 of 100 runs: all outcomes, by their probability."""
    gate = f"crm.pass_rate > {bound} with 95% confidence"

    def holds(passing: int) -> bool:
        return ruled(gate, of(*played(passing, count - passing))).holds

    least = bisect_left(range(count + 1), 1, key=holds)  # more passes never mean less confidence

    assert binom.sf(least - 1, count, bound) <= 0.05


def test_gate_with_confidence_does_not_count_repeats_as_cases() -> None:
    """Nine cases that always pass and three that never do, three times each: like a binomial test of at most twelve."""
    repeated = [replace(each, planned=replace(each.planned, trial=n)) for each in played(9, 3) for n in (1, 2, 3)]
    ruling = ruled("crm.pass_rate >= 0.45 with 95% confidence", of(*repeated))
    once = binomtest(9, 12).proportion_ci(0.9).low

    assert ruling.margin is not None
    assert once - 0.05 < 0.45 + ruling.margin < once


def test_gate_with_confidence_works_for_checkpoints() -> None:
    """By problems, and by figures of a kind of case."""
    case = planned("f", subject="c", suite="checkpoints")
    solved = FileOutcome(verdicts={"AC": 82, "WA": 82}, samples=((1, 0, 82), (1, 1, 82)))
    low = binomtest(82, 164).proportion_ci(0.9).low

    for found in (replace(trial(case), solutions=solved), replace(trial(case), tallies={"pass@1": (82, 164)})):
        margin = ruled("checkpoints.pass@1 >= 0.4 with 95% confidence", of(found)).margin
        assert pytest.approx(low - 0.4) == margin


def test_gate_on_the_baseline_needs_one() -> None:
    """It does not hold without one."""
    for text in ("crm.pass_rate >= baseline - 0.02", "crm.pass_rate not worse than baseline"):
        ruling = ruled(text, of(*played(3, 0)))

        assert (False, True) == (ruling.holds, "no baseline: name one" in ruling.explanation)


@pytest.mark.parametrize("text", ["crm.pass_rate >= baseline", "crm.pass_rate not worse than baseline"])
def test_run_is_not_compared_with_itself(text: str) -> None:
    """Nor with its copy: otherwise, copying the report to the baseline before the gates would always pass."""
    ruling = ruled(text, of(*played(3, 9)), of(*played(3, 9)))

    assert (False, "the baseline is this run itself") == (ruling.holds, ruling.explanation)


def test_gate_on_the_baseline_uses_the_cases_of_both_runs() -> None:
    """The baseline passed 60 of 100. Now 59 of these pass; 20 new easy cases don't help."""
    new = [trial(f"new-{n}") for n in range(20)]
    before, after = of(*played(60, 40)), of(*played(59, 41), *new)

    assert ruled("crm.pass_rate >= baseline - 0.02", after, before).holds
    ruling = ruled("crm.pass_rate >= baseline", after, before)
    assert not ruling.holds
    assert pytest.approx(-0.01) == ruling.margin
    assert ruling.explanation.startswith("pass_rate is 0.590 and was 0.600, over 100 cases that both runs have; an ")


def test_changed_case_is_not_compared() -> None:
    other = [replace(each, planned=replace(each.planned, fingerprint="new")) for each in played(0, 3)]
    ruling = ruled("crm.pass_rate >= baseline", of(*other), of(*played(3, 0)))

    assert (False, True) == (ruling.holds, "no case has a pass_rate" in ruling.explanation)
    assert not ruled("crm.pass_rate not worse than baseline", of(*other), of(*played(3, 0))).holds


@pytest.mark.parametrize("text", ["crm.pass_rate >= baseline", "crm.pass_rate not worse than baseline"])
def test_baseline_without_the_subject_names_its_subjects(text: str) -> None:
    """A renamed agent is another subject; a suite may be new."""
    run = of(*played(3, 0, "new"))

    output = "the baseline has none of these subjects in crm, only old, older"
    assert output == ruled(text, run, of(*played(3, 0, "old"), *played(3, 0, "older"))).explanation
    assert "the baseline has no suite 'crm'" == ruled(text, run, of(*played(3, 0, suite="q"))).explanation


@pytest.mark.parametrize("text", ["crm.pass_rate >= baseline", "crm.pass_rate not worse than baseline"])
def test_subject_missing_in_the_baseline_is_named(text: str) -> None:
    """Of two agents, only the one in the baseline is compared."""
    ruling = ruled(text, of(*played(8, 0, "new"), *played(8, 0, "old")), of(*played(8, 0, "old")))

    assert "old" == ruling.subject
    assert "over 8 cases that both runs have, without new, not in the baseline" in ruling.explanation


def lost(count: int, of_all: int = 40) -> tuple[Report, Report]:
    """Return a baseline in which everything passed, and a run that lost this number of cases."""
    before = of(*played(of_all, 0))
    return replace(before, run={**before.run, "id": "before"}), of(*played(of_all - count, count))


@pytest.mark.parametrize(("count", "holds"), [(0, True), (4, True), (5, False)])
def test_not_worse_gate_is_breached_only_by_a_significant_loss(count: int, *, holds: bool) -> None:
    """Four of four lost cases have p = 0.0625, five of five 0.03125: exact one-sided McNemar test."""
    before, after = lost(count)
    ruling = ruled("crm.pass_rate not worse than baseline", after, before)

    assert (holds, 1.0 if not count else 0.5**count) == (ruling.holds, ruling.p)


def breaches(better: int, worse: int, cases: int, text: str) -> bool:
    """Return whether a gate is breached if these numbers of cases became better and worse."""
    verdicts = [(FAILED, PASSED)] * better + [(PASSED, FAILED)] * worse + [(PASSED, PASSED)] * (cases - better - worse)
    before, after = (of(*(trial(planned(str(n)), pair[side]) for n, pair in enumerate(verdicts))) for side in (0, 1))
    return not ruled(text, after, replace(before, run={**before.run, "id": "before"})).holds


@pytest.mark.parametrize(("share_worse", "one_sided", "two_sided"), [(0.5, 0.05, 0.05), (0.8, 0.55, 0.40)])
def test_not_worse_gate_has_few_false_alarms_and_more_power_than_a_two_sided_test(
    share_worse: float, one_sided: float, two_sided: float
) -> None:
    """All outcomes of 14 changed cases, by their probability; each became worse with a given probability.

    An unchanged agent (0.5) is found worse in at most 5 % of runs. One that is worse (0.8) is found in more than 55 %,
    by a two-sided test in less than 50 %.
    """
    alarms = [breaches(14 - worse, worse, 40, "crm.pass_rate not worse than baseline") for worse in range(15)]
    both = [worse > 7 and binomtest(worse, 14).pvalue < 0.05 for worse in range(15)]
    found, before = (
        sum(binom.pmf(worse, 14, share_worse) for worse, alarm in enumerate(each) if alarm) for each in (alarms, both)
    )

    if share_worse == 0.5:
        assert before < found <= one_sided
    else:
        assert two_sided < before < one_sided < found


def test_gate_with_an_offset_says_how_often_it_is_breached_by_chance() -> None:
    """Computed for the same numbers of cases and changes; checked here by drawing runs of an unchanged agent."""
    text = "crm.pass_rate >= baseline - 0.02"
    verdicts = [(FAILED, PASSED)] * 10 + [(PASSED, FAILED)] * 10 + [(PASSED, PASSED)] * 80
    before, after = (of(*(trial(planned(str(n)), pair[side]) for n, pair in enumerate(verdicts))) for side in (0, 1))
    output = ruled(text, after, replace(before, run={**before.run, "id": "before"})).explanation
    shown = re.search(r"an unchanged agent breaches this gate in (\d+) % of runs with 100 cases", output)
    assert shown

    draw = Random(20261118)  # noqa: S311 (a simulation)
    share = 21 / 102
    runs = [sum(draw.choice((-1, 1)) for _ in range(100) if draw.random() < share) for _ in range(20_000)]
    drawn = sum(net / 100 < -0.02 - 1e-9 for net in runs) / len(runs)

    assert pytest.approx(drawn, abs=0.015) == int(shown[1]) / 100
    assert "prefer 'not worse than baseline'" in output


@pytest.mark.parametrize("text", ["crm.pass_rate >= baseline - 0.3", "crm.pass_rate <= baseline + 0.01"])
def test_gate_that_is_rarely_breached_by_chance_has_no_warning(text: str) -> None:
    assert "unchanged" not in ruled(text, of(*played(59, 41)), of(*played(60, 40))).explanation


def test_controls_are_excluded_from_the_correction_of_gates() -> None:
    """Five lost cases are significant alone, and also with the oracle in the run."""
    before = of(*played(40, 0, "mine"), *played(40, 0, "oracle"))
    after = of(*played(35, 5, "mine"), *played(40, 0, "oracle"))

    rulings = judge([Gate.parse("crm[*].pass_rate not worse than baseline")], after, before)

    assert [("mine", False, 0.03125), ("oracle", True, 1.0)] == [(each.subject, each.holds, each.p) for each in rulings]
    assert not any("Holm" in each.explanation for each in rulings)


def test_not_worse_gate_shows_how_many_more_cases_are_needed() -> None:
    """Four of forty lost: five of 50 would be significant. So would four gained and ten lost with more cases."""
    before, after = lost(4)
    ruling = ruled("crm.pass_rate not worse than baseline", after, before)
    assert (True, 10) == (ruling.holds, ruling.needed)

    was, now = of(*played(90, 10)), of(*played(80, 10), *renumbered(played(4, 6), 90))
    split = ruled("crm.pass_rate not worse than baseline", now, was)
    assert split.needed
    scale = (100 + split.needed) / 100
    assert binomtest(round(4 * scale), round(14 * scale), alternative="less").pvalue < 0.05


@pytest.mark.parametrize("count", [0, 6])
def test_settled_not_worse_gate_needs_no_more_cases(count: int) -> None:
    """Six lost cases are enough. If nothing has changed, no number of such cases would settle it."""
    before, after = lost(count)

    assert (0 if count else None) == ruled("crm.pass_rate not worse than baseline", after, before).needed


def test_several_not_worse_gates_need_more_cases() -> None:
    """Five lost cases are enough for one gate, six for two: 0.5⁶ is less than half of 0.05, 0.5⁵ is not."""
    before = of(*played(40, 0), *played(40, 0, suite="q"))
    after = of(*played(35, 5), *played(40, 0, suite="q"))
    gates = [Gate.parse(f"{suite}.pass_rate not worse than baseline") for suite in ("crm", "q")]

    assert 8 == judge(gates, after, before)[0].needed


def test_gate_that_can_not_be_significant_is_not_corrected_for() -> None:
    """As in a comparison: next to five lost cases, a suite of four can't be significant, and its gate does not hold."""
    before = of(*played(5, 0), *played(4, 0, suite="q"))
    after = of(*played(0, 5), *played(0, 4, suite="q"))
    gates = [Gate.parse(f"{suite}.pass_rate not worse than baseline") for suite in ("crm", "q")]
    rulings = judge(gates, after, before)

    assert [(False, 0.03125, 0), (False, None, None)] == [(each.holds, each.p, each.needed) for each in rulings]
    assert not any("Holm" in each.explanation for each in rulings)


def test_repeats_that_are_worse_by_chance_need_more_cases() -> None:
    """Three of forty cases fail one of two trials; at least six such differences are significant."""

    def twice(failing: int) -> list[Trial]:
        found = []
        for each in played(40, 0):
            for n in (1, 2):
                verdict = FAILED if n == 1 and int(each.planned.case) < failing else PASSED
                found.append(replace(trial(each.planned, verdict), planned=replace(each.planned, trial=n)))
        return found

    ruling = ruled("crm.pass_rate not worse than baseline", of(*twice(3)), of(*twice(0)))

    assert (True, 40) == (ruling.holds, ruling.needed)


def renumbered(trials: Sequence[Trial], first: int) -> list[Trial]:
    """Return trials of different cases: their numbers start later."""
    return [trial(planned(str(n)), each.verdict) for n, each in enumerate(trials, start=first)]


def test_better_agent_is_not_worse() -> None:
    after, before = lost(20)

    assert ruled("crm.pass_rate not worse than baseline", after, before).holds


def test_several_gates_on_being_worse_are_corrected() -> None:
    """Five lost cases are significant alone; with another gate, p = 0.03125 counts twice."""
    before = of(*played(40, 0), *played(40, 0, suite="q"))
    after = of(*played(35, 5), *played(40, 0, suite="q"))
    texts = ("crm.pass_rate not worse than baseline", "q.pass_rate not worse than baseline")

    rulings = judge([Gate.parse(text) for text in texts], after, before)

    assert [(True, 0.0625), (True, 1.0)] == [(ruling.holds, ruling.p) for ruling in rulings]
    assert "Holm over 2 gates" in rulings[0].explanation


@pytest.mark.parametrize("lost_of_four", [0, 4])
def test_not_worse_gate_on_too_few_cases_does_not_hold(lost_of_four: int) -> None:
    """Four lost cases have p = 0.0625, never less, so such a gate would always pass.

    Other gates are not corrected for it.
    """
    before = of(*played(40, 0), *played(4, 0, suite="q"))
    after = of(*played(35, 5), *played(4 - lost_of_four, lost_of_four, suite="q"))
    gates = [Gate.parse(f"{suite}.pass_rate not worse than baseline") for suite in ("crm", "q")]

    enough, few = judge(gates, after, before)

    assert (False, 0.03125) == (enough.holds, enough.p)
    output = "both runs share 4 cases; at least 5 are needed"
    assert (False, None, output) == (few.holds, few.p, few.explanation)


def test_turns_can_be_compared() -> None:
    right = TurnOutcome(tool="t", called=True, replied=True, steps=1, errors=0)
    wrong = replace(right, replied=False)

    def turned(*turns: TurnOutcome) -> Sequence[Trial]:
        return [replace(each, turns=turns) for each in played(20, 0)]

    before, after = of(*turned(right, right, right)), of(*turned(right, right, wrong))

    assert not ruled("crm.turn_success not worse than baseline", after, before).holds
    assert ruled("crm.turn_success not worse than baseline", before, after).holds


def test_repeats_are_averaged_before_they_are_compared() -> None:
    """Five cases that fail one of three trials now: p = 0.03125 by signs, as for five that fail always."""

    def repeated(trials: Sequence[Trial], failing: int) -> list[Trial]:
        found = []
        for each in trials:
            for n in (1, 2, 3):
                verdict = FAILED if n == 1 and int(each.planned.case) < failing else PASSED
                found.append(replace(trial(each.planned, verdict), planned=replace(each.planned, trial=n)))
        return found

    before, after = of(*repeated(played(40, 0), 0)), of(*repeated(played(40, 0), 5))
    ruling = ruled("crm.pass_rate not worse than baseline", after, before)

    assert (False, 0.03125) == (ruling.holds, ruling.p)
    assert "over 40 cases" in ruling.explanation


def test_value_equal_to_the_bound_of_the_baseline_holds() -> None:
    """0.8 - 0.1 is 0.7, whatever binary fractions say."""
    assert ruled("crm.pass_rate >= baseline - 0.1", of(*played(7, 3)), of(*played(8, 2))).holds


def test_gate_on_the_baseline_has_the_interval_of_the_change() -> None:
    """Half of the cases fail in both runs. That says nothing about the change, and 0.1 is far away."""
    before, after = of(*played(50, 50)), of(*played(49, 51))
    ruling = ruled("crm.pass_rate >= baseline - 0.1", after, before)
    low, high = bonett_price(0, 1, 100)

    assert pytest.approx((0.5 + low, 0.5 + high)) == (ruling.low, ruling.high)
    assert (True, 0) == (ruling.holds, ruling.needed)


def test_repeats_that_all_pass_do_not_settle_a_gate() -> None:
    """Three cases passed three times each: six cases without a failure are needed, so three are missing."""
    repeated = [replace(each, planned=replace(each.planned, trial=n)) for each in played(3, 0) for n in (1, 2, 3)]

    assert 3 == ruled("crm.pass_rate >= 0.60", of(*repeated)).needed
    assert (wilson(5, 5) or (0,))[0] < 0.6 < (wilson(6, 6) or (0,))[0]


def test_value_equal_to_the_baseline_has_no_negative_margin() -> None:
    """Minus zero is not shown."""
    assert "+0" == f"{ruled('crm.errored == 0', of(*played(1, 0))).margin:+.3g}"


def concerning(text: str, found: Report, *known: str) -> bool:
    """Return whether a gate applies to a report."""
    return bool(applicable_gates([Gate.parse(text)], found, known)[0])


def test_gate_on_an_agent_outside_the_run_is_not_evaluated_if_it_cannot_be_misspelt() -> None:
    """A run of controls checks the harness; an agent with a known name is evaluated in other runs."""
    controls, agent = of(*played(1, 0, "oracle"), *played(0, 1, "mute")), of(*played(1, 0, "other"))

    assert not concerning("crm[mine].pass_rate >= 0.6", controls)
    assert not concerning("crm[mine].pass_rate >= 0.6", agent, "mine")
    assert concerning("crm[mien].pass_rate >= 0.6", agent, "mine")
    assert concerning("crm.pass_rate >= 0.6", controls)


def test_gate_on_a_known_agent_in_a_suite_that_was_not_selected_does_not_apply() -> None:
    found = of(*played(1, 0, "oracle"))
    some = replace(found, run={**found.run, "parts": [{"partial": True}]})

    assert not concerning("questions[mine].pass_rate >= 0.6", some, "mine")
    assert concerning("questions[mine].pass_rate >= 0.6", found, "mine")
    assert concerning("questions[mien].pass_rate >= 0.6", some, "mine")
    gates = [Gate.parse(f"{suite}[mine].pass_rate >= 0.6") for suite in ("crm", "questions")]
    assert applicable_gates(gates, some)[0] == []  # crm has only a control, so the other gate is about another part


def test_failed_oracle_without_a_gate_is_not_forgiven() -> None:
    """Gates on other suites may hold, but the harness or a case is wrong."""
    found = of(*played(1, 1, "oracle"), *played(2, 0, "mine"))

    def judged(text: str) -> Report:
        return replace(found, rulings=judge([Gate.parse(text)], found))

    assert has_unjudged_oracle(judged("crm[mine].pass_rate >= 0.6"))
    assert not has_unjudged_oracle(judged("crm[*].pass_rate >= 0.6"))
    assert not has_unjudged_oracle(of(*played(1, 0, "oracle")))


@pytest.mark.parametrize(("passed", "failed", "rate"), [(1, 2, "0.333"), (2, 1, "0.667"), (5, 4, "0.556")])
def test_unchanged_rate_holds_against_its_baseline_and_is_shown_as_in_tables(
    passed: int, failed: int, rate: str
) -> None:
    """2/3 is not exact in binary, so the bound must not be rounded up."""
    before = replace(of(*played(passed, failed)), run={"id": "before", "started": "then"})
    ruling = ruled("crm.pass_rate >= baseline", of(*played(passed, failed)), before)

    assert ruling.holds
    assert f"pass_rate is {rate} and was {rate}," in ruling.explanation


@pytest.mark.parametrize(
    ("metric", "value", "bound", "shown"),
    [
        pytest.param("pass_rate", 2 / 3, 0.6, "0.667", id="as in tables"),
        pytest.param("pass_rate", 1.0, 0.6, "1.000", id="with all decimals"),
        pytest.param("pass_rate", 0.5996, 0.6, "0.5996", id="rounded, it would look like the bound"),
        pytest.param("pass_rate", 0.6, 0.6, "0.600", id="equal to the bound"),
        pytest.param("failed", 1200, 0, "1,200", id="a count"),
        pytest.param("latency_p95", 2.04, 2.0, "2.04 s", id="a duration close to the bound"),
        pytest.param("latency_p95", 0.25, 2.0, "250 ms", id="a short duration"),
        pytest.param("cost", 0.5, 5.0, "$0.50", id="money"),
    ],
)
def test_value_next_to_its_bound_has_the_format_of_tables_but_never_looks_equal(
    metric: str, value: float, bound: float, shown: str
) -> None:
    """A breached gate that shows 0.600 for >= 0.60 would be confusing."""
    assert shown == value_beside_bound(metric, value, bound)
