"""The metrics of a run."""

import json
from dataclasses import replace

from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.domain.judgement import Grade, Judgement
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Labels, Trial, TurnOutcome
from pytest_crmeval.domain.usage import Bill, Usage
from pytest_crmeval.report.judge_figures import judge_figures
from pytest_crmeval.report.metrics import breakdown_of, metrics_of
from pytest_crmeval.report.outliers import reasons_of, slowest
from pytest_crmeval.report.report import Report, SubjectSummary, pooled, summary_of
from tests.fakes import planned, trial

TURN = TurnOutcome(tool="create_quote", called=True, replied=False, steps=2, errors=1)
TALKED = replace(trial("talked", Verdict.FAILED), turns=(TURN,), labels=Labels(complexity="simple", tags=("dates",)))
INVALID = Trial.invalid(planned("broken"), "cases.jsonl:2: broken: turn 1: {stage}", Labels(complexity="simple"))


def test_the_five_counts_add_up_to_what_was_planned() -> None:
    summary = SubjectSummary(suite="crm", subject="oracle", passed=5, failed=3, errored=2, invalid=4, not_run=1)

    assert 15 == summary.planned


def test_the_pass_rate_is_over_what_was_scored() -> None:
    """Neither a broken world nor a broken case helps or hurts an agent."""
    summary = SubjectSummary(suite="crm", subject="oracle", passed=3, failed=1, errored=6, invalid=5, not_run=2)

    assert 0.75 == summary.pass_rate


def test_the_pass_rate_of_nothing_is_not_zero() -> None:
    """It is None, and absent from the document."""
    summary = SubjectSummary(suite="crm", subject="oracle", errored=3, invalid=2, not_run=1)

    assert summary.pass_rate is None
    assert "pass_rate" not in summary.to_dict()


def test_a_subject_that_failed_everything_has_a_rate_of_zero() -> None:
    """Zero is a rate, and it is written."""
    assert 0.0 == SubjectSummary(suite="crm", subject="mute", failed=2).to_dict()["pass_rate"]


def test_trials_are_counted_by_their_verdict() -> None:
    """Seconds are summed up, planned cases without a trial are handed in."""
    trials = [
        trial("one", Verdict.PASSED, seconds=1.0),
        trial("two", Verdict.PASSED, seconds=2.0),
        trial("three", Verdict.FAILED, seconds=4.0),
        trial("four", Verdict.ERRORED, seconds=8.0),
        INVALID,
    ]

    summary = summary_of("crm", "oracle", trials, not_run=5)

    assert (
        SubjectSummary(
            suite="crm",
            subject="oracle",
            passed=2,
            failed=1,
            errored=1,
            invalid=1,
            not_run=5,
            seconds=15.0,
            scores={"state": 2 / 3},
            metrics=metrics_of(trials),
            by=breakdown_of(trials),
            slowest=slowest(trials),
            reasons=reasons_of(trials),
        )
        == summary
    )


def test_the_mean_of_a_score_is_over_the_trials_that_have_it() -> None:
    """An errored trial has no score: it does not count as zero."""
    trials = [
        trial("one", scores={"state": 1.0, "facts": 0.5}),
        trial("two", scores={"state": 0.0}),
        trial("three", Verdict.ERRORED),
        INVALID,
    ]

    assert {"facts": 0.5, "state": 0.5} == summary_of("crm", "oracle", trials, not_run=0).scores


def test_a_subject_without_trials_has_no_means() -> None:
    """Nothing was scored, so there is nothing to show."""
    assert {} == summary_of("crm", "oracle", [], not_run=3).scores


def test_a_summary_has_the_metrics_of_its_trials() -> None:
    summary = summary_of("crm", "oracle", [trial("one"), TALKED], not_run=0)

    assert (0.5, 0.0, 1.0, {1: 1}) == (
        summary.metrics.strict_success,
        summary.metrics.turn_success,
        summary.metrics.tool_success,
        summary.metrics.first_failed_turn,
    )
    assert ["complexity", "tag", "tool"] == list(summary.by)
    assert summary.metrics.to_dict() == summary.to_dict()["metrics"]


def test_written_summary_can_be_read() -> None:
    summary = summary_of("crm", "oracle", [trial("one"), TALKED, INVALID], not_run=2)

    assert summary == SubjectSummary.from_dict(json.loads(json.dumps(summary.to_dict())))


def test_summary_without_metrics_can_be_read() -> None:
    """Nothing was invalid then, and nothing is known of turns."""
    summary = SubjectSummary(
        suite="crm", subject="oracle", passed=2, failed=1, not_run=3, seconds=0.5, scores={"state": 1.0}
    )
    older = {name: value for name, value in summary.to_dict().items() if name not in {"invalid", "metrics", "by"}}

    assert summary == SubjectSummary.from_dict(older)


def test_subjects_are_pooled_by_their_counts() -> None:
    """The rate of both is not the mean of their rates."""
    many = SubjectSummary(suite="crm", subject="a", passed=9, failed=0, errored=1, invalid=2, seconds=2.0)
    few = SubjectSummary(suite="crm", subject="b", passed=0, failed=1, invalid=3, not_run=4, seconds=3.0)

    both = pooled("crm", [many, few])

    assert (
        SubjectSummary(suite="crm", subject="*", passed=9, failed=1, errored=1, invalid=5, not_run=4, seconds=5.0)
        == both
    )
    assert 0.9 == both.pass_rate


