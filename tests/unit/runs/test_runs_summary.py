"""A report as a person wants to read it."""

from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.domain.gate import Gate
from pytest_crmeval.domain.report import Report, Standing
from pytest_crmeval.runs import summary

REPORT = Report(
    run={"id": "mine"},
    standings=[
        Standing(suite="browsecomp", subject="oracle", errored=3),
        Standing(suite="crm", subject="gpt-4.1-mini", passed=996, failed=4, errored=1, not_run=1234),
        Standing(suite="crm", subject="mute", failed=12),
        Standing(suite="crm", subject="oracle", passed=12),
    ],
    trials=[],
)


def test_the_table(snapshot: SnapshotAssertion) -> None:
    """Names to the left, numbers to the right; a rate of nothing is a dash, not a zero."""
    assert snapshot == "\n".join(summary.table(REPORT))


def test_the_table_of_nothing_is_its_head() -> None:
    """One line."""
    assert ["suite  subject  cases  passed  failed  errored  not run  pass rate"] == list(
        summary.table(Report(run={"id": "mine"}, standings=[], trials=[]))
    )


def test_the_gates(snapshot: SnapshotAssertion) -> None:
    """What holds, what does not, and why."""
    complete = Report(run={}, standings=[Standing(suite="crm", subject="half", passed=2, failed=1)], trials=[])
    texts = ["crm.pass_rate >= 0.60", "crm.failed == 0", "crn.passed > 0"]

    assert snapshot == "\n".join(summary.gates([Gate.parse(text).judge(complete) for text in texts]))
