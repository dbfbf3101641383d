"""The metrics of a run."""

from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.domain.report import Report, Standing, pooled, standing_of
from pytest_crmeval.domain.score import Verdict
from tests.fakes import trial


def test_the_four_counts_add_up_to_what_was_planned() -> None:
    """No case can vanish from a report."""
    standing = Standing(suite="crm", subject="oracle", passed=5, failed=3, errored=2, not_run=1)

    assert 11 == standing.planned


def test_the_pass_rate_is_over_what_was_scored() -> None:
    """A broken world neither helps nor hurts an agent."""
    assert 0.75 == Standing(suite="crm", subject="oracle", passed=3, failed=1, errored=6, not_run=2).pass_rate


def test_the_pass_rate_of_nothing_is_not_zero() -> None:
    """It is None, and absent from the document."""
    standing = Standing(suite="crm", subject="oracle", errored=3, not_run=1)

    assert standing.pass_rate is None
    assert "pass_rate" not in standing.to_dict()


def test_a_subject_that_failed_everything_has_a_rate_of_zero() -> None:
    """Zero is a rate, and it is written."""
    assert 0.0 == Standing(suite="crm", subject="mute", failed=2).to_dict()["pass_rate"]


def test_trials_are_counted_by_their_verdict() -> None:
    """Seconds are summed up, planned cases without a trial are handed in."""
    trials = [
        trial("one", Verdict.PASSED, seconds=1.0),
        trial("two", Verdict.PASSED, seconds=2.0),
        trial("three", Verdict.FAILED, seconds=4.0),
        trial("four", Verdict.ERRORED, seconds=8.0),
    ]

    standing = standing_of("crm", "oracle", trials, not_run=5)

    assert (
        Standing(
            suite="crm",
            subject="oracle",
            passed=2,
            failed=1,
            errored=1,
            not_run=5,
            seconds=15.0,
            scores={"state": 2 / 3},
        )
        == standing
    )


def test_the_mean_of_a_score_is_over_the_trials_that_have_it() -> None:
    """An errored trial has no score: it does not count as zero."""
    trials = [
        trial("one", scores={"state": 1.0, "facts": 0.5}),
        trial("two", scores={"state": 0.0}),
        trial("three", Verdict.ERRORED),
    ]

    assert {"facts": 0.5, "state": 0.5} == standing_of("crm", "oracle", trials, not_run=0).scores


def test_a_subject_without_trials_has_no_means() -> None:
    """Nothing was scored, so there is nothing to show."""
    assert {} == standing_of("crm", "oracle", [], not_run=3).scores


def test_subjects_are_pooled_by_their_counts() -> None:
    """The rate of both is not the mean of their rates."""
    many = Standing(suite="crm", subject="a", passed=9, failed=0, errored=1, seconds=2.0)
    few = Standing(suite="crm", subject="b", passed=0, failed=1, not_run=4, seconds=3.0)

    both = pooled("crm", [many, few])

    assert Standing(suite="crm", subject="*", passed=9, failed=1, errored=1, not_run=4, seconds=5.0) == both
    assert 0.9 == both.pass_rate


def test_a_report_knows_its_suites() -> None:
    """By name, all subjects together; what was not run is None."""
    a = Standing(suite="crm", subject="a", passed=1)
    b = Standing(suite="crm", subject="b", failed=1)
    other = Standing(suite="browsecomp", subject="a", failed=7)
    report = Report(run={"id": "mine"}, standings=[a, b, other], trials=[])

    assert pooled("crm", [a, b]) == report.suite("crm")
    assert report.suite("checkpoints") is None


def test_a_report_is_complete_when_every_case_has_a_trial() -> None:
    """A red case is a trial; a case that was never played is none."""
    played = Standing(suite="crm", subject="a", failed=1, errored=1)
    missing = Standing(suite="crm", subject="b", passed=1, not_run=1)

    assert Report(run={}, standings=[played], trials=[]).complete
    assert not Report(run={}, standings=[played, missing], trials=[]).complete


def test_the_document(snapshot: SnapshotAssertion) -> None:
    """What is written to ``reports/<run>.json``."""
    trials = [trial("one"), trial("two", Verdict.FAILED), trial("three", Verdict.ERRORED)]
    report = Report(run={"id": "mine"}, standings=[standing_of("crm", "oracle", trials, not_run=1)], trials=trials)

    assert snapshot == report.to_dict()