def test_report_lists_its_suites() -> None:
    """By name, all subjects together; what was not run is None."""
    a = SubjectSummary(suite="crm", subject="a", passed=1)
    b = SubjectSummary(suite="crm", subject="b", failed=1)
    other = SubjectSummary(suite="browsecomp", subject="a", failed=7)
    report = Report(run={"id": "mine"}, standings=[a, b, other], trials=[])

    assert pooled("crm", [a, b]) == report.suite("crm")
    assert report.suite("checkpoints") is None


def test_a_report_is_complete_when_every_case_has_a_trial() -> None:
    """A red case is a trial, and so is an invalid one; a case that was never played is none."""
    played = SubjectSummary(suite="crm", subject="a", failed=1, errored=1, invalid=1)
    missing = SubjectSummary(suite="crm", subject="b", passed=1, not_run=1)

    assert Report(run={}, standings=[played], trials=[]).complete
    assert not Report(run={}, standings=[played, missing], trials=[]).complete


def test_report_is_written_as_documented(snapshot: SnapshotAssertion) -> None:
    """What is written to ``reports/<run>.json``."""
    trials = [trial("one"), trial("two", Verdict.FAILED), trial("three", Verdict.ERRORED), TALKED, INVALID]
    report = Report(run={"id": "mine"}, standings=[summary_of("crm", "oracle", trials, not_run=1)], trials=trials)

    assert snapshot == report.to_dict()


USAGE = Usage(input=900, cached=400, cache_written=100, output=100, reasoning=40, calls=3, retries=1)
BILL = Bill(usage=USAGE, cost=0.5)
OPINION = Judgement(grades=(Grade(reason="fine"),), bill=Bill(usage=Usage(input=50, calls=1), cost=0.125))
PAID = [
    replace(trial("one"), bill=BILL, judgement=OPINION),
    replace(trial("two", Verdict.FAILED), bill=BILL, notes=("no temperature", "no temperature")),
    replace(trial("three", Verdict.ERRORED), bill=replace(BILL, replayed=True), notes=("no temperature", "slow")),
    trial("four"),
]


def test_bills_are_summed_up() -> None:
    """Of every trial that has one, errored ones included; what the judge took is apart."""
    summary = summary_of("crm", "gpt-4.1", PAID, not_run=0)

    assert summary.bill is not None
    assert (USAGE + USAGE + USAGE, 1.5) == (summary.bill.usage, summary.cost)
    assert 1 == summary.replayed
    assert judge_figures(PAID) == summary.judge


def test_cost_per_trial_and_per_pass_are_computed() -> None:
    summary = summary_of("crm", "gpt-4.1", PAID, not_run=5)

    assert (0.375, 0.75, 1500.0) == (summary.cost_per_trial, summary.cost_per_pass, summary.tokens_per_pass)


def test_an_unknown_price_is_not_zero() -> None:
    """One trial of unknown cost makes the cost of all unknown; the tokens are known."""
    trials = [PAID[0], replace(PAID[1], bill=Bill(usage=USAGE, cost=None))]

    summary = summary_of("crm", "gpt-4.1", trials, not_run=0)

    assert (None, None, None) == (summary.cost, summary.cost_per_trial, summary.cost_per_pass)
    assert 2000.0 == summary.tokens_per_pass


def test_summary_without_a_pass_has_no_cost_per_pass() -> None:
    """It is absent from the document."""
    summary = summary_of("crm", "gpt-4.1", PAID[1:3], not_run=0)

    assert (None, None) == (summary.cost_per_pass, summary.tokens_per_pass)
    assert {"bill", "replayed", "cost_per_trial"} == set(summary.to_dict()) & {
        *("bill", "replayed", "cost_per_trial", "cost_per_pass", "tokens_per_pass")
    }


def test_notes_are_counted_once_per_trial() -> None:
    """Those of the judge, too."""
    judged = replace(PAID[0], judgement=replace(OPINION, notes=("slow",)))

    summary = summary_of("crm", "gpt-4.1", [*PAID, judged], not_run=0)

    assert {"no temperature": 2, "slow": 2} == summary.notes


def test_a_summary_with_bills_can_be_read() -> None:
    summary = summary_of("crm", "gpt-4.1", PAID, not_run=0)

    assert summary == SubjectSummary.from_dict(json.loads(json.dumps(summary.to_dict())))


def test_a_summary_without_models_says_nothing_of_them() -> None:
    written = summary_of("crm", "oracle", [trial("one"), TALKED], not_run=0).to_dict()

    assert not {"bill", "judge", "replayed", "notes", "cost_per_pass"} & set(written)


def test_subjects_are_pooled_with_their_bills() -> None:
    """Who asked no model takes nothing."""
    paid = summary_of("crm", "gpt-4.1", PAID, not_run=0)

    both = pooled("crm", [paid, SubjectSummary(suite="crm", subject="oracle", passed=2), paid])

    assert (3.0, 6, 2) == (both.cost, both.passed, both.replayed)
    assert {"no temperature": 4, "slow": 2} == both.notes


def test_the_document_of_a_model(snapshot: SnapshotAssertion) -> None:
    """What ``results`` has of it."""
    assert snapshot == summary_of("crm", "gpt-4.1", PAID, not_run=0).to_dict()
